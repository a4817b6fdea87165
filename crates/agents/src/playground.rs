//! Where episodes are played: a corpus of tasks and a sandbox that can mount their public halves.

use camino::Utf8Path;
use jail::exec::{Options, Sandbox};
use sandbox::env::{SuiteError, TaskSuite};
use tasks::task::{Collection, Opening, Split, Task, TaskDir, TaskError};

/// Why there is no place to play.
#[derive(Debug, thiserror::Error)]
pub enum PlaygroundError {
    /// The tasks cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskError),
    /// The sandbox does not start.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A split without tasks.
    #[error("the corpus has no {} tasks; `factory generate` makes both kinds", if matches!(.0, Split::Train) { "training" } else { "held-out" })]
    EmptySplit(Split),
}

/// A corpus with its sandbox.
#[derive(Debug)]
pub struct Playground(TaskSuite);

impl Playground {
    /// Opens the corpus in `tasks` and warms a sandbox for it.
    ///
    /// # Errors
    /// [`PlaygroundError`] if a task is broken, or scripts cannot be run safely.
    pub fn open(tasks: &Utf8Path) -> Result<Self, PlaygroundError> {
        let tasks = Collection::open(tasks, &Opening::default())?;
        for task in tasks.tasks().iter().filter_map(Task::ours) {
            task.check_files()?;
        }
        Ok(Self(TaskSuite::start(tasks, Options::default())?))
    }

    /// The tasks with their graders.
    pub fn suite(&self) -> &TaskSuite {
        &self.0
    }

    /// Where scripts run.
    pub fn sandbox(&self) -> &Sandbox {
        self.0.sandbox()
    }

    /// The tasks of one split, sorted by name.
    ///
    /// # Errors
    /// [`PlaygroundError::EmptySplit`].
    pub fn tasks(&self, split: Split) -> Result<Vec<&TaskDir>, PlaygroundError> {
        let tasks = self.0.tasks().iter().filter_map(Task::ours);
        let tasks: Vec<_> = tasks.filter(|task| task.manifest().split == split).collect();
        if tasks.is_empty() { Err(PlaygroundError::EmptySplit(split)) } else { Ok(tasks) }
    }
}
