//! Writes a task's folder: first out of sight, then, once verified, renamed into place.

use super::pandas;
use crate::baselines::ladder::Ladder;
use crate::data::items::{self, Item};
use crate::data::labels::Truth;
use crate::data::network::EDGES;
use crate::data::score::Forecast;
use crate::data::table::{Cells, Table, round};
use crate::media::graph::nodes;
use crate::roles::Development;
use crate::scenes;
use crate::spec::blueprint::Blueprint;
use crate::verify::Verified;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::cells;
use sandbox::task::{MANIFEST_VERSION, Manifest, Prediction, TaskDir, TaskError};
use sandbox::values::Values;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::time::{Duration, UNIX_EPOCH};

/// When every file of a task was last changed, as a time since 1970: the first second of 2000.
///
/// Files that were written one after another tell in which order, and from when a task is. A
/// time of zero would do, but archives know none before 1980, and some tools take it for none.
pub const MODIFIED: Duration = Duration::from_hours(24 * 10_957);

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
        let with_id = |ids: &[String]| {
            let mut table = Table::default();
            table.push(&blueprint.id_column, Cells::Text(ids.to_vec()));
            table
        };
        let features = |ids: &[String], queries: &[String], features: &Table, items: &[Item]| {
            let mut table = with_id(ids);
            if let Some(layout) = &blueprint.queries {
                table.push(&layout.column, Cells::Text(queries.to_vec()));
            }
            if let Some(layout) = &blueprint.item {
                table.columns.extend(items::columns(layout, ids, items).columns);
            }
            if let Some(layout) = &blueprint.scene {
                table.push(&layout.column, scenes::files::column(ids));
            }
            table.columns.extend(features.columns.iter().cloned());
            table
        };
        let mut train =
            features(&assets.train_ids, &assets.train_queries, &assets.train, &assets.train_items);
        train.columns.extend(targets(blueprint, &assets.train_truth).columns);
        let test =
            features(&assets.test_ids, &assets.test_queries, &assets.test, &assets.test_items);
        let mut answer = with_id(&assets.test_ids);
        if let Some(layout) = &blueprint.queries {
            answer.push(&layout.column, Cells::Text(assets.test_queries.clone()));
        }
        answer.columns.extend(targets(blueprint, &assets.test_truth).columns);
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
        if blueprint.network.is_some() {
            let edges = nodes::csv(&assets.links, &assets.names());
            add(&format!("prepared/public/{EDGES}"), edges);
        }
        if let Some(layout) = &blueprint.scene {
            let train = scenes::files::pictures(&assets.train_ids, &assets.train_items);
            let test = scenes::files::pictures(&assets.test_ids, &assets.test_items);
            let truth = assets.train_truth.values(&blueprint.prediction);
            let truths = scenes::files::truths(layout, &assets.train_ids, &truth);
            for (path, bytes) in train.chain(test).chain(truths) {
                add(&format!("prepared/public/{path}"), bytes);
            }
        }
        if let Some(layout) = &blueprint.item {
            for (ids, items) in
                [(&assets.train_ids, &assets.train_items), (&assets.test_ids, &assets.test_items)]
            {
                for (path, bytes) in items::files(layout, ids, items) {
                    add(&format!("prepared/public/{path}"), bytes);
                }
            }
        }
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
                "family": blueprint.family(),
                "rule": blueprint.formula(),
                "rule_hash": blueprint.rule_hash(),
                "blueprint": "source/blueprint.json",
                "reader": pandas::reader(blueprint),
                "oracle": {
                    "code": match &blueprint.scene {
                        Some(layout) => scenes::python::oracle(&layout.rule),
                        None => pandas::oracle(blueprint),
                    },
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
    let files = draft.files()?;
    place(draft, files, work)
}

/// Writes a draft with these files.
pub(crate) fn place(
    draft: Draft,
    mut files: BTreeMap<String, Vec<u8>>,
    work: &Utf8Path,
) -> Result<Staged, PackageError> {
    let root = work.join(draft.blueprint.task.as_str());
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let manifest = draft.manifest(&files);
    files.insert("task.json".to_owned(), json(&manifest)?);
    let folders: BTreeSet<&str> =
        files.keys().filter_map(|path| path.rsplit_once('/')).map(|(folder, _)| folder).collect();
    for folder in folders {
        fs::create_dir_all(root.join(folder))?;
    }
    for (path, bytes) in &files {
        let mut file = fs::File::create(root.join(path))?;
        file.write_all(bytes)?;
        file.set_modified(UNIX_EPOCH + MODIFIED)?;
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

/// The truth as it is written in training and answer files.
fn targets(blueprint: &Blueprint, truth: &Truth) -> Table {
    let mut table = Table::default();
    if let Prediction::Flags { column, .. } = &blueprint.prediction {
        let values = truth.values(&blueprint.prediction);
        table.columns.extend(written(&blueprint.prediction, &[column], &values).columns);
        return table;
    }
    if let Some(layout) = &blueprint.scene {
        let values = truth.values(&blueprint.prediction);
        table.columns.extend(written(&blueprint.prediction, &[&layout.target], &values).columns);
        return table;
    }
    for (target, part) in blueprint.targets.iter().zip(truth.parts()) {
        table.push(&target.column, part.cells());
    }
    table
}

/// A forecast as a submission file.
pub fn submission(blueprint: &Blueprint, ids: &[String], forecast: &Forecast) -> Vec<u8> {
    let mut table = Table::default();
    table.push(&blueprint.id_column, Cells::Text(ids.to_vec()));
    let mut values = forecast.values(&blueprint.prediction);
    if let Values::Numbers(numbers) | Values::Matrix { values: numbers, .. } = &mut values {
        for number in numbers {
            *number = round(*number, 6);
        }
    }
    let columns = blueprint.prediction.columns();
    table.columns.extend(written(&blueprint.prediction, &columns, &values).columns);
    table.to_csv()
}

/// Values in the cells of their columns.
fn written(prediction: &Prediction, columns: &[&str], values: &Values) -> Table {
    let mut cells: Vec<Vec<String>> = vec![Vec::with_capacity(values.len()); columns.len()];
    for row in 0..values.len() {
        let written = cells::write(prediction, values, row).unwrap_or_default();
        cells.iter_mut().zip(written).for_each(|(column, cell)| column.push(cell));
    }
    let mut table = Table::default();
    columns.iter().zip(cells).for_each(|(column, cells)| table.push(column, Cells::Text(cells)));
    table
}

fn json(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    text.push(b'\n');
    Ok(text)
}
