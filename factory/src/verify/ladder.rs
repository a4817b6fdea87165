//! Checks on the rungs: is there a ladder worth climbing?

use super::Refusal;
use crate::baselines::features;
use crate::data::items::Item;
use crate::data::labels::Truth;
use crate::data::score::Forecast;
use crate::data::table::Cells;
use crate::media::Reading;
use crate::numeric::draws::Draws;
use crate::numeric::intervals::quantile;
use crate::roles::TaskFacts;
use crate::spec::blueprint::Target;
use crate::spec::config::Preset;
use polars::prelude::{Column, DataFrame};
use std::ops::Range;
use tasks::metrics::Metric;
use tasks::prediction::{Prediction, QUANTILES};
use tasks::values::{self, Values};

/// Bootstrap samples per check.
const SAMPLES: usize = 120;
/// The largest share of reversed bootstrap samples that still counts as an order.
const LEVEL: f64 = 0.05;
/// The least share of (ceiling − R0) that the top rung must capture.
const RECOVERABLE: f64 = 0.7;
/// The share of (ceiling − R0) from which one column alone is too much.
const TRIVIAL: f64 = 0.9;

/// R3 captures enough of what there is to capture.
pub(super) fn recoverable(facts: &TaskFacts) -> Result<(), Refusal> {
    let baselines = &facts.ladder.baselines;
    let way = baselines.ceiling - baselines.ladder[0];
    let share = (baselines.ladder[3] - baselines.ladder[0]) / way;
    if share.is_nan() || share < RECOVERABLE {
        return Err(Refusal::NotRecoverable { share });
    }
    Ok(())
}

/// Gold lies below the ceiling by two standard errors of their difference: of the ceiling's
/// forecast against the top rung's, scaled to where gold lies.
pub(super) fn below_ceiling(facts: &TaskFacts) -> Result<(), Refusal> {
    if facts.blueprint.preset == Preset::Paper {
        return Ok(());
    }
    let direction = facts.blueprint.metric.direction();
    let (gold, ceiling) = (facts.thresholds.gold_threshold, facts.ladder.baselines.ceiling);
    let forecasts = &facts.ladder.forecasts;
    let gaps = paired(facts, &forecasts[3], &forecasts[4], "ceiling");
    let (_, error) = crate::numeric::moments::moments(&gaps);
    if direction.gain(ceiling) - direction.gain(gold) < 2.0 * error {
        return Err(Refusal::GoldAtCeiling { gold, ceiling, error });
    }
    Ok(())
}

/// Checks that each rung beats the one below it by more than noise. The few test rows of the preset
/// `paper` cannot show this; there, only a strict order is required.
pub(super) fn gaps_exceed_noise(facts: &TaskFacts) -> Result<(), Refusal> {
    if facts.blueprint.preset == Preset::Paper {
        return Ok(());
    }
    let forecasts = &facts.ladder.forecasts;
    // The middle gap is the narrowest as a rule.
    for (below, above) in [(1, 2), (2, 3), (0, 1)] {
        let gaps = paired(facts, &forecasts[below], &forecasts[above], "gaps");
        let reversed = gaps.iter().filter(|gap| **gap <= 0.0).count();
        let p = reversed as f64 / gaps.len().max(1) as f64;
        if gaps.is_empty() || p >= LEVEL {
            return Err(Refusal::GapWithinNoise { below, above, p });
        }
    }
    Ok(())
}

/// Bootstrap samples of gain(above) − gain(below) on the test rows. Samples in which the
/// metric is undefined are left out.
fn paired(facts: &TaskFacts, below: &Forecast, above: &Forecast, purpose: &str) -> Vec<f64> {
    let prediction = &facts.blueprint.prediction;
    let truth = facts.assets.test_truth.values(prediction);
    let (below, above) = (below.values(prediction), above.values(prediction));
    resampled(facts, &units(facts, Side::Test), &truth, &below, &above, purpose)
}

/// A side of the split.
#[derive(Debug, Clone, Copy)]
enum Side {
    Train,
    Test,
}

