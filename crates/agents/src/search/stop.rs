//! Ends searches from outside: no more decisions, and running scripts are killed.

use jail::exec::Cancel;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Ends every search that it was given to. What was not finished is done again when the run goes
/// on.
#[derive(Debug, Default)]
pub struct SearchStop {
    asked: AtomicBool,
    running: Mutex<Vec<Cancel>>,
}

impl SearchStop {
    /// Ends the searches.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Release);
        for cancel in self.running.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            cancel.cancel();
        }
    }

    /// Whether the searches are to end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Notes what ends a script that is about to run.
    pub(super) fn watch(&self, cancel: Cancel) {
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
