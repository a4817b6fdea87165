//! Episodes, reduced to what tells whether a policy has learnt something: what its scripts are made
//! of, what of them its demonstrations have, and the rewards.

use super::parts::{Combination, parts};
use agents::script::scripts;
use agents::trajectory::{Source, Trajectory};
use std::collections::HashSet;
use tasks::task::TaskId;

/// The episodes of policies, of scripted agents beside them, and the demonstrations that the
/// policies were fine-tuned on. [`Evidence::learnt`] sums them up.
///
/// Conversations are not kept, so that a long run can be added step by step.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    pub(super) demonstrations: Option<Demonstrations>,
    pub(super) policies: Vec<AgentEpisodes>,
    pub(super) scripted: Vec<AgentEpisodes>,
}

/// Demonstrations, and what is looked up in them.
#[derive(Debug, Clone)]
pub(super) struct Demonstrations {
    pub(super) episodes: Vec<EpisodeFacts>,
    /// Scripts, those that failed included.
    pub(super) scripts: HashSet<String>,
    /// The lines of the scripts, without the blanks around them.
    lines: HashSet<String>,
    pub(super) prompts: HashSet<String>,
    /// Combinations of all scripts that finished.
    combinations: HashSet<Combination>,
}

/// The episodes of one agent.
#[derive(Debug, Clone)]
pub(super) struct AgentEpisodes {
    pub(super) name: String,
    pub(super) episodes: Vec<EpisodeFacts>,
}

/// What counts of one episode.
#[derive(Debug, Clone)]
pub(super) struct EpisodeFacts {
    pub(super) task: TaskId,
    /// Total reward.
    pub(super) reward: f64,
    /// Whether it has a valid submission.
    pub(super) is_evaluated: bool,
    /// The parts of its last script that finished; `None` without such a script.
    pub(super) combination: Option<Combination>,
    /// Scripts that ran.
    pub(super) scripts: usize,
    /// What demonstrations have of it; `None` without demonstrations.
    pub(super) shared: Option<SharedFacts>,
}

/// What the demonstrations have of an episode.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedFacts {
    /// Scripts that are a demonstration's, byte for byte.
    pub(super) copies: usize,
    /// Scripts with a line that no demonstration has.
    pub(super) with_new_line: usize,
    /// Whether no demonstration has its combination; false without a combination.
    pub(super) has_new_combination: bool,
    /// Whether a demonstration has its prompt.
    pub(super) has_seen_prompt: bool,
}

impl Evidence {
    /// No episodes yet; `None` where policies were not fine-tuned on demonstrations, or these are
    /// not at hand.
    pub fn new(demonstrations: Option<&[Trajectory]>) -> Self {
        let demonstrations = demonstrations.map(Demonstrations::from_trajectories);
        Self { demonstrations, policies: Vec::new(), scripted: Vec::new() }
    }

    /// Adds episodes of a policy. Several calls with one name add to the same policy; the order of
    /// first calls is that of the tables, and all others are compared with the first.
    pub fn add_policy(&mut self, name: &str, trajectories: &[Trajectory]) {
        let facts = self.facts(trajectories);
        add(&mut self.policies, name, facts);
    }

    /// Adds episodes of a scripted agent that sees no more than the policies do.
    pub fn add_scripted(&mut self, name: &str, trajectories: &[Trajectory]) {
        let facts = self.facts(trajectories);
        add(&mut self.scripted, name, facts);
    }

    fn facts(&self, trajectories: &[Trajectory]) -> Vec<EpisodeFacts> {
        let demonstrations = self.demonstrations.as_ref();
        trajectories.iter().map(|it| EpisodeFacts::new(it, demonstrations)).collect()
    }
}

fn add(agents: &mut Vec<AgentEpisodes>, name: &str, facts: Vec<EpisodeFacts>) {
    match agents.iter_mut().find(|agent| agent.name == name) {
        Some(agent) => agent.episodes.extend(facts),
        None => agents.push(AgentEpisodes { name: name.to_owned(), episodes: facts }),
    }
}

impl Demonstrations {
    fn from_trajectories(trajectories: &[Trajectory]) -> Self {
        let mut scripts_seen = HashSet::new();
        let mut combinations = HashSet::new();
        for script in trajectories.iter().flat_map(scripts) {
            if script.is_finished {
                combinations.insert(parts(&script.code));
            }
            scripts_seen.insert(script.code);
        }
        let lines = scripts_seen.iter().flat_map(|code| lines(code)).map(str::to_owned).collect();
        Self {
            episodes: trajectories.iter().map(|it| EpisodeFacts::new(it, None)).collect(),
            scripts: scripts_seen,
            lines,
            prompts: trajectories.iter().map(prompt).collect(),
            combinations,
        }
    }

    fn shared(
        &self,
        trajectory: &Trajectory,
        scripts: &[String],
        last: Option<&Combination>,
    ) -> SharedFacts {
        let count = |holds: &dyn Fn(&String) -> bool| scripts.iter().filter(|it| holds(it)).count();
        SharedFacts {
            copies: count(&|code| self.scripts.contains(code)),
            with_new_line: count(&|code| lines(code).any(|line| !self.lines.contains(line))),
            has_new_combination: last.is_some_and(|parts| !self.combinations.contains(parts)),
            has_seen_prompt: self.prompts.contains(&prompt(trajectory)),
        }
    }
}

impl EpisodeFacts {
    fn new(trajectory: &Trajectory, demonstrations: Option<&Demonstrations>) -> Self {
        let scripts = scripts(trajectory);
        let last = scripts.iter().rfind(|script| script.is_finished);
        let combination = last.map(|script| parts(&script.code));
        let codes: Vec<String> = scripts.into_iter().map(|script| script.code).collect();
        let shared = demonstrations.map(|it| it.shared(trajectory, &codes, combination.as_ref()));
        Self {
            task: trajectory.task.clone(),
            reward: trajectory.reward.total(),
            is_evaluated: trajectory.grade().is_some(),
            combination,
            scripts: codes.len(),
            shared,
        }
    }
}

/// The lines of a script without the blanks around them; empty ones do not count.
fn lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The text that opened an episode.
fn prompt(trajectory: &Trajectory) -> String {
    let of_prompt = |segment: &&agents::trajectory::Segment| segment.source == Source::Prompt;
    let texts = trajectory.segments.iter().filter(of_prompt).map(|segment| segment.text.as_str());
    // Nothing in a text can look like the border of two.
    texts.collect::<Vec<_>>().join("\0")
}
