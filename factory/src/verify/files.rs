//! What the files of the public half say besides their contents: names, times, headers.

use super::{Refusal, chunks};
use crate::data::table::Cells;
use crate::data::{assets, network, table};
use crate::package::{self, Staged};
use crate::roles::TaskFacts;
use crate::spec::structure::RecordSpec;
use camino::Utf8Path;
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::UNIX_EPOCH;
use tasks::file_label;
use tasks::task::TaskDir;

/// The files of the public half that belong to no single row.
const COMMON: [&str; 6] = [
    "description.md",
    "train.csv",
    "test.csv",
    "sample_submission.csv",
    network::EDGES,
    assets::POSITIONS,
];

/// Every file of the public half is one of a few known ones, or named by a row.
pub(super) fn none_is_astray(task: &Staged) -> Result<(), Refusal> {
    let named: BTreeSet<String> = names(task)?.into_iter().collect();
    let blueprint = &task.draft.facts.blueprint;
    let folders = blueprint.kind().training_folders();
    let ids = match folders {
        [] => Vec::new(),
        _ => cells(task, "train.csv", &task.dir.manifest().id_column)?,
    };
    let trained: BTreeSet<String> = ids.into_iter().collect();
    let related: Vec<String> =
        blueprint.structure.records.iter().flat_map(RecordSpec::paths).collect();
    for path in public(&task.dir) {
        let of_training_row = folders.iter().any(|folder| {
            let rest = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
            let id = rest.and_then(|rest| rest.strip_suffix(".png"));
            id.is_some_and(|id| trained.contains(id))
        });
        let is_common = COMMON.contains(&path) || related.iter().any(|known| known == path);
        let in_folder = path.rsplit_once('/').is_some_and(|(folder, _)| named.contains(folder));
        if !is_common && !named.contains(path) && !in_folder && !of_training_row {
            return Err(Refusal::StrayFile(path.to_owned()));
        }
    }
    Ok(())
}

/// Where labels stand in the names of files, those of training files are the answers of their rows, and
/// the files of test rows have none.
pub(super) fn labels_are_answers(task: &Staged) -> Result<(), Refusal> {
    let TaskFacts { blueprint, assets, .. } = &task.draft.facts;
    if !blueprint.labels_in_names() {
        return Ok(());
    }
    let names = names(task)?;
    let (train, test) = names.split_at(assets.train_ids.len().min(names.len()));
    let answers = assets.train_truth.class_names().unwrap_or_default();
    if train.len() != answers.len() {
        return Err(Refusal::Contract("training rows and answers differ in number".to_owned()));
    }
    let is_wrong = |(name, answer): &(&String, &str)| file_label::label_of(name) != Some(answer);
    if let Some((name, answer)) = train.iter().zip(answers).find(is_wrong) {
        let fault = format!("the name of `{name}` does not begin with the row's answer, {answer}");
        return Err(Refusal::Contract(fault));
    }
    match test.iter().find(|name| file_label::label_of(name).is_some()) {
        Some(name) => Err(Refusal::MetadataLeak {
            path: name.clone(),
            fault: "its name has a part where training files have their label".to_owned(),
        }),
        None => Ok(()),
    }
}

/// All files of the public half were changed last at one time: that of all tasks, or another, as
/// in an image of a container.
pub(crate) fn times_say_nothing(dir: &TaskDir) -> Result<(), Refusal> {
    let mut first = None;
    for path in public(dir) {
        let known = fs::metadata(dir.public().path().join(path)).map_err(contract)?;
        let time = known.modified().map_err(contract)?;
        if *first.get_or_insert(time) != time {
            return Err(Refusal::TimeLeak(path.to_owned()));
        }
    }
    Ok(())
}

/// Gives all files of the manifest the time that they had when the task was made; returns how many
/// had another.
///
/// # Errors
/// Any I/O error; files before it have their time.
pub fn fix_times(dir: &TaskDir) -> io::Result<usize> {
    let made = UNIX_EPOCH + package::MODIFIED;
    let mut fixed = 0;
    for path in dir.manifest().hashes.keys().map(String::as_str).chain(["task.json"]) {
        let path = dir.path().join(path);
        if fs::metadata(&path)?.modified()? != made {
            fs::OpenOptions::new().write(true).open(&path)?.set_modified(made)?;
            fixed += 1;
        }
    }
    Ok(fixed)
}

/// Pictures, recordings, tables of links and texts hold their data and a header that all in
/// their folder share, and nothing else. Folders of frames have as many each.
pub(crate) fn headers_say_nothing(dir: &TaskDir) -> Result<(), Refusal> {
    let mut heads: BTreeMap<&str, chunks::Head> = BTreeMap::new();
    let mut frames: BTreeMap<&str, usize> = BTreeMap::new();
    for path in public(dir) {
        let Some((folder, file)) = path.split_once('/') else { continue };
        if let Some((within, _)) = path.rsplit_once('/').filter(|(within, _)| *within != folder) {
            *frames.entry(within).or_default() += 1;
        }
        let read = match Utf8Path::new(file).extension() {
            Some("png") => chunks::png,
            Some("jpg") => chunks::jpeg,
            Some("tif") => chunks::tiff,
            Some("wav") => chunks::wav,
            Some("csv") => chunks::csv,
            Some("txt") => chunks::text,
            _ => continue,
        };
        let bytes = fs::read(dir.public().path().join(path)).map_err(contract)?;
        let leak = |fault: String| Refusal::MetadataLeak { path: path.to_owned(), fault };
        let head = read(&bytes).map_err(leak)?;
        if *heads.entry(folder).or_insert_with(|| head.clone()) != head {
            return Err(leak("its header is not that of the files before it".to_owned()));
        }
    }
    let usual = frames.values().next().copied();
    match frames.iter().find(|(_, count)| Some(**count) != usual) {
        Some((folder, count)) => Err(Refusal::MetadataLeak {
            path: (*folder).to_owned(),
            fault: format!("it has {count} frames, and another has another number"),
        }),
        None => Ok(()),
    }
}

/// The files of the public half, relative to it.
fn public(dir: &TaskDir) -> impl Iterator<Item = &str> {
    let hashes = &dir.manifest().hashes;
    hashes.keys().filter_map(|path| path.strip_prefix("prepared/public/"))
}

/// The files that the tables name, the rows of `train.csv` first; none where rows have none.
pub(super) fn names(task: &Staged) -> Result<Vec<String>, Refusal> {
    let Some(column) = task.draft.facts.blueprint.file_column() else { return Ok(Vec::new()) };
    Ok([cells(task, "train.csv", column)?, cells(task, "test.csv", column)?].concat())
}

/// The cells of one column of a public table.
fn cells(task: &Staged, file: &str, column: &str) -> Result<Vec<String>, Refusal> {
    let bytes = fs::read(task.dir.public().path().join(file)).map_err(contract)?;
    let rows =
        table::read_csv(&bytes).map_err(|error| Refusal::Contract(format!("`{file}`: {error}")))?;
    let Some(Cells::Text(cells)) = table::cells(&rows, column) else {
        return Err(Refusal::Contract(format!("`{file}` has no column `{column}`")));
    };
    Ok(cells.into_iter().map(str::to_owned).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn contract(error: std::io::Error) -> Refusal {
    Refusal::Contract(error.to_string())
}
