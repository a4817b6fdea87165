//! The C interface through which the zygote, a Python process, uses this module.
//!
//! The crate is also built as a shared library; the launcher hands it to the zygote as an open
//! descriptor. All functions return 0 or a negative error number, and none unwinds: a panic
//! across this border aborts the process, which the zygote reports as a fault of ours.

#![expect(unsafe_code, reason = "an interface for C callers takes raw pointers")]

use crate::isolation::enter::{self, EnterError, JailSpec};
use crate::isolation::layer::Missing;
use crate::isolation::reaper::{self, Reaper};
use crate::isolation::seccomp::{self, Surroundings};
use crate::isolation::{bare, mounts, tree};
use rustix::fd::BorrowedFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::{c_int, c_void};
use std::io;

/// Must be the same in the launcher and in the library that the zygote loads.
pub const VERSION: c_int = 7;

/// [`VERSION`] of the library.
#[unsafe(no_mangle)]
pub extern "C" fn sandbox_version() -> c_int {
    VERSION
}

/// Does what can be done once for all runs; `bare` is 0 if they will be in a box.
#[unsafe(no_mangle)]
pub extern "C" fn sandbox_prepare(bare: c_int) -> c_int {
    let surroundings = if bare == 0 { Surroundings::Box } else { Surroundings::Host };
    if surroundings == Surroundings::Host {
        // If a monitor is killed, its run becomes a child of the zygote.
        let own = rustix::process::getpid();
        if let Err(errno) = rustix::process::set_child_subreaper(Some(own)) {
            return negative(&errno.into());
        }
    }
    let prepared = [false, true].into_iter().try_for_each(|gpus| {
        seccomp::prepare(surroundings, gpus).map(drop).map_err(io::Error::other)
    });
    answer(prepared)
}

/// Makes the caller, a child of `zygote`, the monitor of a run without a box (see [`bare`]).
/// Writes to `out` as [`sandbox_enter`] does.
///
/// # Safety
/// `out` points to `capacity` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_keeper(zygote: c_int, out: *mut u8, capacity: usize) -> c_int {
    let result = bare::become_monitor(zygote).map(|()| Vec::new());
    // SAFETY: passed on from this function's contract.
    unsafe { report(result, out, capacity) }
}

/// Starts a reaper (see [`reaper`]) and describes it in `out`.
///
/// # Safety
/// `out` points to memory for one [`Reaper`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_reaper_start(out: *mut Reaper) -> c_int {
    match reaper::start() {
        Ok(started) => {
            // SAFETY: by contract, `out` is valid for a write of its type.
            unsafe { out.write(started) };
            0
        }
        Err(error) => negative(&error),
    }
}

/// Frees what is left of a reaper that has been waited for.
///
/// # Safety
/// As for [`reaper::release`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_reaper_release(stack: *mut c_void) {
    // SAFETY: passed on from this function's contract.
    unsafe { reaper::release(stack) };
}

/// Lets the caller's next children be born in the pid namespace that `fd`, a process or a
/// namespace descriptor, stands for.
///
/// # Safety
/// `fd` is an open descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_children_join(fd: c_int) -> c_int {
    // SAFETY: by contract, `fd` is open for the time of the call.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    answer(move_into_link_name_space(fd, Some(LinkNameSpaceType::ProcessID)).map_err(Into::into))
}

/// Mounts a work dir of `bytes` and `files` at `path`.
///
/// # Safety
/// `path` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_workspace_mount(
    path: *const u8,
    length: usize,
    bytes: u64,
    files: u64,
) -> c_int {
    // SAFETY: passed on from this function's contract.
    let path = match unsafe { text(path, length) } {
        Ok(path) => path,
        Err(error) => return negative(&error),
    };
    let options = format!("mode=0755,size={bytes},nr_inodes={files}");
    answer(mounts::tmpfs(path, &options).map_err(io::Error::other))
}

/// Unmounts a work dir.
///
/// # Safety
/// `path` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_workspace_unmount(path: *const u8, length: usize) -> c_int {
    // SAFETY: passed on from this function's contract.
    match unsafe { text(path, length) } {
        Ok(path) => answer(mounts::unmount(path).map_err(io::Error::other)),
        Err(error) => negative(&error),
    }
}

/// Whether a folder of the host holds at most `bytes` and `files` (see [`tree::fits`]): 1 or 0.
///
/// # Safety
/// `path` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_tree_fits(
    path: *const u8,
    length: usize,
    bytes: u64,
    files: u64,
) -> c_int {
    // SAFETY: passed on from this function's contract.
    match unsafe { text(path, length) }.and_then(|path| tree::fits(path, bytes, files)) {
        Ok(fits) => c_int::from(fits),
        Err(error) => negative(&error),
    }
}

/// Removes a folder of the host (see [`tree::remove`]).
///
/// # Safety
/// `path` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_tree_remove(path: *const u8, length: usize) -> c_int {
    // SAFETY: passed on from this function's contract.
    answer(unsafe { text(path, length) }.and_then(tree::remove))
}

/// Takes the steps into a jail that are the same for all runs (see [`enter::isolate`]). Writes to
/// `out` as [`sandbox_enter`] does.
///
/// # Safety
/// `out` points to `capacity` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_isolate(out: *mut u8, capacity: usize) -> c_int {
    // SAFETY: passed on from this function's contract.
    unsafe { report(enter::isolate().map(|()| Vec::new()), out, capacity) }
}

/// Puts the calling process into the jail that `spec`, JSON of a [`JailSpec`], describes.
///
/// Returns the length of a JSON list of [`Missing`] layers written to `out`: on success (0 or
/// more) those that the jail does without, on failure (negative length) the one it cannot.
///
/// # Safety
/// `spec` points to `length` bytes and `out` to `capacity` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sandbox_enter(
    spec: *const u8,
    length: usize,
    out: *mut u8,
    capacity: usize,
) -> c_int {
    // SAFETY: passed on from this function's contract.
    let spec = unsafe { text(spec, length) }
        .and_then(|spec| serde_json::from_str::<JailSpec>(spec).map_err(io::Error::from));
    let result = spec.map_err(EnterError::Spec).and_then(|spec| enter::enter(&spec));
    // SAFETY: passed on from this function's contract.
    unsafe { report(result, out, capacity) }
}

/// # Safety
/// `out` points to `capacity` bytes that may be written.
unsafe fn report(result: Result<Vec<Missing>, EnterError>, out: *mut u8, capacity: usize) -> c_int {
    let (missing, sign) = match result {
        Ok(missing) => (missing, 1),
        Err(error) => (vec![Missing { layer: error.layer(), reason: error.to_string() }], -1),
    };
    let report = serde_json::to_vec(&missing).unwrap_or_default();
    let length = report.len().min(capacity);
    // SAFETY: by contract `out` has room for `capacity` bytes, and no more are written.
    unsafe { out.copy_from_nonoverlapping(report.as_ptr(), length) };
    sign * c_int::try_from(length).unwrap_or(c_int::MAX)
}

/// # Safety
/// `start` points to `length` bytes that live as long as the result is used.
unsafe fn text<'a>(start: *const u8, length: usize) -> io::Result<&'a str> {
    // SAFETY: by this function's contract.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    std::str::from_utf8(bytes).map_err(io::Error::other)
}

fn answer(result: io::Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => negative(&error),
    }
}

fn negative(error: &io::Error) -> c_int {
    -error.raw_os_error().unwrap_or(libc::EIO)
}
