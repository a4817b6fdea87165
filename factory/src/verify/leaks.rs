//! Probes for signal where there must be none, and for rows on both sides of the split.

use super::Refusal;
use crate::assets::Assets;
use crate::assets::items::Item;
use crate::draws::Draws;
use crate::models::linear::Linear;
use crate::models::{Matrix, features};
use crate::package::Staged;
use crate::rule::moments;
use crate::table::{Cells, Table};
use sandbox::metrics::regression::spearman;
use std::collections::BTreeMap;

/// Permutations of a probe, none of which may tell as much: p < 0.01 after Bonferroni's
/// correction for five probes.
pub(crate) const PERMUTATIONS: usize = 500;
/// A correlation below this is of no use to anyone.
pub(crate) const HARMLESS: f64 = 0.2;
/// Closest that the nearest test rows may come, in units of typical training distances.
pub(crate) const CLOSEST: f64 = 0.1;

/// Neither the id as a number nor its digits go with the target.
pub(super) fn ids_say_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    let ids: Vec<&String> = assets.train_ids.iter().chain(&assets.test_ids).collect();
    let target = both(task);
    let value = |id: &&String| id.parse::<f64>().unwrap_or(0.0);
    let last = |id: &&String| id.bytes().last().map_or(0.0, f64::from);
    let sum = |id: &&String| id.bytes().map(f64::from).sum::<f64>();
    let probes: [(&'static str, Vec<f64>); 3] = [
        ("value", ids.iter().map(value).collect()),
        ("last digit", ids.iter().map(last).collect()),
        ("digit sum", ids.iter().map(sum).collect()),
    ];
    for (what, probe) in probes {
        if let Some((rho, p)) = telling(task, &probe, &target, what) {
            return Err(Refusal::IdLeak { what, rho, p });
        }
    }
    Ok(())
}

/// The size of a row's item does not go with the target, beyond what anyone in a hurry reads
/// inside it: a graph with more edges has a longer list of them.
pub(super) fn sizes_say_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    let items: Vec<&Item> = assets.train_items.iter().chain(&assets.test_items).collect();
    let sizes: Vec<f64> = items.iter().map(|item| item.bytes.len() as f64).collect();
    let (_, spread) = moments(&sizes);
    if spread <= 0.0 {
        return Ok(());
    }
    let target = both(task);
    let width = items.first().map_or(0, |item| item.reading.plain.len());
    let column = |index: usize| items.iter().map(|item| item.reading.plain[index]).collect();
    let plain = Matrix::from_columns(&(0..width).map(column).collect::<Vec<Vec<f64>>>());
    let read = Linear::ridge(&plain, &target, 1.0).score(&plain);
    let rest: Vec<f64> = target.iter().zip(read).map(|(target, read)| target - read).collect();
    match telling(task, &sizes, &rest, "size") {
        Some((rho, p)) => Err(Refusal::SizeLeak { rho, p }),
        None => Ok(()),
    }
}

/// A row's place in its file does not go with the target. Where rows are ordered in time by
/// design, the place tells no more than the written time does, so only the order among rows
/// of one step is probed.
pub(super) fn order_says_nothing(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.development.assets;
    for (file, truth) in [("train.csv", &assets.train_truth), ("test.csv", &assets.test_truth)] {
        if task.draft.blueprint.series.is_some() {
            continue;
        }
        let target = truth.as_numbers();
        let place: Vec<f64> = (0..target.len()).map(|row| row as f64).collect();
        if let Some((rho, p)) = telling(task, &place, &target, file) {
            return Err(Refusal::OrderLeak { file, rho, p });
        }
    }
    Ok(())
}

fn both(task: &Staged) -> Vec<f64> {
    let assets = &task.draft.development.assets;
    [assets.train_truth.as_numbers(), assets.test_truth.as_numbers()].concat()
}

/// The correlation and its p-value, if it is both large and unlikely to be chance.
fn telling(task: &Staged, probe: &[f64], target: &[f64], purpose: &str) -> Option<(f64, f64)> {
    let rho = spearman(probe, target).unwrap_or(0.0).abs();
    if rho <= HARMLESS {
        return None;
    }
    let mut draws = Draws::new(task.draft.blueprint.origin.stream("leaks").child(purpose));
    let mut shuffled = target.to_vec();
    let reached = (0..PERMUTATIONS)
        .filter(|_| {
            draws.shuffle(&mut shuffled);
            spearman(probe, &shuffled).unwrap_or(0.0).abs() >= rho
        })
        .count();
    let p = (reached + 1) as f64 / (PERMUTATIONS + 1) as f64;
    (reached == 0).then_some((rho, p))
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
