//! Results of an agent's episodes: the trajectories on disk, and episodes that faulted.

use crate::run::metrics::mend;
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

/// Tells in the log of an episode that broke for reasons of ours, and returns why. It has no
/// reward, for a fault is never the agent's zero.
pub fn left_out(fault: &EpisodeFault) -> String {
    let why = crate::run::chain(fault);
    tracing::warn!(fault = why, "an episode broke and is left out");
    why
}
