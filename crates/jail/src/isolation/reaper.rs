//! The first process of a run's pid namespace.
//!
//! A process with number 1 is special: the kernel ignores its own SIGKILL, shows an abort as
//! something else, and hands it every orphan. A script must not be it. So each namespace begins
//! with a reaper that does nothing but exist; the script's process joins as number 2, and when
//! the reaper is killed, the kernel kills all others with it.
//!
//! The reaper shares the zygote's memory instead of copying it, which makes it cost microseconds.
//! That is sound because it runs a handful of raw system calls on its own stack, and because all
//! its signals are blocked: a script may send it any, and none is ever delivered.

#![expect(unsafe_code, reason = "clone with a chosen stack has no safe wrapper")]

use std::ffi::{c_int, c_void};
use std::{io, ptr};

/// The reaper calls nothing deep.
const STACK: usize = 32 * 1024;

/// The first process of a run's PID namespace.
#[repr(C)]
#[derive(Debug)]
pub struct Reaper {
    /// Its number in the zygote's namespace.
    pub pid: c_int,
    /// A descriptor that stands for it, closed on exec.
    pub pidfd: c_int,
    /// Its stack, to be given back with [`release`] when it is gone.
    pub stack: *mut c_void,
}

/// Starts a reaper as number 1 of a new pid namespace.
///
/// # Errors
/// The kernel's answer to `mmap` or `clone`.
pub fn start() -> io::Result<Reaper> {
    // SAFETY: an anonymous private mapping at an address that the kernel chooses.
    let stack = unsafe {
        libc::mmap(
            ptr::null_mut(),
            STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        )
    };
    if stack == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_NEWPID | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: plain data, filled by the calls below before it is read.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: the child runs `exist` on a stack of its own that is unmapped only after it is
    // gone (`release`); it touches no memory but that stack and the thread's error number.
    // Signals are blocked across the call so that the child starts, and stays, deaf.
    let pid = unsafe {
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let top = stack.cast::<u8>().add(STACK).cast::<c_void>();
        let pid = libc::clone(exist, top, flags, ptr::null_mut(), &raw mut pidfd);
        let error = io::Error::last_os_error();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        if pid < 0 {
            release(stack);
            return Err(error);
        }
        pid
    };
    Ok(Reaper { pid, pidfd, stack })
}

/// Gives back the stack of a reaper that has been waited for.
///
/// # Safety
/// `stack` came from [`start`], was not released before, and its reaper is gone.
pub unsafe fn release(stack: *mut c_void) {
    // SAFETY: by this function's contract the mapping is ours and no thread runs on it.
    unsafe { libc::munmap(stack, STACK) };
}

/// The reaper's whole life.
extern "C" fn exist(_: *mut c_void) -> c_int {
    // SAFETY: raw system calls without pointers into shared memory, apart from the action, which
    // lives on this stack. The descriptor table is a copy, so closing it affects no other process.
    unsafe {
        // The copy holds other runs' pipes and sockets, which must not stay open through us.
        libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32);
        // Orphans need no waiting for: their end is discarded at once.
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGCHLD, &raw const action, ptr::null_mut());
        loop {
            libc::pause();
        }
    }
}
