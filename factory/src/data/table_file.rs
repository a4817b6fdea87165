//! Files of tables, in any of the forms that tasks have.

use super::json_lines::read_json_lines;
use super::parquet::read_parquet;
use super::table;
use crate::spec::structure::RecordFormat;
use polars::prelude::DataFrame;
use std::fmt::Display;
use std::io;

/// A public table in the form that the name of its file says. All cells are the texts that CSV would
/// have. `id` is the column whose values have a line of JSON each.
///
/// # Errors
/// If the name is that of no table, or the bytes are none.
pub fn read_table(path: &str, bytes: &[u8], id: &str) -> io::Result<DataFrame> {
    match RecordFormat::of_name(path) {
        Some(RecordFormat::Csv) => table::read_csv(bytes).map_err(invalid),
        Some(RecordFormat::JsonLines) => read_json_lines(bytes, id).map_err(invalid),
        Some(RecordFormat::Parquet) => {
            let table = read_parquet(bytes).map_err(invalid)?;
            table::read_csv(&table::to_csv(&table)).map_err(invalid)
        }
        None => Err(invalid("its name is that of no table")),
    }
}

fn invalid(fault: impl Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::json_lines::to_json_lines;
    use crate::data::parquet::to_parquet;
    use crate::data::table::Cells;
    use polars::prelude::ParquetCompression;

    #[test]
    fn every_form_of_a_table_has_the_same_cells() {
        let written = table::from_columns(vec![
            table::texts("id", ["0017", "0017", "a \"b\", c"]),
            table::numbers("load", &[5.12345, f64::NAN, 4.0], 2),
            table::texts("on", ["2014-05-02", "", "two\nlines"]),
        ]);
        let forms = [
            ("visits.csv", table::to_csv(&written)),
            ("visits.jsonl", to_json_lines(&written, "visits")),
            ("visits.parquet", to_parquet(&written, ParquetCompression::Uncompressed).unwrap()),
        ];
        for (path, bytes) in forms {
            let read = read_table(path, &bytes, "id").unwrap();
            assert_eq!(read.get_column_names(), ["id", "load", "on"], "{path}");
            let cells = |name: &str| match table::cells(&read, name) {
                Some(Cells::Text(texts)) => texts.join("|"),
                other => panic!("{path}: {other:?}"),
            };
            assert_eq!(cells("id"), "0017|0017|a \"b\", c", "{path}");
            assert_eq!(cells("load"), "5.12||4.0", "{path}");
            assert_eq!(cells("on"), "2014-05-02||two\nlines", "{path}");
        }
    }

    #[test]
    fn file_of_another_form_or_name_is_refused() {
        let csv = b"id,load\nr1,2.5\n";
        for path in ["visits.parquet", "visits.jsonl", "visits.txt", "visits"] {
            assert!(read_table(path, csv, "id").is_err(), "{path}");
        }
    }
}
