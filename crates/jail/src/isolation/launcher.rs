//! The launcher: a small process of its own that builds the outer box and then monitors the
//! zygote.
//!
//! A supervisor may be a large multi-threaded program, in which almost nothing is safe between
//! fork and exec. So it starts this one, which has a single thread, and speaks to it thus:
//! - standard input: one line of JSON, a [`Launch`]; then silence for as long as the supervisor
//!   lives. Its end means that the supervisor is gone, and everything here ends too;
//! - standard output: a packet socket, passed on to the zygote;
//! - standard error: a log for the case that something fails.
//!
//! Steps, in order: clean up → namespaces → root → drop the user (if root) → fork → process list
//! → Python. The parent stays outside the zygote's pid namespace and waits.

#![expect(unsafe_code, reason = "fork and exec have no safe wrappers")]

use crate::isolation::Layer;
use crate::isolation::enter::{EMPTY, TASKS, WEIGHTS, WORK, WORKSPACES};
use crate::isolation::gpus::GPUS;
use crate::isolation::layer::Missing;
use crate::isolation::mounts::{self, MountError, Rules};
use crate::isolation::namespaces::{self, NamespaceError};
use crate::isolation::root::{self, Bind, Contents, HostProc, WorkDirs};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Gid, Pid, PidfdFlags, Signal, Uid, geteuid, getuid, pidfd_open,
    pidfd_send_signal, set_dumpable_behavior, set_parent_process_death_signal,
};
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io::{BufRead, Write};

/// User and group of the zygote on the host when the supervisor is root: a number that no account and no
/// service range uses. An ordinary user's zygote is that user.
pub(crate) const UNPRIVILEGED: u32 = 61_000;

/// Descriptors that the zygote finds open.
const SCRIPT: i32 = 3;
const CONTROL: i32 = 4;
const LIBRARY: i32 = 5;

/// What a supervisor asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The interpreter, a path in the box.
    pub interpreter: String,
    /// Trees with programs: interpreter and libraries.
    pub programs: Vec<Bind>,
    /// Trees with data: public files of tasks.
    pub data: Vec<Bind>,
    /// Device nodes of GPUs.
    pub devices: Vec<Bind>,
    /// The shared library with [`crate::isolation::abi`], a path on the host.
    pub library: String,
    /// Whether there is to be no box (see [`crate::isolation::bare`]): then all paths are the host's.
    pub bare: bool,
    /// Without a box: whom root turns into.
    pub user: Option<u32>,
    /// Where work dirs are made, as the zygote sees it.
    pub workspaces: String,
    /// With a box: the folder of the host that is there; without one, work dirs are in memory.
    pub work_dirs: Option<String>,
    /// The zygote's program text.
    pub script: String,
    /// The settings of the zygote: JSON that it reads itself.
    pub settings: serde_json::Value,
    /// The whole environment of everything in the box.
    pub environment: Vec<(String, String)>,
}

/// The launcher's first and only packet to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Launched {
    /// The outer box stands.
    Boxed {},
    /// It does not stand, for want of this layer.
    Failed(Missing),
}

/// The outer box could not be built.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The request could not be read.
    #[error("could not read the request ({0})")]
    Request(std::io::Error),
    /// The shared library could not be opened.
    #[error("could not open the library {path} ({source})")]
    Library {
        /// Path of the file.
        path: String,
        /// The error of the system call.
        source: Errno,
    },
    /// A descriptor or the script's memory could not be arranged.
    #[error("could not arrange descriptors ({0})")]
    Descriptors(std::io::Error),
    /// A namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A mount could not be made.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// Root could not become an ordinary user.
    #[error("could not give up root's identity ({0})")]
    Identity(Errno),
    /// The zygote could not be forked.
    #[error("could not fork ({0})")]
    Fork(std::io::Error),
    /// Python could not be started.
    #[error("could not start {path} ({source})")]
    Start {
        /// Path of the interpreter.
        path: String,
        /// The I/O error of starting it.
        source: std::io::Error,
    },
}

impl LaunchError {
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Self::Namespace(error) => error.layer(),
            Self::Identity(_) => Layer::UserNamespace,
            Self::Fork(_) => Layer::PidNamespace,
            _ => Layer::PivotedRoot,
        }
    }
}

/// Runs the launcher until the zygote or the supervisor is gone.
///
/// # Errors
/// A [`LaunchError`]; the supervisor has received it as well.
pub fn main() -> Result<(), LaunchError> {
    // Not in the supervisor's process group: a Ctrl-C at its terminal is its own to handle.
    let _ = rustix::process::setsid();
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(LaunchError::Request)?;
    let launch: Launch =
        serde_json::from_str(&line).map_err(|error| LaunchError::Request(error.into()))?;

    let result = start(&launch);
    if let Err(error) = &result {
        tell(&Launched::Failed(Missing { layer: error.layer(), reason: error.to_string() }));
    }
    if let Some(zygote) = result? {
        keep(&zygote);
    }
    Ok(())
}

