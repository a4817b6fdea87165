//! Ctrl-C and SIGTERM: all child processes are killed, folders and control groups are removed, and
//! the program ends.
//!
//! Ending at once would leave control groups and folders behind. Instead the child processes are
//! killed (everything below a launcher ends with it), calls that wait for them fail, and the program
//! ends the usual way.

use super::exit;
use anyhow::{Context as _, Result};
use fs_err as fs;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// The exit code of the signal that was received; 0 before one is.
static CODE: AtomicU8 = AtomicU8::new(0);

/// How long the usual way out may take: an orderly end takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The exit code for the signal that was received; none before one is.
pub(crate) fn code() -> Option<u8> {
    Some(CODE.load(Ordering::Acquire)).filter(|code| *code != 0)
}

/// From now on listens to signals.
///
/// # Errors
/// The error of the operating system.
pub(crate) fn listen() -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("failed to listen to signals")?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    let listener = thread.spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let code = if signal == SIGINT { exit::INTERRUPTED } else { exit::TERMINATED };
            CODE.store(code, Ordering::Release);
            end(&mut signals, code);
        }
    });
    listener.context("failed to start a thread").map(drop)
}

/// Kills what this process starts, for as long as it lives; a second signal, or patience at its
/// end, ends it as it is.
#[expect(clippy::exit, reason = "the main thread may be waiting for what does not come")]
fn end(signals: &mut Signals, code: u8) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && signals.pending().next().is_none() {
        for child in children() {
            kill(child);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::process::exit(i32::from(code));
}

/// The processes that any thread of this one has started.
fn children() -> Vec<Pid> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| {
        list.split_whitespace()
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect::<Vec<_>>()
    };
    lists.flat_map(numbers).collect()
}

fn kill(child: Pid) {
    // Between being listed and being opened it may have ended and its number become another's;
    // what is listed again is a child.
    if let Ok(open) = pidfd_open(child, PidfdFlags::empty())
        && children().contains(&child)
    {
        let _ = pidfd_send_signal(&open, Signal::KILL);
    }
}
