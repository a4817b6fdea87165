//! Faults: errors of the sandbox or the host, which are never counted as an outcome of a script.

use crate::isolation::bare::WITHOUT;
use crate::isolation::gpus::NoGpu;
use crate::isolation::rlimits::LimitError;
use crate::isolation::{IsolationLevel, Layer};
use crate::python::PythonError;
use camino::Utf8PathBuf;
use std::time::Duration;
use tasks::task::TaskId;

/// A sandbox could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no Python for it.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The program that builds the jail is not where it should be.
    #[error(
        "the `sandbox` program is not beside {beside}; build it with \
         `cargo build -p sandbox`, or set {variable} to its path"
    )]
    NoLauncher {
        /// Where it was looked for.
        beside: Utf8PathBuf,
        /// The variable that names it.
        variable: &'static str,
    },
    /// The library that belongs to that program is not beside it.
    #[error("`libjail.so` is not beside {launcher}; build it with `cargo build -p sandbox`")]
    NoLibrary {
        /// Path of the launcher.
        launcher: Utf8PathBuf,
    },
    /// A task's folder could not be found.
    #[error("could not find the public files of task {task} ({source})")]
    Task {
        /// The task whose folder was not found.
        task: TaskId,
        /// The I/O error of opening the folder.
        source: std::io::Error,
    },
    /// A task lies in a folder that every script can read.
    #[error(
        "task {task} lies below {folder}, which scripts can read, and its answers with it; \
         move the corpus elsewhere"
    )]
    Exposed {
        /// The task whose folder is visible.
        task: TaskId,
        /// The folder that every script can read.
        folder: Utf8PathBuf,
    },
    /// The folder of pretrained weights could not be used.
    #[error("could not use `{folder}` as the folder of pretrained weights ({source})")]
    Weights {
        /// The folder.
        folder: Utf8PathBuf,
        /// The I/O error of opening it.
        source: std::io::Error,
    },
    /// This host offers less than is asked for.
    #[error(
        "this host offers tier {found}, and {weakest} is the weakest accepted; the layer \
         `{layer}` is not up: {reason}; to run in tier {found} all the same, pass \
         `--allow-tier {found}`"
    )]
    IsolationLevel {
        /// What could be had.
        found: IsolationLevel,
        /// What was asked for.
        weakest: IsolationLevel,
        /// The barrier that makes the difference.
        layer: Layer,
        /// Why it is not up.
        reason: String,
    },
    /// A barrier that no accepted tier can do without cannot be had on this host.
    #[error("the layer `{layer}` is not up: {reason}{}", hint(*.layer))]
    Layer {
        /// The isolation layer that is missing.
        layer: Layer,
        /// Why the layer is missing.
        reason: String,
    },
    /// The calling process may not hold what it needs.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The warmed interpreter did not come up.
    #[error("the warmed Python did not start: {detail}")]
    Zygote {
        /// The end of its log.
        detail: String,
    },
    /// An operation of our own failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn hint(layer: Layer) -> &'static str {
    if WITHOUT.contains(&layer) {
        "; `--allow-tier t3` does without it, for a weaker jail that needs Landlock (Linux 6.12)"
    } else {
        ""
    }
}

/// A run or a work dir failed through no fault of the script.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The warmed interpreter is gone; the next work dir gets a new one.
    #[error("the warmed Python ended unexpectedly{}", or_nothing(.log))]
    ZygoteLost {
        /// The end of its log.
        log: String,
    },
    /// [`Sandbox::abandon`](crate::exec::Sandbox::abandon) was called.
    #[error("the sandbox has been shut down")]
    Abandoned,
    /// The run was ended from outside: [`Cancel::cancel`](crate::exec::Cancel::cancel).
    #[error("the run was ended before its time, as was asked")]
    Cancelled,
    /// It did not answer in time.
    #[error("the warmed Python did not answer within {0:?}")]
    Unresponsive(Duration),
    /// It refused or failed at a request.
    #[error("the warmed Python failed at a request: {0}")]
    Refused(String),
    /// Its reply is malformed.
    #[error("could not understand the warmed Python: {0}")]
    Protocol(String),
    /// A barrier failed for this run, although it stood when the sandbox started.
    #[error("the layer `{layer}` failed: {reason}")]
    Layer {
        /// The isolation layer that is missing.
        layer: Layer,
        /// Why the layer is missing.
        reason: String,
    },
    /// The child ended before its jail stood.
    #[error("the script's process ended before its jail stood")]
    NeverJailed,
    /// The policy asks for what only control groups can do.
    #[error(
        "the policy bounds processor time (`cpus`), which needs tier t1, and this host offers \
         {0}; leave `cpus` out, or see `sandbox check` for what is missing"
    )]
    NeedsGroups(IsolationLevel),
    /// The policy asks for GPUs that are not there.
    #[error(transparent)]
    NoGpu(#[from] NoGpu),
    /// Sessions need a box.
    #[error(
        "the mode `session` needs tier t2 or better, and this host offers {0}; use the mode \
         `script`, or see `sandbox check` for what is missing"
    )]
    NoSessions(IsolationLevel),
    /// The disk of the host has no room left for work dirs.
    #[error(
        "the disk with the work dirs has less than 64MiB free; make room there, or set TMPDIR to a \
         folder on a larger disk"
    )]
    DiskFull,
    /// This sandbox was started without the task.
    #[error("the sandbox has no task {0}")]
    UnknownTask(TaskId),
    /// A system call of our own failed.
    #[error("could not {step} ({source})")]
    System {
        /// What was being done.
        step: &'static str,
        /// The error of the system call.
        source: std::io::Error,
    },
}

impl Fault {
    /// For `map_err`: a failed system call and what it was for.
    pub(crate) fn system<E: Into<std::io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { step, source: source.into() }
    }
}

fn or_nothing(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!(": {log}") }
}
