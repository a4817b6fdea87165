//! Control groups: memory, processes and processor time, bounded over all of a run's processes;
//! and sessions frozen between their runs.
//!
//! A supervisor has one folder per hierarchy, [`Groups`], with its name, and in it a [`Cgroup`]
//! per work dir: files in memory are charged to the group that wrote them, so the group lives as
//! long as they do. Groups are made with the work dir, ahead of any run; a run's first process
//! joins by writing to a [descriptor](Cgroup::join_fds) that the supervisor has opened, and
//! so needs no right of its own. What is shared with the zygote stays charged to the zygote's
//! group; what a run changes of it is copied, and charged to the run.
//!
//! A supervisor that is killed cannot remove its folders. The next one does, for the name says
//! whose they are.

use crate::isolation::hierarchy::{self, CgroupFolder, Controller, HierarchyError, Version};
use crate::isolation::owner::Owner;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Display;
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where version 2 wants processes: not in a group that has groups below.
const LEAF: &str = "mle-supervisor";
/// What the kernel divides processor time by, in microseconds.
const PERIOD: u64 = 100_000;
/// How long a group may take to become empty after its processes were killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Groups cannot be had, or not be used.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// The host shows none that this process could use.
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    /// The kernel's account of this process could not be read.
    #[error("could not read this process's place among control groups ({0})")]
    Unknown(io::Error),
    /// A group could not be made.
    #[error(
        "could not make the control group {folder} ({source}); run as root, or in a group \
             that is this user's own, as `systemd-run --user --scope -p Delegate=yes` makes"
    )]
    Make {
        /// Folder of the control group.
        folder: Utf8PathBuf,
        /// The I/O error of making it.
        source: io::Error,
    },
    /// Controllers could not be passed on to groups below.
    #[error(
        "could not use controllers below {folder} ({source}); start in a control group of \
             its own, as `systemd-run --user --scope -p Delegate=yes` makes"
    )]
    Delegate {
        /// Folder of this process's control group.
        folder: Utf8PathBuf,
        /// The I/O error of writing to it.
        source: io::Error,
    },
    /// A bound could not be set, or a count not be read.
    #[error("could not use {file} of a control group ({source})")]
    File {
        /// Path of the file.
        file: String,
        /// The I/O error of reading or writing it.
        source: io::Error,
    },
}

/// What the processes of one group may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes, files in memory included, swap not usable.
    pub memory: u64,
    /// The largest number of processes and threads.
    pub processes: u64,
    /// Processors' worth of time; without it, a fair share of all.
    pub cpus: Option<NonZeroU32>,
}

/// The place of a supervisor's groups. Removed with the last of them.
#[derive(Debug, Clone)]
pub struct Groups(Arc<Folders>);

#[derive(Debug)]
struct Folders {
    places: Vec<CgroupFolder>,
    /// Where groups can be frozen; none where version 2 is not mounted, or this user may make no
    /// groups there. It is one of `places` where version 2 has the controllers too.
    freezer: Option<CgroupFolder>,
    made: AtomicU64,
}

impl Groups {
    /// Makes this supervisor's folders, and removes those of supervisors that are gone. All of
    /// them together weigh as much as `slots` processes when processor time is short.
    ///
    /// # Errors
    /// A [`CgroupError`] that says what to do.
    pub fn make(slots: usize) -> Result<Self, CgroupError> {
        let read = |name| fs::read_to_string(format!("/proc/self/{name}"));
        let mountinfo = read("mountinfo").map_err(CgroupError::Unknown)?;
        let membership = read("cgroup").map_err(CgroupError::Unknown)?;
        let owner = Owner::this().map_err(CgroupError::Unknown)?;
        let places = hierarchy::places(&mountinfo, &membership)?;
        let freezer = hierarchy::freezer(&mountinfo, &membership);
        Self::below(&places, freezer.as_ref(), &owner, slots)
    }

