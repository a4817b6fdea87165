//! Everything about a task that is not yet on disk, and the bytes of its files.

use crate::data::items::Item;
use crate::data::labels::Truth;
use crate::data::score::Forecast;
use crate::data::table;
use crate::numeric::rounding::round;
use crate::roles::{Development, RoleError, Roles};
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::Scenario;
use polars::prelude::{Column, DataFrame};
use std::collections::BTreeMap;
use std::io;
use tasks::cells;
use tasks::prediction::Prediction;
use tasks::values::Values;

/// Everything about a task that is not yet on disk.
#[derive(Debug, Clone)]
pub struct Draft {
    /// How it is built.
    pub blueprint: Blueprint,
    /// Tables, baselines and thresholds that were built from it.
    pub development: Development,
    /// The text of `description.md`.
    pub description: String,
    /// The code of `source/evaluator.py`.
    pub evaluator: String,
}

/// Everything after the blueprint: tables and ladder, evaluator, description.
///
/// # Errors
/// [`RoleError`].
pub fn develop(
    roles: &dyn Roles,
    blueprint: Blueprint,
    scenario: &Scenario,
) -> Result<Draft, RoleError> {
    let assets = roles.render(&blueprint)?;
    let development = roles.develop(&blueprint, assets)?;
    describe(roles, blueprint, scenario, development)
}

/// Everything after data and ladder: evaluator, description.
///
/// # Errors
/// [`RoleError`].
pub fn describe(
    roles: &dyn Roles,
    blueprint: Blueprint,
    scenario: &Scenario,
    development: Development,
) -> Result<Draft, RoleError> {
    let evaluator = roles.operate(&blueprint)?;
    let description = roles.write(&blueprint, scenario, &development.assets)?;
    Ok(Draft { blueprint, development, description, evaluator })
}

impl Draft {
    /// The contents of every file but `task.json`, by path within the task's folder.
    ///
    /// # Errors
    /// If the blueprint cannot be serialised.
    pub fn files(&self) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let Self { blueprint, development, description, evaluator } = self;
        let (assets, kind) = (&development.assets, blueprint.kind());
        let keys = |ids: &[String], queries: &[String]| {
            let mut columns = vec![table::texts(&blueprint.id_column, ids)];
            columns.extend(blueprint.queries().map(|layout| table::texts(&layout.column, queries)));
            columns
        };
        let features =
            |ids: &[String], queries: &[String], features: &DataFrame, items: &[Item]| {
                let mut columns = keys(ids, queries);
                columns.extend(kind.item_cells(blueprint, ids, items));
                columns.extend_from_slice(features.columns());
                columns
            };
        let mut train =
            features(&assets.train_ids, &assets.train_queries, &assets.train, &assets.train_items);
        train.extend(targets(blueprint, &assets.train_truth));
        let test =
            features(&assets.test_ids, &assets.test_queries, &assets.test, &assets.test_items);
        let mut answer = keys(&assets.test_ids, &assets.test_queries);
        answer.extend(targets(blueprint, &assets.test_truth));
        let csv = |columns: Vec<Column>| table::to_csv(&table::from_columns(columns));
        let sample = submission(blueprint, &assets.test_ids, &development.ladder.forecasts[0]);

        let mut files = BTreeMap::new();
        let mut add = |path: &str, bytes: Vec<u8>| files.insert(path.to_owned(), bytes);
        add("prepared/public/description.md", description.clone().into_bytes());
        add("prepared/public/train.csv", csv(train));
        add("prepared/public/test.csv", csv(test));
        add("prepared/public/sample_submission.csv", sample);
        add("prepared/private/answer.csv", csv(answer));
        add("prepared/private/threshold.json", json(&development.thresholds)?);
        add("source/blueprint.json", json(blueprint)?);
        add("source/evaluator.py", evaluator.clone().into_bytes());
        for (path, bytes) in kind.files(blueprint, assets) {
            add(&format!("prepared/public/{path}"), bytes);
        }
        Ok(files)
    }
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
    let targets = blueprint.targets.iter().zip(truth.parts());
    targets.map(|(target, part)| part.column(&target.column)).collect()
}

/// A forecast as a submission file.
pub fn submission(blueprint: &Blueprint, ids: &[String], forecast: &Forecast) -> Vec<u8> {
    let mut values = forecast.values(&blueprint.prediction);
    if let Values::Numbers(numbers) | Values::Matrix { values: numbers, .. } = &mut values {
        for number in numbers {
            *number = round(*number, 6);
        }
    }
    let mut columns = vec![table::texts(&blueprint.id_column, ids)];
    columns.extend(written(&blueprint.prediction, &blueprint.prediction.columns(), &values));
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
pub(super) fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    text.push(b'\n');
    Ok(text)
}
