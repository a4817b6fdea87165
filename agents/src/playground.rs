//! Where episodes are played: a corpus of tasks and a sandbox that can mount their public halves.

use camino::Utf8Path;
use sandbox::exec::{Options, Sandbox, StartError};
use sandbox::python::{PythonEnv, PythonError};
use sandbox::task::{Corpus, PublicDir, Split, TaskDir, TaskError, TaskId};

/// Why there is no place to play.
#[derive(Debug, thiserror::Error)]
pub enum PlaygroundError {
    /// The tasks cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskError),
    /// There is no Python for scripts.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The sandbox does not start.
    #[error("failed to start the sandbox")]
    Start(#[from] StartError),
    /// A split without tasks.
    #[error("the corpus has no {} tasks; `factory generate` makes both kinds", if matches!(.0, Split::Train) { "training" } else { "held-out" })]
    EmptySplit(Split),
}

/// A corpus with its sandbox.
#[derive(Debug)]
pub struct Playground {
    corpus: Corpus,
    sandbox: Sandbox,
}

impl Playground {
    /// Opens the corpus in `tasks` and warms a sandbox for it.
    ///
    /// # Errors
    /// [`PlaygroundError`] if a task is broken, or scripts cannot be run safely.
    pub fn open(tasks: &Utf8Path) -> Result<Self, PlaygroundError> {
        let corpus = Corpus::open(tasks)?;
        for task in corpus.tasks() {
            task.check_files()?;
        }
        let python = PythonEnv::locate()?;
        let visible: Vec<(TaskId, PublicDir)> =
            corpus.tasks().iter().map(|task| (task.id().clone(), task.public())).collect();
        let sandbox = Sandbox::start(&python, Options::default(), &visible)?;
        Ok(Self { corpus, sandbox })
    }

    /// Where scripts run.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The tasks of one split, sorted by name.
    ///
    /// # Errors
    /// [`PlaygroundError::EmptySplit`].
    pub fn tasks(&self, split: Split) -> Result<Vec<&TaskDir>, PlaygroundError> {
        let tasks = self.corpus.split(split);
        if tasks.is_empty() { Err(PlaygroundError::EmptySplit(split)) } else { Ok(tasks) }
    }
}
