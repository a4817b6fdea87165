//! What a server is started with.

use crate::clock::Budget;
use crate::fault::Fault;
use crate::ledger::{Aggregate, LedgerError, Protocol, SubmissionLimits};
use crate::record::CodeSnapshots;
use crate::task_set::TaskSetError;
use camino::Utf8PathBuf;
use std::net::SocketAddr;
use std::time::Duration;
use web::token::Token;
use worlds::{FolderError, SuiteError};

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// Where agents reach it.
    pub listen: SocketAddr,
    /// What agents must show.
    pub token: Token,
    /// The folder with ledger, snapshots and results, which no agent may see.
    pub sealed: Utf8PathBuf,
    /// The suite, with its sealed half.
    pub suite: Utf8PathBuf,
    /// The task of the suite.
    pub task: String,
    /// The base model.
    pub base: Utf8PathBuf,
    /// The agent's output folder.
    pub output: Utf8PathBuf,
    /// Further names under which the agent knows that folder.
    pub aliases: Vec<Utf8PathBuf>,
    /// Where views of the state are written for the agent, which can read them and not write there.
    pub views: Option<Utf8PathBuf>,
    /// What submissions are scored on.
    pub protocol: Protocol,
    /// How the score follows from those of the items: [`Aggregate::Mean`] or [`Aggregate::Reported`]. Without
    /// it, as the task says.
    pub aggregate: Option<Aggregate>,
    /// Whether the agent is told the score and the tags of each dev item. What the items say stays sealed.
    pub tells_items: bool,
    /// The agent's time.
    pub budget: Budget,
    /// How often it may submit.
    pub limits: SubmissionLimits,
    /// The command line of the grader.
    pub grader: Vec<String>,
    /// Time that one grading may take.
    pub grading_limit: Duration,
    /// The device that models are graded on, as the grader calls it.
    pub device: String,
    /// A file that is locked while a model is graded, where several servers share a device.
    pub device_lock: Option<Utf8PathBuf>,
    /// The program `posttrain`, which starts graders.
    pub launcher: Utf8PathBuf,
    /// Whether the server ends after the final scores.
    pub until_final: bool,
    /// Where the agent's code is kept as it was at each submission.
    pub code: Option<CodeSnapshots>,
    /// Where uses of the toolbox are written down, if they are.
    pub uses: Option<Utf8PathBuf>,
}

/// Why a server did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The suite cannot be used.
    #[error("failed to open the suite")]
    Suite(#[from] SuiteError),
    /// The tasks cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskSetError),
    /// Several tasks are scored by the mean of theirs.
    #[error("the score of several tasks is the mean of theirs; leave out `--aggregate reported`")]
    Reported,
    /// The task cannot be used.
    #[error("failed to open the task")]
    Task(#[from] FolderError),
    /// The address cannot be used.
    #[error("failed to listen to {address}")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// The ledger is that of another run.
    #[error(
        "the ledger is of a run with other settings ({}); name another folder, or start it as before",
        .0.join(", ")
    )]
    OtherRun(Vec<&'static str>),
    /// The base is not what it was when the run was opened.
    #[error("the base is not the one that the run was opened with")]
    OtherBase,
    /// The sealed folder is where the agent can write.
    #[error("`{0}` is inside the agent's output folder; name another folder for sealed files")]
    Exposed(Utf8PathBuf),
    /// The system has no threads or signals left.
    #[error("failed to start")]
    Runtime(#[source] std::io::Error),
    /// Something of ours failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<LedgerError> for ServeError {
    fn from(error: LedgerError) -> Self {
        Self::Fault(error.into())
    }
}

impl From<std::io::Error> for ServeError {
    fn from(error: std::io::Error) -> Self {
        Self::Fault(error.into())
    }
}
