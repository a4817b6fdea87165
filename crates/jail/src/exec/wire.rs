//! Packets between supervisor and zygote: one JSON object each, with descriptors attached.
//!
//! Requests go over one socket and need no order; each brings a socket of its own for the
//! replies, so that any number of threads can wait for theirs without a dispatcher.

use crate::exec::fault::Fault;
use crate::isolation::enter::JailSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The largest packet that either side sends.
const PACKET: usize = 64 * 1024;

/// What a supervisor asks of the zygote. Descriptors: the reply socket first, then as noted.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum ZygoteRequest<'a> {
    /// Import modules and, if asked to, fit small models, for the runs to come.
    Import { modules: &'a [String], warm_up: bool },
    /// Mount a work dir.
    Open { path: &'a str, bytes: u64, files: u64 },
    /// Make a new file in a work dir, whose descriptor follows.
    Place { name: &'a str },
    /// Unmount a work dir.
    Close { path: &'a str },
    /// Run a script, or begin a session; standard output, standard error, the code, and the
    /// descriptors that join a control group, if there is one, follow.
    Run {
        #[serde(rename = "cell")]
        spec: &'a JailSpec,
    },
}

/// What the zygote answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ZygoteReply {
    /// The modules are imported.
    Imported {},
    /// The work dir is mounted; its descriptor is attached.
    Opened {},
    /// The file is made; a descriptor to write to it is attached.
    Placed {},
    /// The file could not be made, for the reason of this number.
    Unplaced(i32),
    /// The work dir is unmounted.
    Closed {},
    /// The run has begun; the descriptor of its reaper is attached.
    Started {},
    /// The run and all its processes are gone.
    Ended(EndedRun),
    /// A session's code is through; its interpreter is stopped, and all else of it is gone.
    Rested(EndedRun),
    /// The request could not be served.
    Failed(String),
}

/// What a supervisor asks of a session at rest, through the socket with the session's replies.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum SessionRequest {
    /// Execute the code of the attached file in memory.
    Call,
}

/// How a run, or a session's call, ended, as the zygote saw it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedRun {
    /// Whether the jail stood before the script began: [`EndedRun::JAILED`] or not.
    pub(crate) gate: u8,
    /// The layers that are missing, as JSON.
    pub(crate) report: String,
    /// The ending on the script's own word; only ever believed about endings of its own.
    pub(crate) kind: u8,
    /// The type of the exception, on its own word.
    pub(crate) text: String,
    /// Whether the zygote ended it because its processes together held too much memory.
    pub(crate) too_heavy: bool,
    /// Whether it ended it because its files together were too many or too large; cannot happen
    /// with work dirs in memory.
    pub(crate) too_large: bool,
    /// Whether the host's disk with the work dirs was full.
    pub(crate) disk_full: bool,
    /// As `waitpid` gave it; 0 for a session at rest.
    pub(crate) status: i32,
    /// Seconds of processor time.
    pub(crate) cpu: f64,
    /// Bytes of the largest resident set.
    pub(crate) peak: u64,
}

impl EndedRun {
    pub(crate) const JAILED: u8 = 1;
    pub(crate) const UNJAILED: u8 = 2;
    pub(crate) const RAISED: u8 = 2;
    pub(crate) const MEMORY: u8 = 4;
    pub(crate) const DISK: u8 = 5;

    /// The ending of a run that was killed and that the zygote has not reported.
    pub(crate) fn unseen() -> Self {
        Self {
            gate: Self::JAILED,
            report: "[]".to_owned(),
            kind: 0,
            text: String::new(),
            too_heavy: false,
            too_large: false,
            disk_full: false,
            status: libc::SIGKILL,
            cpu: 0.0,
            peak: 0,
        }
    }
}

/// A pair of packet sockets, closed on exec.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Fault> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(Fault::system("make a socket pair"))
}

/// Sends a packet with up to eight descriptors.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    fds: &[BorrowedFd<'_>],
) -> Result<(), Fault> {
    let packet = serde_json::to_vec(message).map_err(|e| Fault::Protocol(e.to_string()))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fits = fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds));
    debug_assert!(fits, "at most eight descriptors");
    loop {
        match sendmsg(socket, &[IoSlice::new(&packet)], &mut control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => {
                return Err(Fault::ZygoteLost { log: String::new() });
            }
            other => return other.map(drop).map_err(Fault::system("send a request")),
        }
    }
}

/// Waits until `deadline` for a packet and at most one descriptor.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
    timeout: Duration,
) -> Result<(T, Option<OwnedFd>), Fault> {
    let deadline = Instant::now() + timeout;
    loop {
        let mut events = [PollFd::new(&socket, PollFlags::IN)];
        match poll(&mut events, Some(&remaining(deadline))) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Fault::system("wait for a reply")(errno)),
            Ok(0) => return Err(Fault::Unresponsive(timeout)),
            Ok(_) => return receive_now(socket),
        }
    }
}

/// Takes a packet that is there.
pub(crate) fn receive_now<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> Result<(T, Option<OwnedFd>), Fault> {
    let mut packet = vec![0; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let mut parts = [IoSliceMut::new(&mut packet)];
        match recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => break 0,
            other => break other.map_err(Fault::system("receive a reply"))?.bytes,
        }
    };
    if length == 0 {
        return Err(Fault::ZygoteLost { log: String::new() });
    }
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let message = serde_json::from_slice(&packet[..length]);
    Ok((message.map_err(|error| Fault::Protocol(error.to_string()))?, fd))
}

/// The time left until `deadline`, for `poll`.
pub(crate) fn remaining(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 })
}
