//! Mutations at work on written tables, and what a careful solver undoes of them.

use super::table::{Cells, Table};
use crate::numeric::draws::Draws;
use crate::numeric::moments::{median, moments};
use crate::numeric::rounding::round;
use crate::spec::mutation::{Mutation, SENTINEL};
use crate::spec::rule::Frame;
use tasks::stream::Stream;

impl Mutation {
    /// Changes the written features. Label mutations act in [`super::labels`] instead, and
    /// blemishes where items are rendered.
    pub fn apply(&self, table: &mut Table, stream: Stream) {
        let mut draws = Draws::new(stream);
        match self {
            Self::LabelNoise { .. } | Self::Imbalance { .. } | Self::Blemish { .. } => {}
            Self::Missing { column, share } => {
                if let Some(cells) = table.column_mut(column) {
                    let gaps = gaps(cells, *share, &mut draws);
                    match cells {
                        Cells::Numbers { values, .. } => {
                            for row in gaps {
                                values[row] = f64::NAN;
                            }
                        }
                        Cells::Text(words) => gaps.into_iter().for_each(|row| words[row].clear()),
                    }
                }
            }
            Self::Sentinel { column, share } => {
                if let Some(cells) = table.column_mut(column) {
                    let gaps = gaps(cells, *share, &mut draws);
                    if let Cells::Numbers { values, .. } = cells {
                        for row in gaps {
                            values[row] = SENTINEL;
                        }
                    }
                }
            }
            Self::Units { column, companion, factor, share } => {
                let rows = table.rows();
                let other: Vec<bool> = (0..rows).map(|_| draws.chance(*share)).collect();
                if let Some(Cells::Numbers { values, decimals }) = table.column_mut(column) {
                    for (value, other) in values.iter_mut().zip(&other) {
                        if *other {
                            *value = round(*value * factor, *decimals);
                        }
                    }
                }
                let name = |other: &bool| if *other { "alt" } else { "std" }.to_owned();
                table.push(companion, Cells::Text(other.iter().map(name).collect()));
            }
            Self::Echo { column, name, noise } => {
                if let Some(Cells::Numbers { values, decimals }) = table.column(column) {
                    let decimals = *decimals;
                    let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
                    let (mean, spread) = moments(&known);
                    let echo = values
                        .iter()
                        .map(|value| {
                            let value = if value.is_nan() { mean } else { *value };
                            round(value + noise * spread * draws.normal(), decimals)
                        })
                        .collect();
                    table.push(name, Cells::Numbers { values: echo, decimals });
                }
            }
        }
    }

    /// Replaces written sentinels by NaN and converts units back; does nothing for other mutations.
    pub fn undo(&self, table: &mut Table) {
        match self {
            Self::Sentinel { column, .. } => {
                if let Some(Cells::Numbers { values, .. }) = table.column_mut(column) {
                    for value in values.iter_mut().filter(|value| **value == SENTINEL) {
                        *value = f64::NAN;
                    }
                }
            }
            Self::Units { column, companion, factor, .. } => {
                let Some(units) = table.text(companion).map(<[String]>::to_vec) else { return };
                if let Some(Cells::Numbers { values, .. }) = table.column_mut(column) {
                    for (value, unit) in values.iter_mut().zip(units) {
                        if unit == "alt" {
                            *value /= factor;
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Rows that lose their value: not at random, twice as likely above the median.
fn gaps(cells: &Cells, share: f64, draws: &mut Draws) -> Vec<usize> {
    let large: Vec<bool> = match cells {
        Cells::Numbers { values, .. } => {
            let median = median(values);
            values.iter().map(|value| *value > median).collect()
        }
        Cells::Text(words) => vec![false; words.len()],
    };
    let chance = |large: bool| share * if large { 4.0 / 3.0 } else { 2.0 / 3.0 };
    let uniform = matches!(cells, Cells::Text(_));
    (0..large.len())
        .filter(|row| draws.chance(if uniform { share } else { chance(large[*row]) }))
        .collect()
}

/// The frame a careful solver can rebuild from written features: mutations undone, gaps
/// filled with the medians of `reference` (the training rows).
pub fn repaired(table: &Table, reference: &Table, mutations: &[Mutation], block: usize) -> Frame {
    let (mut table, mut reference) = (table.clone(), reference.clone());
    for mutation in mutations {
        mutation.undo(&mut table);
        mutation.undo(&mut reference);
    }
    let mut frame = Frame { rows: table.rows(), block, ..Frame::default() };
    for column in table.columns {
        match column.cells {
            Cells::Numbers { mut values, .. } => {
                let fill = median(reference.numbers(&column.name).unwrap_or_default());
                values.iter_mut().filter(|v| v.is_nan()).for_each(|value| *value = fill);
                frame.numbers.insert(column.name, values);
            }
            Cells::Text(words) => {
                frame.words.insert(column.name, words);
            }
        }
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        let values = (0..1000).map(f64::from).collect();
        table.push("a", Cells::Numbers { values, decimals: 1 });
        table
    }

    #[test]
    fn gaps_are_as_many_as_asked_and_more_among_large_values() {
        let mut table = table();
        let mutation = Mutation::Missing { column: "a".to_owned(), share: 0.2 };
        mutation.apply(&mut table, Stream::root(3));
        let values = table.numbers("a").unwrap();
        let gaps = |range: std::ops::Range<usize>| {
            values[range].iter().filter(|value| value.is_nan()).count()
        };
        assert!((150..250).contains(&gaps(0..1000)));
        assert!(gaps(500..1000) > gaps(0..500));
    }

    #[test]
    fn units_and_sentinels_can_be_undone() {
        let clean = table();
        for mutation in [
            Mutation::Units {
                column: "a".to_owned(),
                companion: "a_unit".to_owned(),
                factor: 1000.0,
                share: 0.2,
            },
            Mutation::Sentinel { column: "a".to_owned(), share: 0.1 },
        ] {
            let mut table = clean.clone();
            mutation.apply(&mut table, Stream::root(4));
            assert_ne!(table.numbers("a"), clean.numbers("a"));
            mutation.undo(&mut table);
            let pairs = table.numbers("a").unwrap().iter().zip(clean.numbers("a").unwrap());
            assert!(pairs.into_iter().all(|(a, b)| a.is_nan() || a == b), "{mutation:?}");
        }
    }
}
