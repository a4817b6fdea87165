//! The caller's side: starting a program, waiting for it, ending it.

use super::disk::DiskWatch;
use super::inside::LAUNCH;
use super::launched::{Launch, Order, Told};
use super::report::{Directive, EndCause, ExitHow, ProgramReport};
use super::spec::{Isolation, ProgramError, ProgramSpec};
use crate::exec::{Fault, wire};
use crate::isolation::cgroup::{Bounds, Cgroup, Groups};
use crate::isolation::gpus::{HostGpus, VARIABLE};
use crate::isolation::launcher::UNPRIVILEGED;
use crate::isolation::layer::{Missing, Protection};
use crate::isolation::rlimits::ResourceLimits;
use crate::isolation::root::Bind;
use crate::isolation::{IsolationLevel, Layer, namespaces};
use camino::Utf8Path;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Resource, getrlimit};
use std::io::{PipeReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time for a box to be built, on a machine under load.
const BUILDING: Duration = Duration::from_mins(1);
/// Time between two looks at a program.
const LOOK: Duration = Duration::from_millis(20);
/// Time for the kernel to end everything in a box.
const KILLING: Duration = Duration::from_secs(10);
/// Time to read the rest of the output.
const READING: Duration = Duration::from_secs(5);
/// Bytes of the launcher's log that an error quotes.
const LOG: usize = 2_000;

/// A running program. Dropping it kills it and everything that it started.
#[derive(Debug)]
pub struct Program {
    launcher: Child,
    control: OwnedFd,
    log: OwnedFd,
    listeners: Vec<(u16, TcpListener)>,
    protection: Option<Protection>,
    group: Option<(Cgroup, Groups)>,
    disk: DiskWatch,
    output: Option<JoinHandle<bool>>,
    how: Option<ExitHow>,
}

impl Program {
    /// Builds a box by way of `launcher`, a program that calls [`super::launch`], and starts the program
    /// in it. What it prints goes to `output`.
    ///
    /// # Errors
    /// A [`ProgramError`]; a host that offers less than is accepted is one.
    pub fn start(
        launcher: &Utf8Path,
        spec: &ProgramSpec,
        isolation: Isolation,
        output: fs_err::File,
    ) -> Result<Self, ProgramError> {
        let devices = HostGpus::find(Utf8Path::new("/dev")).devices(&spec.limits.gpus, false)?;
        let (group, no_group) = match isolation {
            Isolation::Box(_) => match group(spec) {
                Ok(group) => (Some(group), None),
                Err(reason) => (None, Some(reason)),
            },
            Isolation::None => (None, Some("no isolation was asked for".to_owned())),
        };
        if let (Some(reason), Some(_)) = (&no_group, spec.limits.cpus) {
            return Err(ProgramError::NeedsGroups(reason.clone()));
        }
        if isolation != Isolation::None {
            give_away(spec)?;
        }
        let mut environment = spec.environment.clone();
        let visible = devices.as_ref().map_or("", |devices| &devices.visible);
        environment.push((VARIABLE.to_owned(), visible.to_owned()));
        let paths = devices.iter().flat_map(|devices| &devices.paths);
        let fds: Vec<&OwnedFd> = group.iter().flat_map(|(group, _)| group.join_fds()).collect();
        let launch = Launch {
            boxed: isolation != Isolation::None,
            start: spec.start.clone(),
            directory: spec.directory.clone(),
            environment,
            programs: spec.programs.clone(),
            data: spec.data.clone(),
            writable: spec.writable.clone(),
            devices: paths
                .map(|path| Bind { source: path.clone(), target: path.clone() })
                .collect(),
            ports: spec.ports.clone(),
            scratch: spec.limits.scratch.bytes(),
            limits: ResourceLimits {
                memory: spec.limits.memory.bytes(),
                processes: at_most(Resource::Nproc, spec.limits.processes),
                file_size: at_most(Resource::Fsize, spec.limits.file_size.bytes()),
                open_files: at_most(Resource::Nofile, spec.limits.open_files),
            },
            gpus: devices.is_some(),
            group_fds: fds.len(),
        };
        let (control, theirs) = wire::pair()?;
        let log = memfd_create("program-log", MemfdFlags::CLOEXEC)
            .map_err(ProgramError::system("make a log"))?;
        let their_log = log.try_clone().map_err(ProgramError::system("share the log"))?;
        let (printed, their_output) =
            std::io::pipe().map_err(ProgramError::system("make a pipe"))?;
        let child = Command::new(launcher)
            .arg(LAUNCH)
            .env_clear()
            .stdin(theirs)
            .stdout(their_output)
            .stderr(their_log)
            .spawn()
            .map_err(ProgramError::system("start the launcher of the box"))?;
        let limit = spec.limits.output.bytes();
        let output = std::thread::spawn(move || keep_output(printed, output, limit));
        let folders = spec.writable.iter().map(|bind| bind.source.clone()).collect();
        let mut program = Self {
            launcher: child,
            control,
            log,
            listeners: Vec::new(),
            protection: None,
            disk: DiskWatch::new(folders, &spec.limits),
            output: Some(output),
            how: None,
            group: None,
        };
        wire::send(program.control.as_fd(), &launch, &[]).map_err(|fault| program.lost(fault))?;
        for fd in fds {
            wire::send(program.control.as_fd(), &Order::Join, &[fd.as_fd()])
                .map_err(|fault| program.lost(fault))?;
        }
        program.group = group;
        let mut missing = program.wait_until_it_stands()?;
        if let Isolation::Box(weakest) = isolation {
            missing.extend(no_group.map(|reason| Missing { layer: Layer::Cgroup, reason }));
            check_tier(&missing, weakest)?;
            program.protection = Some(Protection::except(missing));
        }
        Ok(program)
    }

    fn wait_until_it_stands(&mut self) -> Result<Vec<Missing>, ProgramError> {
        loop {
            let told = wire::receive(self.control.as_fd(), BUILDING);
            match told.map_err(|fault| self.lost(fault))? {
                (Told::Listening(port), Some(listener)) => {
                    self.listeners.push((port, TcpListener::from(listener)));
                }
                (Told::Standing(missing), _) => return Ok(missing),
                (Told::Failed(Missing { layer, reason }), _) => {
                    return Err(ProgramError::Layer { layer, reason });
                }
                (told, _) => return Err(ProgramError::Lost(format!("it said {told:?}"))),
            }
        }
    }

    /// The listeners on the box's 127.0.0.1, by port: whoever in the box connects to them is connected
    /// to the caller. They are handed out once. Without a box there are none.
    pub fn listeners(&mut self) -> Vec<(u16, TcpListener)> {
        std::mem::take(&mut self.listeners)
    }

    /// Which layers of isolation are up; none without a box.
    pub fn protection(&self) -> Option<&Protection> {
        self.protection.as_ref()
    }

    /// Waits until the program ends, is to end (`directive` is asked every 20 ms), or has filled its
    /// folders. Then it is asked to end (SIGTERM to everybody) and, after `grace`, killed. No process
    /// of it is left. Meanwhile it is stopped and goes on as `directive` says: by signals, and in `t1`
    /// its control group is frozen where that can be.
    ///
    /// # Errors
    /// A [`ProgramError`]; the program is killed then as well.
    pub fn wait(
        mut self,
        mut directive: impl FnMut() -> Directive,
        grace: Duration,
    ) -> Result<ProgramReport, ProgramError> {
        let mut is_resting = false;
        let cause = loop {
            if self.has_ended(LOOK)? {
                break EndCause::Itself;
            }
            let rests = match directive() {
                Directive::End => break EndCause::Asked,
                Directive::Rest => true,
                Directive::Work => false,
            };
            if rests != is_resting {
                self.rest(rests)?;
                is_resting = rests;
            }
            if let Some(found) = self.disk.look()? {
                break EndCause::Disk { found };
            }
        };
        if cause != EndCause::Itself {
            if is_resting {
                self.rest(false)?;
            }
            self.order(Order::Terminate);
            let deadline = Instant::now() + grace;
            while !self.is_gone()? && Instant::now() < deadline {
                self.has_ended(LOOK)?;
            }
            if !self.is_gone()? {
                self.how = Some(ExitHow::Killed);
            }
        }
        self.end()?;
        let how = self.how.unwrap_or(ExitHow::Killed);
        let killed = self.group.as_ref().map(|(group, _)| group.killed_for_memory());
        // A count that cannot be read is not worth the report.
        let killed_for_memory = killed.and_then(Result::ok).unwrap_or(0);
        let output_cut = self.output_is_cut();
        Ok(ProgramReport { cause, how, killed_for_memory, output_cut })
    }

    /// Whether some of the output was dropped, once all of it is read.
    fn output_is_cut(&mut self) -> bool {
        let Some(thread) = self.output.take() else { return false };
        let deadline = Instant::now() + READING;
        while !thread.is_finished() {
            // Without a box, a process that fought its end may still hold the pipe.
            if Instant::now() >= deadline {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap_or(true)
    }

    /// Takes in what the keeper says, for `limit` at most. Whether the program's first process has ended.
    fn has_ended(&mut self, limit: Duration) -> Result<bool, ProgramError> {
        if self.how.is_some() {
            // Nothing more is said, but not so often.
            std::thread::sleep(LOOK);
            return Ok(true);
        }
        let (told, _) = match wire::receive(self.control.as_fd(), limit) {
            Ok(told) => told,
            Err(Fault::Unresponsive(_)) => return Ok(false),
            Err(fault) => return Err(self.lost(fault)),
        };
        self.how = match told {
            Told::Exited(code) => Some(ExitHow::Exited(code)),
            Told::Signalled(signal) => Some(ExitHow::Signalled(signal)),
            Told::Failed(Missing { layer, reason }) => {
                return Err(ProgramError::Layer { layer, reason });
            }
            Told::Listening(_) | Told::Standing(_) => None,
        };
        Ok(self.how.is_some())
    }

    /// Stops everybody, or has everybody go on.
    fn rest(&self, rests: bool) -> Result<(), ProgramError> {
        let group = self.group.as_ref().map(|(group, _)| group);
        if rests {
            self.order(Order::Rest);
            group.map_or(Ok(()), Cgroup::freeze)
        } else {
            let thawed = group.map_or(Ok(()), Cgroup::thaw);
            self.order(Order::Work);
            thawed
        }
        .map_err(|error| ProgramError::system("freeze or thaw a box")(std::io::Error::other(error)))
    }

    /// If that fails, everybody is gone.
    fn order(&self, order: Order) {
        let _ = wire::send(self.control.as_fd(), &order, &[]);
    }

    fn is_gone(&mut self) -> Result<bool, ProgramError> {
        let ended = self.launcher.try_wait();
        Ok(ended.map_err(ProgramError::system("wait for the launcher"))?.is_some())
    }

    /// Ends what is left. The launcher of a box is not gone before everybody in it is.
    fn end(&mut self) -> Result<(), ProgramError> {
        self.order(Order::Kill);
        let deadline = Instant::now() + KILLING;
        while !self.is_gone()? {
            if Instant::now() >= deadline {
                // Its end is the keeper's, which is that of the others.
                let _ = self.launcher.kill();
                let _ = self.launcher.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some((group, _)) = &self.group {
            group.kill();
        }
        Ok(())
    }

    fn lost(&self, fault: Fault) -> ProgramError {
        match fault {
            Fault::ZygoteLost { .. } => ProgramError::Lost(self.said()),
            fault => fault.into(),
        }
    }

    /// The end of the launcher's log.
    fn said(&self) -> String {
        let read = || -> rustix::io::Result<String> {
            let length = rustix::fs::fstat(&self.log)?.st_size.cast_unsigned();
            let mut text = vec![0; LOG];
            let read = rustix::io::pread(&self.log, &mut text, length.saturating_sub(LOG as u64))?;
            Ok(String::from_utf8_lossy(&text[..read]).trim().to_owned())
        };
        let text = read().unwrap_or_default();
        if text.is_empty() { "it said nothing".to_owned() } else { text }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // What fails here is in the kernel's hands: the keeper ends when the control socket closes.
        let _ = self.end();
    }
}

/// A control group with the bounds of the spec, or why there is none.
fn group(spec: &ProgramSpec) -> Result<(Cgroup, Groups), String> {
    let text = |error: crate::isolation::cgroup::CgroupError| error.to_string();
    let groups = Groups::make(1).map_err(text)?;
    let mut group = groups.group().map_err(text)?;
    group.make_freezable().map_err(text)?;
    group.kill_singly().map_err(text)?;
    let limits = &spec.limits;
    let bounds = Bounds {
        // Temporary files are memory of the group, and come on top.
        memory: limits.memory.bytes().saturating_add(limits.scratch.bytes().saturating_mul(2)),
        processes: limits.processes,
        cpus: limits.cpus,
    };
    group.bound(&bounds).map_err(text)?;
    Ok((group, groups))
}

/// Root's box runs as another user, who owns what it may write to.
fn give_away(spec: &ProgramSpec) -> Result<(), ProgramError> {
    if !rustix::process::geteuid().is_root() || !namespaces::can_become(UNPRIVILEGED) {
        return Ok(());
    }
    for Bind { source, .. } in &spec.writable {
        std::os::unix::fs::lchown(source, Some(UNPRIVILEGED), Some(UNPRIVILEGED))
            .map_err(ProgramError::system("give a folder to the user of the box"))?;
    }
    Ok(())
}

/// A limit, or what this user may have, if that is less.
fn at_most(resource: Resource, limit: u64) -> u64 {
    getrlimit(resource).maximum.map_or(limit, |most| most.min(limit))
}

fn check_tier(missing: &[Missing], weakest: IsolationLevel) -> Result<(), ProgramError> {
    let found = Protection::except(missing.iter().cloned()).tier();
    if found.is_some_and(|found| found <= weakest) {
        return Ok(());
    }
    let short = missing.iter().find(|missing| weakest.needs(missing.layer)).cloned();
    let Missing { layer, reason } = short.expect("a missing layer keeps the tier down");
    Err(match found {
        Some(found) => ProgramError::Tier { found, weakest, layer, reason },
        None => ProgramError::Layer { layer, reason },
    })
}

/// Copies what is printed into a file, and drops what is beyond the limit. Whether something was.
fn keep_output(mut printed: PipeReader, mut kept: fs_err::File, limit: u64) -> bool {
    let (mut room, mut cut) = (limit, false);
    let mut piece = [0; 16 * 1024];
    while let Ok(count @ 1..) = printed.read(&mut piece) {
        let fits = count.min(usize::try_from(room).unwrap_or(usize::MAX));
        room -= fits as u64;
        // A full disk must not stop the program, which may be cleaning up.
        let is_kept = kept.write_all(&piece[..fits]).is_ok();
        cut |= !is_kept || fits < count;
    }
    cut
}
