//! What a program is started with.

use crate::exec::Fault;
use crate::isolation::gpus::NoGpu;
use crate::isolation::root::Bind;
use crate::isolation::{IsolationLevel, Layer};
use crate::limits::Gpus;
use crate::python::{PythonEnv, PythonError};
use camino::Utf8PathBuf;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use tasks::units::ByteSize;

/// A program and what it finds in its box. All paths but the sources of binds are the box's.
#[derive(Debug, Clone)]
pub struct ProgramSpec {
    /// The program and its arguments.
    pub start: Vec<String>,
    /// Where it is started.
    pub directory: String,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Trees and files that it can read and execute.
    pub programs: Vec<Bind>,
    /// Trees and files that it can read.
    pub data: Vec<Bind>,
    /// Folders that it can write to, which should be its own: the box's user will own them if the
    /// caller is root.
    pub writable: Vec<Bind>,
    /// Ports of the box's 127.0.0.1 on which the caller will listen.
    pub ports: Vec<u16>,
    /// What it may use.
    pub limits: ProgramLimits,
}

/// What a program may use, with everything that it starts.
///
/// | field | purpose | default |
/// | --- | --- | --- |
/// | `memory` | memory of each process, and in `t1` of all together | 8 GiB |
/// | `processes` | processes and threads | 2,048 |
/// | `cpus` | processors' worth of time; without it all; needs `t1` | none |
/// | `gpus` | GPUs of the host | none |
/// | `open_files` | open descriptors per process | 8,192 |
/// | `file_size` | size of one file | 64 GiB |
/// | `scratch` | size of `/tmp`, and of `/dev/shm`, which are memory | 1 GiB |
/// | `disk`, `files` | what is in all writable folders together; looked at every second | 64 GiB, 1,000,000 |
/// | `free_disk` | what the disk with these folders must have left | 1 GiB |
/// | `output` | bytes of output that are kept | 64 MiB |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Memory of each process, and in `t1` of all together.
    pub memory: ByteSize,
    /// Processes and threads together.
    pub processes: u64,
    /// Processors' worth of time.
    pub cpus: Option<NonZeroU32>,
    /// GPUs of the host.
    pub gpus: Gpus,
    /// Open descriptors per process.
    pub open_files: u64,
    /// Size of one file.
    pub file_size: ByteSize,
    /// Size of `/tmp`, and of `/dev/shm`.
    pub scratch: ByteSize,
    /// Bytes in all writable folders.
    pub disk: ByteSize,
    /// Files and folders in all writable folders.
    pub files: u64,
    /// What the disks with writable folders must have left.
    pub free_disk: ByteSize,
    /// Bytes of output that are kept; more is read and dropped.
    pub output: ByteSize,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            memory: ByteSize::gib(8),
            processes: 2_048,
            cpus: None,
            gpus: Gpus::None,
            open_files: 8_192,
            file_size: ByteSize::gib(64),
            scratch: ByteSize::gib(1),
            disk: ByteSize::gib(64),
            files: 1_000_000,
            free_disk: ByteSize::gib(1),
            output: ByteSize::mib(64),
        }
    }
}

/// How a program is kept apart from the host; written `t1`, `t2` or `none`.
///
/// There is no `t3`: what cannot be hidden would have to be forbidden, and a program that may use no
/// socket and start no tool is no agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// In a box, of the best tier that the host offers, and of this one at least.
    Box(IsolationLevel),
    /// Not at all: it runs as the caller, on the host. For hosts that offer no box. Its processes
    /// are still ended, as far as they do not fight it.
    None,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Box(tier) => f.pad(tier.name()),
            Self::None => f.pad("none"),
        }
    }
}

/// A word that is no isolation of programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no isolation of programs; one of t1, t2, none")]
pub struct UnknownIsolation {
    /// The word that was given.
    pub given: String,
}

impl FromStr for Isolation {
    type Err = UnknownIsolation;
    fn from_str(given: &str) -> Result<Self, UnknownIsolation> {
        match given {
            "t1" => Ok(Self::Box(IsolationLevel::T1)),
            "t2" => Ok(Self::Box(IsolationLevel::T2)),
            "none" => Ok(Self::None),
            _ => Err(UnknownIsolation { given: given.to_owned() }),
        }
    }
}

/// Where a Python environment is in a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxedPython {
    /// Trees for [`ProgramSpec::programs`].
    pub binds: Vec<Bind>,
    /// The interpreter.
    pub interpreter: Utf8PathBuf,
}

impl BoxedPython {
    /// An environment as a box shows it.
    ///
    /// # Errors
    /// [`PythonError::Covered`] if the box would hide it.
    pub fn new(python: &PythonEnv) -> Result<Self, PythonError> {
        python.visible_in_box()?;
        let bind = |(source, target): (Utf8PathBuf, Utf8PathBuf)| Bind {
            source: source.into(),
            target: target.into(),
        };
        let binds = python.folders().into_iter().map(bind).collect();
        Ok(Self { binds, interpreter: python.interpreter_in_box() })
    }
}

/// A program could not be started, or was lost.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The launcher could not be started, or a folder not be prepared.
    #[error("could not {step} ({source})")]
    System {
        /// What was being done.
        step: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A layer that is needed cannot be had on this host.
    #[error(
        "the layer `{layer}` is not up: {reason}; `--isolation none` does without any, and every \
         result says so"
    )]
    Layer {
        /// The layer that is missing.
        layer: Layer,
        /// Why it is missing.
        reason: String,
    },
    /// The host offers a weaker tier than is accepted.
    #[error(
        "this host offers tier {found}, and {weakest} is the weakest accepted; the layer `{layer}` is \
         not up: {reason}; to run in tier {found} all the same, pass `--isolation {found}`"
    )]
    Tier {
        /// What could be had.
        found: IsolationLevel,
        /// What was asked for.
        weakest: IsolationLevel,
        /// The layer that makes the difference.
        layer: Layer,
        /// Why it is not up.
        reason: String,
    },
    /// The limits ask for what only control groups can do.
    #[error("`cpus` needs tier t1, and this host has no control groups: {0}; leave it out")]
    NeedsGroups(String),
    /// The limits ask for GPUs that are not there.
    #[error(transparent)]
    NoGpu(#[from] NoGpu),
    /// The launcher or the keeper ended without a word.
    #[error("the launcher of the box ended unexpectedly: {0}")]
    Lost(String),
    /// Packets to or from the launcher failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl ProgramError {
    pub(super) fn system<E: Into<std::io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { step, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolations_are_read_as_written_and_t3_is_none_of_them() {
        for word in ["t1", "t2", "none"] {
            assert_eq!(word.parse::<Isolation>().unwrap().to_string(), word);
        }
        let error = "t3".parse::<Isolation>().unwrap_err().to_string();
        assert!(error.contains("t1, t2, none"), "{error}");
    }
}
