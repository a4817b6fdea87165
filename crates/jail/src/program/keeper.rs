//! The keeper of a program: the first process of its box, or, without one, whom orphans come to.
//!
//! It waits for processes that nobody else waits for, and passes on the caller's orders. If it ends, the
//! kernel kills everybody in the box; it ends when the program's first process does, when the caller says
//! so, and when the caller is gone. Asked to terminate everybody, it stays until everybody has ended or
//! the caller's patience has.

use super::inside::tell;
use super::launched::{Order, Told};
use crate::exec::wire;
use crate::isolation::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time between two looks at processes that have ended.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Time in which processes without a box must be gone after they were killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stays until the program has ended.
pub(super) fn keep(control: BorrowedFd<'_>, program: Pid, boxed: bool) {
    let (mut is_terminating, mut has_ended) = (false, false);
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if pid == program {
                    has_ended = true;
                    tell(control, &told(status));
                }
                continue;
            }
            Err(Errno::CHILD) => break,
            Ok(None) | Err(_) => {}
        }
        if has_ended && !is_terminating {
            break;
        }
        let mut events = [PollFd::new(&control, PollFlags::IN)];
        if !matches!(poll(&mut events, Some(&LOOK)), Ok(1)) {
            continue;
        }
        match wire::receive_now(control) {
            Ok((Order::Terminate, _)) => {
                is_terminating = true;
                signal_all(Signal::TERM, boxed);
                // Who is stopped gets it when it goes on.
                signal_all(Signal::CONT, boxed);
            }
            Ok((Order::Rest, _)) => signal_all(Signal::STOP, boxed),
            Ok((Order::Work, _)) => signal_all(Signal::CONT, boxed),
            Ok((Order::Join, _)) => {}
            // Without a caller there is nobody to keep it for.
            Ok((Order::Kill, _)) | Err(_) => break,
        }
    }
    if !boxed {
        let deadline = Instant::now() + PATIENCE;
        while !descendants().is_empty() && Instant::now() < deadline {
            signal_all(Signal::KILL, boxed);
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn told(status: rustix::process::WaitStatus) -> Told {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Told::Exited(code),
        (None, signal) => Told::Signalled(signal.unwrap_or(libc::SIGKILL)),
    }
}

fn signal_all(signal: Signal, boxed: bool) {
    if boxed {
        // Nobody being there is what is wanted, and nothing else can go wrong.
        let _ = process::signal_namespace(signal);
        return;
    }
    for pid in descendants() {
        let _ = kill_process(pid, signal);
    }
}

/// The processes below this one, on a host without a box. One that forks meanwhile is found next time.
fn descendants() -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs_err::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs_err::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The second field is a name that may contain anything; then state and parent.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
        let Some(mut fields) = fields else { continue };
        let (state, parent) = (fields.next(), fields.next().and_then(|text| text.parse().ok()));
        if let (Some(state), Some(parent)) = (state, parent)
            && state != "Z"
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![rustix::process::getpid().as_raw_pid()]);
    while let Some(parent) = next.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            next.push(child);
        }
    }
    found
}
