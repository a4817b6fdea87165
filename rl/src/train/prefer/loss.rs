//! Losses on pairs, as functions of the log-probabilities of whole answers.

use super::PairMetrics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which loss, with `Δ = (log p - log p_ref)(chosen) - (log p - log p_ref)(rejected)` and TRL's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairLoss {
    /// `-log σ(β Δ)`: DPO (Rafailov et al. 2023, equation 7).
    #[default]
    Sigmoid,
    /// The same for labels of which the share `label_smoothing` is the wrong way round (Chowdhury et al.
    /// 2024, "robust DPO"): `(-(1 - ε) log σ(β Δ) + ε log σ(-β Δ)) / (1 - 2 ε)`.
    Robust,
    /// `max(0, 1 - β Δ)` (Liu et al. 2023, "RSO").
    Hinge,
    /// `(Δ' - 1 / (2 β))²`, where `Δ'` has means over an answer's tokens in place of sums (Azar et al.
    /// 2023, equation 17).
    Ipo,
}

/// A loss with its constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreferenceLoss {
    /// Which.
    pub kind: PairLoss,
    /// β, above 0.
    pub beta: f64,
    /// ε of [`PairLoss::Robust`], at least 0 and below 0.5.
    pub label_smoothing: f64,
}

/// A number for each answer of a pair: log-probabilities, each summed over the answer's tokens, in nats;
/// or derivatives with respect to them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairLogProbs {
    /// Of the preferred answer.
    pub chosen: f64,
    /// Of the other one.
    pub rejected: f64,
}

/// The loss of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct PairBatchLoss {
    /// The mean over pairs.
    pub loss: f64,
    /// Its derivative with respect to the summed log-probability of each answer.
    pub gradient: Vec<PairLogProbs>,
    /// What else there is to say of the batch.
    pub metrics: PairMetrics,
}

impl PreferenceLoss {
    /// The mean loss of pairs from the policy's log-probabilities, the reference's, and the numbers of
    /// tokens of both answers. All have an entry per pair.
    pub fn of(
        &self,
        policy: &[PairLogProbs],
        reference: &[PairLogProbs],
        tokens: &[[usize; 2]],
    ) -> PairBatchLoss {
        let pairs = policy.len().max(1) as f64;
        let mut found = PairBatchLoss {
            loss: 0.0,
            gradient: Vec::with_capacity(policy.len()),
            metrics: PairMetrics {
                reward_chosen: 0.0,
                reward_rejected: 0.0,
                reward_margin: 0.0,
                accuracy: 0.0,
            },
        };
        let mut preferred = 0_u32;
        for ((policy, reference), tokens) in policy.iter().zip(reference).zip(tokens) {
            let chosen = policy.chosen - reference.chosen;
            let rejected = policy.rejected - reference.rejected;
            // What is summed in sigmoid, and averaged over tokens in IPO.
            let [a, b] = match self.kind {
                PairLoss::Ipo => tokens.map(|count| 1.0 / count.max(1) as f64),
                PairLoss::Sigmoid | PairLoss::Robust | PairLoss::Hinge => [1.0, 1.0],
            };
            let (loss, slope) = self.of_difference(a * chosen - b * rejected);
            found.loss += loss / pairs;
            found
                .gradient
                .push(PairLogProbs { chosen: a * slope / pairs, rejected: -b * slope / pairs });
            let metrics = &mut found.metrics;
            metrics.reward_chosen += self.beta * chosen / pairs;
            metrics.reward_rejected += self.beta * rejected / pairs;
            metrics.reward_margin += self.beta * (chosen - rejected) / pairs;
            preferred += u32::from(chosen > rejected);
        }
        found.metrics.accuracy = f64::from(preferred) / pairs;
        found
    }

    /// The loss of a difference Δ and its derivative.
    fn of_difference(&self, difference: f64) -> (f64, f64) {
        let Self { kind, beta, label_smoothing: smoothing } = *self;
        let margin = beta * difference;
        // -log σ(x) and its derivative.
        let negative = |x: f64| (log_1p_exp(-x), -sigmoid(-x));
        match kind {
            PairLoss::Sigmoid => {
                let (loss, slope) = negative(margin);
                (loss, beta * slope)
            }
            PairLoss::Robust => {
                let (right, right_slope) = negative(margin);
                let (wrong, wrong_slope) = negative(-margin);
                let scale = 1.0 - 2.0 * smoothing;
                let loss = ((1.0 - smoothing) * right - smoothing * wrong) / scale;
                let slope = ((1.0 - smoothing) * right_slope + smoothing * wrong_slope) / scale;
                (loss, beta * slope)
            }
            PairLoss::Hinge => {
                if margin < 1.0 {
                    (1.0 - margin, -beta)
                } else {
                    (0.0, 0.0)
                }
            }
            PairLoss::Ipo => {
                let error = difference - 1.0 / (2.0 * beta);
                (error * error, 2.0 * error)
            }
        }
    }
}

