//! A box's root: a small tree in memory with read-only copies of what Python needs.

use crate::isolation::enter::WORKSPACES;
use crate::isolation::mounts::{self, MountError, Rules};
use fs_err as fs;
use rustix::fd::{AsFd, OwnedFd};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

/// Where the root is built before it becomes the root. Any directory that exists on every host
/// will do: trees are picked up before it is covered.
const BUILD: &str = "/tmp";

/// What of the system is visible. Not all of `/usr`: people keep projects below `/usr/src`, and
/// with them answers.
pub const SYSTEM: [&str; 10] = [
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
];

/// Top-level names that are links into `/usr` on most hosts and directories on others.
const TOP: [&str; 4] = ["/bin", "/lib", "/lib32", "/lib64"];

/// Devices that are nothing but a source or a sink.
pub(super) const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// One tree of the box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// Path on the host.
    pub source: String,
    /// Path in the box.
    pub target: String,
}

/// Trees that have been picked up and wait for their place.
struct Picked {
    tree: OwnedFd,
    target: String,
    file: bool,
}

/// What is in a box beside the system.
#[derive(Debug)]
pub struct Contents<'a> {
    /// Trees of the host, and what is forbidden in them.
    pub trees: &'a [(Rules, &'a [Bind])],
    /// Empty folders, to mount on later.
    pub places: &'a [&'a str],
    /// Where scripts have their work dirs.
    pub work_dirs: WorkDirs<'a>,
}

/// Where work dirs of scripts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkDirs<'a> {
    /// The box has none.
    None,
    /// A file system in memory at [`WORKSPACES`], owned by this user and group.
    Memory(u32, u32),
    /// This folder of the host at [`WORKSPACES`], which this user and group will own.
    Folder(&'a str, u32, u32),
}

/// How the box gets the process list that lets nested namespaces have theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostProc {
    /// Root may mount a new one.
    Fresh,
    /// An ordinary user must pass on the one that the host shows.
    Inherited,
}

/// Builds the root and moves the calling process into it. The caller has a mount namespace of its own.
///
/// # Errors
/// A [`MountError`] naming the step and the path.
pub fn build(contents: &Contents<'_>, host_proc: HostProc) -> Result<(), MountError> {
    mounts::make_private()?;
    let mut picked = Vec::new();
    // No host has all of them; a link at the top is repeated as a link further down.
    let top = TOP.into_iter().filter(|path| !Path::new(path).is_symlink());
    for path in SYSTEM.into_iter().chain(top).filter(|path| Path::new(path).exists()) {
        picked.push(pick(path, path, Rules::Programs)?);
    }
    for (rules, binds) in contents.trees {
        for Bind { source, target } in *binds {
            picked.push(pick(source, target, *rules)?);
        }
    }
    for path in DEVICES {
        picked.push(pick(path, path, Rules::Device)?);
    }
    if let WorkDirs::Folder(folder, user, group) = contents.work_dirs {
        place(folder, chown(folder, Some(user), Some(group)))?;
        picked.push(pick(folder, WORKSPACES, Rules::WorkDirs)?);
    }
    let inherited = match host_proc {
        HostProc::Inherited => Some(mounts::pick_up("/proc")?),
        HostProc::Fresh => None,
    };

    mounts::tmpfs(BUILD, "mode=0755,size=16m")?;
    for path in contents.places.iter().chain(&["/proc", "/tmp", "/dev/shm", "/etc"]) {
        make_directory(&inside(path))?;
    }
    for path in TOP {
        if let Ok(target) = fs::read_link(path) {
            place(path, symlink(target, inside(path)))?;
        }
    }
    link_streams(BUILD)?;
    write_names()?;
    for Picked { tree, target, file } in picked {
        let at = inside(&target);
        if file {
            let folder = Path::new(&at).parent().unwrap_or(Path::new(BUILD));
            make_directory(&folder.to_string_lossy())?;
            place(&target, fs::write(&at, ""))?;
        } else {
            make_directory(&at)?;
        }
        mounts::attach(tree.as_fd(), &at)?;
    }
    match inherited {
        Some(tree) => mounts::attach(tree.as_fd(), &inside("/proc"))?,
        None => mounts::proc(&inside("/proc"), "")?,
    }
    if let WorkDirs::Memory(user, group) = contents.work_dirs {
        let owner = format!("mode=0700,uid={user},gid={group},size=4m,nr_inodes=64k");
        mounts::tmpfs(&inside(WORKSPACES), &owner)?;
    }

    mounts::pivot(BUILD)?;
    mounts::freeze("/")
}

/// Where a path of the box lies while the box is being built.
fn inside(path: &str) -> String {
    format!("{BUILD}{path}")
}

fn pick(source: &str, target: &str, rules: Rules) -> Result<Picked, MountError> {
    let kind = place(source, fs::metadata(source))?;
    let tree = mounts::pick_up(source)?;
    mounts::restrict(tree.as_fd(), rules, source)?;
    Ok(Picked { tree, target: target.to_owned(), file: !kind.is_dir() })
}

pub(super) fn make_directory(path: &str) -> Result<(), MountError> {
    place(path, fs::create_dir_all(path))
}

pub(super) fn place<T>(path: &str, result: std::io::Result<T>) -> Result<T, MountError> {
    result.map_err(|source| MountError::Place { path: path.to_owned(), source })
}

/// The names that standard streams have in the `/dev` of the tree at `root`.
pub(super) fn link_streams(root: &str) -> Result<(), MountError> {
    for (link, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        let path = format!("/dev/{link}");
        place(&path, symlink(format!("/proc/self/fd{target}"), format!("{root}{path}")))?;
    }
    Ok(())
}

/// The user and group that scripts see themselves as, and no others.
fn write_names() -> Result<(), MountError> {
    let files = [
        (
            "/etc/passwd",
            "root:x:0:0:root:/work:/bin/false\nagent:x:1000:1000:agent:/work:/bin/sh\n",
        ),
        ("/etc/group", "root:x:0:\nagent:x:1000:\n"),
        ("/etc/hosts", "127.0.0.1 localhost sandbox\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ];
    for (path, text) in files {
        place(path, fs::write(inside(path), text))?;
    }
    Ok(())
}
