//! Detects which kind of task a folder holds, by the names of a few files.

use super::bundle::{ANSWERS, EVALUATOR};
use super::dojo;
use super::error::TaskError;
use camino::Utf8Path;
use std::fmt;

/// The file that makes a folder one of ours.
pub(super) const MANIFEST: &str = "task.json";
/// Where every kind keeps what agents see, and bundles more than that.
pub(super) const PUBLIC: &str = "prepared/public";
/// Where ours and competitions keep answers.
pub(super) const PRIVATE: &str = "prepared/private";

/// A kind of task folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskFolderKind {
    /// A task of the factory, with a manifest.
    Ours,
    /// A competition as MLE-bench prepares it.
    Competition,
    /// Released with the SandMLE paper.
    Bundle,
    /// A competition as MLE-Dojo prepares it.
    Dojo,
}

impl fmt::Display for TaskFolderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "task of our own",
            Self::Competition => "competition of MLE-bench",
            Self::Bundle => "bundle with its own evaluator",
            Self::Dojo => "competition of MLE-Dojo",
        })
    }
}

/// Whether a folder claims to be a task at all, whole or broken.
pub(super) fn is_claimed(path: &Utf8Path) -> bool {
    path.join(MANIFEST).is_file()
        || path.join("prepared").is_dir()
        || path.join(dojo::MARK).is_file()
}

/// The kind of task in `path`.
///
/// # Errors
/// [`TaskError::NoTask`] for a folder of no kind, [`TaskError::Incomplete`] for half a task.
pub(super) fn detect(path: &Utf8Path) -> Result<TaskFolderKind, TaskError> {
    if path.join(MANIFEST).is_file() {
        return Ok(TaskFolderKind::Ours);
    }
    if !is_claimed(path) {
        return Err(TaskError::NoTask(path.to_owned()));
    }
    if path.join(dojo::MARK).is_file() {
        return Ok(TaskFolderKind::Dojo);
    }
    let incomplete = |missing: &str| {
        Err(TaskError::Incomplete { path: path.to_owned(), missing: missing.to_owned() })
    };
    let public = path.join(PUBLIC);
    if !public.is_dir() {
        return incomplete(PUBLIC);
    }
    match [EVALUATOR, ANSWERS].map(|name| public.join(name).is_file()) {
        [true, true] => Ok(TaskFolderKind::Bundle),
        [true, false] => incomplete(&format!("{PUBLIC}/{ANSWERS}")),
        [false, true] => incomplete(&format!("{PUBLIC}/{EVALUATOR}")),
        [false, false] if path.join(PRIVATE).is_dir() => Ok(TaskFolderKind::Competition),
        [false, false] => incomplete(PRIVATE),
    }
}
