//! Probes for signal where there must be none, and for rows on both sides of the split.

use super::{Refusal, probe};
use crate::assets::Assets;
use crate::assets::items::Item;
use crate::labels::Truth;
use crate::media::{Format, Reading};
use crate::models::linear::Linear;
use crate::models::{Matrix, features};
use crate::package::Staged;
use crate::rule::moments;
use crate::table::{Cells, Table};
use sandbox::stream::Stream;
use std::collections::BTreeMap;

/// Closest that the nearest test rows may come, in units of typical training distances.
pub(crate) const CLOSEST: f64 = 0.1;

/// Neither the id as a number nor its digits go with the target.
pub(super) fn ids_say_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    let ids: Vec<&String> = assets.train_ids.iter().chain(&assets.test_ids).collect();
    let targets = targets_of_all(task);
    let value = |id: &&String| id.parse::<f64>().unwrap_or(0.0);
    let last = |id: &&String| id.bytes().last().map_or(0.0, f64::from);
    let sum = |id: &&String| id.bytes().map(f64::from).sum::<f64>();
    let probes: [(&'static str, Vec<f64>); 3] = [
        ("value", ids.iter().map(value).collect()),
        ("last digit", ids.iter().map(last).collect()),
        ("digit sum", ids.iter().map(sum).collect()),
    ];
    for (what, probe) in probes {
        if let Some((rho, p)) = telling(task, &probe, &targets, what) {
            return Err(Refusal::IdLeak { what, rho, p });
        }
    }
    Ok(())
}

/// The size of a row's item does not go with the target, beyond what [`legible`] says of it.
pub(super) fn sizes_say_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    let items: Vec<&Item> = assets.train_items.iter().chain(&assets.test_items).collect();
    let sizes: Vec<f64> = items.iter().map(|item| item.bytes.len() as f64).collect();
    if !probe::varies(&sizes) {
        return Ok(());
    }
    let readings: Vec<&Reading> = items.iter().map(|item| &item.reading).collect();
    let format = task.draft.blueprint.item.as_ref().map(|layout| layout.format);
    let known = legible(format, &readings);
    // Of classes in the middle, a straight line leaves a bend that goes with anything: classes
    // stay numbers here.
    let both = assets.train_truth.parts().iter().zip(assets.test_truth.parts());
    let rest: Vec<Vec<f64>> = both
        .map(|(train, test)| beyond(&known, &[train.as_numbers(), test.as_numbers()].concat()))
        .collect();
    match telling(task, &sizes, &rest, "size") {
        Some((rho, p)) => Err(Refusal::SizeLeak { rho, p }),
        None => Ok(()),
    }
}

/// What an item's size may tell: what anyone in a hurry reads inside it, as a graph with more
/// edges has a longer list of them. A compressed file is the longer the more there is to see,
/// which takes what a practised engineer reads to say.
pub(crate) fn legible(format: Option<Format>, readings: &[&Reading]) -> Matrix {
    let columns = |part: fn(&Reading) -> &Vec<f64>| -> Vec<Vec<f64>> {
        let width = readings.first().map_or(0, |reading| part(reading).len());
        let column = |index: usize| readings.iter().map(|r| part(r)[index]).collect();
        (0..width).map(column).collect()
    };
    let mut known = columns(|reading| &reading.plain);
    if format.is_some_and(Format::compresses) {
        known.extend(columns(|reading| &reading.generic));
    }
    Matrix::from_columns(&known)
}

/// What a straight line leaves of a target.
pub(crate) fn beyond(known: &Matrix, target: &[f64]) -> Vec<f64> {
    let read = Linear::ridge(known, target, 1.0).score(known);
    target.iter().zip(read).map(|(target, read)| target - read).collect()
}

/// A row's place in its file does not go with the target, nor does its neighbours' truth. Where
/// rows are ordered in time by design, the place tells no more than the written time does, so it
/// is not probed.
pub(super) fn order_says_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    if task.draft.blueprint.series.is_some() {
        return Ok(());
    }
    for (file, truth) in [("train.csv", &assets.train_truth), ("test.csv", &assets.test_truth)] {
        let targets = targets(truth);
        let place: Vec<f64> = (0..truth.len()).map(|row| row as f64).collect();
        if let Some((rho, p)) = telling(task, &place, &targets, file) {
            return Err(Refusal::OrderLeak { file, rho, p });
        }
        if let Some((z, p)) = probe::runs(stream(task, "runs").child(file), &targets).telling() {
            return Err(Refusal::RunsLeak { file, z, p });
        }
    }
    Ok(())
}

/// What probes are held against: each target as numbers, classes without an order as one flag
/// each.
pub(super) fn targets(truth: &Truth) -> Vec<Vec<f64>> {
    let one = |part: &Truth| match part {
        Truth::Classes { names, .. } => probe::flags(part.as_numbers(), names.len()),
        _ => vec![part.as_numbers()],
    };
    truth.parts().iter().flat_map(one).collect()
}

/// The same of all rows, training rows first.
pub(super) fn targets_of_all(task: &Staged) -> Vec<Vec<f64>> {
    let assets = &task.draft.development.assets;
    let both = targets(&assets.train_truth).into_iter().zip(targets(&assets.test_truth));
    both.map(|(train, test)| [train, test].concat()).collect()
}

