//! The surrogate on the host, from the log-probabilities that the server returns: what is logged of
//! an update, and what the server's own loss must come to.

use super::settings::LossFunction;
use crate::train::learner::UpdateStats;
use crate::train::loss::Objective;

/// Log-ratios are taken within ± this, as in [`crate::train::loss`].
const LOG_RATIO_LIMIT: f64 = 20.0;

/// The trained tokens of one trajectory.
#[derive(Debug)]
pub(super) struct TrajectoryTokens<'a> {
    /// Log-probabilities under the policy that is trained.
    pub(super) new: &'a [f32],
    /// Those of the loss's denominator.
    pub(super) old: &'a [f32],
    /// Those that the sampler reported.
    pub(super) sampler: &'a [f32],
    /// The trajectory's advantage.
    pub(super) advantage: f64,
    /// The weight of each token in the mean.
    pub(super) weight: f64,
}

/// The weights of truncated importance sampling, `min(exp(old - sampler), cap)`; 1 without a cap.
pub(super) fn importance(old: &[f32], sampler: &[f32], cap: f64) -> Vec<f64> {
    let weight = |(old, sampler): (&f32, &f32)| {
        if cap > 0.0 { ratio(*old, *sampler).min(cap) } else { 1.0 }
    };
    old.iter().zip(sampler).map(weight).collect()
}

fn ratio(above: f32, below: f32) -> f64 {
    (f64::from(above) - f64::from(below)).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
}

impl TrajectoryTokens<'_> {
    /// `Σ w · -c · min(ρ A, clip(ρ) A)` and its statistics, as
    /// [`Objective::loss`](crate::train::loss::Objective::loss) computes them, without KL penalty
    /// and dual clip.
    pub(super) fn stats(&self, objective: &Objective, function: LossFunction) -> UpdateStats {
        let clip = objective.clip;
        let corrected = objective.tis_cap > 0.0;
        let weights = importance(self.old, self.sampler, objective.tis_cap);
        let mut stats = UpdateStats { tokens: self.new.len(), ..UpdateStats::default() };
        for (index, &new) in self.new.iter().enumerate() {
            let ratio = ratio(new, self.old[index]);
            let plain = ratio * self.advantage;
            let bounded = ratio.clamp(1.0 - clip.low, 1.0 + clip.high) * self.advantage;
            let gain = match function {
                LossFunction::Ppo => plain.min(bounded),
                LossFunction::ImportanceSampling => plain,
            };
            stats.loss -= gain * self.weight * weights[index];
            stats.clipped += f64::from(u8::from(gain < plain));
            stats.importance += if corrected { weights[index] } else { 0.0 };
            let gap = f64::from((new - self.sampler[index]).abs());
            stats.gap = stats.gap.max(gap);
            stats.gaps += gap;
        }
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::loss::{Clip, Kl, Tokens};
    use tch::Tensor;

    const NEW: [f32; 4] = [-0.6, -0.7, -1.0, -0.1];
    const OLD: [f32; 4] = [-1.0, -0.5, -2.0, -0.1];
    const SAMPLER: [f32; 4] = [-1.1, -0.5, -1.9, -0.4];

    #[test]
    fn statistics_are_those_of_the_loss_in_libtorch() {
        for (advantage, tis_cap) in [(1.0, 0.0), (-0.5, 0.0), (1.0, 1.1), (-0.5, 2.0)] {
            let objective = Objective { clip: Clip::default(), kl: Kl::default(), tis_cap };
            let old = if tis_cap > 0.0 { &OLD } else { &SAMPLER };
            let tokens =
                TrajectoryTokens { new: &NEW, old, sampler: &SAMPLER, advantage, weight: 0.125 };
            let found = tokens.stats(&objective, LossFunction::Ppo);
            let full = |value: f64| Tensor::from_slice(&[value; 4]);
            let expected = objective.loss(&Tokens {
                new: Tensor::from_slice(&NEW),
                sampler: Tensor::from_slice(&SAMPLER),
                old: Some(Tensor::from_slice(&OLD)),
                reference: None,
                advantages: full(advantage),
                weights: full(0.125),
            });
            let close = |found: f64, expected: &Tensor| {
                let expected = expected.double_value(&[]);
                assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
            };
            close(found.loss, &expected.loss);
            close(found.clipped, &expected.clipped);
            assert_eq!(expected.importance.is_some(), tis_cap > 0.0);
            if let Some(importance) = &expected.importance {
                close(found.importance, importance);
            }
            assert!((found.gap - 0.9).abs() < 1e-6 && (found.gaps - 1.9).abs() < 1e-6);
            assert_eq!(found.tokens, 4);
        }
    }
}
