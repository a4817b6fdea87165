//! Everything about a task that is not yet on disk: the bytes of its files, and its facts.

use super::source::{BLUEPRINT, EVALUATOR, GENERATOR, PROSE, ROWS};
use crate::data::assets::{Assets, POSITIONS, Sequence, Sequences};
use crate::data::items::{self, Item};
use crate::data::labels::Truth;
use crate::data::score::Forecast;
use crate::data::table;
use crate::numeric::rounding::round;
use crate::roles::{RoleBackend, TaskFacts, TaskPage};
use crate::spec::blueprint::Blueprint;
use polars::prelude::{Column, DataFrame};
use std::collections::BTreeMap;
use std::io;
use tasks::cells;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// Everything about a task that is not yet on disk.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The bytes of every file but `task.json`, by path within the task's folder.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What is known of the task beside its files.
    pub facts: TaskFacts,
    /// What played the roles.
    pub backend: RoleBackend,
}

impl Draft {
    /// Writes the files of a task from the products of its roles: the developer's facts, the
    /// code of `source/evaluator.py`, the description page.
    ///
    /// # Errors
    /// If the blueprint cannot be serialised.
    pub fn new(
        facts: TaskFacts,
        evaluator: String,
        page: TaskPage,
        backend: RoleBackend,
    ) -> io::Result<Self> {
        let files = Self::files(&facts, evaluator, page)?;
        Ok(Self { files, facts, backend })
    }

    /// The contents of every file but `task.json`, by path within the task's folder.
    fn files(
        facts: &TaskFacts,
        evaluator: String,
        page: TaskPage,
    ) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let TaskFacts { blueprint, generated, assets, ladder, thresholds } = facts;
        let kind = blueprint.kind();
        let [train, test] = public_tables(blueprint, assets);
        let mut answer = keys(blueprint, &assets.test_ids, &assets.test_queries);
        answer.extend(targets(blueprint, &assets.test_truth));
        let sample = submission(blueprint, &assets.test_ids, &ladder.forecasts[0]);

        let mut files = BTreeMap::new();
        let mut add = |path: &str, bytes: Vec<u8>| files.insert(path.to_owned(), bytes);
        if let Some(prose) = &page.prose {
            add(PROSE, json(prose)?);
        }
        add("prepared/public/description.md", page.text.into_bytes());
        add("prepared/public/train.csv", table::to_csv(&train));
        add("prepared/public/test.csv", table::to_csv(&test));
        add("prepared/public/sample_submission.csv", sample);
        if let Some(sequences) = &assets.sequences {
            let answers = answers_along(blueprint, assets, sequences);
            add(&format!("prepared/public/{POSITIONS}"), table::to_csv(&answers));
        }
        add("prepared/private/answer.csv", table::to_csv(&table::from_columns(answer)));
        add("prepared/private/threshold.json", json(thresholds)?);
        add(BLUEPRINT, json(blueprint)?);
        if let Some(rows) = generated {
            add(ROWS, rows.to_bytes());
        }
        if let Some(generator) = blueprint.generator() {
            add(GENERATOR, generator.code.clone().into_bytes());
        }
        add(EVALUATOR, evaluator.into_bytes());
        for (path, bytes) in kind.files(blueprint, assets) {
            add(&format!("prepared/public/{path}"), bytes);
        }
        Ok(files)
    }
}

/// The columns that say which row a row is.
fn keys(blueprint: &Blueprint, ids: &[String], queries: &[String]) -> Vec<Column> {
    let mut columns = vec![table::texts(&blueprint.id_column, ids)];
    columns.extend(blueprint.queries().map(|layout| table::texts(&layout.column, queries)));
    columns
}

