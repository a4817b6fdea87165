//! The trait of the four roles, and their built-in implementation.

#[cfg(test)]
mod tests;

use super::{
    RoleAuthor, RoleCall, RoleFault, RoleName, RoleReply, TaskFacts, TaskPart, developer, operator,
    strategist,
};
use crate::page::{self, Prose};
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::config::Preset;
use crate::spec::levels::Levels;
use crate::spec::plan::Slot;
use crate::spec::scenario::Scenario;
use crate::spec::seed::Seed;
use std::collections::BTreeMap;

/// What the strategist starts from.
#[derive(Debug, Clone)]
pub struct Brief<'a> {
    /// The place in the corpus: kind of task, split, name.
    pub slot: &'a Slot,
    /// The seed competition that the task descends from.
    pub seed: &'a Seed,
    /// The story that names columns and target.
    pub scenario: &'a Scenario,
    /// Where the attempt's random streams start.
    pub origin: Origin,
    /// Sizes of the tables.
    pub preset: Preset,
    /// The levels of difficulty that the task may have.
    pub levels: Levels,
}

/// What plays the roles of a task, for ledger and manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleBackend {
    /// [`Builtin`].
    Builtin,
    /// A chat model, in some of the roles or in all.
    Model {
        /// How much the model makes, such as `writer`.
        mode: String,
        /// Names of the models, `endpoint:name`.
        model: String,
        /// The models whose products are in the task, by role; the other roles are built in.
        authors: BTreeMap<RoleName, RoleAuthor>,
    },
}

/// The description page.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskPage {
    /// The text of `description.md`.
    pub text: String,
    /// The prose that a model wrote, from which the text was laid out; `None` for a built-in page.
    pub prose: Option<Prose>,
}

/// The roles that make a task: strategist, developer, engineer, technical writer, and the judge of
/// the writer's page.
///
/// Each returns its product or a refusal, and what the call cost; a [`RoleFault`] ends the run.
/// A product depends on the arguments of its call alone, never on other slots, so that a corpus
/// does not depend on the number of threads.
pub trait Roles: Sync {
    /// What plays the roles of a brief, where models made the products of `authors`.
    fn backend(&self, brief: &Brief<'_>, authors: BTreeMap<RoleName, RoleAuthor>) -> RoleBackend;

    /// Whether a repeated call of a role for a brief can return something else. If not, a refused
    /// role is not asked again within an attempt.
    fn repeatable(&self, role: RoleName, brief: &Brief<'_>) -> bool;

    /// The role that writes a part of a task, and so gets the feedback if a check refuses that
    /// part. To be overridden where the developer writes the mechanism.
    fn author(&self, part: TaskPart, _brief: &Brief<'_>) -> RoleName {
        match part {
            TaskPart::Mechanism => RoleName::Strategist,
            TaskPart::Data => RoleName::Developer,
            TaskPart::Evaluator => RoleName::Operator,
            TaskPart::Description => RoleName::Writer,
        }
    }

    /// What plays a role at an attempt whose own role does not deliver; `None` if the attempt is
    /// refused then.
    fn stand_in(&self, _role: RoleName) -> Option<&dyn Roles> {
        None
    }

    /// Data Strategist: seed, story and mutations become a blueprint.
    ///
    /// # Errors
    /// [`RoleFault`] if the role cannot be asked.
    fn strategise(
        &self,
        brief: &Brief<'_>,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<Blueprint>, RoleFault>;

    /// ML Developer: the blueprint becomes rows and items, baselines and thresholds.
    ///
    /// # Errors
    /// [`RoleFault`] if the role cannot be asked.
    fn develop(
        &self,
        blueprint: &Blueprint,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskFacts>, RoleFault>;

    /// `MLOps` Engineer: the code of a standalone evaluator in Python.
    ///
    /// # Errors
    /// [`RoleFault`] if the role cannot be asked.
    fn operate(
        &self,
        facts: &TaskFacts,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<String>, RoleFault>;

    /// Technical Writer: the description page.
    ///
    /// # Errors
    /// [`RoleFault`] if the role cannot be asked.
    fn write(
        &self,
        facts: &TaskFacts,
        scenario: &Scenario,
        call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskPage>, RoleFault>;

    /// Judge: whether a reader of the page finds out what the task is. Accepts every page
    /// unless it is overridden.
    ///
    /// # Errors
    /// [`RoleFault`] if the judge cannot be asked.
    fn judge(
        &self,
        _facts: &TaskFacts,
        _scenario: &Scenario,
        _page: &TaskPage,
        _call: RoleCall<'_>,
    ) -> Result<RoleReply<()>, RoleFault> {
        Ok(Ok(()).into())
    }
}

/// Seeded procedures; no model, no network. Each product is a function of brief and attempt, so
/// feedback changes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Builtin;

impl Roles for Builtin {
    fn backend(&self, _brief: &Brief<'_>, _authors: BTreeMap<RoleName, RoleAuthor>) -> RoleBackend {
        RoleBackend::Builtin
    }

    fn repeatable(&self, _role: RoleName, _brief: &Brief<'_>) -> bool {
        false
    }

    fn strategise(
        &self,
        brief: &Brief<'_>,
        _call: RoleCall<'_>,
    ) -> Result<RoleReply<Blueprint>, RoleFault> {
        Ok(strategist::strategise(brief).into())
    }

    fn develop(
        &self,
        blueprint: &Blueprint,
        _call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskFacts>, RoleFault> {
        Ok(developer::develop(blueprint, None).into())
    }

    fn operate(
        &self,
        facts: &TaskFacts,
        _call: RoleCall<'_>,
    ) -> Result<RoleReply<String>, RoleFault> {
        Ok(Ok(operator::evaluator(&facts.blueprint)).into())
    }

    fn write(
        &self,
        facts: &TaskFacts,
        scenario: &Scenario,
        _call: RoleCall<'_>,
    ) -> Result<RoleReply<TaskPage>, RoleFault> {
        let text = page::builtin(&facts.blueprint, scenario, &facts.assets);
        Ok(Ok(TaskPage { text, prose: None }).into())
    }
}
