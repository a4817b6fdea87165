//! Where a run stands besides its weights: what checkpoints store for the loop.

use super::TrainSettings;
use super::line::TrainLine;
use serde::{Deserialize, Serialize};

/// The part of a checkpoint that is the loop's own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    /// The last update, while its line in the metrics waits for a validation. A run that was
    /// stopped in between begins with that validation.
    pub(super) unrecorded: Option<TrainLine>,
    /// The best validation so far.
    pub(super) best: Option<Best>,
    /// Validations since then.
    pub(super) stale: u64,
}

/// A policy's reward on held-out tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Best {
    /// After how many updates; 0 is the policy that training starts from.
    pub(super) step: u64,
    pub(super) reward: f64,
}

impl Position {
    /// Takes note of a validation and returns whether it is the best so far. Of equals the first
    /// stays the best.
    pub(super) fn validated(&mut self, step: u64, reward: f64) -> bool {
        let better = self.best.is_none_or(|best| reward > best.reward);
        if better {
            (self.best, self.stale) = (Some(Best { step, reward }), 0);
        } else {
            self.stale += 1;
        }
        better
    }

    /// Whether a run that has made `step` updates has nothing left to do: all updates are made, or
    /// `patience` ran out.
    pub(super) fn is_finished(&self, step: u64, settings: &TrainSettings) -> bool {
        let impatient = settings.patience > 0 && self.stale >= settings.patience;
        self.unrecorded.is_none() && (step >= settings.steps || impatient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::presets::Scale;

    #[test]
    fn patience_counts_validations_without_gain() {
        let mut position = Position::default();
        let better: Vec<bool> = [0.3, 0.5, 0.5, 0.4, 0.6, 0.1]
            .into_iter()
            .enumerate()
            .map(|(step, reward)| position.validated(step as u64, reward))
            .collect();
        assert_eq!(better, [true, true, false, false, true, false]);
        assert_eq!(position.best, Some(Best { step: 4, reward: 0.6 }));
        for (patience, finished) in [(1, true), (2, false), (0, false)] {
            let settings =
                TrainSettings { patience, steps: 9, ..TrainSettings::defaults(Scale::Tiny) };
            assert_eq!(position.is_finished(6, &settings), finished, "patience {patience}");
            assert!(position.is_finished(9, &settings));
        }
    }
}
