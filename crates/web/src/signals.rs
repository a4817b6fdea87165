//! Shutdown on SIGINT and SIGTERM.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The two signals that ask a process to end.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Registers for both. From here on neither ends the process by itself. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { interrupt, terminate })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
