//! What came of an agent's episodes.

use crate::metrics::mend;
use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::Utf8Path;
use sandbox::env::EpisodeFault;

/// Those of earlier starts, in the order in which they ended; none without a file. More of them
/// can be appended.
///
/// # Errors
/// [`TrajectoryError`].
pub fn stored(path: &Utf8Path) -> Result<Vec<Trajectory>, TrajectoryError> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    mend(path)?;
    trajectory::read(path)
}

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