/// Which rows of a submission are drawn together: those that answer one query, and positions of one
/// sequence.
fn units(facts: &TaskFacts, side: Side) -> Vec<Range<usize>> {
    let TaskFacts { blueprint, assets, .. } = facts;
    let (sequences, rows) = match side {
        Side::Train => (assets.sequences.as_ref().map(|all| &all.train), assets.train_truth.len()),
        Side::Test => (assets.sequences.as_ref().map(|all| &all.test), assets.test_truth.len()),
    };
    let lengths: Vec<usize> = if let Some(sequences) = sequences {
        sequences.iter().map(|one| one.positions).collect()
    } else {
        let unit = blueprint.queries().map_or(1, |queries| queries.rows);
        vec![unit; rows / unit]
    };
    let from = |first: &mut usize, length: usize| {
        let rows = *first..*first + length;
        *first = rows.end;
        Some(rows)
    };
    lengths.into_iter().scan(0, from).collect()
}

/// The scores of single rows, for metrics that are their mean.
fn by_row(metric: Metric, truth: &Values, forecast: &Values) -> Option<Vec<f64>> {
    let mean = [
        Metric::Dice,
        Metric::Iou,
        Metric::MeanIou,
        Metric::Psnr,
        Metric::Ssim,
        Metric::ExactMatch,
        Metric::WordJaccard,
        Metric::MeanEditDistance,
        Metric::MeanPinballLoss,
    ];
    if !mean.contains(&metric) && !matches!(truth, Values::Ids(_)) {
        return None;
    }
    let one = |row| values::score(metric, &truth.take(&[row]), &forecast.take(&[row])).ok();
    (0..truth.len()).map(one).collect()
}

/// Bootstrap samples of gain(above) − gain(below) on some rows.
fn resampled(
    facts: &TaskFacts,
    units: &[Range<usize>],
    truth: &Values,
    below: &Values,
    above: &Values,
    purpose: &str,
) -> Vec<f64> {
    let blueprint = &facts.blueprint;
    let direction = blueprint.metric.direction();
    let mut draws = Draws::new(blueprint.origin.stream("bootstrap").child(purpose));
    // A mean over rows needs each row scored only once.
    let single = |forecast| by_row(blueprint.metric, truth, forecast);
    if let (Some(below), Some(above)) = (single(below), single(above)) {
        let gap = |row: usize| direction.gain(above[row]) - direction.gain(below[row]);
        let rows = truth.len();
        let mut mean =
            || (0..rows).map(|_| gap(draws.whole(0, rows - 1))).sum::<f64>() / rows as f64;
        return (0..SAMPLES).map(|_| mean()).collect();
    }
    let unit = blueprint.queries().map_or(1, |queries| queries.rows);
    let mut gaps = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let sample: Vec<usize> =
            (0..units.len()).flat_map(|_| units[draws.whole(0, units.len() - 1)].clone()).collect();
        let mut truth = truth.take(&sample);
        if let Values::Grades { queries, .. } = &mut truth {
            // A query that is drawn twice stands for two.
            for (row, query) in queries.iter_mut().enumerate() {
                *query = (row / unit).to_string();
            }
        }
        let score =
            |values: &Values| values::score(blueprint.metric, &truth, &values.take(&sample));
        if let (Ok(below), Ok(above)) = (score(below), score(above)) {
            gaps.push(direction.gain(above) - direction.gain(below));
        }
    }
    gaps
}

/// Checks that a forest beats the constant on rows it was not fitted to: by squared error, or by
/// the task's own metric where quantiles are asked for or classes have no order. Among dozens of
/// classes, a small forest's probabilities vary so much that their squared error is no less than a
/// constant's, though its most likely class is right more often.
pub(super) fn learnable(facts: &TaskFacts) -> Result<(), Refusal> {
    let is_nominal = facts.blueprint.targets.iter().any(Target::is_nominal);
    let own = matches!(facts.ladder.out_of_bag, Forecast::Structured(_) | Forecast::Quantiles(_));
    if is_nominal || own {
        return generic_rung_learns(facts);
    }
    let truths = facts.assets.train_truth.parts();
    let mut sums = vec![0.0; facts.assets.train_truth.len()];
    for (truth, bag) in truths.iter().zip(facts.ladder.out_of_bag.parts()) {
        let advantage = advantage(truth, bag);
        // Targets of any size count alike.
        let (_, spread) = crate::numeric::moments::moments(&truth.as_numbers());
        let scale = 1.0 / (spread * spread).max(1e-12);
        sums.iter_mut().zip(advantage).for_each(|(sum, value)| *sum += scale * value);
    }
    let mut draws = Draws::new(facts.blueprint.origin.stream("learnable"));
    let rows = sums.len();
    let sample = |draws: &mut Draws| -> f64 {
        (0..rows).map(|_| sums[draws.whole(0, rows.max(1) - 1)]).sum()
    };
    let without = (0..SAMPLES).filter(|_| sample(&mut draws) <= 0.0).count();
    let p = without as f64 / SAMPLES as f64;
    if p >= LEVEL { Err(Refusal::Unlearnable { p }) } else { Ok(()) }
}