/// Where the shuffles of a task's probes come from.
pub(super) fn stream(task: &Staged, purpose: &str) -> Stream {
    task.draft.blueprint.origin.stream("leaks").child(purpose)
}

/// The correlation and its p-value, if it is both large and unlikely to be chance.
fn telling(
    task: &Staged,
    values: &[f64],
    targets: &[Vec<f64>],
    purpose: &str,
) -> Option<(f64, f64)> {
    probe::association(stream(task, purpose), values, targets).telling()
}

/// No test row has the very features of a training row.
pub(super) fn no_duplicates(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    let key = |table: &Table, items: &[Item], row: usize| -> Vec<u8> {
        let cells: String =
            table.columns.iter().map(|column| column.cells.cell(row) + ",").collect();
        let mut key = cells.into_bytes();
        if let Some(item) = items.get(row) {
            key.extend(&item.bytes);
        }
        key
    };
    let seen: BTreeMap<Vec<u8>, usize> = (0..assets.train_ids.len())
        .map(|row| (key(&assets.train, &assets.train_items, row), row))
        .collect();
    for test in 0..assets.test_ids.len() {
        if let Some(train) = seen.get(&key(&assets.test, &assets.test_items, test)) {
            return Err(Refusal::Duplicate { test, train: *train });
        }
    }
    Ok(())
}

/// Test rows do not lie implausibly close to training rows.
pub(super) fn no_near_copies(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    let train = points(assets, &assets.train, &assets.train_items);
    let test = points(assets, &assets.test, &assets.test_items);
    let nearest = |from: &[f64], skip: Option<usize>| {
        let distance = |(index, to): (usize, &Vec<f64>)| {
            let own = skip == Some(index);
            let sum: f64 = from.iter().zip(to).map(|(a, b)| (a - b) * (a - b)).sum();
            if own { f64::INFINITY } else { sum }
        };
        train.iter().enumerate().map(distance).fold(f64::INFINITY, f64::min).sqrt()
    };
    let mut inner: Vec<f64> =
        train.iter().enumerate().map(|(row, from)| nearest(from, Some(row))).collect();
    let mut outer: Vec<f64> = test.iter().map(|from| nearest(from, None)).collect();
    inner.sort_by(f64::total_cmp);
    outer.sort_by(f64::total_cmp);
    let (typical, distance) = (inner[inner.len() / 2], outer[outer.len() / 100]);
    if distance < CLOSEST * typical {
        return Err(Refusal::NearCopy { distance, typical });
    }
    Ok(())
}

/// Rows as points: standardised numbers and readings, and words as distances of 1 between any
/// two.
fn points(assets: &Assets, table: &Table, items: &[Item]) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new(); table.rows().max(items.len())];
    let readings = features::columns(items, |reading| &reading.generic);
    let known = features::columns(&assets.train_items, |reading| &reading.generic);
    for (values, known) in readings.iter().zip(&known) {
        standardise(&mut points, values, known);
    }
    for (column, reference) in table.columns.iter().zip(&assets.train.columns) {
        match (&column.cells, &reference.cells) {
            (Cells::Numbers { values, .. }, Cells::Numbers { values: known, .. }) => {
                let known: Vec<f64> = known.iter().copied().filter(|v| !v.is_nan()).collect();
                standardise(&mut points, values, &known);
            }
            (Cells::Text(words), Cells::Text(known)) => {
                let mut known = known.clone();
                known.sort();
                known.dedup();
                for (point, word) in points.iter_mut().zip(words) {
                    let half = std::f64::consts::FRAC_1_SQRT_2;
                    point.extend(known.iter().map(|k| if k == word { half } else { 0.0 }));
                }
            }
            _ => {}
        }
    }
    points
}

/// Appends a coordinate: the values in units of the known values' spread, gaps in the middle.
fn standardise(points: &mut [Vec<f64>], values: &[f64], known: &[f64]) {
    let (mean, spread) = moments(known);
    let spread = if spread > 1e-12 { spread } else { 1.0 };
    for (point, value) in points.iter_mut().zip(values) {
        point.push(if value.is_nan() { 0.0 } else { (value - mean) / spread });
    }
}

/// Neither where a row's links stand in their file nor which end of them the row is goes with
/// any class. A row's number of links is no leak: whom it knows is what it is.
pub(super) fn links_say_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    if assets.links.is_empty() {
        return Ok(());
    }
    let rows = assets.order.train.len() + assets.order.test.len();
    let (mut counts, mut places, mut sources) = (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
    for (place, [source, target]) in assets.links.iter().enumerate() {
        sources[*source] += 1.0;
        for end in [source, target] {
            counts[*end] += 1.0;
            places[*end] += place as f64;
        }
    }
    let order = || assets.order.train.iter().chain(&assets.order.test).copied();
    let targets = targets_of_all(task);
    for (what, sums) in [("order", places), ("direction", sources)] {
        let mean = |row: usize| sums[row] / f64::max(counts[row], 1.0);
        let probe: Vec<f64> = order().map(mean).collect();
        if let Some((rho, p)) = telling(task, &probe, &targets, what) {
            return Err(Refusal::LinkLeak { what, rho, p });
        }
    }
    Ok(())
}
