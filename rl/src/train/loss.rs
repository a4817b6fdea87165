//! The GRPO loss: log-probabilities, the clipped surrogate, the KL penalty, truncated importance
//! sampling, and how token losses are aggregated.
//!
//! Everything here works on *packed* tokens, a flat list `[N]` of the positions that are trained
//! on. A masked position is not multiplied by zero, it is not there; so its gradient is exactly
//! zero. Averaging is a weight per token, computed on the host for the whole batch, so that a
//! batch may be cut into any micro-batches without changing its loss. Every term is elementwise in
//! packed tokens and then summed, so that it may be computed in chunks of any size.

use crate::generate::sample::Sampling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

/// How token losses are aggregated into one number. With `B` sequences that have any token, `n_i` tokens in
/// sequence i and losses `l`:
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// `1/B Σ_i 1/n_i Σ_t l`: each trajectory weighs the same, however long.
    SeqMeanTokenMean,
    /// `1/Σ n_i Σ_i Σ_t l`: each token weighs the same (Yu et al. 2025, DAPO).
    TokenMean,
    /// `1/(B L) Σ_i Σ_t l` with a constant length L: no preference for length (Liu et al. 2025).
    DrGrpo {
        /// The constant L, in tokens.
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

/// Log-ratios are taken within ± this, so that their exponential stays finite in f32 for any two
/// policies; beyond it a token has no gradient. The same bound as in verl.
const LOG_RATIO_LIMIT: f64 = 20.0;

/// The clip range of the probability ratio: `[1 - low, 1 + high]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Clip {
    /// How far below 1 a ratio may fall before a bad token is no longer pushed down.
    pub low: f64,
    /// How far above 1 a ratio may rise before a good token is no longer pushed up.
    pub high: f64,
    /// The ratio from which on a bad token is no longer pushed down because it has become too
    /// likely (Ye et al. 2020, "dual clip", where it is 3); above 1, or 0 for no such limit.
    pub dual: f64,
}

impl Default for Clip {
    fn default() -> Self {
        Self { low: 0.2, high: 0.28, dual: 0.0 }
    }
}

/// How the KL divergence to the reference model is estimated from one sampled token, with
/// `d = log p(token) - log p_ref(token)` (Schulman 2020, "Approximating KL divergence").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KlEstimator {
    /// `d`: unbiased. Its gradient is that of `log p`, zero in expectation on-policy: as a term of
    /// the loss it adds noise and no penalty. Useful as a metric only.
    K1,
    /// `d² / 2`: biased, and on-policy its gradient is that of `KL(p ‖ p_ref)` itself.
    K2,
    /// `exp(-d) - 1 + d`: unbiased and never negative, what GRPO uses (Shao et al. 2024, equation
    /// 4). On-policy its gradient is that of `KL(p_ref ‖ p)`.
    K3,
}

/// The KL penalty against the reference model, which is the policy that training starts from. It
/// is a term of the loss, averaged over tokens like the surrogate, so its gradient is that of the
/// estimator itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Kl {
    /// Its weight, at least 0; with 0 there is no KL penalty and no reference model in memory.
    pub beta: f64,
    /// How the KL divergence is estimated.
    pub estimator: KlEstimator,
}

impl Default for Kl {
    fn default() -> Self {
        Self { beta: 0.0, estimator: KlEstimator::K3 }
    }
}

/// `log p(target)` under the policy's own distribution, as
/// [`SampledToken::log_prob`](crate::generate::sample::SampledToken::log_prob): logits `[N, V]`
/// in f32 and targets `[N]` to `[N]`.
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
    /// How many tokens were clipped, shape `[]`.
    pub clipped: Tensor,
}

/// `Σ w · -min(ρ A, clip(ρ, 1 - low, 1 + high) A)` with `ρ = exp(new - old)`, all `[N]`
/// (Schulman et al. 2017, equation 7, with the two sides of the clip apart). With a dual clip,
/// what `min` leaves of a bad token (A < 0) is at least `dual · A` (Ye et al. 2020, equation 8).
pub fn surrogate(
    new: &Tensor,
    old: &Tensor,
    advantages: &Tensor,
    weights: &Tensor,
    clip: Clip,
) -> Surrogate {
    let ratio = bounded_log_ratio(new, old).exp();
    let plain = &ratio * advantages;
    let bounded = ratio.clamp(1.0 - clip.low, 1.0 + clip.high) * advantages;
    let mut gain = plain.minimum(&bounded);
    if clip.dual > 0.0 {
        // Good tokens have nothing to do with this floor: theirs is below zero.
        let floor = -(advantages.abs() * clip.dual);
        gain = gain.maximum(&floor);
    }
    let clipped = gain.ne_tensor(&plain).sum(Kind::Int64);
    let loss = -(gain * weights).sum(Kind::Float);
    Surrogate { loss, clipped }
}

