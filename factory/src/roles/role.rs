//! The trait of the four roles, what passes between them, and the built-in implementation.

#[cfg(test)]
mod tests;

use super::{developer, operator, strategist, writer};
use crate::baselines::ladder::{Ladder, LadderError};
use crate::data::assets::Assets;
use crate::media::MediumError;
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::config::Preset;
use crate::spec::plan::Slot;
use crate::spec::scenario::Scenario;
use crate::spec::seed::Seed;
use tasks::thresholds::Thresholds;

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
    /// Why the attempt before this one was refused.
    pub feedback: Option<&'a str>,
}

/// What the developer hands over.
#[derive(Debug, Clone)]
pub struct Development {
    /// Tables, items and truth of the task.
    pub assets: Assets,
    /// Scores of the baselines and the ceiling.
    pub ladder: Ladder,
    /// Scores of the milestones: median, bronze, silver, gold.
    pub thresholds: Thresholds,
}

/// Why a role could not deliver.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// No rule with enough weight on each term was found for the scenario's columns.
    #[error("no balanced rule was found in {0} drafts")]
    NoRule(usize),
    /// The scenario lacks what the slot asks for.
    #[error("the scenario `{0}` does not serve the formulation")]
    Scenario(String),
    /// A medium could not read its own item.
    #[error(transparent)]
    Medium(#[from] MediumError),
    /// The ladder could not be built.
    #[error(transparent)]
    Ladder(#[from] LadderError),
}

impl RoleError {
    /// The reason code in ledgers.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRule(_) => "no_rule",
            Self::Scenario(_) => "scenario",
            Self::Medium(_) => "medium",
            Self::Ladder(_) => "ladder",
        }
    }
}

/// The roles that make a task: strategist, developer, engineer, technical writer.
pub trait Roles: Sync {
    /// Data Strategist: seed, story and mutations become a blueprint.
    ///
    /// # Errors
    /// [`RoleError`].
    fn strategise(&self, brief: &Brief<'_>) -> Result<Blueprint, RoleError>;

    /// ML Developer, first half: the blueprint becomes tables and items.
    ///
    /// # Errors
    /// [`RoleError`].
    fn render(&self, blueprint: &Blueprint) -> Result<Assets, RoleError>;

    /// ML Developer, second half: tables and items get baselines and milestones.
    ///
    /// # Errors
    /// [`RoleError`].
    fn develop(&self, blueprint: &Blueprint, assets: Assets) -> Result<Development, RoleError>;

    /// `MLOps` Engineer: a standalone evaluator in Python.
    ///
    /// # Errors
    /// [`RoleError`].
    fn operate(&self, blueprint: &Blueprint) -> Result<String, RoleError>;

    /// Technical Writer: the description page.
    ///
    /// # Errors
    /// [`RoleError`].
    fn write(
        &self,
        blueprint: &Blueprint,
        scenario: &Scenario,
        assets: &Assets,
    ) -> Result<String, RoleError>;
}

/// Seeded procedures; no model, no network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Builtin;

impl Roles for Builtin {
    fn strategise(&self, brief: &Brief<'_>) -> Result<Blueprint, RoleError> {
        strategist::strategise(brief)
    }

    fn render(&self, blueprint: &Blueprint) -> Result<Assets, RoleError> {
        Ok(blueprint.kind().render(blueprint)?)
    }

    fn develop(&self, blueprint: &Blueprint, assets: Assets) -> Result<Development, RoleError> {
        developer::develop(blueprint, assets)
    }

    fn operate(&self, blueprint: &Blueprint) -> Result<String, RoleError> {
        Ok(operator::evaluator(blueprint))
    }

    fn write(
        &self,
        blueprint: &Blueprint,
        scenario: &Scenario,
        assets: &Assets,
    ) -> Result<String, RoleError> {
        Ok(writer::describe(blueprint, scenario, assets))
    }
}
