//! What a knowledge base is asked: the statement of a task's problem, its labels, and what the leak
//! check needs of it.

use super::labels::TaskLabels;
use super::statement::statement;
use super::task_labels::{PublicFiles, label_task};
use camino::Utf8Path;
use fs_err as fs;
use std::collections::BTreeSet;
use tasks::task::{Task, TaskError};

/// A question to a knowledge base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The task's id.
    pub task: String,
    /// The statement of its problem, at most 80 words.
    pub statement: String,
    /// Its labels.
    pub labels: TaskLabels,
    /// The whole description, for the leak check.
    pub description: String,
    /// Names of the columns of its public tables, for the leak check.
    pub columns: BTreeSet<String>,
}

impl Query {
    /// The question about a task, by rules and without a model. Only public files are read, and of
    /// our own tasks no manifest.
    ///
    /// # Errors
    /// [`TaskError`] if the description cannot be read.
    pub fn from_task(task: &Task) -> Result<Self, TaskError> {
        let description = task.description()?;
        let files = PublicFiles::of(task.public().path());
        Ok(Self {
            task: task.id().as_str().to_owned(),
            statement: statement(&description),
            labels: label_task(task, &description, &files),
            columns: columns(task.public().path()),
            description,
        })
    }
}

/// The columns of all CSV files at the top of a public folder. A file that cannot be read has none.
pub(super) fn columns(public: &Utf8Path) -> BTreeSet<String> {
    let Ok(entries) = public.read_dir_utf8() else { return BTreeSet::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.into_path()));
    let tables = paths.filter(|path| matches!(path.extension(), Some("csv" | "tsv")));
    tables
        .filter_map(|path| {
            let delimiter = if path.extension() == Some("tsv") { b'\t' } else { b',' };
            let file = fs::File::open(&path).ok()?;
            let mut reader =
                csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(file);
            Some(reader.headers().ok()?.iter().map(str::to_owned).collect::<Vec<_>>())
        })
        .flatten()
        .collect()
}
