//! The inner box: what the zygote's forked child does before it runs a script.
//!
//! The order is the design. What is the same for all runs, and takes longest, comes first, so that
//! a spare can have it behind itself before it is known what it will run ([`isolate`]):
//! 1. a session of its own: no terminal, no process group shared with others;
//! 2. network, IPC and host-name namespaces (the pid namespace came with the fork).
//!
//! Then, for one run ([`enter`]):
//! 1. its control group, so that all the rest is charged to it;
//! 2. a mount namespace: one that is made now has the work dirs and tasks of now in it;
//! 3. private mounts, while there is still the right to mount;
//! 4. limits, and first place in the out-of-memory killer's queue;
//! 5. a user namespace inside which nothing of the above can be undone, in which processes are
//!    counted, and in which no further one can be made;
//! 6. capabilities and the way to new ones given up;
//! 7. Landlock;
//! 8. descriptors closed: only standard input, output and error remain, and for a session the
//!    one through which it gets more to do;
//! 9. seccomp, last, because the steps above need calls that it refuses.

use crate::isolation::Layer;
use crate::isolation::bare::{self, Bare};
use crate::isolation::capabilities::{self, CapabilityError};
use crate::isolation::gpus::{self, Devices, GPUS};
use crate::isolation::landlock::{self, LandlockError};
use crate::isolation::layer::Missing;
use crate::isolation::mounts::{self, MountError};
use crate::isolation::namespaces::{self, NamespaceError};
use crate::isolation::rlimits::{self, LimitError, ResourceLimits};
use crate::isolation::seccomp::{self, SeccompError, Surroundings};
use fs_err as fs;
use rustix::fd::AsFd;
use serde::{Deserialize, Serialize};

/// The script's working directory.
pub const WORK: &str = "/work";
/// Where the task's public files appear, inside the working directory.
pub const INPUT: &str = "/work/input";
/// Where pretrained weights appear, inside the working directory.
pub const MODELS: &str = "/work/models";
/// Where the outer box holds pretrained weights; covered in the inner box.
pub const WEIGHTS: &str = "/weights";
/// Where the outer box holds the public files of all tasks; covered in the inner box.
pub const TASKS: &str = "/tasks";
/// Where the outer box mounts the work dirs of all episodes; covered in the inner box.
pub const WORKSPACES: &str = "/workspaces";
/// An empty directory to cover others with.
pub const EMPTY: &str = "/empty";

/// User and group that a script sees itself as.
pub(crate) const AGENT: u32 = 1000;
/// The zygote's user and group in the outer box.
const ZYGOTE: u32 = 0;

/// What the inner box is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JailSpec {
    /// The episode's work dir, a path in the outer box.
    pub workspace: String,
    /// The task's public files, a path in the outer box; none while a sandbox tests itself.
    pub input: Option<String>,
    /// Pretrained weights, a path in the outer box.
    #[serde(default)]
    pub weights: Option<String>,
    /// Bytes of `/tmp`, and of `/dev/shm`.
    pub scratch: u64,
    /// Resource limits of each process.
    pub limits: ResourceLimits,
    /// The GPUs that it may use; none for most.
    pub gpus: Option<Devices>,
    /// Descriptors that lead into the run's control group (see [`crate::isolation::cgroup`]); none
    /// without that layer. The zygote receives them with the request and fills in their numbers.
    #[serde(default, rename = "doors")]
    pub cgroup_fds: Vec<i32>,
    /// Whether it goes on after its first code: then one more descriptor stays open, a socket to
    /// the zygote, from which it gets the next.
    pub session: bool,
    /// Instead of an inner box, on a host that offers none.
    pub bare: Option<Bare>,
}

