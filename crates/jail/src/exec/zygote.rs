//! The supervisor's side of a zygote: starting it, sending requests, ending it.

use crate::exec::fault::{Fault, StartError};
use crate::exec::sandbox::SandboxOptions;
use crate::exec::wire::{self, ZygoteReply, ZygoteRequest};
use crate::isolation::launcher::{Launch, Launched};
use crate::isolation::layer::Missing;
use crate::python::imports;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::io::Write;
use std::process::{Child, ChildStdin, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Names the `sandbox` program, over where it would be looked for.
pub(crate) const LAUNCHER_VARIABLE: &str = "MLE_SANDBOX_BIN";
/// The hidden subcommand that builds the box.
pub const LAUNCH: &str = "launch-jail";

/// Time limit of imports and warm-up, on a machine under load.
const IMPORTS: Duration = Duration::from_mins(2);
/// Time limit of an answer that takes no more than a fork or a mount.
pub(crate) const ANSWER: Duration = Duration::from_mins(1);
/// Bytes of the log that an error message quotes.
const LOG: usize = 2000;

/// The first message after the box has been built.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FirstWord {
    /// From the zygote: it serves.
    Ready {},
    /// From the launcher: there is no zygote.
    Failed(Missing),
}

/// A running zygote. Dropping it ends it and everything it started.
#[derive(Debug)]
pub(crate) struct Zygote {
    child: Child,
    /// Open for as long as the zygote is wanted; see [`crate::isolation::launcher`].
    lifeline: Option<ChildStdin>,
    control: OwnedFd,
    log: OwnedFd,
    lost: AtomicBool,
    /// The modules that it has not imported yet, in order; locked while it imports.
    missing: Mutex<Vec<String>>,
    /// Whether it fits small models once all are imported.
    warm_up: bool,
    /// Where work dirs are made.
    root: String,
    /// In a box, the folder of the host that is there.
    work_dirs: Option<Utf8PathBuf>,
}

impl Zygote {
    /// Starts the launcher and waits until the interpreter serves. It has imported nothing yet.
    pub(crate) fn start(
        launcher: &Utf8Path,
        launch: &Launch,
        options: &SandboxOptions,
    ) -> Result<Self, StartError> {
        let (control, theirs) = wire::pair()?;
        let log =
            memfd_create("zygote-log", MemfdFlags::CLOEXEC).map_err(Fault::system("make a log"))?;
        let their_log = log.try_clone().map_err(Fault::system("share the log"))?;
        let mut child = Command::new(launcher)
            .arg(LAUNCH)
            .env_clear()
            .stdin(std::process::Stdio::piped())
            .stdout(theirs)
            .stderr(their_log)
            .spawn()
            .map_err(Fault::system("start the launcher"))?;
        let lifeline = child.stdin.take();
        let mut zygote = Self {
            child,
            lifeline,
            control,
            log,
            lost: AtomicBool::new(false),
            missing: Mutex::new(options.modules.clone()),
            warm_up: options.warm_up,
            root: launch.workspaces.clone(),
            work_dirs: launch.work_dirs.as_deref().map(Utf8PathBuf::from),
        };
        let mut line = serde_json::to_vec(launch).map_err(|e| Fault::Protocol(e.to_string()))?;
        line.push(b'\n');
        if let Some(lifeline) = &mut zygote.lifeline {
            // If the launcher has died, its socket and log hold the reason; they are read next.
            let _ = lifeline.write_all(&line);
        }
        match wire::receive(zygote.control.as_fd(), ANSWER) {
            Ok((Launched::Boxed {}, _)) => {}
            Ok((Launched::Failed(Missing { layer, reason }), _)) => {
                return Err(StartError::Layer { layer, reason });
            }
            Err(fault) => return Err(zygote.did_not_start(fault)),
        }
        match wire::receive(zygote.control.as_fd(), IMPORTS) {
            Ok((FirstWord::Ready {}, _)) => Ok(zygote),
            Ok((FirstWord::Failed(Missing { reason, .. }), _)) => {
                let hint = match launch.user {
                    Some(_) => "; without a box, root's scripts run as a user who must reach it",
                    None => "",
                };
                Err(StartError::Zygote { detail: format!("{reason}{hint}") })
            }
            Err(fault) => Err(zygote.did_not_start(fault)),
        }
    }

    fn did_not_start(&self, fault: Fault) -> StartError {
        match fault {
            Fault::ZygoteLost { .. } => StartError::Zygote { detail: self.log() },
            Fault::Unresponsive(time) => {
                StartError::Zygote { detail: format!("no answer within {time:?}\n{}", self.log()) }
            }
            other => other.into(),
        }
    }

    /// A path for a new work dir. No other zygote of this process has had it: without a box, what
    /// one that was lost has left is still there.
    pub(crate) fn new_workspace(&self) -> String {
        static WORKSPACES: AtomicU64 = AtomicU64::new(0);
        let number = WORKSPACES.fetch_add(1, Ordering::Relaxed);
        format!("{}/{number}", self.root)
    }

    /// The folder of the host that a work dir of a box is; none for one in memory.
    pub(crate) fn on_host(&self, workspace: &str) -> Option<Utf8PathBuf> {
        let name = workspace.strip_prefix(&self.root)?.trim_start_matches('/');
        self.work_dirs.as_ref().map(|folder| folder.join(name))
    }

