//! Parquet: one table with a row per task, and each task's tables.
//!
//! ```text
//! OUT/tasks.parquet                    what manifests say, and the description page
//! OUT/<task-id>/train.parquet          the public tables with their types:
//! OUT/<task-id>/test.parquet           whole numbers Int64, other numbers Float64,
//! OUT/<task-id>/train_positions.parquet        where rows are sequences
//! OUT/<task-id>/sample_submission.parquet      ids, classes and words String
//! OUT/<task-id>/answer.parquet         with `answers` only
//! ```
//!
//! Pictures, recordings and other files beside the tables stay in the corpus; cells name them as
//! they do in CSV.

use super::error::ExportError;
use super::place;
use crate::corpus::frames;
use crate::data::assets::POSITIONS;
use crate::data::parquet::to_parquet;
use crate::data::table::{self, Cells};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use polars::prelude::{Column, DataFrame, DataType, ParquetCompression, PolarsResult};
use std::collections::BTreeMap;
use std::io;
use tasks::prediction::Prediction;
use tasks::rating::Ratings;
use tasks::task::{Corpus, Manifest, TaskDir};

/// The columns of `tasks.parquet`, from left to right; the description page follows.
const TASK_COLUMNS: [&str; 22] = [
    "id",
    "title",
    "split",
    "seed_task",
    "modality",
    "formulation",
    "domain",
    "metric",
    "direction",
    "gold_threshold",
    "silver_threshold",
    "bronze_threshold",
    "median_threshold",
    "baseline_r0",
    "baseline_r1",
    "baseline_r2",
    "baseline_r3",
    "ceiling",
    "train_rows",
    "test_rows",
    "level",
    "level_source",
];

/// Pages are long, and nothing depends on the bytes of an export.
const COMPRESSION: ParquetCompression = ParquetCompression::Zstd(None);

/// Exports every task of the corpus in `dir` to `out`, a folder that does not exist or is empty,
/// and returns how many there are. The answers of the test rows are left out, unless `answers` is
/// set. `out` appears when all of it is written.
///
/// # Errors
/// [`ExportError`].
pub fn parquet(dir: &Utf8Path, out: &Utf8Path, answers: bool) -> Result<usize, ExportError> {
    let corpus = Corpus::open(dir)?;
    let ratings = Ratings::read(dir)?;
    place::whole(out, |work| write_all(corpus.tasks(), &ratings, work, answers))?;
    Ok(corpus.tasks().len())
}

fn write_all(
    tasks: &[TaskDir],
    ratings: &Ratings,
    out: &Utf8Path,
    answers: bool,
) -> Result<(), ExportError> {
    let manifests: Vec<&Manifest> = tasks.iter().map(TaskDir::manifest).collect();
    let page = |task: &TaskDir| fs::read_to_string(task.public().path().join("description.md"));
    let pages = tasks.iter().map(page).collect::<io::Result<Vec<String>>>()?;
    let path = out.join("tasks.parquet");
    let rows = frames::tasks(&manifests, ratings).select(TASK_COLUMNS);
    let rows = rows.and_then(|rows| rows.hstack(&[table::texts("description", pages)]));
    let bytes = rows.and_then(|rows| to_parquet(&rows, COMPRESSION));
    fs::write(&path, bytes.map_err(|source| ExportError::Table { path: path.clone(), source })?)?;
    tasks.iter().try_for_each(|task| export(task, &out.join(task.id().as_str()), answers))
}

/// Writes the tables of one task.
fn export(task: &TaskDir, out: &Utf8Path, answers: bool) -> Result<(), ExportError> {
    task.check_files()?;
    fs::create_dir_all(out)?;
    let public = |file: &str| read(task.public().path().join(file));
    let (train, test) = (public("train.csv")?, public("test.csv")?);
    let sample = public("sample_submission.csv")?;
    let kinds = types(task.manifest(), [&train, &test]);
    write(&train, &kinds, &out.join("train.parquet"))?;
    write(&test, &kinds, &out.join("test.parquet"))?;
    if task.manifest().hashes.contains_key(&format!("prepared/public/{POSITIONS}")) {
        let known = public(POSITIONS)?;
        let kinds = types(task.manifest(), [&known, &known]);
        write(&known, &kinds, &out.join("train_positions.parquet"))?;
    }
    let kinds = submission_types(task.manifest(), &sample);
    write(&sample, &kinds, &out.join("sample_submission.parquet"))?;
    if answers {
        let truth = read(task.private().answers())?;
        let kinds = types(task.manifest(), [&train, &truth]);
        write(&truth, &kinds, &out.join("answer.parquet"))?;
    }
    Ok(())
}

/// A table of the corpus, every column as text.
fn read(path: Utf8PathBuf) -> Result<DataFrame, ExportError> {
    table::read_csv(&fs::read(&path)?).map_err(|source| ExportError::Table { path, source })
}

/// Writes a table of texts with the types of its columns.
fn write(
    texts: &DataFrame,
    types: &BTreeMap<String, DataType>,
    path: &Utf8Path,
) -> Result<(), ExportError> {
    let bytes = typed(texts, types).and_then(|table| to_parquet(&table, COMPRESSION));
    let bytes = bytes.map_err(|source| ExportError::Table { path: path.to_owned(), source })?;
    Ok(fs::write(path, bytes)?)
}