    fn below(
        places: &[CgroupFolder],
        freezer: Option<&CgroupFolder>,
        owner: &Owner,
        slots: usize,
    ) -> Result<Self, CgroupError> {
        // Dropped on an error, which removes what was made until then.
        let mut folders = Folders { places: Vec::new(), freezer: None, made: AtomicU64::new(0) };
        for place in places {
            let base = base(place);
            sweep(&base, owner);
            if place.version == Version::V2 {
                delegate(place, &base)?;
            }
            let folder = base.join(owner.to_string());
            make(&folder)?;
            folders.places.push(CgroupFolder { folder, ..place.clone() });
        }
        for place in &folders.places {
            let slots = slots.max(1) as u64;
            match (place.version, place.controllers.contains(&Controller::Cpu)) {
                (Version::V1, true) => {
                    write(&place.folder, "cpu.shares", (1024 * slots).min(262_144))?;
                }
                (Version::V2, true) => {
                    write(&place.folder, "cpu.weight", (100 * slots).min(10_000))?;
                }
                (_, false) => {}
            }
            if place.version == Version::V2 {
                pass_on(place, &place.folder)?;
            }
        }
        if let Some(place) = freezer {
            let base = base(place);
            sweep(&base, owner);
            let folder = base.join(owner.to_string());
            match make(&folder) {
                Ok(()) => folders.freezer = Some(CgroupFolder { folder, ..place.clone() }),
                // What a session at rest may not do is refused anyway; see `seccomp`.
                Err(error) => tracing::debug!(%error, "sessions at rest are not frozen"),
            }
        }
        Ok(Self(Arc::new(folders)))
    }

    /// A new group, without bounds yet.
    ///
    /// # Errors
    /// A [`CgroupError`].
    pub fn group(&self) -> Result<Cgroup, CgroupError> {
        let name = self.0.made.fetch_add(1, Ordering::Relaxed).to_string();
        let mut group = Cgroup {
            name: name.clone(),
            places: Vec::new(),
            join_fds: Vec::new(),
            freezer: None,
            folders: Arc::clone(&self.0),
        };
        for place in &self.0.places {
            let folder = place.folder.join(&name);
            make(&folder)?;
            let version = place.version;
            group.places.push(CgroupFolder { folder, ..place.clone() });
            let folder = &group.places[group.places.len() - 1].folder;
            group.join_fds.push(open_join_file(folder, version)?);
            if version == Version::V2 {
                // If the kernel kills one process, it kills all: half a run is of no use.
                write(folder, "memory.oom.group", 1)?;
            }
        }
        Ok(group)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.places.iter().chain(&self.freezer).for_each(|place| remove(&place.folder));
    }
}

/// Opens the file to which a process writes `0` to join the group of `folder`.
fn open_join_file(folder: &Utf8Path, version: Version) -> Result<OwnedFd, CgroupError> {
    // Joining as a single thread spares version 1 the wait for all processors, 5 to 11 ms.
    let name = if version == Version::V1 { "tasks" } else { "cgroup.procs" };
    let opened = fs::OpenOptions::new().write(true).open(folder.join(name));
    let file = opened.map_err(|source| file_error(folder, name, source))?;
    Ok(file.into_parts().0.into())
}

/// The processes of one work dir's runs. Dropping it kills what is left of them and removes it.
#[derive(Debug)]
pub struct Cgroup {
    name: String,
    places: Vec<CgroupFolder>,
    join_fds: Vec<OwnedFd>,
    freezer: Option<Freezer>,
    /// Not removed before this.
    folders: Arc<Folders>,
}

/// The group of version 2 in which a session is frozen between its runs.
#[derive(Debug)]
struct Freezer {
    folder: Utf8PathBuf,
    /// The descriptor to join it by; `None` if one of the other descriptors leads there.
    join_fd: Option<OwnedFd>,
}

