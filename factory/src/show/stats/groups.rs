//! Rows of a data frame, counted and divided by what a column holds.

use crate::data::table::{self, Cells};
use polars::prelude::{ChunkCompareEq, DataFrame, DataType};
use std::collections::BTreeMap;

/// Number of rows by name.
pub type Counts = BTreeMap<String, usize>;

/// The name of all groups together.
pub(super) const ALL: &str = "all";

/// How many rows have each value of a column, by the value as text. Rows without a value are not
/// counted.
///
/// # Panics
/// If there is no such column.
pub(super) fn counts(table: &DataFrame, column: &str) -> Counts {
    let groups = table.group_by_stable([column]).expect("the table has the column");
    let groups = groups.select([column]).count().expect("groups can be counted");
    let [keys, sizes] = groups.columns() else { unreachable!("a column of keys and one of sizes") };
    let keys = keys.cast(&DataType::String).expect("values can be written as text");
    let keys = keys.str().expect("they were just cast to text");
    let sizes = sizes.idx().expect("sizes count rows");
    let pair = |(key, size): (Option<&str>, Option<u32>)| Some((key?.to_owned(), size? as usize));
    keys.iter().zip(sizes.iter()).filter_map(pair).collect()
}

/// The rows with each text of a column, by the text; rows without one are left out.
///
/// # Panics
/// If there is no such column of texts.
pub(super) fn groups(table: &DataFrame, column: &str) -> BTreeMap<String, DataFrame> {
    let of = |text: &String| (text.clone(), rows(table, column, text));
    counts(table, column).keys().map(of).collect()
}

/// The rows with `text` in a column.
///
/// # Panics
/// If there is no such column of texts.
pub(super) fn rows(table: &DataFrame, column: &str, text: &str) -> DataFrame {
    let texts = table.column(column).and_then(|column| column.str());
    let chosen = texts.expect("the table has the column of texts").equal(text);
    table.filter(&chosen).expect("one choice was made per row")
}

/// The numbers of a column, NaN where there is none.
///
/// # Panics
/// If there is no such column of numbers.
pub(super) fn numbers(table: &DataFrame, column: &str) -> Vec<f64> {
    match table::cells(table, column) {
        Some(Cells::Numbers(values)) => values,
        _ => panic!("the table has no column of numbers `{column}`"),
    }
}

/// The rows that have a value in a column.
///
/// # Panics
/// If there is no such column.
pub(super) fn with_value(table: &DataFrame, column: &str) -> DataFrame {
    let chosen = table.column(column).expect("the table has the column").is_not_null();
    table.filter(&chosen).expect("one choice was made per row")
}

/// The counts of a column of `Int64`, `None` where there is none.
///
/// # Panics
/// If there is no such column, or it has negative numbers.
pub(super) fn integers(table: &DataFrame, column: &str) -> Vec<Option<u64>> {
    let values = table.column(column).and_then(|column| column.i64());
    let values = values.expect("the table has the column of whole numbers").iter();
    let count = |value: i64| u64::try_from(value).expect("counts are not negative");
    values.map(|value| value.map(count)).collect()
}

/// The texts of a column, empty where there is none.
///
/// # Panics
/// If there is no such column of texts.
pub(super) fn texts(table: &DataFrame, column: &str) -> Vec<String> {
    match table::cells(table, column) {
        Some(Cells::Text(values)) => values.into_iter().map(str::to_owned).collect(),
        _ => panic!("the table has no column of texts `{column}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> DataFrame {
        table::from_columns(vec![
            table::texts("kind", ["b", "a", "", "b"]),
            table::numbers("size", &[1.0, 2.0, 3.0, 4.0], 0),
        ])
    }

    #[test]
    fn rows_are_counted_by_value_and_those_without_one_are_not() {
        let expected = Counts::from([("a".to_owned(), 1), ("b".to_owned(), 2)]);
        assert_eq!(counts(&table(), "kind"), expected);
        assert_eq!(counts(&table(), "size").len(), 4);
        assert!(counts(&table().head(Some(0)), "kind").is_empty());
    }

    #[test]
    fn groups_hold_the_rows_of_their_value_in_order() {
        let groups = groups(&table(), "kind");
        let sizes: Vec<Vec<f64>> = groups.values().map(|rows| numbers(rows, "size")).collect();
        assert_eq!(sizes, [vec![2.0], vec![1.0, 4.0]]);
        assert_eq!(texts(&groups["b"], "kind"), ["b", "b"]);
    }
}
