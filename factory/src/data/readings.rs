//! Numbers that are written as lists of readings.

use crate::numeric::draws::Draws;
use crate::numeric::rounding::round;
use crate::spec::scenario::NumberColumn;
use crate::spec::structure::{ReadingSpec, Summary};
use tasks::stream::Stream;

/// How far readings of one list lie apart, as a share of the column's range.
const APART: f64 = 0.06;

/// Lists of readings, one per value, from which the values follow.
pub(super) fn lists(
    spec: &ReadingSpec,
    column: &NumberColumn,
    values: &[f64],
    stream: Stream,
) -> Vec<String> {
    let mut draws = Draws::new(stream.child("readings"));
    let apart = APART * (column.high - column.low);
    let decimals = column.decimals + 1;
    let list = |value: &f64| {
        let count = draws.whole(spec.least, spec.most);
        let mut gaps: Vec<f64> = (0..count).map(|_| apart * draws.normal()).collect();
        match spec.summary {
            Summary::Mean => {
                let mean = gaps.iter().sum::<f64>() / count as f64;
                for gap in &mut gaps {
                    *gap -= mean;
                }
            }
            Summary::Max => {
                for gap in &mut gaps {
                    *gap = -2.0 * gap.abs();
                }
                gaps[draws.whole(0, count - 1)] = 0.0;
            }
        }
        let reading = |gap: f64| format!("{:.decimals$}", round(value + gap, decimals));
        gaps.into_iter().map(reading).collect::<Vec<_>>().join(" ")
    };
    values.iter().map(list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_of_varying_length_and_say_their_number() {
        let column: NumberColumn = "load 0 50 u 1".parse().unwrap();
        let values: Vec<f64> = (0..200).map(|row| f64::from(row) / 4.0).collect();
        for summary in [Summary::Mean, Summary::Max] {
            let spec = ReadingSpec {
                column: "load_readings".to_owned(),
                of: "load".to_owned(),
                summary,
                least: 2,
                most: 9,
            };
            let lists = lists(&spec, &column, &values, Stream::root(2));
            let lengths = lists.iter().map(|list| list.split(' ').count());
            assert_eq!(lengths.clone().min(), Some(2));
            assert_eq!(lengths.max(), Some(9));
            for (list, value) in lists.iter().zip(&values) {
                assert!((summary.of(list) - value).abs() < 0.06, "{list}, not {value}");
            }
        }
    }
}
