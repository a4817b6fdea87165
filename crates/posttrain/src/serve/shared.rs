//! What the worker and the requests share: the ledger under a lock, and who waits for its next line.

use super::config::ServeConfig;
use super::plan::Situation;
use super::views;
use crate::fault::Fault;
use crate::grade::Grading;
use crate::intake::Intake;
use crate::ledger::{EndReason, Event, Ledger, LedgerError, State};
use crate::record::UseLog;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use worlds::{Part, TaskSpec};

/// The run itself.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) ledger: Ledger,
    /// Requests in flight that may still become submissions.
    pub(super) arriving: u64,
    /// Why the run is to end before its time is up, if it is.
    pub(super) end_asked: Option<EndReason>,
}

impl Run {
    pub(super) fn situation(&self) -> Situation {
        Situation {
            left_ms: self.ledger.left_ms(),
            arriving: self.arriving,
            end_asked: self.end_asked,
        }
    }

    /// Whether nothing may be submitted any more.
    pub(super) fn is_over(&self) -> bool {
        let state = self.ledger.state();
        state.ended().is_some()
            || self.end_asked.is_some()
            || (state.spending().is_started() && self.ledger.left_ms() == 0)
    }
}

/// What all threads of the server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: ServeConfig,
    /// The task, without its seed.
    pub(super) spec: TaskSpec,
    pub(super) description: String,
    pub(super) intake: Intake,
    pub(super) grading: Grading,
    /// Held while a snapshot is taken: one at a time.
    pub(super) snapshots: Mutex<()>,
    run: Mutex<Run>,
    /// The record of the toolbox, where there is one.
    pub(super) uses: Option<Mutex<UseLog>>,
    /// Wakes the worker.
    woken: Condvar,
    /// The number of the last line; rises with each.
    lines: watch::Sender<u64>,
    /// Turns true when the server is to end; the grader looks at it.
    stopping: AtomicBool,
    /// Turns true with it; the network looks at it.
    stop: watch::Sender<bool>,
    /// Listeners that only the agent reaches, on their way to the network's thread.
    doors: mpsc::UnboundedSender<TcpListener>,
    /// Why the server ends, if through a fault.
    fault: Mutex<Option<Fault>>,
}

impl Shared {
    pub(super) fn new(
        config: ServeConfig,
        (spec, description): (TaskSpec, String),
        intake: Intake,
        grading: Grading,
        (ledger, uses): (Ledger, Option<UseLog>),
        doors: mpsc::UnboundedSender<TcpListener>,
    ) -> Self {
        let lines = watch::Sender::new(ledger.head().0);
        Self {
            config,
            spec,
            description,
            intake,
            grading,
            snapshots: Mutex::new(()),
            run: Mutex::new(Run { ledger, arriving: 0, end_asked: None }),
            uses: uses.map(Mutex::new),
            woken: Condvar::new(),
            lines,
            stopping: AtomicBool::new(false),
            stop: watch::Sender::new(false),
            doors,
            fault: Mutex::new(None),
        }
    }

    /// The run. Held for the time of a line at most.
    pub(super) fn run(&self) -> MutexGuard<'_, Run> {
        // A panic between two lines leaves the ledger as it was.
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part that submissions are scored on.
    pub(super) fn part(&self) -> Part {
        match self.config.protocol {
            crate::ledger::Protocol::Sealed => Part::Dev,
            crate::ledger::Protocol::Paper => Part::Test,
        }
    }

    /// Writes an event down and tells everybody who waits.
    ///
    /// # Errors
    /// [`LedgerError`]; unless it is that the event makes no sense, the server ends.
    pub(super) fn append(&self, run: &mut Run, event: Event) -> Result<(), LedgerError> {
        let is_shown = views::are_changed_by(&event);
        let appended = run.ledger.append(event);
        if let Err(error @ LedgerError::Io(_)) = appended {
            self.fail(LedgerError::Io(std::io::Error::other(error.to_string())).into());
            return Err(error);
        }
        appended?;
        self.lines.send_replace(run.ledger.head().0);
        self.wake();
        if let Some(folder) = self.config.views.as_ref().filter(|_| is_shown)
            && let Err(error) = views::write(folder, run)
        {
            tracing::warn!(%error, "the views could not be written");
        }
        Ok(())
    }

    /// Has the worker look again at what is to be done.
    pub(super) fn wake(&self) {
        self.woken.notify_all();
    }

    /// Waits for that, for `limit` at most.
    pub(super) fn wait<'a>(
        &self,
        run: MutexGuard<'a, Run>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, Run> {
        match limit {
            // Rounded up: a moment too early, nothing would be due yet.
            Some(limit) => {
                let waited = self.woken.wait_timeout(run, limit + Duration::from_millis(1));
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.woken.wait(run).unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// The number of the last line, and of those to come.
    pub(super) fn lines(&self) -> watch::Receiver<u64> {
        self.lines.subscribe()
    }

    pub(super) fn stopping(&self) -> &AtomicBool {
        &self.stopping
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(super) fn stop_signal(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Serves on one more listener, without asking for the token.
    pub(super) fn open_door(&self, listener: TcpListener) {
        // A server that has stopped serves nobody.
        let _ = self.doors.send(listener);
    }

    /// Has everything end.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.stop.send_replace(true);
        // The worker looks at it with the lock held, so it cannot miss this.
        drop(self.run());
        self.wake();
    }

    /// Ends the server because of a fault.
    pub(super) fn fail(&self, fault: Fault) {
        tracing::error!(%fault, "the server ends");
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        self.stopping.store(true, Ordering::SeqCst);
        self.stop.send_replace(true);
        self.wake();
    }

    /// The fault that ended the server.
    pub(super) fn take_fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Removes the snapshots that nothing needs any more: all but the base's, those that wait, the
    /// best and the last.
    pub(super) fn prune(&self, run: &Run) {
        // A snapshot may be there whose line is not written yet.
        if run.arriving > 0 {
            return;
        }
        let needed = needed(run.ledger.state());
        if let Err(fault) = self.intake.store.keep_only(&needed) {
            tracing::warn!(%fault, "old snapshots could not be removed");
        }
    }
}

fn needed(state: &State) -> BTreeSet<crate::Digest> {
    let mut needed = BTreeSet::from([state.facts().base]);
    let waiting = state.all_waiting().map(|(id, _)| id);
    let ids = waiting.chain(state.best().map(|(id, _)| id));
    for id in ids.chain(state.last_valid().map(|(id, _)| id)) {
        needed.extend(state.submissions().get(&id).and_then(crate::ledger::Submission::digest));
    }
    needed
}
