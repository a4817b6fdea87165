//! Hugging Face: a data set that `datasets.load_dataset` reads, with the tasks beside it.
//!
//! ```text
//! OUT/README.md                                   the dataset card
//! OUT/data/train-00000-of-00001.parquet           a row per task
//! OUT/data/validation-00000-of-00001.parquet      the same of held-out tasks
//! OUT/tasks/<task-id>/...                         the task as a folder of Harbor, answers included
//! ```
//!
//! Rows have what an agent may know, and facts to choose tasks by. Thresholds are not among them: all
//! columns of a row reach templates of prompts and environments, and a task's private half reaches
//! no agent.

use super::canary::Canary;
use super::error::ExportError;
use super::rows::{self, counts, lists_of_one, records, texts};
use super::{harbor_task, place};
use crate::package;
use crate::spec::mix::name;
use camino::Utf8Path;
use fs_err as fs;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::io;
use tasks::task::{Corpus, Manifest, Split, TaskDir};

const CARD: &str = include_str!("hf/card.md");

/// The splits by their names among data sets.
const SPLITS: [(Split, &str); 2] = [(Split::Train, "train"), (Split::Val, "validation")];

/// Exports every task of the corpus in `dir` to `out`, a folder that does not exist or is empty,
/// and returns how many there are. The same corpus gives the same bytes, and all files have one
/// time. `out` appears when all of it is written.
///
/// # Errors
/// [`ExportError`]; anchors are refused, because their data are not ours to license.
pub fn hf(dir: &Utf8Path, out: &Utf8Path) -> Result<usize, ExportError> {
    let corpus = Corpus::open(dir)?;
    let all = corpus.tasks();
    if let Some(anchor) = all.iter().find(|task| task.manifest().is_anchor()) {
        return Err(ExportError::Anchor(anchor.id().to_string()));
    }
    let canary = Canary::of(all);
    place::whole(out, |work| {
        all.par_iter().try_for_each(|task| {
            harbor_task::write(task, &canary, &work.join("tasks").join(task.id().as_str()))
        })?;
        let mut files = vec![("README.md".to_owned(), canary.mark(&card(&corpus)))];
        for (split, name) in SPLITS {
            let path = data(name);
            let tasks = corpus.split(split);
            if !tasks.is_empty() {
                let table = table(&tasks, &canary)?;
                let bytes = rows::to_parquet(table)
                    .map_err(|source| ExportError::Table { path: work.join(&path), source })?;
                files.push((path, bytes));
            }
        }
        package::write(work, files.iter().map(|(path, bytes)| (path.as_str(), bytes)))?;
        Ok(())
    })?;
    Ok(all.len())
}

/// Where the rows of a split lie.
fn data(split: &str) -> String {
    format!("data/{split}-00000-of-00001.parquet")
}

/// A row per task.
fn table(tasks: &[&TaskDir], canary: &Canary) -> io::Result<Vec<(&'static str, rows::Cells)>> {
    let prompt = |task: &&TaskDir| {
        let page = fs::read_to_string(task.public().path().join("description.md"));
        page.map(|page| harbor_task::instruction(&page, ""))
    };
    let prompts = tasks.iter().map(prompt).collect::<io::Result<Vec<String>>>()?;
    let manifests = || tasks.iter().map(|task| task.manifest());
    let text = |value: fn(&Manifest) -> String| texts(manifests().map(value));
    let count = |value: fn(&Manifest) -> usize| counts(manifests().map(value));
    let message =
        vec![("role", texts(tasks.iter().map(|_| "user"))), ("content", texts(prompts.iter()))];
    let sizes =
        vec![("train", count(|task| task.rows.train)), ("test", count(|task| task.rows.test))];
    Ok(vec![
        ("task", text(|task| task.id.to_string())),
        ("prompt", lists_of_one(records(message))),
        ("title", text(|task| task.title.clone())),
        ("modality", text(|task| name(&task.modality))),
        ("formulation", text(|task| name(&task.formulation))),
        ("domain", text(|task| task.domain.clone())),
        ("seed_competition", text(|task| task.seed_task.clone())),
        ("metric", text(|task| task.metric.to_string())),
        ("direction", text(|task| name(&task.direction()))),
        ("rows", records(sizes)),
        ("canary", texts(tasks.iter().map(|_| canary.to_string()))),
    ])
}

/// The dataset card, with the place of the canary open.
fn card(corpus: &Corpus) -> String {
    let (mut files, mut splits) = (String::new(), Vec::new());
    for (split, name) in SPLITS {
        let count = corpus.split(split).len();
        if count > 0 {
            let _ = write!(files, "\n  - split: {name}\n    path: {}", data(name));
            splits.push(format!("{count} in `{name}`"));
        }
    }
    CARD.replace("{files}", &files)
        .replace("{size}", size_category(corpus.tasks().len()))
        .replace("{splits}", &splits.join(", "))
}

/// The size of a data set, in the words of its card.
fn size_category(tasks: usize) -> &'static str {
    match tasks {
        ..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        _ => "100K<n<1M",
    }
}
