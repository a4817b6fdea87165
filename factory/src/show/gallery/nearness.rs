//! How close test rows come to training rows.

use super::rows::Rows;
use super::task::GalleryTask;
use crate::data::items::Item;
use crate::numeric::moments::moments;
use std::collections::BTreeSet;

/// Words that a column of categories has at most.
const WORDS: usize = 40;

/// How close the test rows are to the training rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Nearness {
    /// Test rows with the very features of a training row.
    pub(super) duplicates: usize,
    /// First percentile of the distances from test rows to their nearest training rows.
    pub(super) distance: Option<f64>,
    /// Median of the distances from training rows to their nearest other ones.
    pub(super) typical: Option<f64>,
}

/// Compares the two tables by everything but ids and truth; `items` has one entry per row, the
/// rows of `train.csv` first, or none.
pub(super) fn between(task: &GalleryTask, items: &[Item]) -> Nearness {
    let names = features(task);
    let rows = task.train.rows.len();
    let (known, new) = items.split_at(rows.min(items.len()));
    let seen: BTreeSet<Vec<u8>> = keys(&task.train, &names, known).collect();
    let duplicates = keys(&task.test, &names, new).filter(|key| seen.contains(key)).count();

    let mut train = vec![Vec::new(); rows];
    let mut test = vec![Vec::new(); task.test.rows.len()];
    for index in 0..known.first().map_or(0, |item| item.reading().generic.len()) {
        let column = |items: &[Item]| -> Vec<f64> {
            items.iter().map(|item| item.reading().generic[index]).collect()
        };
        add(&mut train, &mut test, &column(known), &column(new));
    }
    for name in &names {
        let cells = |table: &Rows| -> Vec<String> {
            table
                .place(name)
                .map(|at| table.column(at).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        let (here, there) = (cells(&task.train), cells(&task.test));
        if here.iter().chain(&there).all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok()) {
            let numbers = |cells: &[String]| {
                cells.iter().map(|cell| cell.parse().unwrap_or(f64::NAN)).collect()
            };
            let (here, there): (Vec<f64>, Vec<f64>) = (numbers(&here), numbers(&there));
            add(&mut train, &mut test, &here, &there);
            continue;
        }
        let words: BTreeSet<&String> = here.iter().collect();
        if words.len() <= WORDS {
            // Any two words are a distance of 1 apart.
            let half = std::f64::consts::FRAC_1_SQRT_2;
            for (points, cells) in [(&mut train, &here), (&mut test, &there)] {
                for (point, cell) in points.iter_mut().zip(cells) {
                    point.extend(words.iter().map(|word| if *word == cell { half } else { 0.0 }));
                }
            }
        }
    }
    if train.len() < 2 || test.is_empty() || train[0].is_empty() {
        return Nearness { duplicates, distance: None, typical: None };
    }
    let nearest = |from: &Vec<f64>, own: Option<usize>| {
        let square = |(index, to): (usize, &Vec<f64>)| {
            let sum: f64 = from.iter().zip(to).map(|(a, b)| (a - b) * (a - b)).sum();
            if own == Some(index) { f64::INFINITY } else { sum }
        };
        train.iter().enumerate().map(square).fold(f64::INFINITY, f64::min).sqrt()
    };
    let mut inner: Vec<f64> =
        train.iter().enumerate().map(|(row, from)| nearest(from, Some(row))).collect();
    let mut outer: Vec<f64> = test.iter().map(|from| nearest(from, None)).collect();
    inner.sort_by(f64::total_cmp);
    outer.sort_by(f64::total_cmp);
    Nearness {
        duplicates,
        distance: Some(outer[outer.len() / 100]),
        typical: Some(inner[inner.len() / 2]),
    }
}

/// The columns of both tables that describe a row without naming it or its files.
fn features(task: &GalleryTask) -> Vec<String> {
    let truth = task.truth_columns();
    let files: Vec<usize> = task.items().iter().map(|items| items.column).collect();
    let named = |(place, name): &(usize, &String)| {
        name.as_str() != task.id_column()
            && task.query() != Some(name.as_str())
            && !truth.contains(&name.as_str())
            && !files.contains(place)
    };
    task.train.header.iter().enumerate().filter(named).map(|(_, name)| name.clone()).collect()
}

/// Each row's features as bytes.
fn keys(table: &Rows, names: &[String], items: &[Item]) -> impl Iterator<Item = Vec<u8>> {
    let places: Vec<usize> = names.iter().filter_map(|name| table.place(name)).collect();
    table.rows.iter().enumerate().map(move |(row, cells)| {
        let mut key = Vec::new();
        for place in &places {
            key.extend(cells[*place].as_bytes());
            key.push(0);
        }
        key.extend(items.get(row).map_or(&[][..], |item| &item.bytes));
        key
    })
}

/// One more coordinate, in units of its spread over training rows; gaps lie in the middle.
fn add(train: &mut [Vec<f64>], test: &mut [Vec<f64>], here: &[f64], there: &[f64]) {
    let known: Vec<f64> = here.iter().copied().filter(|value| !value.is_nan()).collect();
    let (mean, spread) = moments(&known);
    let spread = if spread > 1e-12 { spread } else { 1.0 };
    let place = |value: &f64| if value.is_nan() { 0.0 } else { (value - mean) / spread };
    train.iter_mut().zip(here).for_each(|(point, value)| point.push(place(value)));
    test.iter_mut().zip(there).for_each(|(point, value)| point.push(place(value)));
}
