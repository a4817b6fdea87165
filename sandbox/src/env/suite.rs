//! A set of tasks that episodes can be started on.

use super::episode::{Episode, EpisodeConfig, EpisodeFault};
use crate::graders::Graders;
use camino::Utf8Path;
use jail::exec::{Sandbox, SandboxOptions, StartError};
use jail::python::{PythonEnv, PythonError};
use tasks::grade::Grader;
use tasks::task::{Collection, Opening, Split, Task, TaskError, TaskId};

/// Why no episode can be started.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
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
    #[error(
        "the corpus has no {} tasks; `factory generate` makes both kinds",
        if matches!(.0, Split::Train) { "training" } else { "held-out" }
    )]
    EmptySplit(Split),
}

/// Tasks of any kind, the sandbox that shows their public folders, and their graders. Clones share
/// the sandbox.
///
/// # Examples
/// ```rust,no_run
/// use jail::exec::SandboxOptions;
/// use sandbox::env::{Action, EpisodeConfig, TaskSuite};
/// use tasks::task::Opening;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let suite = TaskSuite::open("corpus".into(), &Opening::default(), SandboxOptions::default())?;
/// let task = &suite.tasks()[0];
/// let mut episode = suite.reset(task, &EpisodeConfig::default())?;
/// let step = episode.step(&Action::Python { code: "print(1 + 1)".to_owned() })?;
/// println!("{}", step.observation.text);
/// println!("{:?}", episode.close()?.grade);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TaskSuite {
    tasks: Collection,
    sandbox: Sandbox,
    graders: Graders,
}

impl TaskSuite {
    /// Opens the tasks below `path`, makes sure that the files of our own are complete, and starts
    /// a sandbox for all of them.
    ///
    /// # Errors
    /// [`SuiteError`] if a task is broken, or scripts cannot be run safely.
    pub fn open(
        path: &Utf8Path,
        opening: &Opening,
        options: SandboxOptions,
    ) -> Result<Self, SuiteError> {
        let tasks = Collection::open(path, opening)?;
        for task in tasks.tasks().iter().filter_map(Task::ours) {
            task.check_files()?;
        }
        Self::start(tasks, options)
    }

    /// Starts a sandbox for `tasks`. Evaluators of bundles get one of their own with the same
    /// options.
    ///
    /// # Errors
    /// [`SuiteError`] if scripts cannot be run safely.
    pub fn start(tasks: Collection, options: SandboxOptions) -> Result<Self, SuiteError> {
        let graders = Graders::new(tasks.tasks());
        graders.configure(options.clone());
        let sandbox = Sandbox::start(&PythonEnv::locate()?, options, &tasks.public())?;
        Ok(Self { tasks, sandbox, graders })
    }

    /// All tasks, sorted by name; never empty.
    pub fn tasks(&self) -> &[Task] {
        self.tasks.tasks()
    }

    /// The tasks of one split, as [`Collection::split`] gives them.
    ///
    /// # Errors
    /// [`SuiteError::EmptySplit`].
    pub fn split(&self, split: Split) -> Result<Vec<&Task>, SuiteError> {
        let tasks = self.tasks.split(split);
        if tasks.is_empty() { Err(SuiteError::EmptySplit(split)) } else { Ok(tasks) }
    }

    /// The task of that name.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.task(id)
    }

    /// The sandbox that scripts run in.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The graders of the tasks.
    pub fn graders(&self) -> &Graders {
        &self.graders
    }

    /// Opens the grader of `task`.
    ///
    /// # Errors
    /// [`EpisodeFault::Answers`] if its answers or its evaluator cannot be used.
    pub fn grader(&self, task: &Task) -> Result<Box<dyn Grader>, EpisodeFault> {
        self.graders.open(task).map_err(EpisodeFault::Answers)
    }

    /// Starts an episode on `task`.
    ///
    /// # Errors
    /// An [`EpisodeFault`]: the jail cannot be set up, the task's answers are unreadable, or its
    /// grader cannot give the feedback asked for.
    pub fn reset(&self, task: &Task, config: &EpisodeConfig) -> Result<Episode, EpisodeFault> {
        Episode::reset(&self.sandbox, task, self.grader(task)?, config)
    }
}
