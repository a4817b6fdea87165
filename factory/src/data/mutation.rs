//! Mutations at work on written tables, and what a careful solver undoes of them.

use super::places;
use super::table::{self, Cells};
use crate::numeric::draws::{Draws, floor};
use crate::numeric::moments::{median, moments};
use crate::spec::mutation::{Mutation, SENTINEL};
use crate::spec::rule::Frame;
use crate::spec::scenario::NumberColumn;
use crate::spec::structure::RowStructure;
use polars::prelude::DataFrame;
use tasks::stream::Stream;

/// Noise in the numbers of a repeated row, as a share of a column's range.
const JITTER: f64 = 0.002;

impl Mutation {
    /// Changes the written features, whose number columns are specified in `numbers`. Label
    /// mutations act in [`super::labels`] instead, and blemishes where items are rendered.
    pub fn apply(&self, table: &mut DataFrame, numbers: &[NumberColumn], stream: Stream) {
        let mut draws = Draws::new(stream);
        // Numbers that are not drawn, such as steps in time, are counts.
        let decimals = |name: &str| {
            let spec = numbers.iter().find(|column| column.name == name);
            spec.map_or(0, |column| column.decimals)
        };
        match self {
            Self::LabelNoise { .. }
            | Self::Imbalance { .. }
            | Self::NearDuplicates { .. }
            | Self::Blemish { .. } => {}
            Self::Missing { column, share } => {
                let Some(mut cells) = table::cells(table, column) else { return };
                for row in gaps(&cells, *share, &mut draws) {
                    match &mut cells {
                        Cells::Numbers(values) => values[row] = f64::NAN,
                        Cells::Text(words) => words[row] = "",
                    }
                }
                let changed = cells.into_column(column, decimals(column));
                table::put(table, changed);
            }
            Self::Sentinel { column, share } => {
                let Some(mut cells) = table::cells(table, column) else { return };
                let gaps = gaps(&cells, *share, &mut draws);
                if let Cells::Numbers(values) = &mut cells {
                    for row in gaps {
                        values[row] = SENTINEL;
                    }
                }
                let changed = cells.into_column(column, decimals(column));
                table::put(table, changed);
            }
            Self::Units { column, companion, factor, share } => {
                let other: Vec<bool> = (0..table.height()).map(|_| draws.chance(*share)).collect();
                if let Some(Cells::Numbers(mut values)) = table::cells(table, column) {
                    for (value, other) in values.iter_mut().zip(&other) {
                        if *other {
                            *value *= factor;
                        }
                    }
                    table::put(table, table::numbers(column, &values, decimals(column)));
                }
                let name = |other: &bool| if *other { "alt" } else { "std" };
                table::put(table, table::texts(companion, other.iter().map(name)));
            }
            Self::Echo { column, name, noise } => {
                let Some(echo) = echo(table, column, *noise, &mut draws) else { return };
                table::put(table, table::numbers(name, &echo, decimals(column)));
            }
            Self::Rescaled { column, name, factor, noise } => {
                let Some(mut echo) = echo(table, column, *noise, &mut draws) else { return };
                for value in &mut echo {
                    *value *= factor;
                }
                table::put(table, table::numbers(name, &echo, 0));
            }
            Self::Channels { prefix, count, columns, noise } => {
                for (index, column) in columns.iter().cycle().take(*count).enumerate() {
                    let Some(mut echo) = echo(table, column, *noise, &mut draws) else { continue };
                    // Channels have a unit of their own, so that none is its column again.
                    let (mean, spread) = moments(&echo);
                    for value in &mut echo {
                        *value = (*value - mean) / spread.max(1e-9);
                    }
                    let name = format!("{prefix}_{:02}", index + 1);
                    table::put(table, table::numbers(&name, &echo, 2));
                }
            }
        }
    }

    /// Replaces written sentinels by NaN and converts units back; does nothing for other mutations.
    pub fn undo(&self, frame: &mut Frame) {
        match self {
            Self::Sentinel { column, .. } => {
                for value in frame.numbers.get_mut(column).into_iter().flatten() {
                    if *value == SENTINEL {
                        *value = f64::NAN;
                    }
                }
            }
            Self::Units { column, companion, factor, .. } => {
                let values = frame.numbers.get_mut(column);
                let Some((values, units)) = values.zip(frame.words.get(companion)) else { return };
                for (value, unit) in values.iter_mut().zip(units) {
                    if unit == "alt" {
                        *value /= factor;
                    }
                }
            }
            _ => {}
        }
    }
}

/// A column with noise, gaps and sentinels filled with its mean; `None` if there is no such column of
/// numbers.
fn echo(table: &DataFrame, column: &str, noise: f64, draws: &mut Draws) -> Option<Vec<f64>> {
    let Some(Cells::Numbers(values)) = table::cells(table, column) else { return None };
    let is_known = |value: f64| !value.is_nan() && value != SENTINEL;
    let known: Vec<f64> = values.iter().copied().filter(|value| is_known(*value)).collect();
    let (mean, spread) = moments(&known);
    let noisy = |value: &f64| {
        let value = if is_known(*value) { *value } else { mean };
        value + noise * spread * draws.normal()
    };
    Some(values.iter().map(noisy).collect())
}

