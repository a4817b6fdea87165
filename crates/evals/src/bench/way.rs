//! How far a run came on a task of ours: the share of the way from the constant baseline (R0) to
//! the ceiling, after each step. It is a ruler for searches, finer than medals.

use crate::statistics::{bootstrap, mean, sign_flip};
use serde::{Deserialize, Serialize};
use tasks::metrics::Direction;
use tasks::stream::Stream;
use tasks::task::Baselines;

/// Shares of the way from R0 to the ceiling, in [0, 1]: 0 without a valid submission and for one
/// that is no better than R0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WayShares {
    /// By steps: of the submission that would have been chosen after the first, the second, …
    pub by_step: Vec<f64>,
}

impl WayShares {
    /// From the score on the test rows that would have counted after each step; `None` without a
    /// valid submission.
    pub fn from_scores(
        scores: impl Iterator<Item = Option<f64>>,
        baselines: &Baselines,
        direction: Direction,
    ) -> Self {
        let share = |score| baselines.way(score, direction);
        Self { by_step: scores.map(|score| score.map_or(0.0, share)).collect() }
    }

    /// After `steps` steps; a search that ended before stays where it was. 0 before the first.
    pub fn after(&self, steps: usize) -> f64 {
        let reached = self.by_step.get(..steps).unwrap_or(&self.by_step);
        reached.last().copied().unwrap_or(0.0)
    }

    /// At the end.
    pub fn last(&self) -> f64 {
        self.after(self.by_step.len())
    }
}

/// A mean over tasks with its 95 % interval from a bootstrap over tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WayEstimate {
    /// Number of tasks.
    pub tasks: usize,
    /// Mean over tasks of means over seeds.
    pub mean: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// Two-sided, by flipping signs; of a difference.
    pub p: f64,
}

impl WayEstimate {
    /// From one number per task; `None` without any.
    pub fn from_tasks(values: &[f64], stream: Stream) -> Option<Self> {
        Some(Self {
            tasks: values.len(),
            mean: mean(values.iter().copied()),
            interval: bootstrap(values, stream.child("tasks"))?.interval,
            p: sign_flip(values, stream.child("signs")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_0_at_the_constant_baseline_and_1_at_the_ceiling() {
        let baselines = Baselines { ladder: [10.0, 8.0, 6.0, 5.0], ceiling: 2.0 };
        let scores = [None, Some(12.0), Some(6.0), Some(4.0), Some(1.0)];
        let shares =
            WayShares::from_scores(scores.into_iter(), &baselines, Direction::LowerIsBetter);
        assert_eq!(shares.by_step, [0.0, 0.0, 0.5, 0.75, 1.0]);
        assert_eq!((shares.after(0), shares.after(3), shares.after(9)), (0.0, 0.5, 1.0));
        assert_eq!(shares.last(), 1.0);
    }
}