    /// Sends a request; the answers come through the returned socket.
    pub(crate) fn request(
        &self,
        request: &ZygoteRequest<'_>,
        fds: &[&OwnedFd],
    ) -> Result<OwnedFd, Fault> {
        let (ours, theirs) = wire::pair()?;
        let fds: Vec<_> =
            std::iter::once(&theirs).chain(fds.iter().copied()).map(AsFd::as_fd).collect();
        wire::send(self.control.as_fd(), request, &fds).map_err(|fault| self.explain(fault))?;
        Ok(ours)
    }

    /// Imports what `code` may use, so that this takes none of its time and memory. Takes a second
    /// or two where something is left to import, during which everything else waits.
    pub(crate) fn import_for(&self, code: &str) -> Result<(), Fault> {
        self.import(|missing| imports::needed(code, missing))
    }

    /// Imports everything, and fits small models.
    pub(crate) fn import_all(&self) -> Result<(), Fault> {
        self.import(<[String]>::to_vec)
    }

    fn import(&self, needed: impl FnOnce(&[String]) -> Vec<String>) -> Result<(), Fault> {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.is_empty() {
            return Ok(());
        }
        let modules = needed(&missing);
        if modules.is_empty() {
            return Ok(());
        }
        let warm_up = self.warm_up && modules.len() == missing.len();
        let replies = self.request(&ZygoteRequest::Import { modules: &modules, warm_up }, &[])?;
        match self.answer_within(&replies, IMPORTS)? {
            (ZygoteReply::Imported {}, _) => missing.retain(|module| !modules.contains(module)),
            (reply, _) => return Err(Fault::Protocol(format!("{reply:?} instead of imports"))),
        }
        Ok(())
    }

    /// Whether it imports at the moment, and so reports nothing.
    pub(crate) fn is_importing(&self) -> bool {
        matches!(self.missing.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Waits for an answer.
    pub(crate) fn answer(&self, socket: &OwnedFd) -> Result<(ZygoteReply, Option<OwnedFd>), Fault> {
        self.answer_within(socket, ANSWER)
    }

    fn answer_within(
        &self,
        socket: &OwnedFd,
        limit: Duration,
    ) -> Result<(ZygoteReply, Option<OwnedFd>), Fault> {
        match wire::receive(socket.as_fd(), limit).map_err(|fault| self.explain(fault))? {
            (ZygoteReply::Failed(why), _) => Err(Fault::Refused(why)),
            answer => Ok(answer),
        }
    }

    /// Adds the end of the log to a fault that means that the zygote is gone, and notes that it is.
    pub(crate) fn explain(&self, fault: Fault) -> Fault {
        match fault {
            Fault::ZygoteLost { .. } => {
                self.lost.store(true, Ordering::Release);
                Fault::ZygoteLost { log: self.log() }
            }
            other => other,
        }
    }

    /// Lets the next work dir start a new zygote; existing work dirs keep this one.
    pub(crate) fn retire(&self) {
        self.lost.store(true, Ordering::Release);
    }

    /// Whether it has been seen to be gone, or has been retired.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// The process number of the launcher, whose end is the end of everything below it.
    pub(crate) fn launcher_pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it and everything it started, without waiting for that.
    pub(crate) fn kill(&self) {
        // The number cannot have become another's: the launcher is waited for when this is dropped.
        // One that is gone already needs no signal.
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
    }

    /// The end of what it wrote to standard error.
    fn log(&self) -> String {
        let read = || -> rustix::io::Result<String> {
            let length = rustix::fs::fstat(&self.log)?.st_size.cast_unsigned();
            let mut text = vec![0; LOG];
            // By position: the descriptor's own place is the writer's.
            let start = length.saturating_sub(LOG as u64);
            let read = rustix::io::pread(&self.log, &mut text, start)?;
            Ok(String::from_utf8_lossy(&text[..read]).trim().to_owned())
        };
        read().unwrap_or_default()
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        /// An orderly end takes milliseconds.
        const PATIENCE: Duration = Duration::from_secs(5);
        self.lifeline = None;
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Finds the `sandbox` program and the library that belongs to it.
pub(crate) fn find_launcher() -> Result<(Utf8PathBuf, Utf8PathBuf), StartError> {
    let program = std::env::current_exe().map_err(Fault::system("find the running program"))?;
    let program = Utf8PathBuf::from_path_buf(program).map_err(|path| StartError::Zygote {
        detail: format!("{} is not UTF-8", path.display()),
    })?;
    let named = std::env::var(LAUNCHER_VARIABLE).ok().map(Utf8PathBuf::from);
    let beside = program.parent().unwrap_or(Utf8Path::new("/")).to_owned();
    // Test programs live one folder below the others.
    let near = [Some(beside.as_path()), beside.parent()].into_iter().flatten();
    let launcher = named
        .into_iter()
        .chain(near.map(|folder| folder.join("sandbox")))
        .find(|path| path.is_file())
        .ok_or(StartError::NoLauncher { beside: program.clone(), variable: LAUNCHER_VARIABLE })?;
    let folder = launcher.parent().unwrap_or(Utf8Path::new("/"));
    // Cargo always refreshes the one in `deps`; the other is what an installation has.
    let library = [folder.join("deps/libjail.so"), folder.join("libjail.so")]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| StartError::NoLibrary { launcher: launcher.clone() })?;
    Ok((launcher, library))
}
