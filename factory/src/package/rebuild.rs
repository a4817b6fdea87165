//! Builds a task once more from what its folder keeps. No role is asked.

use super::{Draft, TaskSource};
use crate::page;
use crate::roles::{RoleBackend, RoleRefusal, TaskFacts, TaskPage, developer, operator};
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

/// Builds a task from its source and the story that the blueprint names, by the built-in
/// procedures. Baselines and thresholds are those of `known`; without it, they are fitted again.
///
/// # Errors
/// [`RebuildError`].
pub fn rebuild(
    source: &TaskSource,
    scenario: &Scenario,
    known: Option<&TaskFacts>,
) -> Result<Draft, RebuildError> {
    let TaskSource { blueprint, generated, prose, evaluator } = source;
    let rendered = || blueprint.kind().render(blueprint, generated.as_ref());
    let facts = match known {
        None => developer::develop(blueprint, generated.clone())?,
        Some(known) => TaskFacts {
            blueprint: blueprint.clone(),
            generated: generated.clone(),
            assets: rendered().map_err(RoleRefusal::from)?,
            ladder: known.ladder.clone(),
            thresholds: known.thresholds,
        },
    };
    let evaluator = evaluator.clone().unwrap_or_else(|| operator::evaluator(blueprint));
    let text = match prose {
        None => page::builtin(blueprint, scenario, &facts.assets),
        Some(prose) => page::with_prose(blueprint, scenario, &facts.assets, prose),
    };
    let page = TaskPage { text, prose: prose.clone() };
    Ok(Draft::new(facts, evaluator, page, RoleBackend::Builtin)?)
}
