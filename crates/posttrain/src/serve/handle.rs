//! What watches over a run from beside its server: it looks, opens doors, and ends.

use super::config::ServeError;
use super::shared::Shared;
use crate::clock::{BudgetChange, PauseReason};
use crate::ledger::{EndReason, Event, LedgerError, State};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

/// How often it is looked whether the server has ended.
const LOOK: Duration = Duration::from_millis(50);

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The base is being scored.
    Baseline,
    /// The agent has time.
    Running,
    /// Nothing can be submitted any more; what was submitted in time is graded.
    Over,
    /// The final scores are there.
    Final,
}

/// A run that is being served, for whoever shares the process with its server.
#[derive(Debug, Clone)]
pub struct RunHandle(Arc<Shared>);

impl RunHandle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// How far the run has come.
    pub fn phase(&self) -> Phase {
        let run = self.0.run();
        let state = run.ledger.state();
        if state.ended().is_some() && state.next_final().is_none() {
            Phase::Final
        } else if run.is_over() {
            Phase::Over
        } else if state.spending().is_started() {
            Phase::Running
        } else {
            Phase::Baseline
        }
    }

    /// Whether the server is ending or has ended.
    pub fn is_stopping(&self) -> bool {
        self.0.is_stopping()
    }

    /// Something about the state of the run.
    pub fn look<T>(&self, at: impl FnOnce(&State) -> T) -> T {
        at(self.0.run().ledger.state())
    }

    /// Whether time counts now: not before the start, nor while a submission is graded
    /// ([`ClockMode::Paused`](crate::clock::ClockMode::Paused)), nor while the operator has paused it.
    pub fn is_clock_running(&self) -> bool {
        self.look(|state| state.spending().is_running())
    }

    /// Milliseconds of the budget that were used.
    pub fn used_ms(&self) -> u64 {
        self.0.run().ledger.used_ms()
    }

    /// Serves the agent's routes on a listener that nobody but the agent reaches: no token is asked for.
    pub fn open_door(&self, listener: TcpListener) {
        self.0.open_door(listener);
    }

    /// Stops the clock, if it runs, while nobody works.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn pause(&self) -> Result<(), LedgerError> {
        let reason = PauseReason::Operator;
        self.change(false, BudgetChange::Paused { reason })
    }

    /// Has the clock go on, if it was stopped.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn resume(&self) -> Result<(), LedgerError> {
        let reason = PauseReason::Operator;
        self.change(true, BudgetChange::Resumed { reason })
    }

    fn change(&self, was_paused: bool, change: BudgetChange) -> Result<(), LedgerError> {
        let mut run = self.0.run();
        let state = run.ledger.state();
        let applies = state.spending().is_started()
            && state.ended().is_none()
            && state.spending().is_paused_for(PauseReason::Operator) == was_paused;
        if applies { self.0.append(&mut run, Event::Budget(change)) } else { Ok(()) }
    }

    /// Ends the run once what was submitted is graded.
    pub fn end(&self, why: EndReason) {
        self.0.run().end_asked.get_or_insert(why);
        self.0.wake();
    }

    /// Has the server end; started again, the run goes on.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Waits until the server of this run has ended. It ends after the final scores. If no agent works any
    /// more or `interrupted` is set, it is stopped at once, without them.
    ///
    /// # Errors
    /// The server's.
    pub fn wait(
        &self,
        served: JoinHandle<Result<(), ServeError>>,
        is_worked_on: bool,
        interrupted: &AtomicBool,
    ) -> Result<(), ServeError> {
        while !served.is_finished() {
            if !is_worked_on || interrupted.load(Ordering::SeqCst) {
                self.stop();
            }
            sleep(LOOK);
        }
        // A panic there is one here.
        served.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