/// The estimate of each token's KL divergence to the reference model, in nats: `[N]`, with its
/// gradient by `new`.
pub fn kl(new: &Tensor, reference: &Tensor, estimator: KlEstimator) -> Tensor {
    let log_ratio = bounded_log_ratio(new, reference);
    match estimator {
        KlEstimator::K1 => log_ratio,
        KlEstimator::K2 => log_ratio.square() / 2.0,
        KlEstimator::K3 => (-&log_ratio).exp() - 1.0 + log_ratio,
    }
}

/// `min(exp(old - sampler), cap)`, `[N]` without gradient: what a token's loss is multiplied by
/// when it was drawn from a distribution that is not quite the trainer's (truncated importance
/// sampling: Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL
/// training").
pub fn importance(old: &Tensor, sampler: &Tensor, cap: f64) -> Tensor {
    bounded_log_ratio(&old.detach(), sampler).exp().clamp_max(cap)
}

/// The options of [`Objective::loss`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// The clip range of the probability ratio.
    pub clip: Clip,
    /// The KL penalty against the reference model.
    pub kl: Kl,
    /// The cap of truncated importance sampling; with 0 the sampler's log-probabilities are taken
    /// for the trainer's.
    pub tis_cap: f64,
}

/// Packed tokens with all that their loss is made from, each `[N]` in f32.
#[derive(Debug)]
pub struct Tokens {
    /// Log-probabilities under the policy that is trained, with gradient.
    pub new: Tensor,
    /// Those that the sampler reported.
    pub sampler: Tensor,
    /// Those of the trainer before the batch's first update; needed only where sampler and
    /// trainer differ and this is not the first update, else `new` is the same.
    pub old: Option<Tensor>,
    /// Those of the reference model, if there is a KL penalty.
    pub reference: Option<Tensor>,
    /// The advantage of each token's trajectory.
    pub advantages: Tensor,
    /// The weight of each token in the mean.
    pub weights: Tensor,
}

/// The loss of packed tokens, and what is logged of it, each of shape `[]`.
#[derive(Debug)]
pub struct Loss {
    /// The loss, with gradient.
    pub loss: Tensor,
    /// How many tokens were clipped.
    pub clipped: Tensor,
    /// The sum of the tokens' KL estimates against the reference model, in nats.
    pub kl: Option<Tensor>,
    /// The sum of the tokens' importance weights.
    pub importance: Option<Tensor>,
}

impl Objective {
    /// `Σ w · (-c · min(ρ A, clip(ρ) A) + β · kl)`: the surrogate, each token times its
    /// importance `c`, and the KL penalty against the reference model. Without importance weights the
    /// sampler's log-probabilities are the old ones.
    pub fn loss(&self, tokens: &Tokens) -> Loss {
        let Tokens { new, sampler, old, reference, advantages, weights } = tokens;
        let (old, importance) = if self.tis_cap > 0.0 {
            let old = old.as_ref().map_or_else(|| new.detach(), Tensor::shallow_clone);
            let importance = importance(&old, sampler, self.tis_cap);
            (old, Some(importance))
        } else {
            (sampler.shallow_clone(), None)
        };
        let corrected = importance.as_ref().map(|importance| weights * importance);
        let Surrogate { mut loss, clipped } =
            surrogate(new, &old, advantages, corrected.as_ref().unwrap_or(weights), self.clip);
        let kl = reference.as_ref().map(|reference| {
            let kl = kl(new, reference, self.kl.estimator);
            loss += (&kl * weights).sum(Kind::Float) * self.kl.beta;
            kl.detach().sum(Kind::Float)
        });
        let importance = importance.map(|importance| importance.sum(Kind::Float));
        Loss { loss, clipped, kl, importance }
    }
}

