//! ML Developer: tables and items, baselines, milestones.

use super::{RoleRefusal, TaskFacts};
use crate::baselines::thresholds;
use crate::spec::blueprint::Blueprint;

/// Renders the data of a blueprint, fits the baselines to it and sets the milestones between
/// them.
///
/// # Errors
/// [`RoleRefusal`] with the code `medium` or `ladder`.
pub fn develop(blueprint: &Blueprint) -> Result<TaskFacts, RoleRefusal> {
    let kind = blueprint.kind();
    let assets = kind.render(blueprint)?;
    let ladder = kind.fit_baselines(blueprint, &assets)?;
    let thresholds = thresholds::from_ladder(&ladder.baselines, blueprint.formulation);
    Ok(TaskFacts { blueprint: blueprint.clone(), assets, ladder, thresholds })
}
