//! From written tables and items to model inputs. Everything fitted is fitted on training rows.

use crate::data::assets::Assets;
use crate::data::items::Item;
use crate::data::labels::Truth;
use crate::data::places;
use crate::data::table::Cells;
use crate::media::Reading;
use crate::media::graph::nodes::{NodeNetwork, Structure};
use crate::numeric::matrix::from_columns;
use crate::numeric::moments::median;
use ndarray::Array2;
use polars::prelude::{Column, DataFrame};
use std::collections::{BTreeMap, BTreeSet};

/// How many training rows the shares of classes among neighbours are drawn to the whole by.
const PRIOR: f64 = 2.0;

/// A train and a test matrix with the same columns.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// One row per training row.
    pub train: Array2<f64>,
    /// One row per test row.
    pub test: Array2<f64>,
}

/// The inputs of the linear rung: the number columns as they are written, gaps filled with the
/// training median, and the items' plain readings.
pub fn plain(assets: &Assets) -> Inputs {
    encode(assets, false, |reading| &reading.plain)
}

/// What a practised engineer feeds to a forest: the number columns, an indicator per word, the
/// items' generic readings, what is usually computed of a row's records and places, and its place in
/// the network.
pub fn generic(assets: &Assets) -> Inputs {
    encode(assets, true, |reading| &reading.generic)
}

fn encode(assets: &Assets, words: bool, read: impl Fn(&Reading) -> &Vec<f64>) -> Inputs {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (a, b) in assets.train.columns().iter().zip(assets.test.columns()) {
        match (Cells::from_column(a), Cells::from_column(b)) {
            (Cells::Numbers(a), Cells::Numbers(b)) => {
                let fill = median(&a);
                let filled = |values: &[f64]| -> Vec<f64> {
                    values.iter().map(|v| if v.is_nan() { fill } else { *v }).collect()
                };
                left.push(filled(&a));
                right.push(filled(&b));
            }
            (Cells::Text(a), Cells::Text(b)) if words => {
                if let Some((train, test)) = readings(&a).zip(readings(&b)) {
                    left.extend(train);
                    right.extend(test);
                    continue;
                }
                // Names of groups that are new in testing are of no use.
                let tested: BTreeSet<&str> = b.iter().copied().collect();
                let known: BTreeSet<&str> = a.iter().copied().collect();
                let known = known.intersection(&tested);
                for word in known {
                    let indicator = |words: &[&str]| -> Vec<f64> {
                        words.iter().map(|w| f64::from(u8::from(w == word))).collect()
                    };
                    left.push(indicator(&a));
                    right.push(indicator(&b));
                }
            }
            _ => {}
        }
    }
    if words {
        left.extend(places::usual(&numbers(&assets.train)));
        right.extend(places::usual(&numbers(&assets.test)));
    }
    left.extend(columns(&assets.train_items, &read));
    right.extend(columns(&assets.test_items, &read));
    if words {
        let rows = assets.order.train.len() + assets.order.test.len();
        let of_records = assets.records.iter().flat_map(|records| records.summaries(rows));
        for column in of_records.chain(in_network(assets)) {
            let of = |rows: &[usize]| rows.iter().map(|row| column[*row]).collect();
            left.push(of(&assets.order.train));
            right.push(of(&assets.order.test));
        }
    }
    let (train, test) = (assets.order.train.len(), assets.order.test.len());
    Inputs { train: from_columns(train, &left), test: from_columns(test, &right) }
}

/// The number columns of a table.
fn numbers(table: &DataFrame) -> BTreeMap<String, Vec<f64>> {
    let numbers = |column: &Column| match Cells::from_column(column) {
        Cells::Numbers(values) => Some((column.name().to_string(), values)),
        Cells::Text(_) => None,
    };
    table.columns().iter().filter_map(numbers).collect()
}

/// What is usually computed of lists of readings: their number, mean, least and largest; `None`
/// where cells are no such lists.
fn readings(cells: &[&str]) -> Option<[Vec<f64>; 4]> {
    let mut columns: [Vec<f64>; 4] = Default::default();
    if !cells.iter().any(|cell| cell.contains(' ')) {
        return None;
    }
    for cell in cells {
        let values = cell.split_whitespace().map(str::parse::<f64>);
        let values: Vec<f64> =
            values.collect::<Result<_, _>>().ok().filter(|v: &Vec<f64>| !v.is_empty())?;
        let count = values.len() as f64;
        let summary = [
            count,
            values.iter().sum::<f64>() / count,
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ];
        columns.iter_mut().zip(summary).for_each(|(column, value)| column.push(value));
    }
    Some(columns)
}

/// What is usually computed of nodes, for all rows: degrees, triangles, and the shares of each
/// class among those neighbours whose class is known.
pub fn in_network(assets: &Assets) -> Vec<Vec<f64>> {
    if assets.links.is_empty() {
        return Vec::new();
    }
    let rows = assets.order.train.len() + assets.order.test.len();
    let network = NodeNetwork::from_links(rows, &assets.links);
    let structure = network.structure();
    let of = |value: fn(&Structure) -> f64| structure.iter().map(value).collect::<Vec<f64>>();
    let mut columns =
        vec![of(|one| one.degree), of(|one| one.neighbours_degree), of(|one| one.triangles)];
    let Truth::Classes { values, names } = &assets.train_truth else { return columns };
    let mut known = vec![None; rows];
    for (row, class) in assets.order.train.iter().zip(values) {
        known[*row] = Some(*class);
    }
    for class in 0..names.len() {
        let whole = values.iter().filter(|other| **other == class).count() as f64;
        let whole = whole / values.len() as f64;
        let share = |near: &[usize]| {
            let told = || near.iter().filter_map(|node| known[*node]);
            let (all, alike) = (told().count(), told().filter(|other| *other == class).count());
            (alike as f64 + PRIOR * whole) / (all as f64 + PRIOR)
        };
        columns.push(network.all_neighbours().map(share).collect());
    }
    columns
}

/// One kind of reading of all items, column by column.
pub fn columns(items: &[Item], read: impl Fn(&Reading) -> &Vec<f64>) -> Vec<Vec<f64>> {
    let width = items.first().map_or(0, |item| read(item.reading()).len());
    let column = |index| items.iter().map(|item| read(item.reading())[index]).collect();
    (0..width).map(column).collect()
}