/// `log(1 + exp(x))` without overflow.
fn log_1p_exp(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let small = x.exp();
        small / (1.0 + small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(numbers: &[[f64; 2]]) -> Vec<PairLogProbs> {
        numbers.iter().map(|&[chosen, rejected]| PairLogProbs { chosen, rejected }).collect()
    }

    const POLICY: [[f64; 2]; 3] = [[-10.0, -12.5], [-3.25, -2.0], [-40.0, -7.5]];
    const REFERENCE: [[f64; 2]; 3] = [[-11.0, -12.0], [-3.0, -4.0], [-38.5, -9.0]];
    const TOKENS: [[usize; 2]; 3] = [[7, 9], [3, 2], [20, 5]];

    // torch 2.11, with the lines of TRL 1.16's `DPOTrainer._compute_loss` for each `loss_type`:
    //     d = (c - rc) - (r - rr)
    //     sigmoid: -F.logsigmoid(beta * d)
    //     robust:  (-(1 - e) * F.logsigmoid(beta * d) + e * F.logsigmoid(-beta * d)) / (1 - 2 * e)
    //     hinge:   torch.relu(1 - beta * d)
    //     ipo:     ((c - rc) / n_c - (r - rr) / n_r - 1 / (2 * beta)) ** 2
    // with the mean over pairs, beta 0.3, e 0.1, in f64, and its gradient by autograd.
    #[test]
    fn losses_and_gradients_are_those_of_trl() {
        let expected: &[(PairLoss, f64, [[f64; 2]; 3])] = &[
            (
                PairLoss::Sigmoid,
                0.940_317_884_532,
                [
                    [-0.038_936_076_605, 0.038_936_076_605],
                    [-0.066_262_183_717, 0.066_262_183_717],
                    [-0.071_094_950_263, 0.071_094_950_263],
                ],
            ),
            (
                PairLoss::Robust,
                0.987_192_884_532,
                [
                    [-0.051_436_076_605, 0.051_436_076_605],
                    [-0.078_762_183_717, 0.078_762_183_717],
                    [-0.083_594_950_263, 0.083_594_950_263],
                ],
            ),
            (
                PairLoss::Hinge,
                1.375_000_000_000,
                [
                    [-0.100_000_000_000, 0.100_000_000_000],
                    [-0.100_000_000_000, 0.100_000_000_000],
                    [-0.100_000_000_000, 0.100_000_000_000],
                ],
            ),
            (
                PairLoss::Ipo,
                4.628_890_831_024,
                [
                    [-0.139_833_711_262, 0.108_759_553_204],
                    [-0.611_111_111_111, 0.916_666_666_667],
                    [-0.068_055_555_556, 0.272_222_222_222],
                ],
            ),
        ];
        for &(kind, loss, gradient) in expected {
            let of = PreferenceLoss { kind, beta: 0.3, label_smoothing: 0.1 };
            let found = of.of(&pairs(&POLICY), &pairs(&REFERENCE), &TOKENS);
            assert!((found.loss - loss).abs() < 1e-9, "{kind:?}: {}", found.loss);
            for (found, [chosen, rejected]) in found.gradient.iter().zip(gradient) {
                let gaps = [found.chosen - chosen, found.rejected - rejected];
                assert!(gaps.iter().all(|gap| gap.abs() < 1e-9), "{kind:?}: {found:?}");
            }
        }
    }

    #[test]
    fn metrics_are_rewards_of_both_answers() {
        let of = PreferenceLoss { kind: PairLoss::Sigmoid, beta: 0.5, label_smoothing: 0.0 };
        let found = of.of(&pairs(&POLICY[..2]), &pairs(&REFERENCE[..2]), &TOKENS[..2]).metrics;
        // Ratios of 1 and -0.25, and of -0.5 and 2.
        let expected = PairMetrics {
            reward_chosen: 0.5 * (1.0 - 0.25) / 2.0,
            reward_rejected: 0.5 * (-0.5 + 2.0) / 2.0,
            reward_margin: 0.5 * (1.5 - 2.25) / 2.0,
            accuracy: 0.5,
        };
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn gradient_is_the_slope_of_the_loss(
            chosen in -30.0..30.0_f64, rejected in -30.0..30.0_f64, beta in 0.05..2.0_f64,
        ) {
            for kind in [PairLoss::Sigmoid, PairLoss::Robust, PairLoss::Ipo] {
                let of = PreferenceLoss { kind, beta, label_smoothing: 0.2 };
                let loss = |chosen, rejected| {
                    of.of(&pairs(&[[chosen, rejected]]), &pairs(&[[0.0, 0.0]]), &[[4, 6]])
                };
                let (found, step) = (loss(chosen, rejected).gradient[0], 1e-4);
                let slope = |a: f64, b: f64| (a - b) / (2.0 * step);
                let by_chosen =
                    slope(loss(chosen + step, rejected).loss, loss(chosen - step, rejected).loss);
                let by_rejected =
                    slope(loss(chosen, rejected + step).loss, loss(chosen, rejected - step).loss);
                prop_assert!((found.chosen - by_chosen).abs() < 1e-6, "{:?}", kind);
                prop_assert!((found.rejected - by_rejected).abs() < 1e-6, "{:?}", kind);
            }
        }
    }

    #[test]
    fn extreme_differences_have_finite_losses() {
        for kind in [PairLoss::Sigmoid, PairLoss::Robust, PairLoss::Hinge, PairLoss::Ipo] {
            let of = PreferenceLoss { kind, beta: 0.5, label_smoothing: 0.1 };
            for difference in [-1e6, 1e6] {
                let (loss, slope) = of.of_difference(difference);
                assert!(loss.is_finite() && slope.is_finite(), "{kind:?} {difference}");
            }
        }
    }
}