/// The generic rung beats R0 on training rows that it has not seen, by the task's own metric.
fn generic_rung_learns(facts: &TaskFacts) -> Result<(), Refusal> {
    let blueprint = &facts.blueprint;
    let TaskFacts { assets, ladder, .. } = facts;
    let truth = assets.train_truth.values(&blueprint.prediction);
    let start = match &ladder.start {
        Some(start) => start.values(&blueprint.prediction),
        // All rows of the constant are alike.
        None => ladder.forecasts[0].values(&blueprint.prediction).take(&vec![0; truth.len()]),
    };
    let unseen = ladder.out_of_bag.values(&blueprint.prediction);
    let units = units(facts, Side::Train);
    let gaps = resampled(facts, &units, &truth, &start, &unseen, "learnable");
    let without = gaps.iter().filter(|gap| **gap <= 0.0).count();
    let p = without as f64 / gaps.len().max(1) as f64;
    if gaps.is_empty() || p >= LEVEL { Err(Refusal::Unlearnable { p }) } else { Ok(()) }
}

/// Per row: the squared error of the constant minus that of the forest.
fn advantage(truth: &Truth, bag: &Forecast) -> Vec<f64> {
    match (truth, bag) {
        (Truth::Numbers { .. } | Truth::Grades { .. }, Forecast::Numbers(bag)) => {
            let values = truth.as_numbers();
            let (mean, _) = crate::numeric::moments::moments(&values);
            let gain = |(y, p): (&f64, &f64)| (y - mean) * (y - mean) - (y - p) * (y - p);
            values.iter().zip(bag).map(gain).collect()
        }
        (Truth::Classes { values, names }, Forecast::Classes { values: bag, classes }) => {
            let mut shares = vec![0.0; names.len()];
            for class in values {
                shares[*class] += 1.0 / values.len() as f64;
            }
            let error = |row: &[f64], class: usize| -> f64 {
                row.iter()
                    .enumerate()
                    .map(|(index, p)| {
                        let hit = f64::from(u8::from(index == class));
                        (p - hit) * (p - hit)
                    })
                    .sum()
            };
            let rows = values.iter().zip(bag.chunks_exact(*classes));
            rows.map(|(class, row)| error(&shares, *class) - error(row, *class)).collect()
        }
        _ => Vec::new(),
    }
}

/// No single column or reading, cut into a handful of bins, goes most of the way to the
/// ceiling, and no column of numbers does as it is.
pub(super) fn not_trivial(facts: &TaskFacts) -> Result<(), Refusal> {
    let blueprint = &facts.blueprint;
    let assets = &facts.assets;
    let baselines = &facts.ladder.baselines;
    let way = baselines.ceiling - baselines.ladder[0];
    if matches!(assets.train_truth, Truth::Structured(_)) || blueprint.challenge().is_some() {
        // What a column is to a row, one threshold or filter is to a picture, and what was seen
        // before to a text.
        let share = (baselines.ladder[1] - baselines.ladder[0]) / way;
        let column = match blueprint.challenge() {
            Some(_) => "the simplest method".to_owned(),
            None => "one threshold or filter".to_owned(),
        };
        let trivial = share >= TRIVIAL;
        return if trivial { Err(Refusal::Trivial { column, share }) } else { Ok(()) };
    }
    let truth = assets.test_truth.values(&blueprint.prediction);
    let train = probes(&assets.train, &assets.train_items);
    let test = probes(&assets.test, &assets.test_items);
    for ((column, train), (_, test)) in train.into_iter().zip(test) {
        // Bins are too coarse for a target of which a few are many times as large as the others.
        let as_it_is = match (&test, &blueprint.prediction) {
            (Cells::Numbers(values), Prediction::Number { .. }) => {
                Some(Values::Numbers(values.clone()))
            }
            _ => None,
        };
        let (left, right) = bins(train, test);
        let constants = &facts.ladder.constants;
        let part = |(truth, constant): (&Truth, &Vec<f64>)| per_bin(truth, constant, &left, &right);
        let truths = assets.train_truth.parts();
        let forecast = Forecast::joined(truths.iter().zip(constants).map(part).collect());
        let binned = forecast.values(&blueprint.prediction);
        for forecast in [Some(binned), as_it_is].into_iter().flatten() {
            // A column may be no forecast of this metric: it may have gaps, or values below zero.
            let Ok(score) = values::score(blueprint.metric, &truth, &forecast) else { continue };
            let share = (score - baselines.ladder[0]) / way;
            if share >= TRIVIAL {
                return Err(Refusal::Trivial { column, share });
            }
        }
    }
    Ok(())
}

