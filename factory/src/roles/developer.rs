//! ML Developer: tables and items, baselines, milestones.

use super::{RoleRefusal, TaskFacts};
use crate::baselines::thresholds;
use crate::data::assets::Assets;
use crate::data::items;
use crate::generator::GeneratedRows;
use crate::kinds::RenderError;
use crate::spec::blueprint::Blueprint;

/// Renders the data of a blueprint, fits the baselines to it and sets the milestones between
/// them. What a generator drew of the rows is given.
///
/// # Errors
/// [`RoleRefusal`] with the code `render` or `ladder`.
pub fn develop(
    blueprint: &Blueprint,
    generated: Option<GeneratedRows>,
) -> Result<TaskFacts, RoleRefusal> {
    let assets = rendered(blueprint, generated.as_ref())?;
    fitted(blueprint, generated, assets)
}

/// Renders the data of a blueprint and reads its items back.
///
/// # Errors
/// [`RenderError`].
pub fn rendered(
    blueprint: &Blueprint,
    generated: Option<&GeneratedRows>,
) -> Result<Assets, RenderError> {
    let assets = blueprint.kind().render(blueprint, generated)?;
    items::read_back(&assets.train_items)?;
    items::read_back(&assets.test_items)?;
    Ok(assets)
}

/// The same of data that are rendered.
///
/// # Errors
/// [`RoleRefusal`] with the code `ladder`.
pub(super) fn fitted(
    blueprint: &Blueprint,
    generated: Option<GeneratedRows>,
    assets: Assets,
) -> Result<TaskFacts, RoleRefusal> {
    let ladder = blueprint.kind().fit_baselines(blueprint, &assets)?;
    let thresholds = thresholds::from_ladder(&ladder.baselines, blueprint.medals());
    Ok(TaskFacts { blueprint: blueprint.clone(), generated, assets, ladder, thresholds })
}
