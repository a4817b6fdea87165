//! Answers of earlier runs, in files of JSON lines.
//!
//! ```text
//! <folder>/<machine>.jsonl   what answers depend on besides their keys, then a line for each answer
//! <folder>/<machine>.lock    held by the process that appends
//! ```
//!
//! `<machine>` is a hash of the first line. Another build of the program, another processor or a Python
//! with other packages has a file of its own, so that a folder may be on a disk which machines share.

use super::cache::Answer;
use super::key::Key;
use crate::run::python::{PythonFactsError, all_installed};
use crate::synced_lines::FolderLock;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::Sandbox;
use jail::isolation::tier::IsolationLevel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use tasks::files;

/// Of another version files have another name, and are left alone.
const VERSION: u32 = 1;
/// What `/proc/cpuinfo` calls it on x86-64 and on ARM.
const PROCESSOR: [&str; 5] = ["model name", "flags", "CPU implementer", "CPU part", "Features"];

/// Why a folder's answers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptCacheError {
    /// A file could not be read or written.
    #[error("failed to use the folder of the script cache")]
    Io(#[from] io::Error),
    /// A line is no answer.
    #[error("line {line} of `{path}` is no answer of a script; remove the file, which is a cache")]
    Line {
        /// The file, which can be removed: what it had is run again.
        path: Utf8PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It is not known what scripts run with.
    #[error(transparent)]
    Python(#[from] PythonFactsError),
}

/// What answers depend on besides their keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct MachineFacts {
    version: u32,
    /// A hash of this program, which grades.
    program: String,
    /// Numbers may differ in their last digits between processors.
    processor: String,
    processors: usize,
    isolation: IsolationLevel,
    python: String,
    packages: BTreeMap<String, String>,
}

/// An answer, as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine<K, A> {
    key: K,
    answer: A,
}

/// The file that answers are appended to.
#[derive(Debug)]
pub(super) struct AnswerFile {
    file: fs::File,
    _lock: FolderLock,
}

impl MachineFacts {
    /// Asks the sandbox, in which a script runs for that.
    pub(super) fn ask(sandbox: &Sandbox) -> Result<Self, ScriptCacheError> {
        let (python, packages) = all_installed(sandbox)?;
        Ok(Self {
            version: VERSION,
            program: program()?,
            processor: processor()?,
            processors: std::thread::available_parallelism().map_or(1, Into::into),
            isolation: sandbox.tier(),
            python,
            packages,
        })
    }
}

#[cfg(test)]
impl MachineFacts {
    /// Those of a machine with this Python.
    pub(super) fn of_python(version: &str) -> Self {
        Self {
            version: VERSION,
            program: String::new(),
            processor: "model name: one".to_owned(),
            processors: 2,
            isolation: IsolationLevel::T1,
            python: version.to_owned(),
            packages: BTreeMap::new(),
        }
    }
}

/// A hash of the program that runs.
fn program() -> io::Result<String> {
    let file = fs::File::open("/proc/self/exe")?;
    Ok(blake3::Hasher::new().update_reader(file)?.finalize().to_hex().to_string())
}

/// The model of the processor, with what it can do.
fn processor() -> io::Result<String> {
    let text = fs::read_to_string("/proc/cpuinfo")?;
    let first = text.lines().take_while(|line| !line.is_empty());
    let tells = |line: &&str| PROCESSOR.iter().any(|name| line.starts_with(name));
    Ok(first.filter(tells).collect::<Vec<_>>().join("\n"))
}

impl AnswerFile {
    /// Gives the answers in `folder` that hold under these facts to `known`, in the order in which they
    /// were written, and returns the file for more of them. That there is none means that another process
    /// has it. A file of more than `most_bytes` is begun anew.
    pub(super) fn open(
        folder: &Utf8Path,
        facts: &MachineFacts,
        most_bytes: u64,
        mut known: impl FnMut(Key, Answer),
    ) -> Result<Option<Self>, ScriptCacheError> {
        fs::create_dir_all(folder)?;
        let head = serde_json::to_string(facts).expect("facts have string keys only");
        let name = blake3::hash(head.as_bytes()).to_hex();
        let path = folder.join(format!("{}.jsonl", &name[..16]));
        let lock = FolderLock::take(&path.with_extension("lock"))?;
        if lock.is_some() && path.exists() {
            if fs::metadata(&path)?.len() > most_bytes {
                tracing::info!(%path, "the script cache has grown too large and is begun anew");
                fs::remove_file(&path)?;
            } else {
                files::remove_torn_line(&path)?;
            }
        }
        read(&path, lock.is_some(), &mut known)?;
        let Some(lock) = lock else {
            tracing::info!(%path, "another process keeps its scripts here; those of this one are not kept");
            return Ok(None);
        };
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
        if file.metadata()?.len() == 0 {
            file.write_all(format!("{head}\n").as_bytes())?;
        }
        Ok(Some(Self { file, _lock: lock }))
    }

    /// Appends an answer. It is not waited for until it is on the disk: what is lost is asked again.
    pub(super) fn append(&mut self, key: Key, answer: &Answer) -> io::Result<()> {
        let mut line = serde_json::to_vec(&AnswerLine { key, answer })?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

/// Reads the answers of a file, if it exists. Unless it `is_whole`, another process may be writing the last
/// line, which is then left out.
fn read(
    path: &Utf8Path,
    is_whole: bool,
    known: &mut impl FnMut(Key, Answer),
) -> Result<(), ScriptCacheError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut lines = BufReader::new(file).lines().enumerate().skip(1).peekable();
    while let Some((place, line)) = lines.next() {
        match serde_json::from_str(&line?) {
            Ok(AnswerLine { key, answer }) => known(key, answer),
            Err(_) if !is_whole && lines.peek().is_none() => (),
            Err(source) => {
                return Err(ScriptCacheError::Line {
                    path: path.to_owned(),
                    line: place + 1,
                    source,
                });
            }
        }
    }
    Ok(())
}
