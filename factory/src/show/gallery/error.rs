//! The errors of making the gallery page.

use crate::spec::mix::MixError;
use camino::Utf8PathBuf;
use std::io;
use tasks::rating::RatingError;
use tasks::task::TaskError;

/// Why the gallery page could not be made.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// The corpus or a task does not open, or a file is not what its manifest says.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The ratings of solvers do not open.
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// A file is unreadable; the message names it.
    #[error("failed to read a file of the task")]
    Io(#[from] io::Error),
    /// A file agrees with the manifest but cannot be parsed.
    #[error("`{path}` cannot be shown: {fault}; `factory verify` checks the whole corpus")]
    Unreadable {
        /// Path of the unreadable file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// A filter names no kind of task.
    #[error(transparent)]
    Filter(#[from] MixError),
    /// Filters that no task passes.
    #[error(
        "no task of `{0}` is of the kinds asked for; leave out `--modality` or `--formulation`"
    )]
    NothingChosen(Utf8PathBuf),
}
