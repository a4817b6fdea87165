//! Resource limits of single processes, and of the processes of a run together.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// Signals that may wait for delivery to a run's processes: the kernel counts them per user, and a
/// run that takes all would leave its neighbours, and the user's other programs, none.
const PENDING_SIGNALS: u64 = 256;

/// A limit could not be set.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The size of the process could not be read.
    #[error("could not read the interpreter's own size ({0})")]
    OwnSize(std::io::Error),
    /// The user's other processes could not be counted.
    #[error("could not count this user's processes ({0})")]
    Others(std::io::Error),
    /// The user's waiting signals could not be counted.
    #[error("could not count this user's waiting signals ({0})")]
    Signals(std::io::Error),
    /// The kernel refused a resource limit.
    #[error("could not limit {what} ({source})")]
    Set {
        /// What was to be limited.
        what: &'static str,
        /// The error of `setrlimit`.
        source: Errno,
    },
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimits {
    /// Bytes of private writable memory per process, beyond what the warmed interpreter already
    /// has. Address space that is only reserved, as libtorch and CUDA do by the gigabyte, does not
    /// count; what processes share is for others to add up.
    pub memory: u64,
    /// The largest number of processes and threads.
    pub processes: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Open descriptors per process.
    pub open_files: u64,
}

/// Sets the limits, hard and soft, for the calling process and its descendants; but not the
/// number of processes, see [`apply_to_processes`].
///
/// # Errors
/// A [`LimitError`] naming the limit.
pub fn apply(limits: &ResourceLimits) -> Result<(), LimitError> {
    let own = own_data().map_err(LimitError::OwnSize)?;
    set("memory", Resource::Data, own.saturating_add(limits.memory))?;
    set("file size", Resource::Fsize, limits.file_size)?;
    set("open files", Resource::Nofile, limits.open_files)?;
    // A core dump would be written into the work dir.
    set("core dumps", Resource::Core, 0)?;
    // Locked pages and message queues are memory that no other limit counts.
    set("locked memory", Resource::Memlock, 0)?;
    set("message queues", Resource::Msgqueue, 0)?;
    set("real-time priority", Resource::Rtprio, 0)
}

/// Limits the number of processes and of waiting signals, of the calling process's own user
/// namespace.
///
/// Each user namespace has counts of its own, and so each run has, although all share one user;
/// but what is the limit when a namespace is made binds the namespace around it as well, where
/// all runs are counted. So this is for afterwards.
///
/// # Errors
/// A [`LimitError`].
pub fn apply_to_processes(limits: &ResourceLimits) -> Result<(), LimitError> {
    set("waiting signals", Resource::Sigpending, PENDING_SIGNALS)?;
    set("processes", Resource::Nproc, limits.processes)
}

/// Limits the same where there is no user namespace: what this user has now counts, and runs side
/// by side share what is left.
///
/// # Errors
/// A [`LimitError`].
pub fn apply_beside_others(limits: &ResourceLimits) -> Result<(), LimitError> {
    let own = rustix::process::getuid().as_raw();
    let threads = |entry: &fs_err::DirEntry| {
        std::os::unix::fs::MetadataExt::uid(&entry.metadata().ok()?).eq(&own).then_some(())?;
        Some(fs_err::read_dir(entry.path().join("task")).ok()?.count() as u64)
    };
    let entries = fs_err::read_dir("/proc").map_err(LimitError::Others)?;
    let others: u64 = entries.flatten().filter_map(|entry| threads(&entry)).sum();
    let waiting = waiting_signals().map_err(LimitError::Signals)?;
    // Inside a box the hard limit is lower already, and cannot be raised.
    let set = |what, resource: Resource, value: u64| {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        set(what, resource, value.min(most))
    };
    set("waiting signals", Resource::Sigpending, waiting + PENDING_SIGNALS)?;
    // The calling process is one of them.
    set("processes", Resource::Nproc, others.saturating_sub(1) + limits.processes)
}

/// Signals that wait for delivery to this user's processes.
fn waiting_signals() -> std::io::Result<u64> {
    let status = fs_err::read_to_string("/proc/self/status")?;
    // `SigQ:  2/94000`, of how many.
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("SigQ:")?.trim().split_once('/')?.0.parse().ok());
    count.ok_or_else(|| std::io::Error::other("/proc/self/status has no SigQ"))
}

/// Lets the calling process open as many files as its user may. An episode holds some as long as it
/// goes on, its control groups' among them; of the 1024 that a shell usually grants, some two
/// hundred episodes would use up all.
///
/// # Errors
/// A [`LimitError`].
pub fn lift_open_files() -> Result<(), LimitError> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        .map_err(|source| LimitError::Set { what: "open files", source })
}

fn set(what: &'static str, resource: Resource, value: u64) -> Result<(), LimitError> {
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
        .map_err(|source| LimitError::Set { what, source })
}

/// Bytes of private writable memory that the process has.
fn own_data() -> Result<u64, std::io::Error> {
    // Fields are in pages; the sixth is data and stack.
    let text = fs_err::read_to_string("/proc/self/statm")?;
    let pages: Option<u64> = text.split_whitespace().nth(5).and_then(|field| field.parse().ok());
    let pages = pages.ok_or_else(|| std::io::Error::other("statm has no size"))?;
    Ok(pages * rustix::param::page_size() as u64)
}
