//! Tables whose rows are independent of each other.

use super::assets::Order;
use super::bonds::Bonds;
use super::latents;
use super::network::{self, Ties};
use super::{places, readings};
use crate::data::table;
use crate::numeric::draws::{Draws, floor, normal_cdf};
use crate::numeric::rounding::round;
use crate::spec::blueprint::Blueprint;
use crate::spec::rule::Frame;
use crate::spec::scenario::{NumberColumn, Shape};
use crate::spec::structure::COORDINATE_DECIMALS;
use polars::prelude::DataFrame;
use std::collections::BTreeMap;
use tasks::stream::Stream;

/// Draws clean columns, and the same as they are written; rows that are nodes come with ties.
pub fn draw(
    blueprint: &Blueprint,
    ties: Option<&Ties>,
    stream: Stream,
) -> (Frame, DataFrame, Order) {
    let rows = blueprint.rows.train + blueprint.rows.test;
    written(blueprint, sample(blueprint, rows, ties, stream), stream)
}

/// Clean columns of exchangeable rows, and the same as they are written.
pub fn written(blueprint: &Blueprint, frame: Frame, stream: Stream) -> (Frame, DataFrame, Order) {
    // Words and numbers alternate in real tables; here their order is drawn once per task.
    let structure = &blueprint.structure;
    let worked_out = |column: &&NumberColumn| structure.worked_out() == Some(&*column.name);
    let placed: BTreeMap<String, Vec<f64>> = structure
        .places
        .iter()
        .flat_map(|spec| {
            let columns = places::coordinates(spec, &frame.numbers[&spec.of], stream);
            spec.columns().into_iter().zip(columns)
        })
        .collect();
    let mut names: Vec<(String, Option<usize>)> = blueprint
        .numbers
        .iter()
        .filter(|column| !worked_out(column))
        .map(|column| (column.name.clone(), Some(column.decimals)))
        .chain(blueprint.words.iter().map(|spec| (spec.column.name.clone(), None)))
        .chain(structure.columns().map(|column| (column.to_owned(), None)))
        .chain(placed.keys().map(|column| (column.clone(), Some(COORDINATE_DECIMALS))))
        .collect();
    Draws::new(stream.child("column order")).shuffle(&mut names);
    let listed = structure.readings.as_ref().and_then(|spec| {
        Some((spec, blueprint.numbers.iter().find(|column| column.name == spec.of)?))
    });
    let column = |(name, decimals): &(String, Option<usize>)| match decimals {
        Some(_) if let Some((spec, column)) = listed.filter(|(spec, _)| spec.of == *name) => {
            let lists = readings::lists(spec, column, &frame.numbers[name], stream);
            table::texts(&spec.column, lists)
        }
        Some(decimals) => {
            let values = placed.get(name).unwrap_or_else(|| &frame.numbers[name]);
            table::numbers(name, values, *decimals)
        }
        None => table::texts(name, &frame.words[name]),
    };
    let table = table::from_columns(names.iter().map(column).collect());
    // Rows are exchangeable draws, so the first ones are as good a training set as any.
    let order = Order {
        train: (0..blueprint.rows.train).collect(),
        test: (blueprint.rows.train..frame.rows).collect(),
    };
    (frame, table, order)
}

/// Draws `rows` clean rows.
pub fn sample(blueprint: &Blueprint, rows: usize, ties: Option<&Ties>, stream: Stream) -> Frame {
    let mut frame = Frame { rows, ..Frame::default() };
    let ties = blueprint.network().zip(ties);
    let bonds = Bonds::draw(blueprint, rows, stream);
    let own = |name: &str| -> Vec<f64> {
        let mut draws = Draws::new(stream.child("number").child(name));
        let is = |names: &[String]| names.iter().any(|known| known == name);
        let own: Vec<f64> = match blueprint.queries() {
            Some(queries) if is(&queries.own) => {
                let values: Vec<f64> =
                    (0..rows.div_ceil(queries.rows)).map(|_| draws.normal()).collect();
                (0..rows).map(|row| values[row / queries.rows]).collect()
            }
            _ => (0..rows).map(|_| draws.normal()).collect(),
        };
        match ties {
            Some((layout, ties)) if is(&layout.kindred) => ties.kindred(&own, &mut draws),
            _ => bonds.bound(name, own),
        }
    };
    let names = blueprint.drawn().map(|column| column.name.as_str());
    let latents = latents::draw(names, &blueprint.follows, own);
    for column in blueprint.drawn() {
        let values = latents[column.name.as_str()].iter();
        let mut values: Vec<f64> = values.map(|latent| place(column, *latent)).collect();
        let zeros = blueprint.structure.zeros.as_ref().filter(|zeros| zeros.column == column.name);
        if let Some(zeros) = zeros {
            let own = &latents[column.name.as_str()];
            let mut sorted = own.clone();
            sorted.sort_by(f64::total_cmp);
            let cut = sorted[floor((rows - 1) as f64 * zeros.share)];
            let all = values.iter_mut().zip(own);
            all.filter(|(_, latent)| **latent <= cut).for_each(|(value, _)| *value = 0.0);
        }
        frame.numbers.insert(column.name.clone(), values);
    }
    bonds.tell(&mut frame);
    for spec in &blueprint.words {
        let mut draws = Draws::new(stream.child("word").child(&spec.column.name));
        let word = |_| spec.column.words[draws.weighted(&spec.weights)].clone();
        frame.words.insert(spec.column.name.clone(), (0..rows).map(word).collect());
    }
    if let Some((layout, ties)) = ties {
        network::surround(layout, &ties.network, &mut frame);
    }
    frame
}

/// A standard normal draw, placed into a column's range and shape.
pub fn place(column: &NumberColumn, z: f64) -> f64 {
    let NumberColumn { low, high, shape, decimals, .. } = column;
    // Bells reach their bounds at two and a half standard deviations.
    let bell = (0.5 + z / 5.0).clamp(0.0, 1.0);
    let value = match shape {
        Shape::Uniform => low + (high - low) * normal_cdf(z),
        Shape::Bell => low + (high - low) * bell,
        Shape::Skew => libm::exp(libm::log(*low) + (libm::log(*high) - libm::log(*low)) * bell),
        Shape::Count => low + libm::floor((high - low + 1.0) * libm::pow(normal_cdf(z), 1.8)),
    };
    round(value.clamp(*low, *high), *decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_stays_in_its_range() {
        for text in ["a 1 9 u 2", "a 1 9 b 2", "a 1 9 s 2", "a 1 9 c 0"] {
            let column: NumberColumn = text.parse().unwrap();
            let mut draws = Draws::new(Stream::root(5));
            let values: Vec<f64> = (0..2000).map(|_| place(&column, draws.normal())).collect();
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!(low >= 1.0 && high <= 9.0 && high - low > 5.0, "{text}: {low} to {high}");
        }
    }
}
