//! Probes for signal where there must be none, and for rows on both sides of the split.

use super::suspects::{self, Carrier, Probe, Suspects, Truths};
use super::{Refusal, files};
use crate::baselines::features;
use crate::data::assets::{Assets, Sequences, means};
use crate::data::items::Item;
use crate::data::labels::Truth;
use crate::data::table::Cells;
use crate::numeric::moments::moments;
use crate::package::Staged;
use crate::roles::TaskFacts;
use crate::spec::blueprint::Blueprint;
use polars::prelude::DataFrame;
use std::collections::BTreeMap;

/// Closest that the nearest test rows may come, in units of typical training distances.
pub(crate) const CLOSEST: f64 = 0.1;

/// Words of a column beyond which it is a name, a date or a list, of which two are as far apart as
/// any two.
const MOST_WORDS: usize = 40;

/// Nothing of these kinds about rows goes with any target.
pub(super) fn say_nothing(task: &Staged, carriers: &[Carrier]) -> Result<(), Refusal> {
    let suspects = suspects(task)?;
    for carrier in carriers.iter().copied() {
        for Probe { what, finding } in suspects.probes(carrier) {
            if let Some((effect, p)) = finding.telling() {
                return Err(Refusal::Leak { carrier, what, effect, p });
            }
        }
    }
    Ok(())
}

/// What probes look at.
fn suspects(task: &Staged) -> Result<Suspects<'_>, Refusal> {
    let TaskFacts { blueprint, assets, .. } = &task.draft.facts;
    if let Some(sequences) = &assets.sequences {
        return Ok(of_sequences(blueprint, assets, sequences));
    }
    let both = assets.train_truth.parts().iter().zip(assets.test_truth.parts());
    let truths = |(train, test): (&Truth, &Truth)| Truths {
        values: [train.as_numbers(), test.as_numbers()].concat(),
        classes: match train {
            Truth::Classes { names, .. } => names.len(),
            _ => 0,
        },
    };
    // From rows in natural order to rows in the order of the tables.
    let mut written = vec![0; assets.order.train.len() + assets.order.test.len()];
    for (place, row) in assets.order.train.iter().chain(&assets.order.test).enumerate() {
        written[*row] = place;
    }
    Ok(Suspects {
        stream: blueprint.origin.stream("leaks"),
        ids: assets.train_ids.iter().chain(&assets.test_ids).map(String::as_str).collect(),
        names: suspects::unlabelled(blueprint, files::names(task)?, assets.train_ids.len()),
        items: match blueprint.challenge() {
            // Cells are read and not weighed: their length is part of what they say.
            Some(_) => Vec::new(),
            None => assets.train_items.iter().chain(&assets.test_items).collect(),
        },
        format: blueprint.item().map(|layout| layout.format),
        links: assets.links.iter().map(|link| link.map(|end| written[end])).collect(),
        records: blueprint
            .structure
            .records
            .iter()
            .zip(&assets.records)
            .flat_map(|(spec, records)| records.rows(spec.format))
            .map(|row| written[row])
            .collect(),
        truths: both.map(truths).collect(),
        known: assets.train_ids.len(),
        timed: blueprint.series().is_some(),
    })
}

/// What probes look at where rows are sequences: the mean answer to the positions of each. Within a
/// sequence, an id says no more than the place does, which may matter.
fn of_sequences<'a>(
    blueprint: &Blueprint,
    assets: &Assets,
    sequences: &'a Sequences,
) -> Suspects<'a> {
    let both = assets.train_truth.parts().iter().zip(assets.test_truth.parts());
    let truths = |(train, test): (&Truth, &Truth)| {
        let values = [
            means(&sequences.train, &train.as_numbers()),
            means(&sequences.test, &test.as_numbers()),
        ];
        Truths { values: values.concat(), classes: 0 }
    };
    Suspects {
        stream: blueprint.origin.stream("leaks"),
        ids: sequences.train.iter().chain(&sequences.test).map(|one| one.id.as_str()).collect(),
        names: Vec::new(),
        items: Vec::new(),
        format: None,
        links: Vec::new(),
        records: Vec::new(),
        truths: both.map(truths).collect(),
        known: sequences.train.len(),
        timed: false,
    }
}

/// No test row has the very features of a training row.
pub(super) fn no_duplicates(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.facts.assets;
    let [known, new] = assets.rows();
    let train = keys(&assets.train, &assets.train_items, known);
    let seen: BTreeMap<Vec<u8>, usize> = train.into_iter().zip(0..).collect();
    let test = keys(&assets.test, &assets.test_items, new);
    for (test, key) in test.iter().enumerate() {
        if let Some(train) = seen.get(key) {
            return Err(Refusal::Duplicate { test, train: *train });
        }
    }
    Ok(())
}

/// Each row's features as bytes, which two rows share only if they have the same features.
fn keys(table: &DataFrame, items: &[Item], rows: usize) -> Vec<Vec<u8>> {
    let mut keys = vec![Vec::new(); rows];
    for column in table.columns() {
        match Cells::from_column(column) {
            Cells::Numbers(values) => {
                keys.iter_mut()
                    .zip(values)
                    .for_each(|(key, value)| key.extend(value.to_le_bytes()));
            }
            Cells::Text(words) => {
                for (key, word) in keys.iter_mut().zip(words) {
                    key.extend(word.as_bytes());
                    key.push(0);
                }
            }
        }
    }
    keys.iter_mut().zip(items).for_each(|(key, item)| key.extend(&item.bytes));
    keys
}

/// Test rows do not lie implausibly close to training rows.
pub(super) fn no_near_copies(task: &Staged) -> Result<(), Refusal> {
    let assets = &task.draft.facts.assets;
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
fn points(assets: &Assets, table: &DataFrame, items: &[Item]) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::new(); table.height().max(items.len())];
    let readings = features::columns(items, |reading| &reading.generic);
    let known = features::columns(&assets.train_items, |reading| &reading.generic);
    for (values, known) in readings.iter().zip(&known) {
        standardise(&mut points, values, known);
    }
    for (column, reference) in table.columns().iter().zip(assets.train.columns()) {
        match (Cells::from_column(column), Cells::from_column(reference)) {
            (Cells::Numbers(values), Cells::Numbers(mut known)) => {
                known.retain(|value| !value.is_nan());
                standardise(&mut points, &values, &known);
            }
            (Cells::Text(words), Cells::Text(mut known)) => {
                known.sort_unstable();
                known.dedup();
                if known.len() > MOST_WORDS {
                    continue;
                }
                for (point, word) in points.iter_mut().zip(words) {
                    let half = std::f64::consts::FRAC_1_SQRT_2;
                    point.extend(known.iter().map(|k| if *k == word { half } else { 0.0 }));
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
