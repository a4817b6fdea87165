//! An episode's work dir: memory of a fixed size that outlives its runs and nothing else does.

use crate::exec::collect::{self, CollectError};
use crate::exec::fault::Fault;
use crate::exec::outcome::Run;
use crate::exec::run::{self, Seat};
use crate::exec::sandbox::{Options, Sandbox};
use crate::exec::wire::{Reply, Request};
use crate::exec::zygote::Zygote;
use crate::jail::bare::Bare;
use crate::jail::cgroup::Group;
use crate::jail::enter::Cell;
use crate::policy::Policy;
use rustix::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// A private work dir. Scripts see it as `/work`, with the task's public files, read-only, in
/// `/work/input`. Dropping it frees it.
#[derive(Debug)]
pub struct Workspace {
    /// Keeps the places for runs, and the zygote's successor, alive.
    sandbox: Sandbox,
    zygote: Arc<Zygote>,
    mounted: Mounted,
    input: Option<String>,
    /// The runs' control group, in a tier with one.
    group: Option<Group>,
    /// Held while a run is in flight: runs of one episode follow each other, and nothing is
    /// collected beside one.
    busy: Mutex<()>,
}

/// A mounted work dir.
#[derive(Debug)]
pub(crate) struct Mounted {
    /// Its path in the outer box.
    pub(crate) path: String,
    directory: OwnedFd,
}

impl Mounted {
    pub(crate) fn open(zygote: &Zygote, options: &Options) -> Result<Self, Fault> {
        let path = zygote.new_workspace();
        let bytes = options.work_dir.bytes();
        let request = Request::Open { path: &path, bytes, files: options.work_files };
        let replies = zygote.request(&request, &[])?;
        match zygote.answer(&replies)? {
            (Reply::Opened {}, Some(directory)) => Ok(Self { path, directory }),
            (reply, _) => Err(Fault::Protocol(format!("{reply:?} instead of a work dir"))),
        }
    }

    /// Asks for it to be unmounted, without waiting; if the zygote is gone, so is the mount.
    pub(crate) fn close(&self, zygote: &Zygote) {
        if let Err(fault) = zygote.request(&Request::Close { path: &self.path }, &[]) {
            tracing::debug!(%fault, "a work dir was not closed");
        }
    }
}

impl Workspace {
    pub(crate) fn open(
        sandbox: &Sandbox,
        zygote: Arc<Zygote>,
        options: &Options,
        input: Option<String>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            sandbox: sandbox.clone(),
            mounted: Mounted::open(&zygote, options)?,
            zygote,
            input,
            group: sandbox.group()?,
            busy: Mutex::new(()),
        })
    }

    /// Runs `code` as a script of its own, with `/work` as its directory: nothing of earlier runs
    /// is left but the files there. Blocks until every process of the run is gone; waits for a
    /// place first if all are taken.
    ///
    /// # Errors
    /// A [`Fault`] of ours. Whatever the script does is an [`crate::exec::Outcome`] instead.
    pub fn run(&self, code: &str, policy: &Policy) -> Result<Run, Fault> {
        let _alone = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let _slot = self.sandbox.slot();
        match &self.group {
            Some(group) => group.bound(&self.sandbox.bounds(policy)).map_err(run::group_fault)?,
            None if policy.cpus.is_some() => return Err(Fault::NeedsGroups(self.sandbox.tier())),
            None => {}
        }
        let seat = Seat {
            zygote: &self.zygote,
            cell: cell(&self.mounted, self.input.clone(), policy, self.sandbox.bare()),
            group: self.group.as_ref(),
            tier: self.sandbox.tier(),
        };
        let (run, _) = run::run(&seat, code, policy)?;
        tracing::debug!(outcome = %run.outcome, wall = ?run.wall, "a script ran");
        Ok(run)
    }

    /// Reads the file `name` of the work dir, once no run is in flight. The name is a path below
    /// the work dir; nothing is followed that leads out of it.
    ///
    /// # Errors
    /// A [`CollectError`] that the agent can act on.
    pub fn collect(&self, name: &str, max_bytes: u64) -> Result<Vec<u8>, CollectError> {
        let _alone = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        collect::collect(&self.mounted.directory, name, max_bytes)
    }
}

/// The inner box, or what stands in its place, for a run in a work dir.
pub(crate) fn cell(
    mounted: &Mounted,
    input: Option<String>,
    policy: &Policy,
    bare: Option<&Bare>,
) -> Cell {
    Cell {
        workspace: mounted.path.clone(),
        input,
        scratch: policy.scratch.bytes(),
        limits: policy.limits(),
        doors: Vec::new(),
        bare: bare.cloned(),
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.mounted.close(&self.zygote);
    }
}
