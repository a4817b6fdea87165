//! Where a run is: how much of its time was used, and whether it has any.

use std::fmt;
use std::sync::Arc;

/// Where a run is, for the lines of its gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunMoment {
    /// Milliseconds of the agent's budget that were used.
    pub used_ms: u64,
    /// Whether the agent has time: not before the start, and not after the end.
    pub is_running: bool,
}

/// What tells where the run is.
#[derive(Clone)]
pub(super) struct RunClock(Arc<dyn Fn() -> RunMoment + Send + Sync>);

impl RunClock {
    pub(super) fn new(now: impl Fn() -> RunMoment + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(super) fn now(&self) -> RunMoment {
        (self.0)()
    }
}

impl fmt::Debug for RunClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunClock").field(&self.now()).finish()
    }
}
