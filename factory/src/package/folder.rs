//! Writes a draft to a folder of its own, which a verified task leaves by a rename.

use super::Draft;
use super::draft::json;
use camino::Utf8Path;
use fs_err as fs;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::time::{Duration, UNIX_EPOCH};
use tasks::task::{TaskDir, TaskError};

/// When every file of a task was last changed, as a time since 1970: the first second of 2000.
///
/// Files that were written one after another tell in which order, and from when a task is. A
/// time of zero would do, but archives know none before 1980, and some tools take it for none.
pub const MODIFIED: Duration = Duration::from_hours(24 * 10_957);

/// A task folder in a temporary place, with the draft it was written from.
#[derive(Debug)]
pub struct Staged {
    /// The draft that was written to it.
    pub draft: Draft,
    /// The task folder in its temporary place.
    pub dir: TaskDir,
}

/// Why a folder could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A file could not be written; the message names it.
    #[error("failed to write a task")]
    Io(#[from] io::Error),
    /// What was written does not open.
    #[error("failed to reopen a task that was just written")]
    Reopen(#[from] TaskError),
}

/// Writes the draft below `work`, a folder of this run alone, and opens it as a grader would.
///
/// # Errors
/// [`PackageError`].
pub fn stage(draft: Draft, work: &Utf8Path) -> Result<Staged, PackageError> {
    let root = work.join(draft.facts.blueprint.task.as_str());
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let manifest = json(&draft.manifest()?)?;
    let files = draft.files.iter().map(|(path, bytes)| (path.as_str(), bytes));
    write(&root, files.chain([("task.json", &manifest)]))?;
    Ok(Staged { draft, dir: TaskDir::open(&root)? })
}

/// Writes the files of a task, by path within `root`, all with one time.
pub(crate) fn write<'a>(
    root: &Utf8Path,
    files: impl Iterator<Item = (&'a str, &'a Vec<u8>)>,
) -> io::Result<()> {
    let files: Vec<(&str, &Vec<u8>)> = files.collect();
    let folders: BTreeSet<&str> = files
        .iter()
        .filter_map(|(path, _)| path.rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    for folder in folders {
        fs::create_dir_all(root.join(folder))?;
    }
    for (path, bytes) in files {
        let mut file = fs::File::create(root.join(path))?;
        file.write_all(bytes)?;
        file.set_modified(UNIX_EPOCH + MODIFIED)?;
    }
    Ok(())
}
