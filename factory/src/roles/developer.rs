//! ML Developer: tables and items, baselines, milestones.

use super::{Development, RoleError};
use crate::blueprint::Blueprint;
use crate::{assets, ladder, thresholds};

/// Builds what the blueprint describes.
///
/// # Errors
/// [`RoleError::Medium`] or [`RoleError::Ladder`].
pub fn develop(blueprint: &Blueprint) -> Result<Development, RoleError> {
    let assets = assets::render(blueprint)?;
    let ladder = ladder::climb(blueprint, &assets)?;
    let thresholds = thresholds::from_ladder(&ladder.baselines);
    Ok(Development { assets, ladder, thresholds })
}