/// One kind of reading of an item.
type ReadingPart = fn(&Reading) -> &Vec<f64>;

/// The columns of a table, and every reading of the items as one, each with its name.
fn probes<'a>(table: &'a DataFrame, items: &[Item]) -> Vec<(String, Cells<'a>)> {
    let named = |column: &'a Column| (column.name().to_string(), Cells::from_column(column));
    let mut columns: Vec<(String, Cells<'a>)> = table.columns().iter().map(named).collect();
    let kinds: [(&str, ReadingPart); 3] = [
        ("plain", |reading| &reading.plain),
        ("generic", |reading| &reading.generic),
        ("estimate", |reading| &reading.estimates),
    ];
    for (kind, read) in kinds {
        for (index, values) in features::columns(items, read).into_iter().enumerate() {
            columns.push((format!("{kind} reading {index}"), Cells::Numbers(values)));
        }
    }
    columns
}

/// Bin numbers of the training and test rows: words as they are, numbers in eighths.
fn bins(train: Cells, test: Cells) -> (Vec<usize>, Vec<usize>) {
    match (train, test) {
        (Cells::Numbers(a), Cells::Numbers(b)) => {
            let mut sorted: Vec<f64> = a.iter().copied().filter(|v| !v.is_nan()).collect();
            sorted.sort_by(f64::total_cmp);
            let cut = |eighth: usize| sorted.get(sorted.len() * eighth / 8).copied();
            let cuts: Vec<f64> = (1..8).filter_map(cut).collect();
            let bin = |v: &f64| {
                if v.is_nan() { 8 } else { cuts.iter().filter(|cut| v > *cut).count() }
            };
            (a.iter().map(bin).collect(), b.iter().map(bin).collect())
        }
        (Cells::Text(a), Cells::Text(b)) => {
            let mut known = a.clone();
            known.sort_unstable();
            known.dedup();
            let bin = |word: &&str| known.binary_search(word).unwrap_or(known.len());
            (a.iter().map(bin).collect(), b.iter().map(bin).collect())
        }
        _ => (Vec::new(), Vec::new()),
    }
}

/// Each bin forecasts the mean of its training rows, or their quantiles, drawn a little towards the
/// constant.
fn per_bin(truth: &Truth, constant: &[f64], train: &[usize], test: &[usize]) -> Forecast {
    const PRIOR: f64 = 2.0;
    let bins = train.iter().chain(test).max().map_or(0, |most| most + 1);
    let width = constant.len();
    if let (Truth::Numbers { values, .. }, [_, _, _]) = (truth, constant) {
        let mut held: Vec<Vec<f64>> = vec![Vec::new(); bins];
        for (value, bin) in values.iter().zip(train) {
            held[*bin].push(*value);
        }
        for values in &mut held {
            values.sort_by(f64::total_cmp);
        }
        let end = |values: &[f64], at: usize| {
            let (count, known) = (values.len() as f64, QUANTILES[at]);
            let own = if values.is_empty() { 0.0 } else { quantile(values, known) };
            (count * own + PRIOR * constant[at]) / (count + PRIOR)
        };
        let ends = |bin: &usize| std::array::from_fn(|at| end(&held[*bin], at));
        return Forecast::Quantiles(test.iter().map(ends).collect());
    }
    let mut sums: Vec<f64> = (0..bins).flat_map(|_| constant.iter().map(|c| PRIOR * c)).collect();
    let mut counts = vec![PRIOR; bins];
    let numbers = truth.as_numbers();
    for (row, bin) in train.iter().enumerate() {
        counts[*bin] += 1.0;
        match truth {
            Truth::Classes { values, .. } => sums[bin * width + values[row]] += 1.0,
            _ => sums[*bin] += numbers[row],
        }
    }
    let mean = |bin: &usize| -> Vec<f64> {
        sums[bin * width..(bin + 1) * width].iter().map(|sum| sum / counts[*bin]).collect()
    };
    let values: Vec<f64> = test.iter().flat_map(mean).collect();
    match truth {
        Truth::Classes { .. } => Forecast::Classes { values, classes: width },
        _ => Forecast::Numbers(values),
    }
}
