//! Writes stand-ins into a folder. A competition is complete or not there at all.

use super::catalogue::{SOURCES, competitions};
use super::source::StandInSource;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rayon::prelude::*;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tasks::files::{temporary_neighbour, write_atomic, write_json};
use tasks::stream::Stream;
use tasks::task::StandIn;

/// What marks a folder as one of stand-ins.
const NOTE: &str = "STAND-IN.md";

/// Which stand-ins are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandInSettings {
    /// Names of competitions. Default: none, which means all 22.
    pub only: Vec<String>,
    /// What all draws depend on. Default 0.
    pub seed: u64,
}

/// Why stand-ins were not made.
#[derive(Debug, thiserror::Error)]
pub enum StandInError {
    /// A name that is none of the 22.
    #[error("there is no stand-in for `{id}`; there are these: {}", list())]
    Unknown {
        /// The name that was given.
        id: String,
    },
    /// A folder with other things in it.
    #[error(
        "`{0}` is not empty and was not made by `factory standin`; name a folder that does not \
         exist yet, or one that it made"
    )]
    Foreign(Utf8PathBuf),
    /// A competition that may be the true one.
    #[error(
        "`{0}` is no stand-in, and would be replaced; move it away, or leave it out with `--only`"
    )]
    Real(Utf8PathBuf),
    /// A file that could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn list() -> String {
    competitions().collect::<Vec<_>>().join(", ")
}

/// Writes the stand-ins to `<out>/<id>`, replacing earlier ones, on all threads of the pool. The
/// bytes depend on the seed alone. Once `stop` is set, no further one is begun.
///
/// Returns the names of those written, sorted.
///
/// # Errors
/// [`StandInError`]. Those that were complete by then stay.
///
/// # Examples
/// ```rust
/// use camino::Utf8Path;
/// use factory::standin::{StandInSettings, write};
/// use std::sync::atomic::AtomicBool;
/// use tasks::task::{Opening, Task};
///
/// let folder = tempfile::tempdir()?;
/// let out = Utf8Path::from_path(folder.path()).expect("UTF-8").join("stand-ins");
/// let only = vec!["spooky-author-identification".to_owned()];
/// let settings = StandInSettings { only, seed: 0 };
/// assert_eq!(write(&out, &settings, &AtomicBool::new(false))?.len(), 1);
/// let task = Task::open(&out.join("spooky-author-identification"), &Opening::default())?;
/// assert!(task.description()?.starts_with("This is a stand-in"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    out: &Utf8Path,
    settings: &StandInSettings,
    stop: &AtomicBool,
) -> Result<Vec<&'static str>, StandInError> {
    let sources = chosen(&settings.only)?;
    open(out, &sources)?;
    // The note comes first: it marks the folder as one of ours should the run be interrupted.
    write_atomic(&out.join(NOTE), note(settings.seed).as_bytes())?;
    let written = sources.par_iter().map(|source| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        write_one(out, source, settings.seed).map(|()| Some(source.id))
    });
    let written: Vec<Option<&str>> = written.collect::<io::Result<_>>()?;
    Ok(written.into_iter().flatten().collect())
}

fn chosen(only: &[String]) -> Result<Vec<&'static StandInSource>, StandInError> {
    if let Some(id) = only.iter().find(|id| !competitions().any(|known| known == id.as_str())) {
        return Err(StandInError::Unknown { id: id.clone() });
    }
    let is_chosen =
        |source: &&StandInSource| only.is_empty() || only.iter().any(|id| id.as_str() == source.id);
    Ok(SOURCES.iter().filter(is_chosen).collect())
}

/// Makes sure that the folder is there and may be written to, and removes what a killed run left.
fn open(out: &Utf8Path, sources: &[&StandInSource]) -> Result<(), StandInError> {
    fs::create_dir_all(out)?;
    let is_ours = out.join(NOTE).is_file();
    for entry in out.read_dir_utf8()? {
        let entry = entry?;
        if !is_ours {
            return Err(StandInError::Foreign(out.to_owned()));
        }
        if is_leftover(entry.file_name()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    for source in sources {
        let folder = out.join(source.id);
        if folder.exists() && !folder.join(StandIn::FILE).is_file() {
            return Err(StandInError::Real(folder));
        }
    }
    Ok(())
}

/// Whether a name is one under which a competition is built.
fn is_leftover(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    parts.and_then(|name| name.rsplit_once('.')).is_some_and(|(id, process)| {
        competitions().any(|known| known == id) && process.parse::<u32>().is_ok()
    })
}

fn write_one(out: &Utf8Path, source: &StandInSource, seed: u64) -> io::Result<()> {
    let stream = Stream::root(seed).child("stand-in").child(source.id);
    let mut files = (source.make)(stream);
    files.public("description.md", source.page());
    let folder = out.join(source.id);
    let hidden = temporary_neighbour(&folder);
    let written = fs::create_dir(&hidden).and_then(|()| {
        files.write(&hidden)?;
        let differences = source.all_differences().into_iter().map(str::to_owned).collect();
        write_json(&hidden.join(StandIn::FILE), &StandIn::new(seed, differences))?;
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::rename(&hidden, &folder)
    });
    if written.is_err() {
        // The first error is the one worth reporting.
        let _ = fs::remove_dir_all(&hidden);
    }
    written
}

fn note(seed: u64) -> String {
    format!(
        "# Stand-ins, not competitions\n\n\
         The folders here have the names and the form of competitions of MLE-bench-lite, and none of \
         their data. All rows, pictures, recordings and texts were invented by `factory standin` \
         (seed {seed}). They are there to test programs. A score or a medal on them says nothing of \
         the competition, and must not be reported beside true ones.\n\n\
         Each folder has a file `stand-in.json`, which lists how it differs from the competition.\n"
    )
}
