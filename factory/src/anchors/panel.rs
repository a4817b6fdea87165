//! The reference solvers of an anchor, and the milestones that their scores give.
//!
//! Real data has no known rule, and on much of it a linear model beats a forest. So the rungs are
//! places in the order of eleven reference solvers, not single models: R1 is the first quartile of
//! their scores, R2 the median, R3 the best. Milestones follow from the rungs as on corpora
//! (`baselines::thresholds`). The ceiling, which a corpus knows, is here the point a tenth of the
//! way from R0 to R3 beyond R3, at most the perfect score: a scale for shares of the way, no bound.

use super::catalogue::AnchorSpec;
use super::features::Features;
use super::reference::{Neighbours, Scale, crossed, forest, linear, mean, strongest};
use crate::baselines::thresholds::Medals;
use crate::baselines::{ladder, thresholds};
use crate::data::labels::Truth;
use crate::data::score::Forecast;
use crate::numeric::forest::ForestError;
use crate::numeric::logistic::LogisticError;
use crate::numeric::rounding::round;
use evals::statistics::quantile;
use serde::Serialize;
use tasks::metrics::{Direction, Metric, MetricError};
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::task::Baselines;
use tasks::thresholds::Thresholds;
use tasks::values::{self, Values};

/// Penalties of linear models: scikit-learn's default, and a strong one for many columns.
const PENALTIES: [f64; 2] = [1.0, 100.0];
/// Neighbours of the two solvers that look for them.
const NEIGHBOURS: [usize; 2] = [1, 15];
/// How far the ceiling lies beyond the best solver, in shares of that solver's way from R0.
const MARGIN: f64 = 0.1;

/// Why milestones could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum PanelError {
    /// A forest could not be grown.
    #[error(transparent)]
    Forest(#[from] ForestError),
    /// A regression could not be fitted.
    #[error(transparent)]
    Logistic(#[from] LogisticError),
    /// A solver's score is undefined.
    #[error("the reference solver `{solver}` has no score")]
    Score {
        /// Which one.
        solver: &'static str,
        /// Why the metric has no value.
        #[source]
        source: MetricError,
    },
    /// The data does not tell solvers apart by this metric.
    #[error("the reference solvers' scores {scores:?} are in no strict order above {constant}")]
    Order {
        /// R1 to R3.
        scores: [f64; 3],
        /// R0.
        constant: f64,
    },
}

/// The score of one reference solver on all test rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Reference {
    pub(super) solver: &'static str,
    pub(super) score: f64,
}

/// All reference solvers of an anchor.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    /// What knows nothing of the rows.
    pub(super) constant: Forecast,
    /// From the weakest.
    pub(super) references: Vec<Reference>,
    pub(super) baselines: Baselines,
    pub(super) thresholds: Thresholds,
}

/// Fits all reference solvers and places the milestones.
///
/// # Errors
/// [`PanelError`].
pub(super) fn assess(
    spec: &AnchorSpec,
    prediction: &Prediction,
    features: &Features,
    (train, test): (&Truth, &Truth),
    stream: Stream,
) -> Result<Panel, PanelError> {
    let direction = spec.metric.direction();
    let truth = test.values(prediction);
    let score =
        |solver, forecast: &Forecast| score(spec.metric, &truth, solver, forecast, prediction);
    let constants: Vec<Vec<f64>> =
        train.parts().iter().map(|part| ladder::constant(part, spec.metric)).collect();
    let constant = Forecast::constant(&constants, test);
    let r0 = score("constant", &constant)?;
    let mut references = Vec::new();
    for (solver, forecast) in forecasts(spec, features, train, stream)? {
        references.push(Reference { solver, score: score(solver, &forecast)? });
    }
    references.sort_by(|a, b| direction.gain(a.score).total_cmp(&direction.gain(b.score)));

    let gains: Vec<f64> = references.iter().map(|one| direction.gain(one.score)).collect();
    let place = |share| direction.gain(quantile(&gains, share).unwrap_or(f64::NAN));
    let [r1, r2, r3] = [0.25, 0.5, 1.0].map(place);
    let ceiling = ceiling(spec.metric, r0, r3);
    let baselines = Baselines { ladder: [r0, r1, r2, r3], ceiling };
    let thresholds = thresholds::from_ladder(&baselines, Medals::Transforms);
    let is_reached = direction.reaches(r3, thresholds.gold_threshold);
    if !is_reached || !thresholds.strictly_ordered(r0, direction) {
        return Err(PanelError::Order { scores: [r1, r2, r3], constant: r0 });
    }
    Ok(Panel { constant, references, baselines, thresholds })
}

/// A tenth of the way beyond the best solver, at most the perfect score.
fn ceiling(metric: Metric, r0: f64, r3: f64) -> f64 {
    let beyond = round(r3 + MARGIN * (r3 - r0), 6);
    match metric.direction() {
        Direction::HigherIsBetter => beyond.min(1.0),
        Direction::LowerIsBetter => beyond.max(0.0),
    }
}

fn score(
    metric: Metric,
    truth: &Values,
    solver: &'static str,
    forecast: &Forecast,
    prediction: &Prediction,
) -> Result<f64, PanelError> {
    values::score(metric, truth, &forecast.values(prediction))
        .map_err(|source| PanelError::Score { solver, source })
}

/// What each solver forecasts for the test rows.
fn forecasts(
    spec: &AnchorSpec,
    Features { plain, full }: &Features,
    train: &Truth,
    stream: Stream,
) -> Result<Vec<(&'static str, Forecast)>, PanelError> {
    let scale = Scale::of(spec.metric);
    let [weak, strong] = PENALTIES;
    let [one, many] = NEIGHBOURS;
    let near = Neighbours::of(full, many);
    let shrunken = linear(full, train, scale, strong)?;
    let grown = forest(full, train, scale, stream.child("forest"))?;
    let many = near.forecast(train, scale, many);
    let products = linear(&crossed(full, train), train, scale, strong)?;
    let blend = mean(&[&shrunken, &grown, &many, &products]);
    let with_forest = mean(&[&shrunken, &grown]);
    Ok(vec![
        ("strongest column", linear(&strongest(full, train), train, scale, weak)?),
        ("linear on plain numbers", linear(plain, train, scale, weak)?),
        ("linear", linear(full, train, scale, weak)?),
        ("linear, strongly penalised", shrunken),
        ("nearest neighbour", near.forecast(train, scale, one)),
        ("15 nearest neighbours", many),
        ("forest on plain numbers", forest(plain, train, scale, stream.child("plain forest"))?),
        ("forest", grown),
        ("linear with products", products),
        ("mean of linear and forest", with_forest),
        ("mean of four", blend),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceiling_lies_beyond_the_best_solver_and_never_beyond_perfection() {
        assert!((ceiling(Metric::RocAuc, 0.5, 0.8) - 0.83).abs() < 1e-12);
        assert_eq!(ceiling(Metric::Accuracy, 0.1, 0.99), 1.0);
        assert!((ceiling(Metric::Rmse, 10.0, 5.0) - 4.5).abs() < 1e-12);
        assert_eq!(ceiling(Metric::LogLoss, 1.0, 0.01), 0.0);
    }
}
