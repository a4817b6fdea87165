//! One anchor as the files of a task folder.

use super::catalogue::AnchorSpec;
use super::division::{Division, divide};
use super::extract::RawData;
use super::features::features;
use super::folder::AnchorError;
use super::page::{PageFacts, page};
use super::panel::{Panel, Reference, assess};
use crate::data::labels::Truth;
use crate::media::Format;
use crate::media::image::picture::encode;
use crate::package;
use crate::roles::operator;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tasks::json::sorted;
use tasks::stream::Stream;
use tasks::task::{DataSource, MANIFEST_VERSION, Manifest, RowCounts, Split, TaskId};

/// The column of row names.
pub(super) const ID: &str = "id";
/// The column of picture paths.
pub(super) const PICTURE: &str = "image";
/// What stands for a seed competition in the manifest.
const SEED_TASK: &str = "anchor";
/// Digits after the point of numbers, where they are written by us.
const DECIMALS: usize = 6;

/// The files of a task and its manifest.
#[derive(Debug)]
pub(super) struct AnchorTask {
    /// By path within the task's folder, `task.json` left out.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) manifest: Manifest,
}

/// How an anchor was made, as its manifest records it.
#[derive(Debug, Serialize)]
struct Provenance<'a> {
    factory: &'static str,
    /// Who collected the data.
    origin: &'a str,
    licence: &'a str,
    /// Packages that it was read from, with their versions.
    packages: &'a BTreeMap<String, String>,
    /// The seed of the division.
    seed: u64,
    division: &'static str,
    /// How R1 to R3 were placed.
    ladder: &'static str,
    /// From the weakest.
    references: &'a [Reference],
}

/// Makes the task of a data set.
///
/// # Errors
/// [`AnchorError`].
pub(super) fn build(
    spec: &AnchorSpec,
    data: &RawData,
    seed: u64,
) -> Result<AnchorTask, AnchorError> {
    let stream = Stream::root(seed).child("anchor").child(&spec.id);
    let unusable = |detail| AnchorError::Unusable { id: spec.id.clone(), detail };
    let division = divide(spec, data, stream).map_err(unusable)?;
    let classes = classes(spec, data);
    let prediction = spec.prediction(&classes);
    let truth = truth(spec, data, &classes).map_err(unusable)?;
    let (train, test) = (truth.take(&division.train), truth.take(&division.test));
    let features = features(spec, data, &division);
    let panel = assess(spec, &prediction, &features, (&train, &test), stream)
        .map_err(|source| AnchorError::Panel { id: spec.id.clone(), source })?;

    let rows = RowCounts { train: division.train.len(), test: division.test.len() };
    let sample = package::submission_of(ID, &prediction, &division.test_ids, &panel.constant);
    let mut files = tables(spec, data, &division);
    let text = page(&PageFacts {
        spec,
        data,
        prediction: &prediction,
        rows,
        sample: &String::from_utf8_lossy(&sample),
        has_gaps: has_gaps(spec, data, &division),
    });
    let mut add = |path: &str, bytes: Vec<u8>| files.insert(path.to_owned(), bytes);
    add("prepared/public/description.md", text.into_bytes());
    add("prepared/public/sample_submission.csv", sample);
    add("prepared/private/threshold.json", package::json(&panel.thresholds)?);
    let evaluator = operator::standalone(spec.metric, ID, &prediction);
    add("source/evaluator.py", evaluator.into_bytes());
    let hash = |bytes: &Vec<u8>| blake3::hash(bytes).to_hex().to_string();
    let hashes = files.iter().map(|(path, bytes)| (path.clone(), hash(bytes))).collect();
    let manifest = Manifest {
        version: MANIFEST_VERSION,
        id: TaskId::new(&spec.id)?,
        title: spec.title.clone(),
        seed_task: SEED_TASK.to_owned(),
        domain: spec.domain.clone(),
        modality: spec.modality,
        formulation: spec.formulation,
        metric: spec.metric,
        id_column: ID.to_owned(),
        prediction,
        thresholds: panel.thresholds,
        baselines: panel.baselines.clone(),
        rows,
        split: Split::Val,
        data_source: DataSource::Real,
        provenance: provenance(spec, data, seed, &panel)?,
        hashes,
    };
    Ok(AnchorTask { files, manifest })
}

