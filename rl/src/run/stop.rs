//! Stopping on request: what Ctrl-C and SIGTERM mean to a run.
//!
//! The first signal asks. A rollout under way is abandoned, since the same command plays it again
//! to the same end; an update under way is finished; a checkpoint holds what is done. The second
//! signal ends the process at once, which loses no more than any kill does.

use camino::Utf8PathBuf;
use jail::exec::Sandbox;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, io};

/// How long a request may go unnoticed.
const NOTICE: Duration = Duration::from_millis(50);

/// Whether a signal has asked the program to stop. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From now on the first SIGINT or SIGTERM is a request, and the second the end.
    ///
    /// # Errors
    /// If the system lets us not listen.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::default();
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order the first signal does not find its own flag.
            flag::register_conditional_shutdown(signal, exit_code(signal), Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, Arc::clone(&stop.0), number)?;
        }
        Ok(stop)
    }

    /// Asks without a signal.
    pub fn request(&self) {
        self.0.store(usize::try_from(SIGINT).unwrap_or(0), Ordering::SeqCst);
    }

    /// Whether anybody has asked.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst) != 0
    }

    /// What the process should end with: 128 and the signal's number, as shells have it.
    pub fn exit_code(&self) -> u8 {
        let signal = i32::try_from(self.0.load(Ordering::SeqCst)).unwrap_or(SIGINT);
        u8::try_from(exit_code(signal)).unwrap_or(u8::MAX)
    }

    /// Ends the sandbox's runs when a stop is requested, so that no script delays it. Every running
    /// episode then faults; callers must check here whether a stop request is the reason.
    pub fn abandons(&self, sandbox: &Sandbox) -> Watch {
        let sandbox = sandbox.clone();
        self.on_request(move || {
            tracing::warn!("stopping; what is done will be saved (once more to end at once)");
            sandbox.abandon();
        })
    }

    /// Calls `then` when a stop is requested.
    pub fn on_request(&self, then: impl FnOnce() + Send + 'static) -> Watch {
        let (over, is_over) = channel::<()>();
        let stop = self.clone();
        let thread = std::thread::spawn(move || {
            while is_over.recv_timeout(NOTICE) == Err(RecvTimeoutError::Timeout) {
                if stop.is_requested() {
                    then();
                    return;
                }
            }
        });
        Watch { over: Some(over), thread: Some(thread) }
    }
}

fn exit_code(signal: i32) -> i32 {
    128 + signal
}

/// For as long as this lives, a request to stop has its effect.
#[derive(Debug)]
pub struct Watch {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // It cannot panic, and if it did there would be nothing to do about it here.
            let _ = thread.join();
        }
    }
}

/// How a run came to its end, if nothing went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// All was done that was to be done; the folder of the last checkpoint.
    Finished(Utf8PathBuf),
    /// On request, before that.
    Stopped(Stopped),
}

/// How far a run came that was asked to stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Stopped {
    /// The number of steps made.
    pub step: u64,
    /// Steps that there are to be made; 0 if that is not known yet.
    pub steps: u64,
    /// The checkpoint of the last step; none if no step was made.
    pub checkpoint: Option<Utf8PathBuf>,
    /// What the process should end with.
    pub code: u8,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.checkpoint {
            Some(checkpoint) => write!(
                f,
                "stopped after step {} of {}; the same command goes on from `{checkpoint}`",
                self.step, self.steps
            ),
            None => f.write_str("stopped before the first step; the same command goes on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_request_reaches_all_clones() {
        let stop = Stop::default();
        let clone = stop.clone();
        assert!(!clone.is_requested());
        stop.request();
        assert!(clone.is_requested());
        assert_eq!(clone.exit_code(), 130);
    }

    #[test]
    fn stop_message_states_how_to_resume() {
        let stopped =
            Stopped { step: 7, steps: 24, checkpoint: Some("run/step-000007".into()), code: 130 };
        assert_eq!(
            stopped.to_string(),
            "stopped after step 7 of 24; the same command goes on from `run/step-000007`"
        );
    }
}