/// Makes some training rows almost repeat others: `rows` of them, taken from the end, get the cells
/// of earlier ones, with a little noise in numbers. Returns which row each of them repeats.
pub(super) fn repeat(
    train: &mut DataFrame,
    numbers: &[NumberColumn],
    share: f64,
    stream: Stream,
) -> Vec<(usize, usize)> {
    let mut draws = Draws::new(stream);
    let rows = train.height();
    let mut places: Vec<usize> = (0..rows).collect();
    draws.shuffle(&mut places);
    let count = floor(share * rows as f64).min(rows / 2);
    let (copies, sources) = places.split_at(count);
    let pairs: Vec<(usize, usize)> =
        copies.iter().map(|copy| (*copy, *draws.pick(sources))).collect();
    let mut from: Vec<usize> = (0..rows).collect();
    for (copy, source) in &pairs {
        from[*copy] = *source;
    }
    *train = table::take(train, &from);
    for column in numbers {
        let Some(Cells::Numbers(mut values)) = table::cells(train, &column.name) else { continue };
        let size = JITTER * (column.high - column.low);
        for (copy, _) in &pairs {
            let noisy = values[*copy] + size * draws.normal();
            if values[*copy] != SENTINEL && values[*copy] != 0.0 {
                values[*copy] = noisy;
            }
        }
        table::put(train, table::numbers(&column.name, &values, column.decimals));
    }
    pairs
}

/// Rows that lose their value: not at random, twice as likely above the median.
fn gaps(cells: &Cells, share: f64, draws: &mut Draws) -> Vec<usize> {
    let chances: Vec<f64> = match cells {
        Cells::Numbers(values) => {
            let median = median(values);
            let chance = |value: &f64| share * if *value > median { 4.0 / 3.0 } else { 2.0 / 3.0 };
            values.iter().map(chance).collect()
        }
        Cells::Text(words) => vec![share; words.len()],
    };
    (0..chances.len()).filter(|row| draws.chance(chances[*row])).collect()
}

/// The frame a careful solver can rebuild from written features: lists summed up, distances of places
/// computed, mutations undone, gaps filled with the medians of `reference` (the training rows).
pub fn repaired(
    table: &DataFrame,
    reference: &DataFrame,
    mutations: &[Mutation],
    structure: &RowStructure,
    block: usize,
) -> Frame {
    let undone = |table: &DataFrame| {
        let mut frame = written(table);
        if let Some(spec) = &structure.readings
            && let Some(lists) = frame.words.remove(&spec.column)
        {
            let values = lists.iter().map(|list| spec.summary.of(list)).collect();
            frame.numbers.insert(spec.of.clone(), values);
        }
        if let Some(spec) = &structure.places
            && let Some(values) = places::distances(spec, &frame.numbers)
        {
            frame.numbers.insert(spec.of.clone(), values);
        }
        for mutation in mutations {
            mutation.undo(&mut frame);
        }
        frame
    };
    let (mut frame, reference) = (undone(table), undone(reference));
    frame.block = block;
    for (name, values) in &mut frame.numbers {
        let fill = median(reference.numbers.get(name).map_or(&[][..], Vec::as_slice));
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = fill);
    }
    frame
}

/// The columns of a table as they are written.
fn written(table: &DataFrame) -> Frame {
    let mut frame = Frame { rows: table.height(), ..Frame::default() };
    for column in table.columns() {
        let name = column.name().to_string();
        match Cells::from_column(column) {
            Cells::Numbers(values) => {
                frame.numbers.insert(name, values);
            }
            Cells::Text(words) => {
                frame.words.insert(name, words.into_iter().map(str::to_owned).collect());
            }
        }
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> DataFrame {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        table::from_columns(vec![table::numbers("a", &values, 1)])
    }

    fn specs() -> [NumberColumn; 1] {
        ["a 0 1000 u 1".parse().unwrap()]
    }

    #[test]
    fn gaps_are_as_many_as_asked_and_more_among_large_values() {
        let mut table = table();
        let mutation = Mutation::Missing { column: "a".to_owned(), share: 0.2 };
        mutation.apply(&mut table, &specs(), Stream::root(3));
        let values = &written(&table).numbers["a"];
        let gaps = |range: std::ops::Range<usize>| {
            values[range].iter().filter(|value| value.is_nan()).count()
        };
        assert!((150..250).contains(&gaps(0..1000)));
        assert!(gaps(500..1000) > gaps(0..500));
        assert_eq!(table.columns()[0].null_count(), gaps(0..1000));
    }

    #[test]
    fn units_and_sentinels_can_be_undone() {
        let clean = written(&table());
        for mutation in [
            Mutation::Units {
                column: "a".to_owned(),
                companion: "a_unit".to_owned(),
                factor: 1000.0,
                share: 0.2,
            },
            Mutation::Sentinel { column: "a".to_owned(), share: 0.1 },
        ] {
            let mut table = table();
            mutation.apply(&mut table, &specs(), Stream::root(4));
            let mut frame = written(&table);
            assert_ne!(frame.numbers, clean.numbers);
            mutation.undo(&mut frame);
            let pairs = frame.numbers["a"].iter().zip(&clean.numbers["a"]);
            assert!(pairs.into_iter().all(|(a, b)| a.is_nan() || a == b), "{mutation:?}");
        }
    }
}