/// Builds the box, if there is to be one, and forks the zygote. Returns in the parent only, except on an error.
fn start(launch: &Launch) -> Result<Option<OwnedFd>, LaunchError> {
    arrange_descriptors(launch)?;
    if launch.bare {
        if let Some(user) = launch.user {
            become_unprivileged(user)?;
        }
    } else {
        build_box(launch)?;
    }

    // SAFETY: this process has one thread, so the child may do anything a process may.
    match unsafe { libc::fork() } {
        -1 => Err(LaunchError::Fork(std::io::Error::last_os_error())),
        0 => {
            become_zygote(launch)?;
            Ok(None)
        }
        child => {
            let child = Pid::from_raw(child).expect("fork returned a positive number");
            let zygote = pidfd_open(child, PidfdFlags::empty())
                .map_err(|errno| LaunchError::Fork(errno.into()))?;
            Ok(Some(zygote))
        }
    }
}

/// The outer box, with the calling process in it and its next children in a pid namespace.
fn build_box(launch: &Launch) -> Result<(), LaunchError> {
    let who = unshare_outer()?;
    let (host_proc, owner) = match who {
        Identity::Root => (HostProc::Fresh, (UNPRIVILEGED, UNPRIVILEGED)),
        Identity::Ordinary => (HostProc::Inherited, (0, 0)),
    };
    let trees: [(Rules, &[Bind]); 3] = [
        (Rules::Programs, &launch.programs),
        (Rules::Data, &launch.data),
        (Rules::Device, &launch.devices),
    ];
    let (user, group) = owner;
    let work_dirs = match launch.work_dirs.as_deref() {
        Some(folder) => WorkDirs::Folder(folder, user, group),
        None => WorkDirs::Memory(user, group),
    };
    let places = [WORK, TASKS, WEIGHTS, WORKSPACES, GPUS, EMPTY];
    root::build(&Contents { trees: &trees, places: &places, work_dirs }, host_proc)?;
    if matches!(who, Identity::Root) {
        become_unprivileged(UNPRIVILEGED)?;
        namespaces::unshare_user_and_mounts()?;
        namespaces::map_identity(0, UNPRIVILEGED, UNPRIVILEGED)?;
    }
    namespaces::unshare(Layer::PidNamespace)?;
    Ok(())
}

/// With whose rights the box is built.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Identity {
    /// Real root: trees that others cannot read can still be bound; the user is dropped later.
    Root,
    /// Anyone else: root in a user namespace first.
    Ordinary,
}

/// Mount, network, IPC and host-name namespaces, by the way that this user has.
pub(crate) fn unshare_outer() -> Result<Identity, LaunchError> {
    let (user, group) = (geteuid().as_raw(), rustix::process::getegid().as_raw());
    // Root inside a container may lack the right, or have no other user to become; then it is an
    // ordinary user to us.
    let who = if user == 0
        && namespaces::can_become(UNPRIVILEGED)
        && namespaces::unshare(Layer::MountNamespace).is_ok()
    {
        Identity::Root
    } else {
        namespaces::unshare_user_and_mounts()?;
        namespaces::map_identity(0, user, group)?;
        Identity::Ordinary
    };
    for layer in [Layer::NetworkNamespace, Layer::IpcNamespace, Layer::UtsNamespace] {
        namespaces::unshare(layer)?;
    }
    namespaces::set_host_name()?;
    Ok(who)
}

/// Script, control socket and library at their numbers; everything above closed.
fn arrange_descriptors(launch: &Launch) -> Result<(), LaunchError> {
    let broken = |errno: Errno| LaunchError::Descriptors(errno.into());
    // High enough not to be in the way of the three numbers below.
    let high = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(&fd, 64).map_err(broken);
    let library = rustix::fs::open(&launch.library, OFlags::RDONLY, Mode::empty())
        .map_err(|source| LaunchError::Library { path: launch.library.clone(), source })?;
    let script = memfd_create("zygote", MemfdFlags::empty()).map_err(broken)?;
    let (library, script) = (high(library)?, high(script)?);
    let mut file = std::fs::File::from(script);
    file.write_all(launch.script.as_bytes()).map_err(LaunchError::Descriptors)?;
    let script = OwnedFd::from(file);
    rustix::fs::seek(&script, rustix::fs::SeekFrom::Start(0)).map_err(broken)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()).map_err(broken)?;
    let null = high(null)?;

    let control = std::io::stdout();
    for (from, to) in [
        (script.as_raw_fd(), SCRIPT),
        (control.as_raw_fd(), CONTROL),
        (library.as_raw_fd(), LIBRARY),
    ] {
        duplicate(from, to)?;
    }
    // Whatever prints from here on must not end up in the control socket.
    duplicate(null.as_raw_fd(), 1)?;
    drop((script, library, null));
    // SAFETY: every descriptor of ours above 5 has just been dropped.
    unsafe { libc::syscall(libc::SYS_close_range, 6u32, u32::MAX, 0u32) };
    Ok(())
}