/// The columns that hold text, whatever it looks like: ids, names of queries and classes, masks,
/// boxes, pixels, texts and identifiers.
fn text_columns(manifest: &Manifest) -> Vec<&str> {
    let key = manifest.id_column.as_str();
    match &manifest.prediction {
        Prediction::Label { column, .. }
        | Prediction::ClassProbabilities { column, .. }
        | Prediction::Flags { column, .. }
        | Prediction::Mask { column, .. }
        | Prediction::Boxes { column, .. }
        | Prediction::Pixels { column, .. }
        | Prediction::Text { column }
        | Prediction::Ids { column, .. } => vec![key, column],
        Prediction::Relevance { query, .. } => vec![key, query],
        Prediction::Number { .. }
        | Prediction::Probability { .. }
        | Prediction::Numbers { .. }
        | Prediction::Quantiles { .. }
        | Prediction::Probabilities { .. } => vec![key],
    }
}

/// The type of each column of the task's tables, the same for training and test rows.
fn types(manifest: &Manifest, tables: [&DataFrame; 2]) -> BTreeMap<String, DataType> {
    let text = text_columns(manifest);
    let mut types = BTreeMap::new();
    for name in tables.iter().flat_map(|table| table.get_column_names()) {
        let cells = || tables.iter().filter_map(|table| table::cells(table, name)).flat_map(words);
        let kind = if text.contains(&name.as_str()) { DataType::String } else { type_of(cells()) };
        types.insert(name.to_string(), kind);
    }
    types
}

/// The type of each column of a submission: numbers are predictions, which need not be whole.
fn submission_types(manifest: &Manifest, sample: &DataFrame) -> BTreeMap<String, DataType> {
    let numbers = match &manifest.prediction {
        // The column of classes is in the answers only, but a class may have its name.
        Prediction::ClassProbabilities { classes, .. } => classes.iter().collect(),
        _ => Vec::new(),
    };
    let text = text_columns(manifest);
    let kind = |name: &str| {
        let number = numbers.iter().any(|class| *class == name) || !text.contains(&name);
        if number { DataType::Float64 } else { DataType::String }
    };
    sample.get_column_names().into_iter().map(|name| (name.to_string(), kind(name))).collect()
}

/// The texts of a column's cells that are not empty.
fn words(cells: Cells<'_>) -> Vec<&str> {
    match cells {
        Cells::Text(mut words) => {
            words.retain(|word| !word.is_empty());
            words
        }
        Cells::Numbers(_) => Vec::new(),
    }
}

/// `Int64` if all cells are whole numbers, `Float64` if all are numbers, `String` otherwise, and
/// if there is none.
fn type_of<'a>(cells: impl Iterator<Item = &'a str>) -> DataType {
    let mut kind = None;
    for cell in cells {
        let digits = cell.strip_prefix('-').unwrap_or(cell);
        // `0017` is a name; so are `nan` and `inf`.
        let padded =
            digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit());
        let number = digits.starts_with(|c: char| c.is_ascii_digit())
            && !padded
            && cell.parse::<f64>().is_ok_and(f64::is_finite);
        if !number {
            return DataType::String;
        }
        let whole = cell.parse::<i64>().is_ok() && kind != Some(DataType::Float64);
        kind = Some(if whole { DataType::Int64 } else { DataType::Float64 });
    }
    kind.unwrap_or(DataType::String)
}

/// A table of texts with the types of its columns, empty cells null. Fails if a text is none of
/// its column's type.
fn typed(texts: &DataFrame, types: &BTreeMap<String, DataType>) -> PolarsResult<DataFrame> {
    let column = |column: &Column| {
        let kind = types.get(column.name().as_str()).unwrap_or(&DataType::String);
        Cells::from_column(column).into_column(column.name(), 0).strict_cast(kind)
    };
    let columns = texts.columns().iter().map(column).collect::<PolarsResult<Vec<Column>>>()?;
    DataFrame::new(texts.height(), columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of_cells(cells: &[&str]) -> DataType {
        type_of(cells.iter().copied())
    }

    #[test]
    fn type_follows_from_what_all_cells_hold() {
        assert_eq!(type_of_cells(&["1", "-999", "0"]), DataType::Int64);
        assert_eq!(type_of_cells(&["1", "2.5", "3"]), DataType::Float64);
        assert_eq!(type_of_cells(&["1e-7", "-0.5"]), DataType::Float64);
        assert_eq!(type_of_cells(&["99999999999999999999"]), DataType::Float64);
        for words in [&["1", "low"][..], &["0017"], &["-007.5"], &["nan"], &["inf"], &["-"], &[]] {
            assert_eq!(type_of_cells(words), DataType::String, "{words:?}");
        }
    }

    #[test]
    fn typed_cells_that_are_empty_are_null() {
        let texts = table::read_csv(b"id,a,b,c\n0017,1,,x\n0018,,1e+20,\n").unwrap();
        let manifest: Manifest =
            serde_json::from_str(&support::manifest::manifest("t", 2, [0.9, 0.8, 0.7, 0.6]))
                .unwrap();
        let table = typed(&texts, &types(&manifest, [&texts, &texts])).unwrap();
        assert_eq!(
            table.dtypes(),
            [DataType::String, DataType::Int64, DataType::Float64, DataType::String]
        );
        let nulls: Vec<usize> = table.columns().iter().map(Column::null_count).collect();
        assert_eq!(nulls, [0, 1, 1, 1]);
        assert_eq!(table.columns()[2].f64().unwrap().get(1), Some(1e20));
    }
}
