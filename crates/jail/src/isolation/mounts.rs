//! Mounts: the few operations that both boxes are built from, each with its own error.
//!
//! Trees are handled through descriptors (`open_tree`, `move_mount`), so that no path is resolved
//! twice with a chance to be swapped in between.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use std::ffi::CString;

/// A mount operation failed.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// Mounts could not be cut off from their origin.
    #[error("could not make mounts private ({0})")]
    Private(Errno),
    /// A tree could not be picked up.
    #[error("could not pick up {path} ({source})")]
    Clone {
        /// What was to be picked up.
        path: String,
        /// The error of the system call.
        source: Errno,
    },
    /// Read-only and its like could not be set.
    #[error("could not set attributes of {path} ({source})")]
    Attributes {
        /// Path of the tree.
        path: String,
        /// The error of the system call.
        source: std::io::Error,
    },
    /// A tree could not be put down.
    #[error("could not attach {path} ({source})")]
    Attach {
        /// Where it was to go.
        path: String,
        /// The error of the system call.
        source: Errno,
    },
    /// A new file system could not be mounted.
    #[error("could not mount a new {kind} at {path} ({source})")]
    Fresh {
        /// Type of the file system.
        kind: &'static str,
        /// Where it was to go.
        path: String,
        /// The error of the system call.
        source: Errno,
    },
    /// A place to mount on could not be made or opened.
    #[error("could not prepare {path} ({source})")]
    Place {
        /// Path of the mount point.
        path: String,
        /// The I/O error of making it.
        source: std::io::Error,
    },
    /// The root could not be changed.
    #[error("could not change the root ({0})")]
    Pivot(Errno),
    /// The old root could not be let go.
    #[error("could not let go of the old root ({0})")]
    Detach(Errno),
    /// A mount could not be removed.
    #[error("could not unmount {path} ({source})")]
    Unmount {
        /// Path of the mount.
        path: String,
        /// The error of the system call.
        source: Errno,
    },
}

/// What a mounted tree forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Programs and libraries: read-only, no devices, no set-user-id.
    Programs,
    /// Data: like programs, and nothing in it may be executed.
    Data,
    /// A device node: no set-user-id, nothing executed.
    Device,
    /// What scripts may write to: no devices, no set-user-id.
    WorkDirs,
}

impl Rules {
    fn bits(self) -> u64 {
        let data = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
        match self {
            Self::Programs => data,
            Self::Data => data | libc::MOUNT_ATTR_NOEXEC,
            Self::Device => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
            Self::WorkDirs => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        }
    }
}

/// Nothing mounted from here on is seen outside, nor the other way round.
///
/// # Errors
/// [`MountError::Private`].
pub fn make_private() -> Result<(), MountError> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", flags).map_err(MountError::Private)
}

/// Picks up a copy of the tree at `path`, not yet attached anywhere.
///
/// # Errors
/// [`MountError::Clone`].
pub fn pick_up(path: &str) -> Result<OwnedFd, MountError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(CWD, path, flags)
        .map_err(|source| MountError::Clone { path: path.to_owned(), source })
}

/// Sets `rules` on a tree and everything mounted below it. `name` is for the error.
///
/// # Errors
/// [`MountError::Attributes`].
pub fn restrict(tree: BorrowedFd<'_>, rules: Rules, name: &str) -> Result<(), MountError> {
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    set_attributes(tree.as_raw_fd(), "", flags, rules.bits(), name)
}

/// Makes the mount at `path`, but not what is mounted below it, read-only.
///
/// # Errors
/// [`MountError::Attributes`].
pub fn freeze(path: &str) -> Result<(), MountError> {
    set_attributes(libc::AT_FDCWD, path, 0, libc::MOUNT_ATTR_RDONLY, path)
}

#[expect(unsafe_code, reason = "mount_setattr has no safe wrapper")]
fn set_attributes(
    at: i32,
    path: &str,
    flags: i32,
    attributes: u64,
    name: &str,
) -> Result<(), MountError> {
    let error = |source| MountError::Attributes { path: name.to_owned(), source };
    let path = CString::new(path).map_err(|nul| error(nul.into()))?;
    let wanted =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: `path` is NUL-terminated and `wanted` is a structure of the size that is passed;
    // both outlive the call, which only reads them.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(error(std::io::Error::last_os_error())) }
}

/// Puts a picked-up tree down at `path`.
///
/// # Errors
/// [`MountError::Attach`].
pub fn attach(tree: BorrowedFd<'_>, path: &str) -> Result<(), MountError> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", CWD, path, flags)
        .map_err(|source| MountError::Attach { path: path.to_owned(), source })
}

/// Puts a picked-up tree down at `path` that a script had in its hands before: `path` must
/// still be a directory, and is not followed if it is a link.
///
/// # Errors
/// [`MountError::Place`] or [`MountError::Attach`].
pub fn attach_distrusting(tree: BorrowedFd<'_>, path: &str) -> Result<(), MountError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|source| MountError::Place { path: path.to_owned(), source: source.into() })?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", place.as_fd(), "", flags)
        .map_err(|source| MountError::Attach { path: path.to_owned(), source })
}

/// Mounts memory at `path`, bounded as `options` say.
///
/// # Errors
/// [`MountError::Fresh`].
pub fn tmpfs(path: &str, options: &str) -> Result<(), MountError> {
    fresh("tmpfs", path, MountFlags::NOSUID | MountFlags::NODEV, options)
}

/// Mounts a process list of the caller's pid namespace at `path`.
///
/// # Errors
/// [`MountError::Fresh`].
pub fn proc(path: &str, options: &str) -> Result<(), MountError> {
    fresh("proc", path, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, options)
}

fn fresh(
    kind: &'static str,
    path: &str,
    flags: MountFlags,
    options: &str,
) -> Result<(), MountError> {
    let error = |source| MountError::Fresh { kind, path: path.to_owned(), source };
    let options = CString::new(options).map_err(|_| error(Errno::INVAL))?;
    rustix::mount::mount(kind, path, kind, flags, options.as_c_str()).map_err(error)
}

/// Removes the mount at `path`, at once or as soon as it is no longer in use.
///
/// # Errors
/// [`MountError::Unmount`].
pub fn unmount(path: &str) -> Result<(), MountError> {
    rustix::mount::unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .map_err(|source| MountError::Unmount { path: path.to_owned(), source })
}

/// Makes `path` the root and lets go of everything that is not below it.
///
/// # Errors
/// [`MountError::Place`], [`MountError::Pivot`] or [`MountError::Detach`].
pub fn pivot(path: &str) -> Result<(), MountError> {
    let place = |source: Errno| MountError::Place { path: path.to_owned(), source: source.into() };
    rustix::process::chdir(path).map_err(place)?;
    // Old and new root share a mount point for a moment, the old one on top: no directory for
    // it is needed, and letting go of "." removes exactly that one.
    rustix::process::pivot_root(".", ".").map_err(MountError::Pivot)?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(MountError::Detach)?;
    rustix::process::chdir("/").map_err(place)
}
