//! Log-probabilities, the clipped surrogate and how tokens are averaged into one loss.
//!
//! Everything here works on *packed* tokens, a flat list `[N]` of the positions that are trained
//! on. A masked position is not multiplied by zero, it is not there; so its gradient is exactly
//! zero. Averaging is a weight per token, computed on the host for the whole batch, so that a
//! batch may be cut into any micro-batches without changing its loss.

use crate::sample::Sampling;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// How token losses become one number. With `B` sequences that have any token, `n_i` tokens in
/// sequence i and losses `l`:
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// `1/B Σ_i 1/n_i Σ_t l`: each trajectory weighs the same, however long.
    SeqMeanTokenMean,
    /// `1/Σ n_i Σ_i Σ_t l`: each token weighs the same (Yu et al. 2025, DAPO).
    TokenMean,
    /// `1/(B L) Σ_i Σ_t l` with a constant length L: no preference for length (Liu et al. 2025).
    DrGrpo {
        /// L, in tokens.
        length: usize,
    },
    /// `1/B Σ_i Σ_t l`: each trajectory weighs as many tokens as it has.
    SeqMeanTokenSum,
}

impl Aggregation {
    /// The weight of each token of every sequence, given the sequences' token counts.
    pub fn weights(self, counts: &[usize]) -> Vec<f64> {
        let sequences = counts.iter().filter(|&&n| n > 0).count().max(1) as f64;
        let tokens = counts.iter().sum::<usize>().max(1) as f64;
        let weight = |n: usize| match self {
            Self::SeqMeanTokenMean => 1.0 / (sequences * n.max(1) as f64),
            Self::TokenMean => 1.0 / tokens,
            Self::DrGrpo { length } => 1.0 / (sequences * length.max(1) as f64),
            Self::SeqMeanTokenSum => 1.0 / sequences,
        };
        counts.iter().map(|&n| weight(n)).collect()
    }
}

/// The trust region of the probability ratio: `[1 - low, 1 + high]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// How far below 1 a ratio may fall before a bad token is no longer pushed down.
    pub low: f64,
    /// How far above 1 a ratio may rise before a good token is no longer pushed up.
    pub high: f64,
}

impl Default for Clip {
    fn default() -> Self {
        Self { low: 0.2, high: 0.28 }
    }
}

/// `log p(target)` under the policy's own distribution, [`Sampling::log_prob`]: logits `[N, V]` in
/// f32 and targets `[N]` to `[N]`.
///
/// Tokens below the min-p floor are not part of it, so that no gradient moves mass to tokens that
/// are never drawn. Targets always are.
pub fn log_probs(logits: &Tensor, targets: &Tensor, sampling: &Sampling) -> Tensor {
    let temperature = sampling.scale();
    let scaled = if temperature.total_cmp(&1.0).is_eq() {
        logits.shallow_clone()
    } else {
        logits / temperature
    };
    let targets = targets.unsqueeze(-1);
    let kept = if sampling.min_p > 0.0 {
        let floor = scaled.detach().amax([-1].as_slice(), true) + sampling.min_p.ln();
        let below = scaled.detach().lt_tensor(&floor);
        let below = below.scatter_value(-1, &targets, 0);
        scaled.masked_fill(&below, f64::NEG_INFINITY)
    } else {
        scaled
    };
    kept.log_softmax(-1, Kind::Float).gather(-1, &targets, false).squeeze_dim(-1)
}

/// The surrogate loss of packed tokens.
#[derive(Debug)]
pub struct Surrogate {
    /// The weighted sum, shape `[]`.
    pub loss: Tensor,
    /// How many tokens sit on the clipped side, shape `[]`.
    pub clipped: Tensor,
}

