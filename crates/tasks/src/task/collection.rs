//! A folder of tasks of any kind.

use super::error::TaskError;
use super::id::TaskId;
use super::manifest::Split;
use super::open::{Opening, Task};
use super::public::PublicDir;
use super::{corpus, kind};
use camino::Utf8Path;

/// Tasks of any kind, sorted by name; names are unique.
#[derive(Debug, Clone)]
pub struct Collection {
    tasks: Vec<Task>,
}

impl Collection {
    /// Opens every task below `path`, or `path` itself if it is one. Hidden folders are
    /// unfinished work and are passed over, as are folders without any mark of a task.
    ///
    /// # Errors
    /// [`TaskError`] for the first task that is broken, or if there is none.
    pub fn open(path: &Utf8Path, opening: &Opening) -> Result<Self, TaskError> {
        let folders =
            if kind::is_claimed(path) { vec![path.to_owned()] } else { corpus::claimed(path)? };
        let open = |folder| Task::open(folder, opening);
        Self::from_tasks(path, folders.iter().map(|folder| open(folder)).collect::<Result<_, _>>()?)
    }

    /// A collection of `tasks`, which lie below `path`.
    ///
    /// # Errors
    /// [`TaskError`] if there is none, or two have one name.
    pub fn from_tasks(path: &Utf8Path, mut tasks: Vec<Task>) -> Result<Self, TaskError> {
        if tasks.is_empty() {
            return Err(TaskError::EmptyCorpus(path.to_owned()));
        }
        tasks.sort_by(|a, b| a.id().cmp(b.id()));
        if let Some(pair) = tasks.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
            return Err(TaskError::SameName { path: path.to_owned(), id: pair[0].id().clone() });
        }
        Ok(Self { tasks })
    }

    /// All tasks, sorted by name; never empty.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The tasks of one split, sorted by name. A task that states no split, as competitions and
    /// bundles do not, is part of every split.
    pub fn split(&self, split: Split) -> Vec<&Task> {
        let is_in = |task: &&Task| task.split().is_none_or(|stated| stated == split);
        self.tasks.iter().filter(is_in).collect()
    }

    /// The collection, if it may be trained on.
    ///
    /// # Errors
    /// [`TaskError::Anchor`] if a task is an anchor: what was trained on measures nothing.
    pub fn for_training(&self) -> Result<&Self, TaskError> {
        match self.tasks.iter().find(|task| task.is_anchor()) {
            Some(anchor) => Err(TaskError::Anchor(anchor.id().clone())),
            None => Ok(self),
        }
    }

    /// The task of a name.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        let at = self.tasks.binary_search_by(|task| task.id().cmp(id)).ok()?;
        self.tasks.get(at)
    }

    /// What a sandbox shows of each.
    pub fn public(&self) -> Vec<(TaskId, PublicDir)> {
        self.tasks.iter().map(|task| (task.id().clone(), task.public().clone())).collect()
    }
}
