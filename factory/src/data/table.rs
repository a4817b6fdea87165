//! Tables: how columns of a data frame are made of numbers and texts and read again, and their
//! CSV form.
//!
//! Numbers without decimals are `Int64`, other numbers `Float64`, texts `String`; a missing value
//! is null in a column and an empty cell in CSV. In vectors, a missing number is NaN and a missing
//! text is empty.
//!
//! Tasks are made on many threads, and polars has a pool of threads of its own. A worker that
//! waited for that pool would begin other tasks on its own stack meanwhile, so nothing here waits
//! for it: rows are taken column by column, CSV is written by one thread, and it is read, as Parquet is
//! read and written, on a thread that is no worker.

use crate::numeric::rounding::round;
use polars::prelude::{
    Column, CsvParseOptions, CsvReadOptions, CsvWriter, DataFrame, DataType, IdxSize, IntoColumn,
    PolarsError, SerReader, SerWriter, StringChunked,
};
use std::io::Cursor;

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells<'a> {
    /// One number per row, NaN where it is missing.
    Numbers(Vec<f64>),
    /// One text per row, empty where it is missing.
    Text(Vec<&'a str>),
}

impl<'a> Cells<'a> {
    /// The values of a column of numbers or texts.
    ///
    /// # Panics
    /// If the column's type is none that this module makes.
    pub fn from_column(column: &'a Column) -> Self {
        if let Ok(texts) = column.str() {
            return Self::Text(texts.iter().map(Option::unwrap_or_default).collect());
        }
        let numbers = column.cast(&DataType::Float64).expect("it is a column of numbers");
        let numbers = numbers.f64().expect("it was just cast to them");
        Self::Numbers(numbers.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }

    /// The values as a column; `decimals` is the number of digits after the point of numbers.
    pub fn into_column(self, name: &str, decimals: usize) -> Column {
        match self {
            Self::Numbers(values) => numbers(name, &values, decimals),
            Self::Text(values) => texts(name, values),
        }
    }
}

/// A column of numbers, rounded to `decimals` digits after the point. Without decimals it is
/// `Int64`, unless a number is too large for that.
pub fn numbers(name: &str, values: &[f64], decimals: usize) -> Column {
    let rounded = values.iter().map(|value| (!value.is_nan()).then(|| round(*value, decimals)));
    let column = Column::new(name.into(), rounded.collect::<Vec<Option<f64>>>());
    match decimals {
        0 => column.strict_cast(&DataType::Int64).unwrap_or(column),
        _ => column,
    }
}

/// A column of texts.
pub fn texts<T: AsRef<str>>(name: &str, values: impl IntoIterator<Item = T>) -> Column {
    let known = |value: T| (!value.as_ref().is_empty()).then_some(value);
    let texts: StringChunked = values.into_iter().map(known).collect();
    texts.with_name(name.into()).into_column()
}

/// A table of columns, from left to right.
///
/// # Panics
/// If the columns are not of one length, or two have the same name.
pub fn from_columns(columns: Vec<Column>) -> DataFrame {
    DataFrame::new_infer_height(columns).expect("columns have one length and names of their own")
}

/// The values of the column called `name`; none if there is no such column.
pub fn cells<'a>(table: &'a DataFrame, name: &str) -> Option<Cells<'a>> {
    table.column(name).ok().map(Cells::from_column)
}

/// Adds a column on the right, or replaces the one of its name.
///
/// # Panics
/// If it has not one value per row.
pub fn put(table: &mut DataFrame, column: Column) {
    table.with_column(column).expect("a column has one value per row");
}

/// The chosen rows, in the given order.
///
/// # Panics
/// If there is no such row.
#[must_use]
pub fn take(table: &DataFrame, rows: &[usize]) -> DataFrame {
    let place = |row: &usize| IdxSize::try_from(*row).expect("tables have fewer rows than that");
    let rows: Vec<IdxSize> = rows.iter().map(place).collect();
    let taken = |column: &Column| column.take_slice(&rows).expect("the rows are the table's");
    DataFrame::new(rows.len(), table.columns().iter().map(taken).collect())
        .expect("all columns have the chosen rows")
}

/// As CSV with a header. Cells are quoted where they must be, and numbers have the fewest digits
/// that read back as the same number.
pub fn to_csv(table: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    CsvWriter::new(&mut bytes)
        .n_threads(1)
        .finish(&mut table.clone())
        .expect("numbers and texts can be written to memory");
    bytes
}

/// Reads CSV with a header. Every column is `String` and holds the cells as they are written,
/// none of them null; a row with fewer cells than the header ends in empty ones.
///
/// # Errors
/// If it is no such table: it is empty, or a row has more cells than the header.
pub fn read_csv(bytes: &[u8]) -> Result<DataFrame, PolarsError> {
    let options = CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .with_parse_options(CsvParseOptions::default().with_missing_is_null(false));
    off_workers(|| options.into_reader_with_file_handle(Cursor::new(bytes)).finish())
}

/// Does work that may wait for polars's threads on a thread that is no worker.
pub(super) fn off_workers<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|threads| threads.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(table: &DataFrame) -> String {
        String::from_utf8(to_csv(table)).unwrap()
    }

    #[test]
    fn csv_has_rounded_numbers_and_empty_cells_for_missing_values() {
        let table = from_columns(vec![
            numbers("a", &[1.25, f64::NAN, 3.0], 1),
            numbers("b", &[7.0, -999.0, f64::NAN], 0),
            texts("c", ["", "x", "0017"]),
        ]);
        assert_eq!(csv(&table), "a,b,c\n1.2,7,\n,-999,x\n3.0,,0017\n");
        assert_eq!(table.dtypes(), [DataType::Float64, DataType::Int64, DataType::String]);
    }

    #[test]
    fn numbers_too_large_for_whole_ones_stay_what_they_are() {
        let column = numbers("a", &[1e30, 2.0], 0);
        assert_eq!(Cells::from_column(&column), Cells::Numbers(vec![1e30, 2.0]));
    }

    #[test]
    fn csv_read_back_is_the_text_that_was_written() {
        let written = from_columns(vec![
            texts("id", ["0017", "", "a \"b\", c", "two\nlines"]),
            numbers("x,y", &[0.1, f64::NAN, -1e-7, 1e20], 9),
        ]);
        let read = read_csv(&to_csv(&written)).unwrap();
        assert_eq!(read.get_column_names(), ["id", "x,y"]);
        let texts = Cells::Text(vec!["0017", "", "a \"b\", c", "two\nlines"]);
        assert_eq!(cells(&read, "id"), Some(texts));
        assert_eq!(cells(&read, "x,y"), Some(Cells::Text(vec!["0.1", "", "-1e-7", "1e+20"])));
    }

    #[test]
    fn csv_of_rows_with_more_cells_than_the_header_is_refused() {
        for text in ["", "a,b\n1,2,3\n", "a,b\n1,2\n3,4,5\n"] {
            assert!(read_csv(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn taken_rows_come_in_the_given_order() {
        let table =
            from_columns(vec![numbers("a", &[0.5, 1.5, 2.5], 1), texts("b", ["x", "", "z"])]);
        assert_eq!(csv(&take(&table, &[2, 1, 2])), "a,b\n2.5,z\n1.5,\n2.5,z\n");
    }
}