/// `Σ w · -min(ρ A, clip(ρ, 1 - low, 1 + high) A)` with `ρ = exp(new - old)`, all `[N]`
/// (Schulman et al. 2017, equation 7, with the two sides of the clip apart).
pub fn surrogate(
    new: &Tensor,
    old: &Tensor,
    advantages: &Tensor,
    weights: &Tensor,
    clip: Clip,
) -> Surrogate {
    let ratio = (new - old).exp();
    let plain = &ratio * advantages;
    let bounded = ratio.clamp(1.0 - clip.low, 1.0 + clip.high) * advantages;
    let clipped = bounded.lt_tensor(&plain).sum(Kind::Int64);
    let loss = -(plain.minimum(&bounded) * weights).sum(Kind::Float);
    Surrogate { loss, clipped }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [[f64; 4]; 2] = [[-1.0, -0.5, -2.0, -0.1], [-0.7, -1.2, -0.3, 0.0]];
    const NEW: [[f64; 4]; 2] = [[-0.6, -0.7, -1.0, -0.1], [-0.7, -0.8, -0.9, 0.0]];
    const MASK: [[bool; 4]; 2] = [[true, true, false, true], [true, true, false, false]];

    fn packed(values: [[f64; 4]; 2]) -> Tensor {
        let rows = values.iter().zip(&MASK);
        let kept: Vec<f64> = rows
            .flat_map(|(row, mask)| {
                row.iter().zip(mask).filter(|(_, kept)| **kept).map(|(value, _)| *value)
            })
            .collect();
        Tensor::from_slice(&kept)
    }

    fn golden(aggregation: Aggregation) -> f64 {
        let weights = aggregation.weights(&[3, 2]);
        let weights = packed([[weights[0]; 4], [weights[1]; 4]]);
        let advantages = packed([[1.0; 4], [-0.5; 4]]);
        surrogate(&packed(NEW), &packed(OLD), &advantages, &weights, Clip::default())
            .loss
            .double_value(&[])
    }

    #[test]
    fn published_losses_under_each_aggregation() {
        for (aggregation, expected) in [
            (Aggregation::SeqMeanTokenMean, -0.204_977),
            (Aggregation::TokenMean, -0.370_564),
            (Aggregation::DrGrpo { length: 4 }, -0.231_602),
            (Aggregation::SeqMeanTokenSum, -0.926_409),
        ] {
            let found = golden(aggregation);
            assert!((found - expected).abs() < 1e-6, "{aggregation:?}: {found} is not {expected}");
        }
    }

    #[test]
    fn micro_batches_add_up_to_the_batch() {
        let weights = Aggregation::SeqMeanTokenMean.weights(&[3, 2]);
        let loss = |new: &[f64], old: &[f64], advantage: f64, weight: f64| {
            let full = |value| Tensor::from_slice(&vec![value; new.len()]);
            surrogate(
                &Tensor::from_slice(new),
                &Tensor::from_slice(old),
                &full(advantage),
                &full(weight),
                Clip::default(),
            )
            .loss
            .double_value(&[])
        };
        let first = loss(&[-0.6, -0.7, -0.1], &[-1.0, -0.5, -0.1], 1.0, weights[0]);
        let second = loss(&[-0.7, -0.8], &[-0.7, -1.2], -0.5, weights[1]);
        assert!((first + second - golden(Aggregation::SeqMeanTokenMean)).abs() < 1e-6);
    }

    #[test]
    fn sequences_without_tokens_do_not_dilute_the_mean() {
        let aggregation = Aggregation::SeqMeanTokenMean;
        assert_eq!(
            aggregation.weights(&[2, 0])[0].to_bits(),
            aggregation.weights(&[2])[0].to_bits()
        );
    }

    #[test]
    fn beyond_the_clip_there_is_no_gradient() {
        let gradient = |log_ratio: f64, advantage: f64| {
            let new = Tensor::from_slice(&[log_ratio]).set_requires_grad(true);
            let one = Tensor::from_slice(&[1.0]);
            surrogate(
                &new,
                &Tensor::from_slice(&[0.0]),
                &(&one * advantage),
                &one,
                Clip::default(),
            )
            .loss
            .backward();
            new.grad().double_value(&[0])
        };
        let zero = |value: f64| value.abs() < f64::MIN_POSITIVE;
        assert!(zero(gradient(1.281_f64.ln(), 1.0)), "good, already above 1.28");
        assert!(!zero(gradient(1.279_f64.ln(), 1.0)), "good, still below 1.28");
        assert!(!zero(gradient(1.5_f64.ln(), -1.0)), "bad and too likely must still come down");
        assert!(zero(gradient(0.799_f64.ln(), -1.0)), "bad, already below 0.8");
        assert!(!zero(gradient(0.801_f64.ln(), -1.0)), "bad, still above 0.8");
    }

    #[test]
    fn temperature_divides_the_logits() {
        let logits = Tensor::from_slice(&[1.0_f32, 2.0, 4.0]).unsqueeze(0);
        let target = Tensor::from_slice(&[1_i64]);
        let found =
            log_probs(&logits, &target, &Sampling { temperature: 2.0, ..Sampling::default() })
                .double_value(&[0]);
        let expected = 1.0 - (0.5_f64.exp() + 1.0_f64.exp() + 2.0_f64.exp()).ln();
        assert!((found - expected).abs() < 1e-6);
    }
}