impl Cgroup {
    /// Sets the bounds for the next run.
    ///
    /// # Errors
    /// [`CgroupError::File`].
    pub fn bound(&self, bounds: &Bounds) -> Result<(), CgroupError> {
        for CgroupFolder { version, controllers, folder } in &self.places {
            for controller in controllers {
                match (version, controller) {
                    (Version::V1, Controller::Memory) => bound_memory_v1(folder, bounds.memory)?,
                    (Version::V2, Controller::Memory) => {
                        write(folder, "memory.max", bounds.memory)?;
                        // Not there on a kernel that cannot swap.
                        if folder.join("memory.swap.max").exists() {
                            write(folder, "memory.swap.max", 0)?;
                        }
                    }
                    (_, Controller::Pids) => write(folder, "pids.max", bounds.processes)?,
                    (Version::V1, Controller::Cpu) => {
                        write(folder, "cpu.cfs_period_us", PERIOD)?;
                        match bounds.cpus {
                            Some(cpus) => {
                                write(folder, "cpu.cfs_quota_us", PERIOD * u64::from(cpus.get()))?;
                            }
                            None => write(folder, "cpu.cfs_quota_us", -1)?,
                        }
                    }
                    (Version::V2, Controller::Cpu) => {
                        let quota = bounds.cpus.map(|cpus| PERIOD * u64::from(cpus.get()));
                        let quota = quota.map_or("max".to_owned(), |quota| quota.to_string());
                        write(folder, "cpu.max", format!("{quota} {PERIOD}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Descriptors to which the first process of a run writes `0` to join.
    pub fn join_fds(&self) -> impl Iterator<Item = &OwnedFd> {
        let freezer = self.freezer.as_ref().and_then(|freezer| freezer.join_fd.as_ref());
        self.join_fds.iter().chain(freezer)
    }

    /// Has the group be one that can be frozen, if this host has such. Making it, and joining it,
    /// takes time, so that only sessions have it.
    ///
    /// # Errors
    /// A [`CgroupError`].
    pub fn make_freezable(&mut self) -> Result<(), CgroupError> {
        let Some(place) = &self.folders.freezer else { return Ok(()) };
        let folder = place.folder.join(&self.name);
        // Often there already: in the one hierarchy that has everything.
        make(&folder)?;
        let is_known = self.places.iter().any(|place| place.folder == folder);
        let join_fd = if is_known { None } else { Some(open_join_file(&folder, Version::V2)?) };
        self.freezer = Some(Freezer { folder, join_fd });
        Ok(())
    }

    /// Has the kernel kill one process when memory runs out, and not all: a program may start a smaller
    /// one instead. Version 1 does so anyway.
    ///
    /// # Errors
    /// [`CgroupError::File`].
    pub fn kill_singly(&self) -> Result<(), CgroupError> {
        let mut places = self.places.iter().filter(|place| place.version == Version::V2);
        places.try_for_each(|place| write(&place.folder, "memory.oom.group", 0))
    }

    /// Kills every process of the group.
    pub fn kill(&self) {
        self.places.iter().for_each(|place| kill_all(&place.folder));
    }

    /// Stops every process of a session, whatever signals it may get, until [`Self::thaw`]; they
    /// can still be killed. Does nothing where there is no freezer.
    ///
    /// # Errors
    /// [`CgroupError::File`].
    pub fn freeze(&self) -> Result<(), CgroupError> {
        self.set_frozen(true)
    }

    /// Lets the processes of a frozen session go on.
    ///
    /// # Errors
    /// [`CgroupError::File`].
    pub fn thaw(&self) -> Result<(), CgroupError> {
        self.set_frozen(false)
    }

    fn set_frozen(&self, frozen: bool) -> Result<(), CgroupError> {
        let Some(Freezer { folder, .. }) = &self.freezer else { return Ok(()) };
        write(folder, "cgroup.freeze", u8::from(frozen))
    }

    /// How many processes the kernel has killed because the group was out of memory.
    ///
    /// # Errors
    /// [`CgroupError::File`].
    pub fn killed_for_memory(&self) -> Result<u64, CgroupError> {
        let mut places = self.places.iter();
        let place = places.find(|place| place.controllers.contains(&Controller::Memory));
        let Some(CgroupFolder { version, folder, .. }) = place else { return Ok(0) };
        let file = if *version == Version::V1 { "memory.oom_control" } else { "memory.events" };
        let text = fs::read_to_string(folder.join(file));
        let text = text.map_err(|source| file_error(folder, file, source))?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok());
        count.ok_or_else(|| file_error(folder, file, io::Error::other("it has no `oom_kill`")))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let frozen = self.freezer.iter().map(|freezer| &freezer.folder);
        self.places.iter().map(|place| &place.folder).chain(frozen).for_each(|path| remove(path));
    }
}

/// The group below which this process's groups go: its own, or the one above if it has moved
/// into a leaf to make room for them.
fn base(place: &CgroupFolder) -> Utf8PathBuf {
    match (place.version, place.folder.parent()) {
        (Version::V2, Some(parent)) if place.folder.file_name() == Some(LEAF) => parent.to_owned(),
        _ => place.folder.clone(),
    }
}

/// Has the controllers passed on to groups below `base`. If this process stands in the way, and
/// nobody else does, it moves into a leaf.
fn delegate(place: &CgroupFolder, base: &Utf8Path) -> Result<(), CgroupError> {
    let busy = match pass_on(place, base) {
        Err(CgroupError::File { source, .. }) => source,
        other => return other,
    };
    let error = |source| CgroupError::Delegate { folder: base.to_owned(), source };
    let inside = fs::read_to_string(base.join("cgroup.procs")).map_err(error)?;
    if busy.raw_os_error() != Some(Errno::BUSY.raw_os_error())
        || inside.trim() != std::process::id().to_string()
    {
        return Err(error(busy));
    }
    let leaf = base.join(LEAF);
    make(&leaf)?;
    write(&leaf, "cgroup.procs", 0)?;
    pass_on(place, base).map_err(|failed| match failed {
        CgroupError::File { source, .. } => error(source),
        other => other,
    })
}

/// Passes the controllers on that are not passed on yet.
fn pass_on(place: &CgroupFolder, folder: &Utf8Path) -> Result<(), CgroupError> {
    let file = "cgroup.subtree_control";
    let text = fs::read_to_string(folder.join(file));
    let text = text.map_err(|source| file_error(folder, file, source))?;
    let missing = place.controllers.iter().map(|controller| controller.name());
    let missing = missing.filter(|name| !text.split_whitespace().any(|there| there == *name));
    let wanted: Vec<String> = missing.map(|name| format!("+{name}")).collect();
    if wanted.is_empty() { Ok(()) } else { write(folder, file, wanted.join(" ")) }
}

/// Memory and swap together may not be less than memory, whatever order they are changed in.
fn bound_memory_v1(folder: &Utf8Path, bytes: u64) -> Result<(), CgroupError> {
    let (memory, both) = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes");
    if !folder.join(both).exists() {
        // This kernel does not count swap: then the group may have none.
        write(folder, "memory.swappiness", 0)?;
        return write(folder, memory, bytes);
    }
    if write(folder, memory, bytes).is_err() {
        write(folder, both, bytes)?;
        write(folder, memory, bytes)?;
    }
    write(folder, both, bytes)
}

fn make(folder: &Utf8Path) -> Result<(), CgroupError> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result.map_err(|source| CgroupError::Make { folder: folder.to_owned(), source }),
    }
}

fn write(folder: &Utf8Path, file: &str, value: impl Display) -> Result<(), CgroupError> {
    std::fs::OpenOptions::new()
        .write(true)
        .open(folder.join(file))
        // In one call: the kernel takes each as a value of its own.
        .and_then(|mut opened| opened.write_all(value.to_string().as_bytes()))
        .map_err(|source| file_error(folder, file, source))
}

fn file_error(folder: &Utf8Path, file: &str, source: io::Error) -> CgroupError {
    CgroupError::File { file: folder.join(file).into(), source }
}

/// Removes the folders of supervisors that are gone.
fn sweep(base: &Utf8Path, own: &Owner) {
    let Ok(entries) = base.read_dir_utf8() else { return };
    for entry in entries.flatten() {
        let owner: Option<Owner> = entry.file_name().parse().ok();
        if owner.is_some_and(|owner| owner.is_gone(own)) {
            tracing::info!(group = %entry.path(), "its supervisor is gone; it is removed");
            remove(entry.path());
        }
    }
}

/// Kills what is in a group and removes it. A group that stays, stays empty and harmless, until
/// the next supervisor sweeps; so that is not worth an error.
fn remove(folder: &Utf8Path) {
    for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(entry.path());
        }
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::remove_dir(folder) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) if Instant::now() >= deadline => {
                tracing::warn!(group = %folder, %error, "a control group could not be removed");
                return;
            }
            Err(_) => {
                kill_all(folder);
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

fn kill_all(folder: &Utf8Path) {
    if write(folder, "cgroup.kill", 1).is_ok() {
        return;
    }
    let inside = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    // A process of another pid namespace is listed as 0, which is no process.
    for pid in inside.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests;
