//! The episodes of one step, with what the update needs to know about each.

use super::{Summary, TrainError, TrainSettings};
use crate::advantage::{Standing, advantages};
use crate::batch::Sample;
use crate::rollout::{Played, sampled};
use agents::trajectory::Trajectory;

/// Episodes of one step as the trainer sees them; broken ones are only counted.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) trajectories: Vec<Trajectory>,
    pub(super) contexts: Vec<Vec<i64>>,
    pub(super) samples: Vec<Sample>,
    pub(super) log_probs: Vec<Vec<f32>>,
    pub(super) standings: Vec<Standing>,
    pub(super) advantages: Vec<f64>,
    pub(super) mixed_groups: f64,
    pub(super) faults: usize,
    pub(super) last_fault: String,
}

impl Batch {
    pub(super) fn of(played: Vec<Played>, settings: &TrainSettings) -> Self {
        let mut batch = Self::default();
        let (mut groups, mut mixed) = (0_u32, 0_u32);
        let mut played = played.into_iter().peekable();
        while played.peek().is_some() {
            let mut group = Vec::new();
            for episode in played.by_ref().take(settings.group) {
                match episode {
                    Played::Finished { trajectory, context } => {
                        let standing =
                            if trajectory.timed_out { Standing::Masked } else { Standing::Counted };
                        group.push((trajectory.reward.total(), standing));
                        let (sample, log_probs) = sampled(&trajectory);
                        batch.samples.push(sample);
                        batch.log_probs.push(log_probs);
                        batch.standings.push(standing);
                        batch.contexts.push(context);
                        batch.trajectories.push(*trajectory);
                    }
                    Played::Fault { task, fault } => {
                        group.push((0.0, Standing::Dropped));
                        batch.faults += 1;
                        batch.last_fault = crate::chain(&fault);
                        tracing::warn!(%task, fault = batch.last_fault, "an episode broke and is dropped");
                    }
                }
            }
            let advantages = advantages(&group, settings.normalisation);
            groups += 1;
            mixed += u32::from(advantages.iter().any(|advantage| advantage.abs() > 0.0));
            let kept = advantages
                .into_iter()
                .zip(&group)
                .filter(|(_, (_, standing))| *standing != Standing::Dropped);
            batch.advantages.extend(kept.map(|(advantage, _)| advantage));
        }
        batch.mixed_groups = f64::from(mixed) / f64::from(groups.max(1));
        batch
    }

    pub(super) fn summary(&self) -> Option<Summary> {
        (!self.trajectories.is_empty()).then(|| Summary::of(&self.trajectories, self.faults))
    }

    pub(super) fn count(&self, standing: Standing) -> usize {
        self.standings.iter().filter(|found| **found == standing).count()
    }

    pub(super) fn entropy(&self) -> f64 {
        let tokens: usize = self.log_probs.iter().map(Vec::len).sum();
        let sum: f64 = self.log_probs.iter().flatten().map(|&log_prob| f64::from(log_prob)).sum();
        -sum / tokens.max(1) as f64
    }

    /// The engine's own account of each conversation against what will be trained on, and the
    /// sampler's log-probabilities against the mask.
    pub(super) fn check_tokens(&self) -> Result<(), TrainError> {
        for ((trajectory, context), sample) in
            self.trajectories.iter().zip(&self.contexts).zip(&self.samples)
        {
            if *context != sample.ids {
                return Err(TrainError::OtherTokens { task: trajectory.task.clone() });
            }
        }
        for (sample, log_probs) in self.samples.iter().zip(&self.log_probs) {
            let (trained, sampled) = (sample.trained_count(), log_probs.len());
            if trained != sampled {
                return Err(TrainError::MaskSum { trained, sampled });
            }
        }
        Ok(())
    }
}
