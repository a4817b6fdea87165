//! What came of an agent's episodes.

use agents::trajectory::Trajectory;
use sandbox::env::EpisodeFault;

/// Graded episodes. Those that broke for reasons of ours are counted and told in the log, but
/// have no reward: a fault is never the agent's zero.
#[derive(Debug, Default)]
pub struct Episodes {
    /// Those that ended.
    pub trajectories: Vec<Trajectory>,
    /// How many broke.
    pub faults: usize,
    /// What the last of them said.
    pub last_fault: String,
}

impl Episodes {
    /// Takes what came of one more.
    pub fn take(&mut self, played: Result<Trajectory, EpisodeFault>) {
        match played {
            Ok(trajectory) => self.trajectories.push(trajectory),
            Err(fault) => {
                self.faults += 1;
                self.last_fault = crate::chain(&fault);
                tracing::warn!(fault = self.last_fault, "an episode broke and is left out");
            }
        }
    }
}
