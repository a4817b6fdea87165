//! The baseline ladder R0 to R3 and the ceiling, fitted on public training rows only.
//!
//! R0 best constant (random guesses for correlations); R1 ridge or logistic regression on the raw number columns and plain
//! readings of the items; R2 a tuned forest on all columns and generic readings; R3 ridge or
//! logistic regression on the rule's own transforms, of estimates where items carry them.
//! R2 and R3 are averaged over [`SEEDS`] seeds of the forest (R3 has no chance in it).

use crate::baselines::features::{self, Inputs};
use crate::baselines::quantiles;
use crate::data::assets::Assets;
use crate::data::labels::{self, Truth};
use crate::data::mutation::repaired;
use crate::data::network;
use crate::data::score::Forecast;
use crate::media::graph::nodes::NodeNetwork;
use crate::numeric::draws::{Draws, floor, sigmoid};
use crate::numeric::forest::{self, ForestError, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::logistic::{LogisticError, Softmax};
use crate::numeric::matrix::from_columns;
use crate::numeric::moments::median;
use crate::spec::blueprint::{Blueprint, Link, Target};
use crate::spec::rule::Frame;
use ndarray::{Array2, Axis};
use tasks::metrics::{Metric, MetricError};
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::task::Baselines;
use tasks::values;

/// Number of forests per task, each grown from a seed of its own.
pub const SEEDS: usize = 3;

/// Trees of a forest. A few hundred rows are no better served by more.
const TREES: u16 = 40;
/// Trees of a forest that votes for classes, as in scikit-learn's defaults.
const VOTES: u16 = 100;

/// Penalty of the linear rungs, as in scikit-learn's defaults (C = 1, alpha = 1).
pub(super) const PENALTY: f64 = 1.0;

/// Penalty of the top rung where classes are regions of a space of two or three axes: a larger one
/// draws the regions to the edges, and those in the middle vanish.
const LIGHT: f64 = 0.2;
/// Classes without an order beyond which the top rung knows the axes, not their terms alone. With 30
/// classes of a dozen rows each, the terms go 0.6 of the way to the ceiling, the axes 0.9.
const MANY: usize = 12;

/// Scores and forecasts of the rungs.
#[derive(Debug, Clone)]
pub struct Ladder {
    /// The constant row that R0 submits, for each target.
    pub constants: Vec<Vec<f64>>,
    /// R0 to R3 and the ceiling.
    pub baselines: Baselines,
    /// Test forecasts of R0 to R3 and of the ceiling (of R2: its first seed).
    pub forecasts: [Forecast; 5],
    /// R0's forecast of the training rows, where it does not say the same of every row.
    pub start: Option<Forecast>,
    /// R2's out-of-bag forecast of the training rows.
    pub out_of_bag: Forecast,
}

/// Why a ladder could not be built.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// A forest could not be grown.
    #[error(transparent)]
    Forest(#[from] ForestError),
    /// A logistic or softmax regression could not be fitted.
    #[error(transparent)]
    Logistic(#[from] LogisticError),
    /// A rung's score is undefined.
    #[error("rung R{rung} has no score")]
    Score {
        /// Which rung; 4 is the ceiling.
        rung: usize,
        /// Why the metric has no value.
        #[source]
        source: MetricError,
    },
}

/// Fits all rungs to tables whose rows have targets.
///
/// # Errors
/// [`LadderError`].
pub fn climb(blueprint: &Blueprint, assets: &Assets) -> Result<Ladder, LadderError> {
    if let Prediction::Quantiles { .. } = blueprint.prediction {
        return quantiles::climb(blueprint, assets);
    }
    let plain = features::plain(assets);
    let generic = features::generic(assets);
    let frame = rebuilt(blueprint, assets);
    let truths = assets.train_truth.parts();

    let constants: Vec<Vec<f64>> =
        truths.iter().map(|truth| constant(truth, blueprint.metric)).collect();
    let r0 = match blueprint.metric {
        Metric::Pearson | Metric::Spearman => guesses(blueprint, truths, assets.test_truth.len()),
        _ => Forecast::constant(&constants, &assets.test_truth),
    };
    // Where errors count relative to the truth, anyone fits its logarithm.
    let relative = matches!(blueprint.metric, Metric::Rmsle | Metric::Mape | Metric::Smape);
    let r1: Result<Vec<Forecast>, _> =
        truths.iter().map(|truth| linear(&plain, truth, relative, PENALTY)).collect();
    let r1 = Forecast::joined(r1?);
    let (r2, out_of_bag) = forests(blueprint, &generic, truths, relative)?;
    let own = |(target, truth): (&Target, &Truth)| {
        let logarithmic = relative || matches!(target.link, Link::Exponential { .. });
        let penalty = if target.is_nominal() { LIGHT } else { PENALTY };
        linear(&transforms(target, &frame, assets), truth, logarithmic, penalty)
    };
    let r3: Result<Vec<Forecast>, _> = blueprint.targets.iter().zip(truths).map(own).collect();
    let r3 = Forecast::joined(r3?);
    let climbed = Climbed { constants, r0, r1, r2, r3, out_of_bag };
    climbed.scored(blueprint, assets)
}

/// Test forecasts of the rungs, without their scores.
pub(super) struct Climbed {
    /// The constant row that R0 submits, for each target.
    pub(super) constants: Vec<Vec<f64>>,
    pub(super) r0: Forecast,
    pub(super) r1: Forecast,
    /// One for each seed of the forest.
    pub(super) r2: [Forecast; SEEDS],
    pub(super) r3: Forecast,
    /// R2's out-of-bag forecast of the training rows.
    pub(super) out_of_bag: Forecast,
}

impl Climbed {
    /// The ladder, with the ceiling: R2 scores as its seeds do on average.
    ///
    /// # Errors
    /// [`LadderError::Score`].
    pub(super) fn scored(
        self,
        blueprint: &Blueprint,
        assets: &Assets,
    ) -> Result<Ladder, LadderError> {
        let Self { constants, r0, r1, r2, r3, out_of_bag } = self;
        let truth = assets.test_truth.values(&blueprint.prediction);
        let score = |rung: usize, forecast: &Forecast| {
            values::score(blueprint.metric, &truth, &forecast.values(&blueprint.prediction))
                .map_err(|source| LadderError::Score { rung, source })
        };
        let best = labels::expected(blueprint, &assets.test_scores);
        let mut of_forests = 0.0;
        for forecast in &r2 {
            of_forests += score(2, forecast)? / r2.len() as f64;
        }
        let ladder = [score(0, &r0)?, score(1, &r1)?, of_forests, score(3, &r3)?];
        let baselines = Baselines { ladder, ceiling: score(4, &best)? };
        let [first, ..] = r2;
        let forecasts = [r0, r1, first, r3, best];
        Ok(Ladder { constants, baselines, forecasts, start: None, out_of_bag })
    }
}

/// The constant forecast of one target with the best expected score on data like the training
/// rows.
pub fn constant(truth: &Truth, metric: Metric) -> Vec<f64> {
    match truth {
        Truth::Numbers { values, .. } if metric == Metric::MeanPinballLoss => {
            quantiles::among(values.clone()).to_vec()
        }
        Truth::Numbers { values, .. } => {
            let n = values.len() as f64;
            vec![match metric {
                Metric::Mae | Metric::MedianAe | Metric::Smape => median(values),
                // A relative error punishes overshooting: its optimum is a weighted median.
                Metric::Mape => relative_median(values),
                Metric::Rmsle => {
                    let mean = values.iter().map(|v| libm::log1p(*v)).sum::<f64>() / n;
                    libm::expm1(mean)
                }
                _ => values.iter().sum::<f64>() / n,
            }]
        }
        Truth::Classes { values, names } => {
            let mut shares = vec![0.0; names.len()];
            for class in values {
                shares[*class] += 1.0 / values.len() as f64;
            }
            shares
        }
        // Any constant leaves every query in the order of its rows.
        Truth::Grades { .. } => vec![0.0],
        Truth::Several(_) | Truth::Structured(_) => Vec::new(),
    }
}

/// Training values in random order: a correlation with a constant is undefined, so this is what
/// stands for knowing nothing.
fn guesses(blueprint: &Blueprint, truths: &[Truth], rows: usize) -> Forecast {
    let mut draws = Draws::new(blueprint.origin.stream("guesses"));
    let guess = |truth: &Truth| {
        let values = truth.as_numbers();
        Forecast::Numbers((0..rows).map(|_| *draws.pick(&values)).collect())
    };
    Forecast::joined(truths.iter().map(guess).collect())
}

/// The median of positive values with weights 1 / value.
fn relative_median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.iter().map(|v| 1.0 / v.max(1e-9)).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for value in &sorted {
        sum += 1.0 / value.max(1e-9);
        if sum >= half {
            return *value;
        }
    }
    median(values)
}

/// What a careful solver can rebuild from the public files: blemishes of columns undone, the
/// items' statistics estimated, records summed up, and neighbours' means taken over the links.
pub fn rebuilt(blueprint: &Blueprint, assets: &Assets) -> Frame {
    let whole = assets.whole();
    let (structure, mutations) = (&blueprint.structure, &blueprint.mutations);
    let mut frame = repaired(&whole, &assets.train, mutations, structure, blueprint.block());
    if let Some(layout) = blueprint.item() {
        let mut estimates = features::columns(&assets.train_items, |reading| &reading.estimates);
        let of_test = features::columns(&assets.test_items, |reading| &reading.estimates);
        for (column, rest) in estimates.iter_mut().zip(of_test) {
            column.extend(rest);
        }
        for (spec, column) in layout.statistics.iter().zip(estimates) {
            frame.rows = column.len();
            frame.numbers.insert(spec.name.clone(), column);
        }
    }
    if let (Some(spec), Some(records)) = (&blueprint.structure.records, &assets.records) {
        frame.numbers.insert(spec.of.clone(), records.related(spec, frame.rows));
    }
    if let Some(layout) = blueprint.network() {
        network::surround(layout, &NodeNetwork::from_links(frame.rows, &assets.links), &mut frame);
    }
    frame
}

/// The terms of a target's rules on a rebuilt frame, the scores of its axes where they divide many
/// classes, or the transforms of a generator.
fn transforms(target: &Target, frame: &Frame, assets: &Assets) -> Inputs {
    if let Some(transforms) = &assets.transforms {
        let take = |rows: &[usize]| transforms.select(Axis(0), rows);
        return Inputs { train: take(&assets.order.train), test: take(&assets.order.test) };
    }
    let terms: Vec<Vec<f64>> = if target.is_nominal() && target.classes.len() > MANY {
        // A dozen rows of each class do not show both the axes and the regions of their space.
        target.rules().map(|rule| rule.score(frame)).collect()
    } else {
        target.rules().flat_map(|rule| rule.transforms(frame)).collect()
    };
    divided(&terms, assets)
}

/// Values of all rows, one vector per column, as inputs of training and test rows.
pub(super) fn divided(terms: &[Vec<f64>], assets: &Assets) -> Inputs {
    let take = |rows: &[usize]| {
        Array2::from_shape_fn((rows.len(), terms.len()), |(row, term)| terms[term][rows[row]])
    };
    Inputs { train: take(&assets.order.train), test: take(&assets.order.test) }
}

/// Ridge for numbers and grades, logistic or softmax regression for classes.
fn linear(
    inputs: &Inputs,
    truth: &Truth,
    logarithmic: bool,
    penalty: f64,
) -> Result<Forecast, LogisticError> {
    Ok(match truth {
        Truth::Numbers { values, .. } => {
            if logarithmic {
                let logs: Vec<f64> = values.iter().map(|v| libm::log(v.max(1e-9))).collect();
                let fitted = Linear::ridge(&inputs.train, &logs, penalty).score(&inputs.test);
                return Ok(Forecast::Numbers(fitted.into_iter().map(libm::exp).collect()));
            }
            let fitted = Linear::ridge(&inputs.train, values, penalty).score(&inputs.test);
            // Where all targets are positive, no forecast is negative: relative metrics would
            // not accept it.
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let clip = |v: f64| if low > 0.0 { v.max(0.0) } else { v };
            Forecast::Numbers(fitted.into_iter().map(clip).collect())
        }
        Truth::Classes { values, names } => {
            if names.len() > 2 {
                let softmax = Softmax::fit(&inputs.train, values, names.len(), penalty)?;
                return Ok(normalised(softmax.probabilities(&inputs.test)));
            }
            let y: Vec<f64> = values.iter().map(|class| *class as f64).collect();
            let odds = Linear::logistic(&inputs.train, &y, penalty)?.score(&inputs.test);
            normalised(both(&odds.into_iter().map(sigmoid).collect::<Vec<f64>>()))
        }
        Truth::Grades { .. } => {
            let grades = truth.as_numbers();
            Forecast::Numbers(Linear::ridge(&inputs.train, &grades, penalty).score(&inputs.test))
        }
        Truth::Several(parts) => {
            let one = |part| linear(inputs, part, logarithmic, penalty);
            Forecast::Several(parts.iter().map(one).collect::<Result<_, _>>()?)
        }
        // Scenes and challenges bring their own rungs.
        Truth::Structured(values) => Forecast::Structured(values.take(&[])),
    })
}

/// Forests with the better of two settings, one forecast per seed, and out-of-bag forecasts.
pub(super) fn forests(
    blueprint: &Blueprint,
    inputs: &Inputs,
    truths: &[Truth],
    relative: bool,
) -> Result<([Forecast; SEEDS], Forecast), ForestError> {
    let stream = blueprint.origin.stream("forest");
    let mut all: [Vec<Forecast>; SEEDS] = Default::default();
    let mut bags = Vec::with_capacity(truths.len());
    // One of several classes without an order, whose probability is not asked for.
    let votes = matches!(blueprint.prediction, Prediction::Label { .. })
        && blueprint.targets.iter().all(Target::is_nominal);
    for (index, truth) in truths.iter().enumerate() {
        let stream =
            if truths.len() > 1 { stream.child("target").index(index as u64) } else { stream };
        let (forecasts, bag) = match truth {
            Truth::Classes { values, names } if votes => {
                voted(stream, inputs, values, names.len())?
            }
            _ => forests_of(stream, inputs, truth, relative)?,
        };
        all.iter_mut().zip(forecasts).for_each(|(parts, forecast)| parts.push(forecast));
        bags.push(bag);
    }
    Ok((all.map(Forecast::joined), Forecast::joined(bags)))
}

/// The class that a forest votes for, with scikit-learn's default settings: one forecast per seed,
/// and out of bag. `y` is the class of each training row, of `classes` there are.
fn voted(
    stream: Stream,
    inputs: &Inputs,
    y: &Vec<usize>,
    classes: usize,
) -> Result<([Forecast; SEEDS], Forecast), ForestError> {
    let tried = floor((inputs.train.ncols() as f64).sqrt()).max(1);
    let settings = ForestSettings { trees: VOTES, tried, leaf: 1 };
    let grow = |index: u64| {
        forest::grow_classifier(&inputs.train, y, settings, stream.index(index).seed())
    };
    let certain = |votes: Vec<usize>| {
        let shape = (votes.len(), classes);
        let one = |(row, class): (usize, usize)| f64::from(u8::from(votes[row] == class));
        normalised(Array2::from_shape_fn(shape, one))
    };
    let first = grow(0)?;
    let bag = certain(first.out_of_bag(&inputs.train)?);
    let predict = |grown: forest::GrownClassifier| grown.predict(&inputs.test).map(certain);
    Ok(([predict(first)?, predict(grow(1)?)?, predict(grow(2)?)?], bag))
}

/// The better of the settings tried.
struct Tuned {
    error: f64,
    settings: ForestSettings,
    /// Out-of-bag values, one column per class.
    bags: Vec<Vec<f64>>,
    grown: Vec<forest::Grown>,
}

/// The forests of one target.
fn forests_of(
    stream: Stream,
    inputs: &Inputs,
    truth: &Truth,
    relative: bool,
) -> Result<([Forecast; SEEDS], Forecast), ForestError> {
    let targets: Vec<Vec<f64>> = match truth {
        Truth::Classes { values, names } => {
            let indicator = |class: usize| -> Vec<f64> {
                values.iter().map(|v| f64::from(u8::from(*v == class))).collect()
            };
            if names.len() == 2 {
                vec![indicator(1)]
            } else {
                (0..names.len()).map(indicator).collect()
            }
        }
        _ if relative => {
            vec![truth.as_numbers().into_iter().map(|v| libm::log(v.max(1e-9))).collect()]
        }
        _ => vec![truth.as_numbers()],
    };
    let columns = inputs.train.ncols();
    let root = floor((columns as f64).sqrt());
    let candidates = [
        ForestSettings { trees: TREES, tried: root.max(1), leaf: 1 },
        ForestSettings { trees: TREES, tried: columns.div_ceil(2), leaf: 3 },
    ];
    let seed = |index: u64| stream.index(index).seed();
    // Tuning by out-of-bag squared error, which suits probabilities (Brier) as well.
    let mut chosen: Option<Tuned> = None;
    for settings in candidates {
        let mut error = 0.0;
        let mut bags = Vec::with_capacity(targets.len());
        let mut grown = Vec::with_capacity(targets.len());
        for y in &targets {
            let forest = forest::grow(&inputs.train, y, settings, seed(0))?;
            let bag = forest.out_of_bag(&inputs.train)?;
            error += bag.iter().zip(y).map(|(p, y)| (p - y) * (p - y)).sum::<f64>();
            bags.push(bag);
            grown.push(forest);
        }
        if chosen.as_ref().is_none_or(|best| error < best.error) {
            chosen = Some(Tuned { error, settings, bags, grown });
        }
    }
    let Some(Tuned { settings, bags, grown, .. }) = chosen else {
        unreachable!("there are two candidates")
    };
    let assemble = |columns: Vec<Vec<f64>>| match truth {
        Truth::Classes { names, .. } if names.len() == 2 => normalised(both(&columns[0])),
        Truth::Classes { .. } => normalised(from_columns(columns[0].len(), &columns)),
        _ => {
            let numbers = columns.into_iter().next().unwrap_or_default();
            let back = |value: f64| if relative { libm::exp(value) } else { value };
            Forecast::Numbers(numbers.into_iter().map(back).collect())
        }
    };
    let predict = |grown: &[forest::Grown]| -> Result<Forecast, ForestError> {
        let columns = grown.iter().map(|forest| forest.predict(&inputs.test));
        Ok(assemble(columns.collect::<Result<Vec<_>, _>>()?))
    };
    let regrow = |index: u64| -> Result<Forecast, ForestError> {
        let grown = targets.iter().map(|y| forest::grow(&inputs.train, y, settings, seed(index)));
        predict(&grown.collect::<Result<Vec<_>, _>>()?)
    };
    let all = [predict(&grown)?, regrow(1)?, regrow(2)?];
    Ok((all, assemble(bags)))
}

/// The probabilities of classes 0 and 1, of shape `[rows, 2]`, from those of class 1.
pub(crate) fn both(ones: &[f64]) -> Array2<f64> {
    Array2::from_shape_fn((ones.len(), 2), |(row, class)| match class {
        0 => 1.0 - ones[row],
        _ => ones[row],
    })
}

/// Class scores of shape `[rows, classes]` as probabilities that sum to 1, none of them 0 or 1
/// exactly (a forest's pure vote would cost infinite log loss).
pub(crate) fn normalised(mut scores: Array2<f64>) -> Forecast {
    scores.mapv_inplace(|score| score.clamp(0.005, 0.995));
    let sums = scores.sum_axis(Axis(1)).insert_axis(Axis(1));
    scores /= &sums;
    Forecast::Classes { values: scores.iter().copied().collect(), classes: scores.ncols() }
}
