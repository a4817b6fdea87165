//! What goes wrong on our side.

use crate::ledger::LedgerError;
use camino::Utf8PathBuf;
use std::time::Duration;

/// A failure of the server, its disk or its grader. It is tried again once where that can help, told
/// to the operator, and never scored.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A file could not be read or written.
    #[error("failed to read or write a file of the server")]
    Io(#[from] std::io::Error),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The base model is not one that submissions can be compared with.
    #[error("the base in `{folder}` cannot be used: {why}")]
    Base {
        /// Its folder.
        folder: Utf8PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A snapshot is not what it was when it was taken.
    #[error("the snapshot `{0}` is missing or was changed")]
    Snapshot(Utf8PathBuf),
    /// A file of results is not what it was when it was written.
    #[error("the results in `{0}` are missing or were changed")]
    Results(Utf8PathBuf),
    /// The grader did not start.
    #[error("the grader `{program}` could not be started")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// The grader took too long and was killed, with all its children.
    #[error("the grader did not finish within {} s and was killed", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The grader ended without a result.
    #[error("the grader ended with {status} and without a result; it said: {said}")]
    Ended {
        /// Its exit status.
        status: std::process::ExitStatus,
        /// The end of its standard error.
        said: String,
    },
    /// The grader's result is not one.
    #[error("the grader's result cannot be used: {why}; it said: {said}")]
    Output {
        /// What is wrong with it.
        why: String,
        /// The end of its standard error.
        said: String,
    },
    /// The grader refused a model that it must be able to grade.
    #[error("the grader refused the base, or a model that it had graded before: {0}")]
    Refused(String),
    /// The server is shutting down, and ended the grader.
    #[error("the server is shutting down")]
    Stopping,
}
