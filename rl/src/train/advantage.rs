//! Rewards of a group to advantages: a plain function over plain numbers.
//!
//! `A_i = (r_i - mean(r)) / (std(r) + eps)`, over the trajectories of one task
//! (Shao et al. 2024, §4.1.2; SandMLE §4.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which standard deviation centred rewards are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StdNorm {
    /// Nothing: advantages are centred rewards (Liu et al. 2025, "Dr. GRPO").
    None,
    /// The standard deviation with n in the denominator (ddof 0).
    Population,
    /// The standard deviation with n - 1 in the denominator (ddof 1).
    Sample,
}

/// When masked trajectories leave their group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MaskOrder {
    /// Before mean and deviation are taken: the others are compared among themselves.
    BeforeBaseline,
    /// After: their rewards shift the baseline, though they get no gradient.
    AfterBaseline,
}

/// Whether a trajectory is trained on and counts in its group's baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// It is trained on and counts in the baseline.
    Trained,
    /// It is not trained on because of how it ended, such as by a time limit.
    Masked,
    /// An infrastructure error ended it: it has no reward and counts nowhere.
    Faulted,
}

/// How rewards are normalised into advantages: the options of [`advantages`].
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `std` | `sample` | what to divide by |
/// | `epsilon` | 1e-6 | keeps the quotient finite; at least 0 |
/// | `mask_order` | `before-baseline` | when masked trajectories leave |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Normalisation {
    /// Which standard deviation centred rewards are divided by.
    pub std: StdNorm,
    /// Added to the standard deviation; at least 0.
    pub epsilon: f64,
    /// Whether masked trajectories count in the baseline.
    pub mask_order: MaskOrder,
}

impl Default for Normalisation {
    fn default() -> Self {
        Self { std: StdNorm::Sample, epsilon: 1e-6, mask_order: MaskOrder::BeforeBaseline }
    }
}

/// Advantages of one group, in its order. Trajectories that are not [`Inclusion::Trained`] get
/// exactly zero, and so do all in a group whose rewards are all the same or in which
/// fewer than two count.
pub fn advantages(group: &[(f64, Inclusion)], options: Normalisation) -> Vec<f64> {
    let in_baseline = |inclusion: Inclusion| match inclusion {
        Inclusion::Trained => true,
        Inclusion::Masked => options.mask_order == MaskOrder::AfterBaseline,
        Inclusion::Faulted => false,
    };
    let rewards: Vec<f64> = group
        .iter()
        .filter(|(_, inclusion)| in_baseline(*inclusion))
        .map(|(reward, _)| *reward)
        .collect();
    // Compared rather than subtracted: the deviation of equal numbers need not round to zero.
    let constant = rewards.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    if constant {
        return vec![0.0; group.len()];
    }
    let n = rewards.len() as f64;
    let mean = rewards.iter().sum::<f64>() / n;
    let squares: f64 = rewards.iter().map(|reward| (reward - mean).powi(2)).sum();
    let scale = match options.std {
        StdNorm::None => 1.0,
        StdNorm::Population => (squares / n).sqrt() + options.epsilon,
        StdNorm::Sample => (squares / (n - 1.0)).sqrt() + options.epsilon,
    };
    group
        .iter()
        .map(|(reward, inclusion)| match inclusion {
            Inclusion::Trained => (reward - mean) / scale,
            Inclusion::Masked | Inclusion::Faulted => 0.0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Inclusion::{Faulted, Masked, Trained};
    use proptest::prelude::*;

    fn counted(rewards: &[f64]) -> Vec<(f64, Inclusion)> {
        rewards.iter().map(|&reward| (reward, Trained)).collect()
    }

    fn options(std: StdNorm, epsilon: f64) -> Normalisation {
        Normalisation { std, epsilon, ..Normalisation::default() }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6 * b.abs().max(1.0) * 5.0, "{found:?} is not {expected:?}");
        }
    }

    // numpy: r = np.array([0, .3, .3, 1]); (r - r.mean()) / (r.std(ddof=d) + eps)
    #[test]
    fn published_vectors() {
        let group = counted(&[0.0, 0.3, 0.3, 1.0]);
        close(
            &advantages(&group, options(StdNorm::Sample, 1e-4)),
            &[-0.942_587, -0.235_647, -0.235_647, 1.413_88],
        );
        close(
            &advantages(&group, options(StdNorm::Sample, 1e-6)),
            &[-0.942_807, -0.235_702, -0.235_702, 1.414_212],
        );
        close(
            &advantages(&group, options(StdNorm::Population, 1e-6)),
            &[-1.088_659, -0.272_165, -0.272_165, 1.632_989],
        );
        close(&advantages(&group, options(StdNorm::None, 1e-6)), &[-0.4, -0.1, -0.1, 0.6]);
    }

    #[test]
    fn masked_episodes_are_removed_before_or_after_the_baseline() {
        let group = [(0.0, Trained), (1.0, Trained), (5.0, Masked)];
        let before = options(StdNorm::None, 0.0);
        close(&advantages(&group, before), &[-0.5, 0.5, 0.0]);
        let after = Normalisation { mask_order: MaskOrder::AfterBaseline, ..before };
        close(&advantages(&group, after), &[-2.0, -1.0, 0.0]);
    }

    #[test]
    fn dropped_episodes_are_never_counted() {
        for mask_order in [MaskOrder::BeforeBaseline, MaskOrder::AfterBaseline] {
            let options = Normalisation { mask_order, ..options(StdNorm::None, 0.0) };
            let group = [(0.0, Trained), (f64::NAN, Faulted), (1.0, Trained)];
            close(&advantages(&group, options), &[-0.5, 0.0, 0.5]);
        }
    }

    #[test]
    fn group_of_fewer_than_two_has_zero_advantage() {
        let options = Normalisation::default();
        assert_eq!(advantages(&[], options), [0.0; 0]);
        assert_eq!(advantages(&[(1.0, Trained), (0.0, Masked)], options), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn constant_groups_vanish_and_others_are_centred(
            rewards in prop::collection::vec(-5.0..5.0, 2..9), reward in -5.0..5.0,
        ) {
            let options = Normalisation::default();
            prop_assert_eq!(advantages(&vec![(reward, Trained); rewards.len()], options), vec![0.0; rewards.len()]);
            let found = advantages(&counted(&rewards), options);
            prop_assert!(found.iter().sum::<f64>().abs() < 1e-6);
            for (i, j) in (0..rewards.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                prop_assert_eq!(rewards[i] > rewards[j], found[i] > found[j]);
            }
        }
    }
}
