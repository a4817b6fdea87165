//! The roles that the questions of `AutoMind` are divided into, each of which may have a model of
//! its own, and what each of them used.

use super::player::{Answer, Ask, Asked, Player, PlayerFault};
use super::state::RunState;
use llm::Price;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A role that a model plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// Labels, comparisons of competitions, tricks from solutions, queries for papers.
    Retriever,
    /// Whether a trick applies, how hard a plan is to code.
    Analyzer,
    /// Plans from the task alone.
    Planner,
    /// Steps and scripts.
    Coder,
    /// Plans that change or repair another.
    Improver,
    /// Judgements of runs.
    Verifier,
}

/// A name that no role has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no role `{0}`; one of retriever, analyzer, planner, coder, improver and verifier"
)]
pub struct UnknownRole(String);

impl AgentRole {
    /// All roles, in the order of a run.
    pub const ALL: [Self; 6] = [
        Self::Retriever,
        Self::Analyzer,
        Self::Planner,
        Self::Coder,
        Self::Improver,
        Self::Verifier,
    ];

    /// Its name in flags, journals and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retriever => "retriever",
            Self::Analyzer => "analyzer",
            Self::Planner => "planner",
            Self::Coder => "coder",
            Self::Improver => "improver",
            Self::Verifier => "verifier",
        }
    }

    /// The role that answers a question; `None` of scaffolds without roles.
    pub fn of(what: Asked) -> Option<Self> {
        match what {
            Asked::AutoMind(job) => Some(job.role()),
            Asked::Knowledge(_) => Some(Self::Retriever),
            Asked::Script(_) | Asked::Judgement | Asked::Turn(_) | Asked::Summary(_) => None,
        }
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AgentRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// A player for some roles, and one for all others.
#[derive(Debug)]
pub struct RolePlayers {
    others: Box<dyn Player>,
    roles: BTreeMap<AgentRole, Box<dyn Player>>,
}

impl RolePlayers {
    /// `others` answers what none of `roles` does.
    pub fn new(others: Box<dyn Player>, roles: BTreeMap<AgentRole, Box<dyn Player>>) -> Self {
        Self { others, roles }
    }

    fn of(&self, what: Asked) -> &dyn Player {
        let role = AgentRole::of(what).and_then(|role| self.roles.get(&role));
        &**role.unwrap_or(&self.others)
    }
}

impl Player for RolePlayers {
    /// Such as `big, coder=small`.
    fn name(&self) -> String {
        let roles = self.roles.iter().map(|(role, player)| (*role, player.name()));
        names(&self.others.name(), roles)
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, PlayerFault> {
        self.of(ask.what).answer(ask)
    }

    fn answered_by(&self, ask: &Ask<'_>) -> Option<String> {
        let player = self.of(ask.what);
        player.answered_by(ask).or_else(|| Some(player.name()))
    }
}

/// The name of players of which some have roles of their own.
///
/// # Examples
/// ```rust
/// use agents::run::role::{AgentRole, names};
///
/// assert_eq!(names("big", [(AgentRole::Coder, "small".to_owned())]), "big, coder=small");
/// ```
pub fn names(others: &str, roles: impl IntoIterator<Item = (AgentRole, String)>) -> String {
    roles.into_iter().fold(others.to_owned(), |all, (role, name)| format!("{all}, {role}={name}"))
}

/// What a role used of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleUse {
    /// The role.
    pub role: AgentRole,
    /// The name of the player that answered.
    pub model: String,
    /// Questions, repairs included.
    pub questions: u64,
    /// Tokens of prompts.
    pub read: u64,
    /// Tokens of answers, thoughts included.
    pub written: u64,
    /// In US dollars; `None` if the price is not known.
    pub cost: Option<f64>,
}

impl fmt::Display for RoleUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, model, questions, read, written, cost } = self;
        write!(f, "{role}: {model}, {questions} questions, {read} tokens read, {written} written")?;
        cost.map_or(Ok(()), |cost| write!(f, ", ${cost:.4}"))
    }
}

/// What each role used in a run, in the order of roles; empty of a scaffold without roles. `price`
/// is that of an answer to a question.
pub fn role_uses(state: &RunState, price: impl Fn(Asked) -> Option<Price>) -> Vec<RoleUse> {
    let mut uses: BTreeMap<(AgentRole, &str), (RoleUse, u64)> = BTreeMap::new();
    for asked in state.asked.values() {
        let Some(role) = AgentRole::of(asked.what) else { continue };
        let model = asked.by.as_deref().unwrap_or(&state.header.player);
        let (found, micro) = uses.entry((role, model)).or_insert_with(|| {
            let cost = price(asked.what).map(|_| 0.0);
            let model = model.to_owned();
            (RoleUse { role, model, questions: 0, read: 0, written: 0, cost }, 0)
        });
        found.questions += 1;
        found.read += asked.usage.input;
        found.written += asked.usage.output;
        *micro += price(asked.what).map_or(0, |price| price.cost(&asked.usage).0);
    }
    let known = |(mut found, micro): (RoleUse, u64)| {
        found.cost = found.cost.map(|_| micro as f64 / 1e6);
        found
    };
    uses.into_values().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::job::AutoMindJob;

    #[test]
    fn every_job_has_a_role_and_every_role_a_job_or_knowledge() {
        for role in AgentRole::ALL {
            assert_eq!(role.name().parse(), Ok(role));
            let has_job = AutoMindJob::ALL.into_iter().any(|job| job.role() == role);
            assert_eq!(has_job, role != AgentRole::Retriever, "{role}");
        }
        let wrong = "tester".parse::<AgentRole>().unwrap_err().to_string();
        assert!(wrong.starts_with("there is no role `tester`; one of retriever"), "{wrong}");
    }
}
