//! An episode's work dir: a file system in memory, or a folder of the host, of bounded size, the only
//! thing that is kept between the runs of an episode.

use crate::exec::cancel::Cancel;
use crate::exec::fault::Fault;
use crate::exec::host_folder;
use crate::exec::outcome::Run;
use crate::exec::place::{self, PlaceError};
use crate::exec::run::{self, LiveRun, RunContext};
use crate::exec::sandbox::{Sandbox, SandboxOptions};
use crate::exec::wire::{ZygoteReply, ZygoteRequest};
use crate::exec::zygote::Zygote;
use crate::isolation::IsolationLevel;
use crate::isolation::bare::Bare;
use crate::isolation::cgroup::Cgroup;
use crate::isolation::enter::JailSpec;
use crate::isolation::gpus::Devices;
use crate::limits::RunLimits;
use rustix::fd::OwnedFd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use tasks::collect::{self, CollectError};

/// What a run leaves to the next one in the same work dir.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Files. Each run is a script with an interpreter of its own.
    #[default]
    Script,
    /// Files and the interpreter with all its variables, as in a notebook, where also the value
    /// of a last expression is shown. Between runs the interpreter is stopped, and other
    /// processes that a run has started are gone. It ends with a run that leaves it
    /// (`sys.exit`), crashes, or is killed for passing a limit; the next run gets a new one.
    /// Limits of memory, processes and files, and GPUs, are those of the run that it began with. Needs
    /// [`IsolationLevel::T2`] or better.
    Session,
}

/// A private work dir. Scripts see it as `/work`, with the task's public files, read-only, in
/// `/work/input`, and pretrained weights, if the sandbox has them, in `/work/models`. Dropping it
/// frees it.
#[derive(Debug)]
pub struct Workspace {
    /// Keeps the sandbox, its slots and a new zygote alive.
    sandbox: Sandbox,
    zygote: Arc<Zygote>,
    mounted: Mounted,
    input: Option<String>,
    /// The runs' control group, in a tier with one.
    group: Option<Cgroup>,
    mode: Mode,
    /// Made by the first call of `cancel`.
    cancel: Option<Cancel>,
    /// Held while a run is in flight: runs of one episode follow each other, and nothing is
    /// collected beside one. In it, between runs, what is at rest.
    resting: Mutex<Option<LiveRun>>,
}

/// A mounted work dir.
#[derive(Debug)]
pub(crate) struct Mounted {
    /// Its path in the outer box.
    pub(crate) path: String,
    directory: OwnedFd,
}

impl Mounted {
    pub(crate) fn open(zygote: &Zygote, options: &SandboxOptions) -> Result<Self, Fault> {
        let path = zygote.new_workspace();
        let bytes = options.work_dir.bytes();
        let request = ZygoteRequest::Open { path: &path, bytes, files: options.work_files };
        let replies = zygote.request(&request, &[])?;
        match zygote.answer(&replies)? {
            (ZygoteReply::Opened {}, Some(directory)) => Ok(Self { path, directory }),
            (reply, _) => Err(Fault::Protocol(format!("{reply:?} instead of a work dir"))),
        }
    }

    /// A new file in it, open for writing.
    fn create(&self, zygote: &Zygote, name: &str) -> Result<OwnedFd, PlaceError> {
        let replies = zygote.request(&ZygoteRequest::Place { name }, &[&self.directory])?;
        match zygote.answer(&replies)? {
            (ZygoteReply::Placed {}, Some(file)) => Ok(file),
            (ZygoteReply::Unplaced(errno), _) => Err(PlaceError::from_errno(name, errno)),
            (reply, _) => Err(Fault::Protocol(format!("{reply:?} instead of a file")).into()),
        }
    }

    /// Asks for it to be unmounted, without waiting; if the zygote is gone, so is the mount. A folder
    /// of the host is removed here: with many files that takes its time, which is not for the zygote,
    /// on which all runs wait.
    pub(crate) fn close(&self, zygote: &Zygote) {
        if let Err(fault) = zygote.request(&ZygoteRequest::Close { path: &self.path }, &[]) {
            tracing::debug!(%fault, "a work dir was not closed");
        }
        if let Some(folder) = zygote.on_host(&self.path) {
            host_folder::remove(&folder);
        }
    }
}