/// The inner box could not be built.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// The request could not be read.
    #[error("could not read the description of the jail ({0})")]
    Spec(std::io::Error),
    /// No session of its own.
    #[error("could not start a session ({0})")]
    Session(rustix::io::Errno),
    /// The monitor of a run without a box could not be set up.
    #[error("could not set up the run's monitor ({0})")]
    Monitor(std::io::Error),
    /// The public files could not be put into the work dir.
    #[error("could not link the public files into the work dir ({0})")]
    Input(std::io::Error),
    /// The control group could not be joined.
    #[error("could not join the run's control group ({0})")]
    Group(rustix::io::Errno),
    /// A namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A mount could not be made.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A resource limit could not be set.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The out-of-memory score could not be set.
    #[error("could not volunteer for the out-of-memory killer ({0})")]
    Victim(std::io::Error),
    /// Nested user namespaces could not be forbidden.
    #[error("could not forbid further user namespaces ({0})")]
    ForbidNesting(std::io::Error),
    /// Capabilities could not be dropped.
    #[error(transparent)]
    Capability(#[from] CapabilityError),
    /// The Landlock rules could not be applied.
    #[error(transparent)]
    Landlock(#[from] LandlockError),
    /// Descriptors could not be closed.
    #[error("could not close descriptors ({0})")]
    Descriptors(std::io::Error),
    /// The seccomp filter could not be installed.
    #[error(transparent)]
    Seccomp(#[from] SeccompError),
    /// The working directory could not be entered.
    #[error("could not enter the work dir ({0})")]
    WorkDir(rustix::io::Errno),
}

impl EnterError {
    /// The layer that is missing for it.
    pub fn layer(&self) -> Layer {
        match self {
            Self::Session(_) => Layer::PidNamespace,
            Self::Group(_) => Layer::Cgroup,
            Self::Namespace(error) => error.layer(),
            Self::Mount(_) | Self::Descriptors(_) | Self::WorkDir(_) | Self::Input(_) => {
                Layer::PrivateMounts
            }
            Self::Spec(_) => Layer::PrivateMounts,
            Self::Limit(_) | Self::Victim(_) => Layer::ResourceLimits,
            Self::ForbidNesting(_) => Layer::UserNamespace,
            Self::Capability(CapabilityError::NoNewPrivileges(_)) => Layer::NoNewPrivileges,
            Self::Capability(_) => Layer::Capabilities,
            Self::Landlock(_) | Self::Monitor(_) => Layer::Landlock,
            Self::Seccomp(_) => Layer::Seccomp,
        }
    }
}

/// Takes the steps that are the same for all runs in a box.
///
/// # Errors
/// An [`EnterError`] naming the step; the process must end.
pub fn isolate() -> Result<(), EnterError> {
    rustix::process::setsid().map_err(EnterError::Session)?;
    for layer in [Layer::NetworkNamespace, Layer::IpcNamespace, Layer::UtsNamespace] {
        namespaces::unshare(layer)?;
    }
    Ok(())
}

/// Puts the calling process, which has been [isolated](isolate) unless the run is without a box,
/// into its jail. Returns the layers that are missing and that it can do without. On an error the
/// process must end.
///
/// # Errors
/// An [`EnterError`] naming the step.
pub fn enter(spec: &JailSpec) -> Result<Vec<Missing>, EnterError> {
    if let Some(bare) = &spec.bare {
        return bare::enter(spec, bare).map(|()| Vec::new());
    }
    let mut missing = Vec::new();

    join_group(&spec.cgroup_fds).map_err(EnterError::Group)?;
    namespaces::unshare(Layer::MountNamespace)?;
    mount_private(spec)?;
    rlimits::apply(&spec.limits)?;
    // If the machine itself runs out of memory, the kernel kills scripts first.
    fs::write("/proc/self/oom_score_adj", "1000").map_err(EnterError::Victim)?;

    namespaces::unshare(Layer::UserNamespace)?;
    namespaces::map_identity(AGENT, ZYGOTE, ZYGOTE)?;
    rlimits::apply_to_processes(&spec.limits)?;
    fs::write("/proc/sys/user/max_user_namespaces", "0").map_err(EnterError::ForbidNesting)?;

    capabilities::forbid_new_privileges()?;
    capabilities::drop_all()?;
    let nodes = spec.gpus.iter().flat_map(|gpus| &gpus.paths);
    let nodes: Vec<_> = nodes.map(|path| gpus::inside(path)).collect();
    match landlock::apply(&nodes) {
        // A kernel without Landlock is no fault of this host's set-up: reported, not refused.
        Err(error @ LandlockError::Unsupported) => {
            missing.push(Missing { layer: Layer::Landlock, reason: error.to_string() });
        }
        other => other?,
    }
    close_descriptors(if spec.session { 4 } else { 3 }).map_err(EnterError::Descriptors)?;
    rustix::process::chdir(WORK).map_err(EnterError::WorkDir)?;
    seccomp::apply(Surroundings::Box, spec.gpus.is_some())?;
    Ok(missing)
}

/// Joins the run's control group, in each hierarchy.
#[expect(unsafe_code, reason = "descriptors that arrive as numbers")]
pub(super) fn join_group(cgroup_fds: &[i32]) -> rustix::io::Result<()> {
    for fd in cgroup_fds {
        // SAFETY: the zygote has just received it and keeps it open until after the fork.
        let fd = unsafe { rustix::fd::BorrowedFd::borrow_raw(*fd) };
        // 0 stands for the process that writes it.
        rustix::io::write(fd, b"0")?;
    }
    Ok(())
}

/// Work dir, public files, GPUs, scratch space and process list of the run; all else is covered.
fn mount_private(spec: &JailSpec) -> Result<(), MountError> {
    let work = mounts::pick_up(&spec.workspace)?;
    let input = spec.input.as_deref().map(mounts::pick_up).transpose()?;
    let weights = spec.weights.as_deref().map(mounts::pick_up).transpose()?;
    mounts::attach(work.as_fd(), WORK)?;
    if let Some(input) = input {
        mounts::attach_distrusting(input.as_fd(), INPUT)?;
    }
    if let Some(weights) = weights {
        mounts::attach_distrusting(weights.as_fd(), MODELS)?;
    }
    if let Some(gpus) = &spec.gpus {
        gpus::mount(&gpus.paths)?;
    }
    for covered in [TASKS, WEIGHTS, WORKSPACES, GPUS] {
        mounts::attach(mounts::pick_up(EMPTY)?.as_fd(), covered)?;
    }
    // Owned by the user that the script will be, with as many files as pages.
    let files = (spec.scratch / 4096).clamp(64, 1 << 20);
    let options = format!("mode=1777,size={},nr_inodes={files}", spec.scratch);
    mounts::tmpfs("/tmp", &options)?;
    mounts::tmpfs("/dev/shm", &options)?;
    // Processes of other users, were there any, are not even listed.
    mounts::proc("/proc", "hidepid=2")
}

/// Closes all from `first` on.
#[expect(unsafe_code, reason = "close_range has no safe wrapper")]
pub(super) fn close_descriptors(first: u32) -> std::io::Result<()> {
    // SAFETY: the zygote's child has detached every Python object that owns one of these, and
    // nothing below this call uses them.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0u32) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
