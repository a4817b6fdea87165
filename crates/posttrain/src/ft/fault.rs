//! What goes wrong on our side, as opposed to a [`Rejection`].

use super::check::Rejection;
use agents::play::EpisodeFault;
use camino::Utf8PathBuf;
use jail::exec::{PlaceError, StartError};
use worlds::FolderError;

/// A failure of the program, its jail, its trainer or its files. It says nothing of a planner's work and
/// is never shown to it.
#[derive(Debug, thiserror::Error)]
pub enum FtFault {
    /// A file could not be read or written.
    #[error("failed to read or write a file of the run")]
    Io(#[from] std::io::Error),
    /// The raw data cannot be described.
    #[error(transparent)]
    Describe(#[from] crate::dojo::DescribeError),
    /// The task cannot be used.
    #[error("failed to open the task")]
    Task(#[from] FolderError),
    /// The task has no public items to compare answers with.
    #[error("the task `{0}` has no public items; a task needs some, as examples of its form")]
    NoExamples(String),
    /// The scorer of a user is not content with an example of the user.
    #[error(
        "the scorer gives {reward:.3} to the answer of the example `{item}`, which is to earn 1; mend one \
         of both"
    )]
    Example {
        /// The item.
        item: String,
        /// What it earns.
        reward: f64,
    },
    /// An answer could not be judged.
    #[error("failed to have the task read an answer")]
    Episode(#[from] EpisodeFault),
    /// An item has no prompt.
    #[error("failed to read the prompt of a public item")]
    Prompt(#[from] agents::prompt::PromptError),
    /// The jail for scripts did not start.
    #[error("failed to start the jail for scripts")]
    Start(#[from] StartError),
    /// The jail failed.
    #[error("failed to run a script in the jail")]
    Jail(#[from] jail::exec::Fault),
    /// A script could not be put into the jail.
    #[error("failed to put a script into the jail")]
    Place(#[from] PlaceError),
    /// A program could not be started.
    #[error("the program `{program}` could not be started")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A program printed what it should not.
    #[error("`{program}` cannot be used: {why}; it said: {said}")]
    Trainer {
        /// The program.
        program: String,
        /// What is wrong.
        why: String,
        /// The end of its standard error.
        said: String,
    },
    /// The grading server cannot be used.
    #[error("the grading server cannot be used: {0}")]
    Server(String),
    /// A chat model gave no answer.
    #[error("a chat model gave no answer; start the run again with the same flags, and it goes on")]
    Model(#[from] llm::ChatError),
    /// It was asked to stop.
    #[error("it was asked to stop")]
    Interrupted,
    /// The base model cannot be used.
    #[error("the base in `{folder}` cannot be used: {why}")]
    Base {
        /// Its folder.
        folder: Utf8PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// How a stage ends early: by a rejection, which the planner is told, or a fault, which it is not.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// What is tried cannot work.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// We failed.
    #[error(transparent)]
    Fault(#[from] FtFault),
}

/// A result whose rejection is an outcome like others, and whose fault is none.
pub(super) fn split<T>(result: Result<T, StageError>) -> Result<Result<T, Rejection>, FtFault> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(StageError::Rejected(rejection)) => Ok(Err(rejection)),
        Err(StageError::Fault(fault)) => Err(fault),
    }
}

impl From<std::io::Error> for StageError {
    fn from(error: std::io::Error) -> Self {
        Self::Fault(error.into())
    }
}
