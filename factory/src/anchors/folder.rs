//! Writes anchors into a folder. An anchor is complete or not there at all.

use super::catalogue::{AnchorSpec, ids, specs};
use super::extract::{ExtractError, RawData, read};
use super::panel::PanelError;
use super::task::build;
use crate::package;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tasks::files::{temporary_neighbour, write_atomic};
use tasks::task::{TaskDir, TaskError};

/// What marks a folder as one of anchors.
const NOTE: &str = "ANCHORS.md";
/// Whose the data is.
const LICENCES: &str = "LICENSES.md";

/// Which anchors are made, and of what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnchorSettings {
    /// Names of anchors. Default: none, which means all.
    pub only: Vec<String>,
    /// What the division of rows depends on. Default 0.
    pub seed: u64,
    /// The interpreter whose packages carry the data. Default: `.venv-anchors/bin/python` in or above
    /// the current folder, else the one that scripts run with.
    pub python: Option<Utf8PathBuf>,
}

/// Why anchors were not made.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// A name that none has.
    #[error("there is no anchor `{id}`; there are these: {}", ids().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name that was given.
        id: String,
    },
    /// A folder with other things in it.
    #[error(
        "`{0}` is not empty and was not made by `factory anchors`; name a folder that does not exist \
         yet, or one that it made"
    )]
    Foreign(Utf8PathBuf),
    /// The data could not be read.
    #[error(transparent)]
    Extract(#[from] ExtractError),
    /// A data set of which no task can be made.
    #[error("no task can be made of `{id}`: {detail}")]
    Unusable {
        /// The anchor.
        id: String,
        /// Why not.
        detail: String,
    },
    /// Milestones could not be placed.
    #[error("the milestones of `{id}` cannot be placed")]
    Panel {
        /// The anchor.
        id: String,
        /// Why not.
        #[source]
        source: PanelError,
    },
    /// What was written does not open.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A file that could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes anchors to `<out>/<id>`, replacing earlier ones, on all threads of the pool. The bytes
/// depend on the seed and on the versions of the packages alone. Once `stop` is set, no further one
/// is begun.
///
/// Returns the names of those written, in the order of the catalogue.
///
/// # Errors
/// [`AnchorError`]. Those that were complete by then stay.
pub fn write(
    out: &Utf8Path,
    settings: &AnchorSettings,
    stop: &AtomicBool,
) -> Result<Vec<&'static str>, AnchorError> {
    let chosen = chosen(&settings.only)?;
    open(out)?;
    // The note comes first: it marks the folder as one of ours should the run be interrupted.
    write_atomic(&out.join(NOTE), note().as_bytes())?;
    let work = temporary_neighbour(&out.join("data"));
    let data = read(&chosen, settings.python.as_deref(), &work);
    fs::remove_dir_all(&work)?;
    let data = data?;
    let written = chosen.par_iter().zip(&data).map(|(spec, data)| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        write_one(out, spec, data, settings.seed).map(|()| Some(spec.id.as_str()))
    });
    let written: Vec<Option<&str>> = written.collect::<Result<_, AnchorError>>()?;
    write_atomic(&out.join(LICENCES), licences(out)?.as_bytes())?;
    Ok(written.into_iter().flatten().collect())
}

fn chosen(only: &[String]) -> Result<Vec<&'static AnchorSpec>, AnchorError> {
    if let Some(id) = only.iter().find(|id| !ids().any(|known| known == id.as_str())) {
        return Err(AnchorError::Unknown { id: id.clone() });
    }
    let is_chosen = |spec: &&AnchorSpec| only.is_empty() || only.contains(&spec.id);
    Ok(specs().iter().filter(is_chosen).collect())
}

/// Makes sure that the folder is there and may be written to, and removes what a killed run left.
fn open(out: &Utf8Path) -> Result<(), AnchorError> {
    fs::create_dir_all(out)?;
    let is_ours = out.join(NOTE).is_file();
    for entry in out.read_dir_utf8()? {
        let entry = entry?;
        if !is_ours {
            return Err(AnchorError::Foreign(out.to_owned()));
        }
        let name = entry.file_name();
        if name.starts_with('.') && name.ends_with(".tmp") && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn write_one(
    out: &Utf8Path,
    spec: &AnchorSpec,
    data: &RawData,
    seed: u64,
) -> Result<(), AnchorError> {
    let task = build(spec, data, seed)?;
    let folder = out.join(&spec.id);
    let hidden = temporary_neighbour(&folder);
    let written = write_files(&task.files, &package::json(&task.manifest)?, &hidden, &folder);
    if written.is_err() {
        // The first error is the one worth reporting.
        let _ = fs::remove_dir_all(&hidden);
    }
    Ok(written?)
}

fn write_files(
    files: &std::collections::BTreeMap<String, Vec<u8>>,
    manifest: &Vec<u8>,
    hidden: &Utf8Path,
    folder: &Utf8Path,
) -> io::Result<()> {
    let files = files.iter().map(|(path, bytes)| (path.as_str(), bytes));
    package::write(hidden, files.chain([("task.json", manifest)]))?;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(hidden, folder)
}

fn note() -> String {
    "# Anchors, for measuring only\n\n\
     The folders here are tasks of the same form as those of a corpus, made by `factory anchors` from \
     small real data that Python packages carry. Solvers and policies are measured on them, to see \
     whether a corpus ranks them as real data does. Never train on them: `rl sft` and `rl train` \
     refuse to. Much of the data is well known, and large language models have read of it.\n\n\
     `LICENSES.md` says whose the data is.\n"
        .to_owned()
}

/// Whose the data of all anchors in a folder is.
fn licences(out: &Utf8Path) -> Result<String, AnchorError> {
    let mut text = "# Whose the data is\n\n| anchor | data | licence | read from |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for id in ids().filter(|id| out.join(id).is_dir()) {
        let manifest = TaskDir::open(&out.join(id))?.manifest().clone();
        let of = |key: &str| manifest.provenance[key].as_str().unwrap_or_default().to_owned();
        let packages: Vec<String> = manifest.provenance["packages"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or_default()))
            .collect();
        let _ = writeln!(
            text,
            "| `{id}` | {} | {} | {} |",
            of("origin"),
            of("licence"),
            packages.join(", ")
        );
    }
    text.push_str(
        "\nThe tables were cut, divided and renamed; their values are as the packages have them.\n",
    );
    Ok(text)
}
