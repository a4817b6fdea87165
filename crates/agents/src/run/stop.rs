//! Ends runs from outside: nothing more is asked, and running scripts are killed.

use jail::exec::Cancel;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Ends every run that it was given to. What was not finished is done again when the run goes
/// on.
#[derive(Debug, Default)]
pub struct AgentStop {
    asked: AtomicBool,
    running: Mutex<Vec<Cancel>>,
}

impl AgentStop {
    /// Ends the runs.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Release);
        for cancel in self.running.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            cancel.cancel();
        }
    }

    /// Whether the runs are to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Notes what ends a script that is about to run.
    pub(crate) fn watch(&self, cancel: Cancel) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_asked() {
            cancel.cancel();
        }
        // Those of scripts that have ended hold nothing but a flag; they are dropped in bulk.
        if running.len() >= 256 {
            running.drain(..128);
        }
        running.push(cancel);
    }
}