fn bounded_log_ratio(above: &Tensor, below: &Tensor) -> Tensor {
    (above - below).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
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

    // numpy, with the rows above, A = [1, -.5], w = 1 / (2 n_i), clip .2 / .28:
    // r = np.exp(new - old); g = np.minimum(r * A, np.clip(r, .8, 1.28) * A)
    // g = np.where(A < 0, np.maximum(g, c * A), g); -(g * w * mask).sum()
    #[test]
    fn a_dual_clip_bounds_what_a_bad_token_costs() {
        let weights = Aggregation::SeqMeanTokenMean.weights(&[3, 2]);
        let weights = packed([[weights[0]; 4], [weights[1]; 4]]);
        let advantages = packed([[1.0; 4], [-0.5; 4]]);
        let loss = |dual| {
            let clip = Clip { dual, ..Clip::default() };
            surrogate(&packed(NEW), &packed(OLD), &advantages, &weights, clip)
        };
        // The only bad token with a ratio above 1 has exp(.4) = 1.491825.
        for (dual, expected, clipped) in
            [(3.0, -0.204_977, 1), (1.491_9, -0.204_977, 1), (1.2, -0.241_455, 2)]
        {
            let found = loss(dual);
            let value = found.loss.double_value(&[]);
            assert!((value - expected).abs() < 1e-6, "{dual}: {value} is not {expected}");
            assert_eq!(found.clipped.int64_value(&[]), clipped, "{dual}");
        }
    }

    #[test]
    fn beyond_the_dual_clip_there_is_no_gradient() {
        for (log_ratio, advantage, moves) in
            [(2.9_f64.ln(), -1.0, true), (3.1_f64.ln(), -1.0, false), (0.9_f64.ln(), 1.0, true)]
        {
            let new = Tensor::from_slice(&[log_ratio]).set_requires_grad(true);
            let one = Tensor::from_slice(&[1.0]);
            let clip = Clip { dual: 3.0, ..Clip::default() };
            surrogate(&new, &(&one * 0.0), &(&one * advantage), &one, clip).loss.backward();
            assert_eq!(new.grad().double_value(&[0]) != 0.0, moves, "{log_ratio} {advantage}");
        }
    }

    // Schulman 2020: r = p_ref / p; k1 = -log r, k2 = (log r)² / 2, k3 = (r - 1) - log r. numpy:
    // lr = ref - new; -lr, lr**2 / 2, np.exp(lr) - 1 - lr, and by new: 1, -lr, 1 - np.exp(lr)
    #[test]
    fn kl_penalties_have_the_published_values_and_gradients() {
        let cases = [
            (KlEstimator::K1, [0.4, -0.5, 0.0], [1.0, 1.0, 1.0]),
            (KlEstimator::K2, [0.08, 0.125, 0.0], [0.4, -0.5, 0.0]),
            (KlEstimator::K3, [0.070_320, 0.148_721, 0.0], [0.329_680, -0.648_721, 0.0]),
        ];
        for (estimator, values, slopes) in cases {
            let new = Tensor::from_slice(&[-0.6, -1.5, -0.3]).set_requires_grad(true);
            let distance = kl(&new, &Tensor::from_slice(&[-1.0, -1.0, -0.3]), estimator);
            distance.sum(Kind::Double).backward();
            for index in 0..3 {
                let place = [i64::try_from(index).unwrap()];
                let (value, slope) =
                    (distance.double_value(&place), new.grad().double_value(&place));
                assert!((value - values[index]).abs() < 1e-6, "{estimator:?}: {value}");
                assert!((slope - slopes[index]).abs() < 1e-6, "{estimator:?}: {slope}");
            }
        }
    }

    // The exact distances of p = softmax(x) and q = (.2, .3, .5), summed over all three tokens
    // instead of sampled, agree with what the estimators promise. torch 2.11.0, x = (.3, -.2, .1):
    // p = x.softmax(0); (p * (p / q).log()).sum() -> .120209
    #[test]
    fn kl_estimators_have_the_stated_expectation() {
        let x = Tensor::from_slice(&[0.3, -0.2, 0.1]);
        let q = Tensor::from_slice(&[0.2_f64, 0.3, 0.5]).log();
        let slope = |of: &dyn Fn(&Tensor) -> Tensor| {
            let x = x.detach().copy().set_requires_grad(true);
            of(&x.log_softmax(0, Kind::Double)).sum(Kind::Double).backward();
            Vec::<f64>::try_from(x.grad()).unwrap()
        };
        let estimated =
            |estimator| slope(&|log_p: &Tensor| log_p.detach().exp() * kl(log_p, &q, estimator));
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        let reverse = slope(&|log_p: &Tensor| log_p.exp() * (log_p - &q));
        let forward = slope(&|log_p: &Tensor| q.exp() * (&q - log_p));
        assert!(near(&estimated(KlEstimator::K1), &[0.0; 3]));
        assert!(near(&estimated(KlEstimator::K2), &reverse));
        assert!(near(&estimated(KlEstimator::K3), &forward));
        let log_p = x.log_softmax(0, Kind::Double);
        for (estimator, expected) in [(KlEstimator::K1, 0.120_209), (KlEstimator::K3, 0.120_209)] {
            let value = (log_p.exp() * kl(&log_p, &q, estimator)).sum(Kind::Double);
            assert!((value.double_value(&[]) - expected).abs() < 1e-6, "{estimator:?}: {value}");
        }
    }

    // numpy: np.minimum(np.exp(old - sampler), 2)
    #[test]
    fn importance_is_truncated_and_carries_no_gradient() {
        let old = Tensor::from_slice(&[-1.0, -0.5, -0.2]).set_requires_grad(true);
        let weight = importance(&old, &Tensor::from_slice(&[-1.1, -0.4, -3.0]), 2.0);
        assert!(!weight.requires_grad());
        for (index, expected) in [(0, 1.105_171), (1, 0.904_837), (2, 2.0)] {
            assert!((weight.double_value(&[index]) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn loss_is_finite_for_distant_policies() {
        let (far, near) = (Tensor::from_slice(&[-300.0_f32]), Tensor::from_slice(&[-0.1_f32]));
        let one = Tensor::from_slice(&[1.0_f32]);
        for (new, old) in [(&far, &near), (&near, &far)] {
            let loss = surrogate(new, old, &(&one * -1.0), &one, Clip::default()).loss;
            assert!(loss.double_value(&[]).is_finite());
            assert!(kl(new, old, KlEstimator::K3).double_value(&[0]).is_finite());
            assert!(importance(new, old, 2.0).double_value(&[0]) <= 2.0);
        }
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