fn provenance(
    spec: &AnchorSpec,
    data: &RawData,
    seed: u64,
    panel: &Panel,
) -> Result<serde_json::Value, AnchorError> {
    let provenance = Provenance {
        factory: env!("CARGO_PKG_VERSION"),
        origin: &spec.origin,
        licence: &spec.licence,
        packages: &data.packages,
        seed,
        division: spec.split.name(),
        ladder: "R1, R2 and R3 are the first quartile, the median and the best of the references' \
                 scores; the ceiling lies a tenth of the way from R0 to R3 beyond R3",
        references: &panel.references,
    };
    serde_json::to_value(provenance)
        .map(sorted)
        .map_err(|error| AnchorError::Unusable { id: spec.id.clone(), detail: error.to_string() })
}

/// The classes of the target, sorted; none of a number.
fn classes(spec: &AnchorSpec, data: &RawData) -> Vec<String> {
    if spec.is_numeric() {
        return Vec::new();
    }
    let cells: BTreeSet<&String> = data.column(&spec.targets[0]).iter().collect();
    cells.into_iter().cloned().collect()
}

/// The truth of all rows of the data.
fn truth(spec: &AnchorSpec, data: &RawData, classes: &[String]) -> Result<Truth, String> {
    let one = |target: &String| {
        let cells = data.column(target);
        if spec.is_numeric() {
            let number = |cell: &String| cell.parse().map_err(|_| format!("`{cell}` is no number"));
            let values = cells.iter().map(number).collect::<Result<Vec<f64>, _>>()?;
            return Ok(Truth::Numbers { values, decimals: DECIMALS });
        }
        let class = |cell: &String| {
            classes.iter().position(|known| known == cell).ok_or(format!("`{cell}` is no class"))
        };
        let values = cells.iter().map(class).collect::<Result<Vec<usize>, String>>()?;
        Ok(Truth::Classes { values, names: classes.to_vec() })
    };
    let parts = spec.targets.iter().map(one).collect::<Result<Vec<_>, String>>()?;
    Ok(Truth::joined(parts))
}

/// The tables of both halves, the answers, and the pictures.
fn tables(spec: &AnchorSpec, data: &RawData, division: &Division) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let features: Vec<(&str, &[String])> = data.features(spec).collect();
    let targets: Vec<(&str, &[String])> =
        spec.targets.iter().map(|name| (name.as_str(), data.column(name))).collect();
    let halves = [
        ("train", &division.train, &division.train_ids),
        ("test", &division.test, &division.test_ids),
    ];
    for (half, rows, ids) in halves {
        let mut columns = Vec::new();
        if let Some(pictures) = &data.pictures {
            let path = |id: &String| format!("images/{id}.png");
            columns.push((PICTURE, ids.iter().map(path).collect::<Vec<String>>()));
            for (row, id) in rows.iter().zip(ids) {
                let bytes = encode(Format::Png, pictures.picture(*row).view());
                files.insert(format!("prepared/public/{}", path(id)), bytes);
            }
        }
        columns.extend(features.iter().map(|column| taken(column, rows)));
        let answers = targets.iter().map(|column| taken(column, rows));
        if half == "train" {
            columns.extend(answers);
        } else {
            let answers: Vec<_> = answers.collect();
            files.insert("prepared/private/answer.csv".to_owned(), csv(ids, &answers));
        }
        files.insert(format!("prepared/public/{half}.csv"), csv(ids, &columns));
    }
    files
}

/// The cells of some rows of a column.
fn taken<'a>((name, cells): &(&'a str, &[String]), rows: &[usize]) -> (&'a str, Vec<String>) {
    (name, rows.iter().map(|row| cells[*row].clone()).collect())
}

/// A table with ids first. Cells stay as the package has them.
fn csv(ids: &[String], columns: &[(&str, Vec<String>)]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = std::iter::once(ID).chain(columns.iter().map(|(name, _)| *name));
    writer.write_record(header).expect("cells are written to memory");
    for (row, id) in ids.iter().enumerate() {
        let cells = columns.iter().map(|(_, cells)| cells[row].as_str());
        writer
            .write_record(std::iter::once(id.as_str()).chain(cells))
            .expect("every row has as many cells as the header");
    }
    writer.into_inner().expect("cells are written to memory")
}

/// Whether a cell of the public tables is empty.
fn has_gaps(spec: &AnchorSpec, data: &RawData, division: &Division) -> bool {
    data.features(spec).any(|(_, cells)| {
        division.train.iter().chain(&division.test).any(|row| cells[*row].is_empty())
    })
}
