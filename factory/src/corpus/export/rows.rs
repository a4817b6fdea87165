//! Tables with lists and records, as Parquet.
//!
//! Data frames have neither here: polars's feature for records is off, because it would make every
//! build longer by minutes. So these tables are laid out by the crates below it.
//!
//! A table has the same bytes in every run: nothing is compressed, and one thread writes one group of
//! rows. Arrow's own schema is left out, so that readers take the types of Parquet: texts are `string`
//! and lists `list`, not their large forms.

use polars::prelude::PolarsResult;
use polars_arrow::array::{Array, ListArray, PrimitiveArray, StructArray, Utf8Array};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::offset::Offsets;
use polars_arrow::record_batch::RecordBatchT;
use polars_parquet::write::{
    CompressionOptions, Encoding, FileWriter, RowGroupIterator, StatisticsOptions, Version,
    WriteOptions,
};
use std::iter;
use std::sync::Arc;

/// The cells of a column.
pub(super) type Cells = Box<dyn Array>;

/// A column of texts.
pub(super) fn texts(cells: impl Iterator<Item = impl AsRef<str>>) -> Cells {
    Utf8Array::<i64>::from_iter_values(cells).boxed()
}

/// A column of whole numbers.
pub(super) fn counts(cells: impl Iterator<Item = usize>) -> Cells {
    let count = |cell| i64::try_from(cell).expect("a task has fewer rows than i64 counts");
    PrimitiveArray::from_vec(cells.map(count).collect()).boxed()
}

/// A column of records with these fields, all of one length.
pub(super) fn records(fields: Vec<(&str, Cells)>) -> Cells {
    let length = fields.first().map_or(0, |(_, cells)| cells.len());
    let kind = ArrowDataType::Struct(fields.iter().map(field).collect());
    let cells = fields.into_iter().map(|(_, cells)| cells).collect();
    StructArray::new(kind, length, cells, None).boxed()
}

/// A column of lists, each with one of `items`.
pub(super) fn lists_of_one(items: Cells) -> Cells {
    let kind = ListArray::<i64>::default_datatype(items.dtype().clone());
    let ends = Offsets::<i64>::try_from_lengths(iter::repeat_n(1, items.len()));
    let ends = ends.expect("as many lists as there are items");
    ListArray::new(kind, ends.into(), items, None).boxed()
}

fn field((name, cells): &(&str, Cells)) -> Field {
    Field::new((*name).into(), cells.dtype().clone(), true)
}

/// A table of named columns, all of one length, as Parquet.
///
/// # Errors
/// If the columns differ in length.
pub(super) fn to_parquet(columns: Vec<(&str, Cells)>) -> PolarsResult<Vec<u8>> {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    let schema: ArrowSchema = columns.iter().map(field).collect();
    let encodings = schema.iter_values().map(|field| plain(&field.dtype)).collect();
    let cells: Vec<Cells> = columns.into_iter().map(|(_, cells)| cells).collect();
    let options = WriteOptions {
        // There is one group, so nothing to skip.
        statistics: StatisticsOptions {
            min_value: false,
            max_value: false,
            distinct_count: false,
            null_count: false,
            binary_statistics_truncate_length: None,
        },
        version: Version::V1,
        compression: CompressionOptions::Uncompressed,
        data_page_size: None,
    };
    let batch = RecordBatchT::try_new(rows, Arc::new(schema.clone()), cells);
    let groups = RowGroupIterator::try_new(iter::once(batch), &schema, options, encodings)?;
    let mut writer = FileWriter::try_new(Vec::new(), schema, options)?;
    for group in groups {
        writer.write(rows as u64, group?)?;
    }
    writer.end(Some(Vec::new()))?;
    Ok(writer.into_inner())
}

/// How the leaves of a column are encoded: as they are.
fn plain(kind: &ArrowDataType) -> Vec<Encoding> {
    match kind {
        ArrowDataType::Struct(fields) => {
            fields.iter().flat_map(|field| plain(&field.dtype)).collect()
        }
        ArrowDataType::LargeList(item) => plain(&item.dtype),
        _ => vec![Encoding::Plain],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polars_parquet::read::read_metadata;
    use std::io::Cursor;

    fn table(contents: &[&str]) -> PolarsResult<Vec<u8>> {
        let message = vec![
            ("role", texts(contents.iter().map(|_| "user"))),
            ("content", texts(contents.iter())),
        ];
        to_parquet(vec![
            ("task", texts(["a", "b", "c"].iter())),
            ("prompt", lists_of_one(records(message))),
            ("rows", counts([1, 2, 3].into_iter())),
        ])
    }

    #[test]
    fn lists_of_records_are_columns_of_their_fields() {
        let bytes = table(&["first", "", "third of them"]).unwrap();
        let about = read_metadata(&mut Cursor::new(&bytes)).unwrap();
        let paths: Vec<String> =
            about.schema().columns().iter().map(|leaf| leaf.path_in_schema.join(".")).collect();
        assert_eq!(
            paths,
            ["task", "prompt.list.element.role", "prompt.list.element.content", "rows"]
        );
        assert_eq!(about.num_rows, 3);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("third of them"), "not compressed, so that a canary can be searched");
        assert_eq!(bytes, table(&["first", "", "third of them"]).unwrap());
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let error = table(&["only one"]).unwrap_err().to_string();
        assert!(error.contains("equal number of rows"), "{error}");
    }
}