impl Workspace {
    pub(crate) fn open(
        sandbox: &Sandbox,
        zygote: Arc<Zygote>,
        options: &SandboxOptions,
        input: Option<String>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            sandbox: sandbox.clone(),
            mounted: Mounted::open(&zygote, options)?,
            zygote,
            input,
            group: sandbox.group()?,
            mode: Mode::Script,
            cancel: None,
            resting: Mutex::new(None),
        })
    }

    /// The same with runs in another mode; a new one's is [`Mode::Script`].
    ///
    /// # Errors
    /// [`Fault::NoSessions`] in a tier without a box.
    pub fn in_mode(mut self, mode: Mode) -> Result<Self, Fault> {
        let tier = self.sandbox.tier();
        if mode == Mode::Session && tier > IsolationLevel::T2 {
            return Err(Fault::NoSessions(tier));
        }
        if let (Mode::Session, Some(group)) = (mode, &mut self.group) {
            group.make_freezable().map_err(run::group_fault)?;
        }
        self.mode = mode;
        self.resting = Mutex::new(None);
        Ok(self)
    }

    /// What ends the runs of this work dir from another thread.
    ///
    /// # Errors
    /// [`Fault::System`] if descriptors have run out.
    pub fn cancel(&mut self) -> Result<Cancel, Fault> {
        match &self.cancel {
            Some(cancel) => Ok(cancel.clone()),
            None => Ok(self.cancel.insert(Cancel::new()?).clone()),
        }
    }

    /// Runs `code` with `/work` as its directory, where the files of earlier runs are; what else
    /// is left of them is a matter of the [`Mode`]. Blocks until every process of the run is
    /// gone, or the session at rest; waits for a place first if all are taken.
    ///
    /// # Errors
    /// A [`Fault`] of ours. Whatever the script does is an [`crate::exec::Outcome`] instead.
    pub fn run(&self, code: &str, policy: &RunLimits) -> Result<Run, Fault> {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        let _slot = self.sandbox.slot();
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Err(Fault::Cancelled);
        }
        match &self.group {
            Some(group) => group.bound(&self.sandbox.bounds(policy)).map_err(run::group_fault)?,
            None if policy.cpus.is_some() => return Err(Fault::NeedsGroups(self.sandbox.tier())),
            None => {}
        }
        self.sandbox.warn_beyond_host(policy);
        let gpus = self.sandbox.gpus(policy)?;
        let context = RunContext {
            zygote: &self.zygote,
            spec: JailSpec {
                session: self.mode == Mode::Session,
                weights: self.sandbox.weights_in_box(),
                ..jail_spec(&self.mounted, self.input.clone(), policy, gpus, self.sandbox.bare())
            },
            group: self.group.as_ref(),
            tier: self.sandbox.tier(),
            cancel: self.cancel.as_ref(),
        };
        let run = match self.mode {
            Mode::Script => run::run(&context, code, policy)?.0,
            Mode::Session => run::call(&mut resting, &context, code, policy)?,
        };
        tracing::debug!(outcome = %run.outcome, wall = ?run.wall, "a script ran");
        Ok(run)
    }

    /// Writes a new file of the work dir, once no run is in flight, for the next run to read and
    /// to change. `name` is that of a file, not a path. Without an error the whole file is there;
    /// after one it may be there in part.
    ///
    /// # Errors
    /// [`PlaceError`] for another kind of name, for more than 64 MiB, if the name is taken, be it
    /// by a link, or if the work dir does not take it.
    pub fn place(&self, name: &str, bytes: &[u8]) -> Result<(), PlaceError> {
        let _alone = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        place::check(name, bytes)?;
        place::write(self.mounted.create(&self.zygote, name)?, name, bytes)
    }

    /// Reads the file `name` of the work dir, once no run is in flight. The name is a path below
    /// the work dir; nothing is followed that leads out of it.
    ///
    /// # Errors
    /// A [`CollectError`] that the agent can act on.
    pub fn collect(&self, name: &str, max_bytes: u64) -> Result<Vec<u8>, CollectError> {
        let _alone = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        collect::find(&self.mounted.directory, name, max_bytes)?.read()
    }

    /// The size in bytes of a file that [`Workspace::collect`] would read, without reading it.
    ///
    /// # Errors
    /// As there.
    pub fn look(&self, name: &str, max_bytes: u64) -> Result<u64, CollectError> {
        let _alone = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(collect::find(&self.mounted.directory, name, max_bytes)?.size())
    }
}

/// The inner box, or what stands in its place, for a run in a work dir.
pub(crate) fn jail_spec(
    mounted: &Mounted,
    input: Option<String>,
    policy: &RunLimits,
    gpus: Option<Devices>,
    bare: Option<&Bare>,
) -> JailSpec {
    JailSpec {
        workspace: mounted.path.clone(),
        input,
        weights: None,
        scratch: policy.scratch.bytes(),
        limits: policy.limits(),
        gpus,
        cgroup_fds: Vec::new(),
        session: false,
        bare: bare.cloned(),
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // What is at rest there hangs up first.
        *self.resting.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.mounted.close(&self.zygote);
    }
}
