//! Episodes that faulted.

use sandbox::env::EpisodeFault;

/// Logs a fault of ours that ended an episode, and returns it with its causes on one line. The
/// episode has no reward: a fault is never the agent's zero.
pub fn left_out(fault: &EpisodeFault) -> String {
    let why = tasks::text::with_causes(fault);
    tracing::warn!(fault = why, "an episode broke and is left out");
    why
}
