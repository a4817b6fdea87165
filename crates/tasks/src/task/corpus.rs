//! A corpus: a folder of tasks of the factory.

use super::dir::TaskDir;
use super::error::TaskError;
use super::kind;
use super::manifest::Split;
use camino::{Utf8Path, Utf8PathBuf};

/// The folders below `path` that claim to be tasks, sorted. Hidden folders are unfinished work.
pub(super) fn claimed(path: &Utf8Path) -> Result<Vec<Utf8PathBuf>, TaskError> {
    if !path.is_dir() {
        return Err(TaskError::NoCorpus(path.to_owned()));
    }
    let mut folders = Vec::new();
    for entry in path.read_dir_utf8()? {
        let entry = entry?;
        if !entry.file_name().starts_with('.') && kind::is_claimed(entry.path()) {
            folders.push(entry.into_path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// A folder of our own tasks.
#[derive(Debug, Clone)]
pub struct Corpus {
    path: Utf8PathBuf,
    tasks: Vec<TaskDir>,
}

impl Corpus {
    /// Opens every task below `path`, in order of their names. Hidden folders are unfinished
    /// work and are passed over, as are folders without a `task.json`.
    ///
    /// # Errors
    /// [`TaskError`] for the first task that is broken, or if there is none.
    pub fn open(path: &Utf8Path) -> Result<Self, TaskError> {
        let (folders, others): (Vec<_>, Vec<_>) =
            claimed(path)?.into_iter().partition(|folder| folder.join(kind::MANIFEST).is_file());
        match (folders.is_empty(), others.is_empty()) {
            (true, true) => return Err(TaskError::EmptyCorpus(path.to_owned())),
            (true, false) => return Err(TaskError::ForeignCorpus(path.to_owned())),
            _ => {}
        }
        let tasks = folders.iter().map(|folder| TaskDir::open(folder)).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), tasks })
    }

    /// The folder that the tasks lie in.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// All tasks, sorted by name.
    pub fn tasks(&self) -> &[TaskDir] {
        &self.tasks
    }

    /// The tasks of one split, sorted by name.
    pub fn split(&self, split: Split) -> Vec<&TaskDir> {
        self.tasks.iter().filter(|task| task.manifest().split == split).collect()
    }
}
