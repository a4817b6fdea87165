//! Tier 3: a run on a host without user namespaces. Nothing is mounted or hidden. Landlock and
//! seccomp forbid what a script must not do; Landlock is required here.
//!
//! Landlock also makes it possible to end a run's process tree. The first process of a run, the
//! monitor, enters a Landlock domain that no signal leaves, and starts the script's process in a
//! second domain inside the first. The script can signal neither the monitor nor any process
//! outside, and the monitor's `kill(-1)` reaches all processes of the run at once, forks in
//! flight included, and no others.
//!
//! Weaker than a box in these ways: a script can test whether a path of the host exists and how
//! large it is, though not read it; disk space is added up like memory, not bounded at once;
//! processes are counted per user; there is no `/dev/shm`; files keep their modes and times.

use crate::isolation::enter::{self, EnterError, JailSpec};
use crate::isolation::root::SYSTEM;
use crate::isolation::seccomp::{self, Surroundings};
use crate::isolation::{Layer, capabilities, landlock, rlimits};
use fs_err as fs;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// What of `/proc` a script may read besides its own entry: facts that libraries ask for.
const FACTS: [&str; 4] = ["/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version"];
/// What it may read of its own entry; `net`, for one, is about the host, and the command line is
/// the zygote's, with all tasks in it.
const OF_ITSELF: [&str; 8] =
    ["status", "stat", "statm", "maps", "limits", "environ", "oom_score_adj", "fd"];
/// What programs that use a GPU read of the driver.
const OF_GPUS: [&str; 2] = ["/proc/driver/nvidia", "/proc/driver/nvidia-uvm"];
/// Devices that it may read.
const SOURCES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// What a run without a box is made from, besides its [`JailSpec`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bare {
    /// Folders with Python and its libraries, which a script may read.
    pub programs: Vec<String>,
}

/// The layers that tier 3 is without, apart from control groups.
pub const WITHOUT: [Layer; 9] = [
    Layer::UserNamespace,
    Layer::MountNamespace,
    Layer::PidNamespace,
    Layer::NetworkNamespace,
    Layer::IpcNamespace,
    Layer::UtsNamespace,
    Layer::PivotedRoot,
    Layer::PrivateMounts,
    Layer::Capabilities,
];

/// Where a run's temporary files go.
pub fn scratch(workspace: &str) -> String {
    format!("{workspace}.tmp")
}

/// Makes the calling process, just forked by the zygote with number `zygote`, the monitor of a
/// run.
///
/// # Errors
/// What the kernel refused, or that signals still reach outside.
pub fn become_monitor(zygote: i32) -> Result<(), EnterError> {
    let failed = |errno: rustix::io::Errno| EnterError::Monitor(errno.into());
    rustix::process::setsid().map_err(EnterError::Session)?;
    // A process that loses its parent becomes a child of the monitor.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(failed)?;
    capabilities::forbid_new_privileges()?;
    landlock::apply_scopes()?;
    // Asked to end the run when the zygote is gone; and it may be gone already.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).map_err(failed)?;
    let outside = Pid::from_raw(zygote).ok_or(rustix::io::Errno::SRCH).map_err(failed)?;
    if rustix::process::getppid() != Some(outside) {
        return Err(failed(rustix::io::Errno::SRCH));
    }
    // Which processes the monitor's signals reach depends on this, so it is tested.
    match rustix::process::test_kill_process(outside) {
        Err(rustix::io::Errno::PERM) => Ok(()),
        _ => Err(EnterError::Monitor(io::Error::other("its signals reach the zygote"))),
    }
}

/// Puts the calling process, a monitor's child, into its jail.
///
/// # Errors
/// An [`EnterError`] naming the step.
pub fn enter(spec: &JailSpec, bare: &Bare) -> Result<(), EnterError> {
    rustix::process::setsid().map_err(EnterError::Session)?;
    enter::join_group(&spec.cgroup_fds).map_err(EnterError::Group)?;
    place(spec.input.as_deref(), &spec.workspace, "input").map_err(EnterError::Input)?;
    place(spec.weights.as_deref(), &spec.workspace, "models").map_err(EnterError::Input)?;
    rlimits::apply(&spec.limits)?;
    rlimits::apply_beside_others(&spec.limits)?;
    volunteer().map_err(EnterError::Victim)?;
    capabilities::forbid_new_privileges()?;
    capabilities::drop_own()?;

    let scratch = scratch(&spec.workspace);
    let data = spec.input.as_deref().into_iter().chain(spec.weights.as_deref());
    let programs = bare.programs.iter().map(String::as_str);
    let system = SYSTEM.into_iter().chain(["/bin", "/lib", "/lib32", "/lib64"]);
    let of_itself = OF_ITSELF.map(|name| format!("/proc/self/{name}"));
    let facts = FACTS.into_iter().chain(SOURCES).chain(of_itself.iter().map(String::as_str));
    let of_gpus = OF_GPUS.into_iter().filter(|_| spec.gpus.is_some());
    let readable: Vec<&str> = system
        .chain(facts)
        .chain(of_gpus)
        .chain(programs)
        .chain(data)
        // No host has all of them.
        .filter(|path| Path::new(path).exists())
        .collect();
    let nodes = spec.gpus.as_ref().map_or(&[][..], |gpus| &gpus.paths);
    landlock::apply_allowlist(&readable, &[&spec.workspace, &scratch], nodes)?;
    enter::close_descriptors(3).map_err(EnterError::Descriptors)?;
    rustix::process::chdir(&*spec.workspace).map_err(EnterError::WorkDir)?;
    seccomp::apply(Surroundings::Host, spec.gpus.is_some())?;
    Ok(())
}

/// Has the kernel kill this process first if the machine runs out of memory.
fn volunteer() -> io::Result<()> {
    const SCORE: &str = "/proc/self/oom_score_adj";
    const MOST: &str = "1000";
    // In the box of a program, where `/proc` cannot be written to, every process has volunteered.
    if fs::read_to_string(SCORE)?.trim() == MOST {
        return Ok(());
    }
    fs::write(SCORE, MOST)
}

/// A link in the work dir to a folder of data. An earlier run may have put something else in its
/// place; that is its own episode's loss.
fn place(data: Option<&str>, workspace: &str, name: &str) -> io::Result<()> {
    let Some(data) = data else { return Ok(()) };
    match std::os::unix::fs::symlink(data, format!("{workspace}/{name}")) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}
