//! The few things that the box of a long program needs and that have no safe wrapper elsewhere.

#![expect(unsafe_code, reason = "fork, signals to all and interface flags have no safe wrappers")]

use rustix::process::{Pid, Signal};
use std::io;

/// Which side of a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fork {
    /// The parent, with the number of the child.
    Parent(Pid),
    /// The child.
    Child,
}

/// Forks a process that has one thread.
///
/// # Errors
/// The kernel's answer, or that there are more threads.
pub(crate) fn fork() -> io::Result<Fork> {
    if fs_err::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with threads is not forked"));
    }
    // SAFETY: this process has one thread, so the child may do anything a process may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent(Pid::from_raw(child).expect("fork returned a positive number"))),
    }
}

/// Sends a signal to every process of the pid namespace that the caller is the first process of.
///
/// # Errors
/// That the caller is not the first process; the kernel's answer. Nobody being there is no error.
pub(crate) fn signal_namespace(signal: Signal) -> io::Result<()> {
    if !rustix::process::getpid().is_init() {
        return Err(io::Error::other("only the first process of a namespace signals all others"));
    }
    // SAFETY: plain numbers. Everybody in the namespace is meant, and nobody outside of it is reached.
    if unsafe { libc::kill(-1, signal.as_raw()) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// Has the kernel close all descriptors from `first` on when the process becomes another program.
///
/// # Errors
/// The kernel's answer.
pub(crate) fn close_on_exec(first: u32) -> io::Result<()> {
    // SAFETY: no descriptor is closed before `exec`, after which nothing of this program is there.
    let answer =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Switches on the loopback of the caller's network namespace, which begins with it switched off.
///
/// # Errors
/// The kernel's answer.
pub(crate) fn raise_loopback() -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    // SAFETY: plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = libc::c_char::try_from(*byte).expect("the name is ASCII");
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = i16::try_from(flags).expect("both are small");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the request has a name that ends with a zero, and outlives the call, which only reads it.
    let answer = unsafe { libc::ioctl(fd, libc::SIOCSIFFLAGS, &raw const request) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