/// The training and the test table, as they are written. Answers that stand in the names of files have
/// no column.
pub(crate) fn public_tables(blueprint: &Blueprint, assets: &Assets) -> [DataFrame; 2] {
    if let Some(sequences) = &assets.sequences {
        let table = |side: &[Sequence], items: &[Item]| {
            let ids: Vec<String> = side.iter().map(|one| one.id.clone()).collect();
            let mut columns = vec![table::texts(&sequences.column, &ids)];
            columns.extend(blueprint.kind().item_cells(blueprint, &ids, items));
            table::from_columns(columns)
        };
        let test = table(&sequences.test, &assets.test_items);
        return [table(&sequences.train, &assets.train_items), test];
    }
    let names = items::training_names(blueprint, &assets.train_ids, &assets.train_truth);
    let mut train = keys(blueprint, &assets.train_ids, &assets.train_queries);
    train.extend(blueprint.kind().item_cells(blueprint, &names, &assets.train_items));
    train.extend_from_slice(assets.train.columns());
    if !blueprint.labels_in_names() {
        train.extend(targets(blueprint, &assets.train_truth));
    }
    let mut test = keys(blueprint, &assets.test_ids, &assets.test_queries);
    test.extend(blueprint.kind().item_cells(blueprint, &assets.test_ids, &assets.test_items));
    test.extend_from_slice(assets.test.columns());
    [train, test].map(table::from_columns)
}

/// The answers to the positions of the training sequences.
fn answers_along(blueprint: &Blueprint, assets: &Assets, sequences: &Sequences) -> DataFrame {
    let each = || sequences.train.iter().flat_map(|one| one.places().map(move |at| (one, at)));
    let places: Vec<f64> = each().map(|(_, at)| at as f64).collect();
    let mut columns = vec![
        table::texts(&sequences.column, each().map(|(one, _)| &one.id)),
        table::numbers(&sequences.place, &places, 0),
    ];
    columns.extend(targets(blueprint, &assets.train_truth));
    table::from_columns(columns)
}

/// The truth as it is written in training and answer files.
fn targets(blueprint: &Blueprint, truth: &Truth) -> Vec<Column> {
    if let Prediction::Flags { column, .. } = &blueprint.prediction {
        return written(&blueprint.prediction, &[column], &truth.values(&blueprint.prediction));
    }
    if let Truth::Structured(values) = truth {
        let columns = blueprint.kind().target_columns(blueprint);
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        return written(&blueprint.prediction, &columns, values);
    }
    let columns = blueprint.kind().target_columns(blueprint);
    columns.iter().zip(truth.parts()).map(|(column, part)| part.column(column)).collect()
}

/// A forecast as a submission file.
pub fn submission(blueprint: &Blueprint, ids: &[String], forecast: &Forecast) -> Vec<u8> {
    submission_of(&blueprint.id_column, &blueprint.prediction, ids, forecast)
}

/// The same for a task without a blueprint.
pub(crate) fn submission_of(
    id_column: &str,
    prediction: &Prediction,
    ids: &[String],
    forecast: &Forecast,
) -> Vec<u8> {
    let mut values = forecast.values(prediction);
    if let Values::Numbers(numbers) | Values::Matrix { values: numbers, .. } = &mut values {
        for number in numbers {
            *number = round(*number, 6);
        }
    }
    let mut columns = vec![table::texts(id_column, ids)];
    columns.extend(written(prediction, &prediction.columns(), &values));
    table::to_csv(&table::from_columns(columns))
}

/// Values in the cells of their columns.
fn written(prediction: &Prediction, columns: &[&str], values: &Values) -> Vec<Column> {
    let mut cells: Vec<Vec<String>> = vec![Vec::with_capacity(values.len()); columns.len()];
    for row in 0..values.len() {
        let written = cells::write(prediction, values, row).unwrap_or_default();
        cells.iter_mut().zip(written).for_each(|(column, cell)| column.push(cell));
    }
    columns.iter().zip(cells).map(|(column, cells)| table::texts(column, cells)).collect()
}

/// A value as the bytes of an indented JSON file.
pub(crate) fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    text.push(b'\n');
    Ok(text)
}
