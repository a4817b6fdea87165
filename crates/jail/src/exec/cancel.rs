//! Ending a run from another thread, before its time is up.

use crate::exec::fault::Fault;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the runs of a [`Workspace`](crate::exec::Workspace): the one in flight at once, and all
/// that follow. Clones are the same handle.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<CancelState>);

#[derive(Debug)]
struct CancelState {
    asked: AtomicBool,
    /// Readable once the run was cancelled; it stays readable, as it is never read.
    event: OwnedFd,
}

impl Cancel {
    pub(crate) fn new() -> Result<Self, Fault> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(Fault::system("make an event"))?;
        Ok(Self(Arc::new(CancelState { asked: AtomicBool::new(false), event })))
    }

    /// Has the run in flight killed with all its processes; it becomes [`Fault::Cancelled`].
    pub fn cancel(&self) {
        self.0.asked.store(true, Ordering::Release);
        // It fails only where the count is full already, and is readable then too.
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
    }

    /// Whether that was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.asked.load(Ordering::Acquire)
    }

    /// The descriptor to poll: readable once the run was cancelled.
    pub(crate) fn event(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
