//! Why a corpus was not exported.

use camino::Utf8PathBuf;
use polars::prelude::PolarsError;
use std::io;
use tasks::rating::RatingError;
use tasks::task::TaskError;

/// Why a corpus was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A task is broken.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The ratings of solvers do not open.
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// The folder to write to is not empty.
    #[error("`{0}` is not empty; name a folder that does not exist yet")]
    NotEmpty(Utf8PathBuf),
    /// A class or label that does not come through pandas.
    #[error(
        "task `{task}` has the class `{word}`, which pandas does not read as text; leave the task \
         out, or export from a corpus without it"
    )]
    Word {
        /// Name of the task with this class.
        task: String,
        /// The class or label that pandas reads as something else.
        word: String,
    },
    /// A task of real data, in an export that is to be published.
    #[error(
        "task `{0}` is an anchor: its data are real and have terms of their own; publish a corpus of \
         `factory generate`"
    )]
    Anchor(String),
    /// A table of a task cannot be read as CSV or written as Parquet.
    #[error("the table `{path}` cannot be exported; `factory verify` checks the whole corpus")]
    Table {
        /// Path of the table in the corpus, or in the export if the corpus has no such file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: PolarsError,
    },
    /// A file could not be read or written.
    #[error("failed to export; free some space or choose another folder, then export again")]
    Io(#[from] io::Error),
}
