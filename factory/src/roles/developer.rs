//! ML Developer: tables and items, baselines, milestones.

use super::{Development, RoleError};
use crate::baselines::thresholds;
use crate::data::assets::Assets;
use crate::spec::blueprint::Blueprint;

/// Fits the baselines to the data and sets the milestones between them.
///
/// # Errors
/// [`RoleError::Ladder`].
pub fn develop(blueprint: &Blueprint, assets: Assets) -> Result<Development, RoleError> {
    let ladder = blueprint.kind().fit_baselines(blueprint, &assets)?;
    let thresholds = thresholds::from_ladder(&ladder.baselines, blueprint.formulation);
    Ok(Development { assets, ladder, thresholds })
}
