//! What tasks with answers of their own share: the material that their rungs are fitted to, and how
//! the rungs become a ladder.

use super::ladder::{Ladder, LadderError};
use crate::data::assets::Assets;
use crate::data::items::Item;
use crate::data::score::Forecast;
use crate::spec::blueprint::Blueprint;
use tasks::metrics::Metric;
use tasks::stream::Stream;
use tasks::task::Baselines;
use tasks::values::{self, Values};

/// What rungs are fitted to: rows as the public files hold them, each an `R`.
#[derive(Debug)]
pub struct Material<'a, R> {
    /// The training rows.
    pub train: Vec<R>,
    /// The test rows.
    pub test: Vec<R>,
    /// The truth of the training rows.
    pub train_truth: &'a Values,
    /// The truth of the test rows, for the ceiling only.
    pub test_truth: &'a Values,
    /// What an oracle says of the test rows, for the ceiling only.
    pub ideal: &'a Values,
    /// The task's metric.
    pub metric: Metric,
    /// Where the rungs' chance comes from.
    pub stream: Stream,
}

/// Forecasts of the rungs.
#[derive(Debug)]
pub struct Rungs {
    /// Test forecasts of R0 to R3 and of the ceiling.
    pub forecasts: [Values; 5],
    /// R0's forecast of the training rows; `None` where it says the same of every row.
    pub start: Option<Values>,
    /// R2's forecast of training rows that it was not fitted to.
    pub unseen: Values,
}

/// Fits and scores all rungs. `read` is what a row's item says, and nothing for one that cannot be
/// read; `climb` fits the rungs. No rung but R2 has chance in it, and R2 has one seed.
///
/// # Errors
/// [`LadderError`].
pub fn climb<R>(
    blueprint: &Blueprint,
    assets: &Assets,
    read: impl Fn(&Item) -> Option<R>,
    climb: impl FnOnce(&Material<'_, R>) -> Result<Rungs, LadderError>,
) -> Result<Ladder, LadderError> {
    let rows = |items: &[Item]| -> Vec<R> { items.iter().filter_map(&read).collect() };
    let (train_truth, test_truth) = (
        assets.train_truth.values(&blueprint.prediction),
        assets.test_truth.values(&blueprint.prediction),
    );
    let material = Material {
        train: rows(&assets.train_items),
        test: rows(&assets.test_items),
        train_truth: &train_truth,
        test_truth: &test_truth,
        ideal: assets.ideal.as_ref().unwrap_or(&test_truth),
        metric: blueprint.metric,
        stream: blueprint.origin.stream("rungs"),
    };
    let Rungs { forecasts, start, unseen } = climb(&material)?;
    let score = |rung: usize| {
        values::score(blueprint.metric, &test_truth, &forecasts[rung])
            .map_err(|source| LadderError::Score { rung, source })
    };
    let baselines =
        Baselines { ladder: [score(0)?, score(1)?, score(2)?, score(3)?], ceiling: score(4)? };
    Ok(Ladder {
        constants: Vec::new(),
        baselines,
        forecasts: forecasts.map(Forecast::Structured),
        start: start.map(Forecast::Structured),
        out_of_bag: Forecast::Structured(unseen),
    })
}

/// The candidate whose forecast of the truth scores best; the first of equals.
pub fn best<T>(
    metric: Metric,
    truth: &Values,
    candidates: impl IntoIterator<Item = (T, Values)>,
) -> Option<T> {
    let mut chosen: Option<(f64, T)> = None;
    for (candidate, forecast) in candidates {
        let Ok(score) = values::score(metric, truth, &forecast) else { continue };
        let gain = metric.direction().gain(score);
        if chosen.as_ref().is_none_or(|(best, _)| gain > *best) {
            chosen = Some((gain, candidate));
        }
    }
    chosen.map(|(_, candidate)| candidate)
}
