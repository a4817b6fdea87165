//! Tables as Parquet files.
//!
//! A table has the same bytes on every machine and in every run. One thread writes it, page after
//! page, and the sizes of groups and pages are set here, so that no default of the library moves them.
//! Nothing else may bring in chance: values of a column are numbered in the order in which they first
//! occur, and whether that is worth while follows from an estimate with a fixed seed.

use super::table;
use polars::prelude::{
    DataFrame, DataType, ParallelStrategy, ParquetCompression, ParquetReader, ParquetWriter,
    PolarsError, PolarsResult, SerReader, StatisticsOptions,
};
use std::io::Cursor;

/// Rows of a group: all of them, in any table that tasks have.
const GROUP_ROWS: usize = 1 << 18;
/// Bytes of a page.
const PAGE_BYTES: usize = 1 << 20;
/// Least and largest values are for readers that skip groups of rows. There is one group.
const NO_STATISTICS: StatisticsOptions = StatisticsOptions {
    min_value: false,
    max_value: false,
    distinct_count: false,
    null_count: false,
    binary_statistics_truncate_length: None,
};

/// A table as Parquet. What is compressed has other bytes with another version of the compressor:
/// tables of tasks are not.
///
/// # Errors
/// If a column is of a type that Parquet has not.
pub fn to_parquet(table: &DataFrame, compression: ParquetCompression) -> PolarsResult<Vec<u8>> {
    table::off_workers(|| {
        let mut bytes = Vec::new();
        ParquetWriter::new(&mut bytes)
            .with_compression(compression)
            .with_statistics(NO_STATISTICS)
            .with_row_group_size(Some(GROUP_ROWS))
            .with_data_page_size(Some(PAGE_BYTES))
            .set_parallel(false)
            .finish(&mut table.clone())?;
        Ok(bytes)
    })
}

/// The table that is in a Parquet file.
///
/// # Errors
/// If it is no such file, or a column is neither of texts nor of numbers.
pub fn read_parquet(bytes: &[u8]) -> PolarsResult<DataFrame> {
    let read =
        || ParquetReader::new(Cursor::new(bytes)).read_parallel(ParallelStrategy::None).finish();
    let table = table::off_workers(read)?;
    let is_known =
        |kind: &DataType| matches!(kind, DataType::String | DataType::Int64 | DataType::Float64);
    match table.columns().iter().find(|column| !is_known(column.dtype())) {
        Some(column) => {
            let what = format!("column `{}` is of type {}", column.name(), column.dtype());
            Err(PolarsError::SchemaMismatch(what.into()))
        }
        None => Ok(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polars::prelude::Column;

    fn table() -> DataFrame {
        let rows = || 0..3000_u32;
        let value = |row: u32| if row == 7 { f64::NAN } else { f64::from(row % 977) / 8.0 };
        table::from_columns(vec![
            table::texts("id", rows().map(|row| format!("r{:04}", row * 7 % 450))),
            table::texts("from", rows().map(|row| ["device", "", "hand"][row as usize % 3])),
            table::numbers("load", &rows().map(value).collect::<Vec<f64>>(), 2),
            table::numbers("count", &rows().map(f64::from).collect::<Vec<f64>>(), 0),
        ])
    }

    #[test]
    fn table_written_twice_has_the_same_bytes() {
        let write = || to_parquet(&table(), ParquetCompression::Uncompressed).unwrap();
        let (once, again) = (write(), std::thread::spawn(write).join().unwrap());
        assert!(once == again);
        assert!(once.starts_with(b"PAR1") && once.ends_with(b"PAR1"));
    }

    #[test]
    fn table_read_back_is_what_was_written() {
        for compression in [ParquetCompression::Uncompressed, ParquetCompression::Zstd(None)] {
            let read = read_parquet(&to_parquet(&table(), compression).unwrap()).unwrap();
            assert!(read.equals_missing(&table()), "{read}");
            assert_eq!(read.dtypes(), table().dtypes());
        }
    }

    #[test]
    fn bytes_that_are_no_table_of_texts_and_numbers_are_refused() {
        let flags = table::from_columns(vec![Column::new("flag".into(), [true, false])]);
        let flags = to_parquet(&flags, ParquetCompression::Uncompressed);
        let refused = read_parquet(&flags.unwrap()).unwrap_err().to_string();
        assert!(refused.contains("`flag`"), "{refused}");
        let bytes = to_parquet(&table(), ParquetCompression::Uncompressed).unwrap();
        for torn in [&b""[..], b"id,load\nr1,2\n", &bytes[..bytes.len() / 2]] {
            assert!(read_parquet(torn).is_err());
        }
    }
}