fn duplicate(from: i32, to: i32) -> Result<(), LaunchError> {
    // SAFETY: plain numbers; `to` is one of ours and is meant to be replaced.
    if unsafe { libc::dup2(from, to) } < 0 {
        return Err(LaunchError::Descriptors(std::io::Error::last_os_error()));
    }
    Ok(())
}

/// Who a zygote without a box turns into, if not its supervisor's user: root has somebody to
/// become, unless it is root in a container of one user. Each supervisor has another number, for
/// the kernel counts processes by it.
pub(crate) fn bare_user() -> Option<u32> {
    let user = UNPRIVILEGED + 1 + std::process::id() % 4000;
    (geteuid().is_root() && namespaces::can_become(user)).then_some(user)
}

/// Changes real root into an unprivileged user. The user namespace entered afterwards has no way back.
pub(crate) fn become_unprivileged(number: u32) -> Result<(), LaunchError> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    rustix::thread::set_thread_groups(&[]).map_err(LaunchError::Identity)?;
    rustix::thread::set_thread_res_gid(group, group, group).map_err(LaunchError::Identity)?;
    rustix::thread::set_thread_res_uid(user, user, user).map_err(LaunchError::Identity)?;
    debug_assert_eq!(getuid().as_raw(), number);
    // A change of user makes a process's own entries in /proc root's; the maps are among them.
    set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(LaunchError::Identity)
}

/// The child's way from fork to Python.
fn become_zygote(launch: &Launch) -> Result<(), LaunchError> {
    // The zygote ends with its monitor, and everything in its namespace ends with the zygote.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(LaunchError::Identity)?;
    if !launch.bare {
        mounts::proc("/proc", "")?;
    }
    let environment = launch.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let arguments = [
        launch.interpreter.clone(),
        // No user site, no script folder in front of the module path.
        "-s".to_owned(),
        "-P".to_owned(),
        format!("/proc/self/fd/{SCRIPT}"),
        launch.settings.to_string(),
    ];
    let start = |source| LaunchError::Start { path: launch.interpreter.clone(), source };
    let arguments = c_strings(arguments).map_err(start)?;
    let environment = c_strings(environment).map_err(start)?;
    let lines = [&arguments, &environment].map(|strings| {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        pointers
    });
    let start_in = if launch.bare { "/" } else { EMPTY };
    rustix::process::chdir(start_in).map_err(|errno| start(errno.into()))?;
    tell(&Launched::Boxed {});
    // The monitor watches the lifeline.
    duplicate(1, 0)?;
    duplicate(2, 1)?;
    // SAFETY: both arrays end with a null pointer and point to C strings that live until here.
    unsafe { libc::execve(arguments[0].as_ptr(), lines[0].as_ptr(), lines[1].as_ptr()) };
    Err(start(std::io::Error::last_os_error()))
}

fn c_strings(texts: impl IntoIterator<Item = String>) -> std::io::Result<Vec<CString>> {
    texts.into_iter().map(|text| CString::new(text).map_err(Into::into)).collect()
}

/// Sends one packet to the supervisor. If that fails, the supervisor sees the socket's end.
fn tell(message: &Launched) {
    let packet = serde_json::to_vec(message).unwrap_or_default();
    // Before descriptors are arranged the socket is standard output, afterwards CONTROL.
    // SAFETY: borrowed for the call only; a number that is not open makes it fail.
    let control = unsafe { rustix::fd::BorrowedFd::borrow_raw(CONTROL) };
    let flags = rustix::net::SendFlags::NOSIGNAL;
    if rustix::net::send(control, &packet, flags).is_err() {
        let _ = rustix::net::send(std::io::stdout(), &packet, flags);
    }
}

/// Waits for the end of the zygote or of the supervisor; after the second, brings about the
/// first.
fn keep(zygote: &OwnedFd) {
    // Only the zygote may hold it: while it is open here, its end there cannot be observed.
    for fd in [SCRIPT, CONTROL, LIBRARY] {
        // SAFETY: these three were arranged by this process and are not used again.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let lifeline = std::io::stdin();
    loop {
        let mut events =
            [PollFd::new(&lifeline, PollFlags::IN), PollFd::new(zygote, PollFlags::IN)];
        match poll(&mut events, None) {
            Err(Errno::INTR) => {}
            Err(_) => break,
            Ok(_) if events.iter().any(|event| !event.revents().is_empty()) => break,
            Ok(_) => {}
        }
    }
    let _ = pidfd_send_signal(zygote, Signal::KILL);
    let options = rustix::process::WaitIdOptions::EXITED;
    let id = rustix::process::WaitId::PidFd(rustix::fd::AsFd::as_fd(zygote));
    while matches!(rustix::process::waitid(id.clone(), options), Err(Errno::INTR)) {}
}
