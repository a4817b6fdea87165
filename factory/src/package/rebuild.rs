//! Builds a task once more from what its folder keeps. No role is asked.

use super::Draft;
use crate::page::{self, Prose};
use crate::roles::{RoleBackend, RoleRefusal, TaskFacts, TaskPage, developer, operator};
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::Scenario;
use std::io;

/// Why a task cannot be built once more.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// A built-in procedure does not deliver.
    #[error(transparent)]
    Role(#[from] RoleRefusal),
    /// A file cannot be serialised.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Builds a task from its blueprint, the blueprint's story, and what models wrote, the prose of its
/// page and its evaluator, by the built-in procedures. Baselines and thresholds are those of
/// `known`; without it, they are fitted again.
///
/// # Errors
/// [`RebuildError`].
pub fn rebuild(
    blueprint: &Blueprint,
    scenario: &Scenario,
    prose: Option<&Prose>,
    evaluator: Option<String>,
    known: Option<&TaskFacts>,
) -> Result<Draft, RebuildError> {
    let facts = match known {
        None => developer::develop(blueprint)?,
        Some(known) => TaskFacts {
            blueprint: blueprint.clone(),
            assets: blueprint.kind().render(blueprint).map_err(RoleRefusal::from)?,
            ladder: known.ladder.clone(),
            thresholds: known.thresholds,
        },
    };
    let evaluator = evaluator.unwrap_or_else(|| operator::evaluator(blueprint));
    let text = match prose {
        None => page::builtin(blueprint, scenario, &facts.assets),
        Some(prose) => page::with_prose(blueprint, scenario, &facts.assets, prose),
    };
    let page = TaskPage { text, prose: prose.cloned() };
    Ok(Draft::new(facts, evaluator, page, RoleBackend::Builtin)?)
}
