//! Writes a task's folder: first out of sight, then, once verified, renamed into place.

use crate::blueprint::Blueprint;
use crate::ladder::Ladder;
use crate::pandas;
use crate::roles::Development;
use crate::score::{Forecast, argmax};
use crate::table::{Cells, Table};
use crate::verify::Verified;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::task::{MANIFEST_VERSION, Manifest, Prediction, TaskDir, TaskError};
use std::collections::BTreeMap;
use std::io;

/// Everything about a task that is not yet on disk.
#[derive(Debug, Clone)]
pub struct Draft {
    /// How it is built.
    pub blueprint: Blueprint,
    /// What was built.
    pub development: Development,
    /// `description.md`.
    pub description: String,
    /// `source/evaluator.py`.
    pub evaluator: String,
}

/// A task folder that nobody sees yet, with the draft it was written from.
#[derive(Debug)]
pub struct Staged {
    /// What was written.
    pub draft: Draft,
    /// The folder.
    pub dir: TaskDir,
}

/// Why a folder could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A file could not be written; the message names it.
    #[error("failed to write a task")]
    Io(#[from] io::Error),
    /// What was written does not open.
    #[error("failed to reopen a task that was just written")]
    Reopen(#[from] TaskError),
}

impl Draft {
    /// The contents of every file but `task.json`, by path within the task's folder.
    ///
    /// # Errors
    /// If the blueprint cannot be serialised.
    pub fn files(&self) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let Self { blueprint, development, description, evaluator } = self;
        let assets = &development.assets;
        let target = blueprint.target();
        let with_id = |ids: &[String]| {
            let mut table = Table::default();
            table.push(&blueprint.id_column, Cells::Text(ids.to_vec()));
            table
        };
        let mut train = with_id(&assets.train_ids);
        train.columns.extend(assets.train.columns.iter().cloned());
        train.push(target, assets.train_truth.cells());
        let mut test = with_id(&assets.test_ids);
        test.columns.extend(assets.test.columns.iter().cloned());
        let mut answer = with_id(&assets.test_ids);
        answer.push(target, assets.test_truth.cells());
        let sample = submission(blueprint, &assets.test_ids, &development.ladder.forecasts[0]);

        let mut files = BTreeMap::new();
        let mut add = |path: &str, bytes: Vec<u8>| files.insert(path.to_owned(), bytes);
        add("prepared/public/description.md", description.clone().into_bytes());
        add("prepared/public/train.csv", train.to_csv());
        add("prepared/public/test.csv", test.to_csv());
        add("prepared/public/sample_submission.csv", sample);
        add("prepared/private/answer.csv", answer.to_csv());
        add("prepared/private/threshold.json", json(&development.thresholds)?);
        add("source/blueprint.json", json(blueprint)?);
        add("source/evaluator.py", evaluator.clone().into_bytes());
        Ok(files)
    }

    fn manifest(&self, files: &BTreeMap<String, Vec<u8>>) -> Manifest {
        let blueprint = &self.blueprint;
        let Ladder { baselines, .. } = &self.development.ladder;
        let hash = |bytes: &Vec<u8>| blake3::hash(bytes).to_hex().to_string();
        Manifest {
            version: MANIFEST_VERSION,
            id: blueprint.task.clone(),
            title: blueprint.title.clone(),
            seed_task: blueprint.seed.clone(),
            domain: blueprint.domain.clone(),
            modality: blueprint.modality,
            formulation: blueprint.formulation,
            metric: blueprint.metric,
            id_column: blueprint.id_column.clone(),
            prediction: blueprint.prediction.clone(),
            thresholds: self.development.thresholds,
            baselines: baselines.clone(),
            rows: blueprint.rows,
            split: blueprint.split,
            provenance: serde_json::json!({
                "factory": env!("CARGO_PKG_VERSION"),
                "roles": "builtin",
                "dna": blueprint.dna,
                "derivation": blueprint.derivation,
                "scenario": blueprint.scenario,
                "variant": blueprint.variant,
                "mutations": blueprint.mutations,
                "family": blueprint.rule.family,
                "rule": blueprint.rule.to_string(),
                "rule_hash": blueprint.rule.canonical_hash(),
                "blueprint": "source/blueprint.json",
                "oracle": {
                    "code": pandas::oracle(blueprint),
                    "logarithmic": pandas::logarithmic(blueprint),
                },
            }),
            hashes: files.iter().map(|(path, bytes)| (path.clone(), hash(bytes))).collect(),
        }
    }
}

/// Writes the draft below `work`, a folder of this run alone, and opens it as a grader would.
///
/// # Errors
/// [`PackageError`].
pub fn stage(draft: Draft, work: &Utf8Path) -> Result<Staged, PackageError> {
    let root = work.join(draft.blueprint.task.as_str());
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let mut files = draft.files()?;
    let manifest = draft.manifest(&files);
    files.insert("task.json".to_owned(), json(&manifest)?);
    for folder in ["prepared/public", "prepared/private", "source"] {
        fs::create_dir_all(root.join(folder))?;
    }
    for (path, bytes) in files {
        fs::write(root.join(path), bytes)?;
    }
    Ok(Staged { draft, dir: TaskDir::open(&root)? })
}

/// Moves a verified task into the corpus: one rename, so it is there wholly or not at all.
///
/// # Errors
/// [`PackageError`].
pub fn publish(task: &Verified<Staged>, out: &Utf8Path) -> Result<Utf8PathBuf, PackageError> {
    let staged = task.get();
    let place = out.join(staged.dir.id().as_str());
    fs::rename(staged.dir.path(), &place)?;
    Ok(place)
}

/// A forecast as a submission file.
pub fn submission(blueprint: &Blueprint, ids: &[String], forecast: &Forecast) -> Vec<u8> {
    let mut table = Table::default();
    table.push(&blueprint.id_column, Cells::Text(ids.to_vec()));
    match (&blueprint.prediction, forecast) {
        (Prediction::Number { column }, Forecast::Numbers(values)) => {
            table.push(column, Cells::Numbers { values: values.clone(), decimals: 6 });
        }
        (Prediction::Probability { column }, Forecast::Classes { values, classes }) => {
            let ones = values.chunks_exact(*classes).map(|row| row[1]).collect();
            table.push(column, Cells::Numbers { values: ones, decimals: 6 });
        }
        (Prediction::Label { column, classes }, Forecast::Classes { values, classes: width }) => {
            let labels = argmax(values, *width).into_iter().map(|class| classes[class].clone());
            table.push(column, Cells::Text(labels.collect()));
        }
        (
            Prediction::ClassProbabilities { classes, .. },
            Forecast::Classes { values, classes: width },
        ) => {
            for (index, class) in classes.iter().enumerate() {
                let column = values.chunks_exact(*width).map(|row| row[index]).collect();
                table.push(class, Cells::Numbers { values: column, decimals: 6 });
            }
        }
        // The ladder makes class forecasts for class predictions and numbers for numbers.
        (Prediction::Number { column }, Forecast::Classes { .. })
        | (
            Prediction::Probability { column }
            | Prediction::Label { column, .. }
            | Prediction::ClassProbabilities { column, .. },
            Forecast::Numbers(_),
        ) => unreachable!("a forecast of the wrong kind for `{column}`"),
    }
    table.to_csv()
}

fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    text.push(b'\n');
    Ok(text)
}
