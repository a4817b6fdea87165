//! The milestone reward (SandMLE §4.3), plain functions over plain numbers.
//!
//! ```text
//! r = w_format · r_format + w_execute · 1[valid submission] + Σ_s w_s · 1[tier s reached]
//! ```
//! with weights that sum to 1. `r_format` is the share of turns that can be parsed and
//! open with a closed, non-empty `<think>` block.

use sandbox::grade::{Grade, Tier};
use serde::{Deserialize, Serialize};

/// What each part of the reward is worth. The six weights are not negative and sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "RawWeights")]
pub struct RewardWeights {
    /// Times the format share. Default 0.1.
    pub format: f64,
    /// For any valid submission. Default 0.2.
    pub execute: f64,
    /// For reaching the median threshold. Default 0.1.
    pub median: f64,
    /// For reaching bronze. Default 0.4.
    pub bronze: f64,
    /// For reaching silver. Default 0.1.
    pub silver: f64,
    /// For reaching gold. Default 0.1.
    pub gold: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWeights {
    format: f64,
    execute: f64,
    median: f64,
    bronze: f64,
    silver: f64,
    gold: f64,
}

impl TryFrom<RawWeights> for RewardWeights {
    type Error = String;
    fn try_from(raw: RawWeights) -> Result<Self, String> {
        let RawWeights { format, execute, median, bronze, silver, gold } = raw;
        let weights = [format, execute, median, bronze, silver, gold];
        let sum: f64 = weights.iter().sum();
        if weights.iter().any(|weight| weight.is_nan() || *weight < 0.0) {
            return Err("reward weights must not be negative".to_owned());
        }
        if (sum - 1.0).abs() > 1e-9 {
            return Err(format!("reward weights must sum to 1, these sum to {sum}"));
        }
        Ok(Self { format, execute, median, bronze, silver, gold })
    }
}

impl RewardWeights {
    /// The paper's dense milestone reward.
    pub const DENSE: Self =
        Self { format: 0.1, execute: 0.2, median: 0.1, bronze: 0.4, silver: 0.1, gold: 0.1 };
    /// The paper's sparse ablation: format and gold only.
    pub const SPARSE: Self =
        Self { format: 0.1, execute: 0.0, median: 0.0, bronze: 0.0, silver: 0.0, gold: 0.9 };
}

impl Default for RewardWeights {
    fn default() -> Self {
        Self::DENSE
    }
}

/// A trajectory's reward and its parts, each already weighted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// From the format share.
    pub format: f64,
    /// From a valid submission.
    pub execution: f64,
    /// From the tiers.
    pub tier: f64,
}

impl Reward {
    /// The sum of the parts, in [0, 1].
    pub fn total(&self) -> f64 {
        self.format + self.execution + self.tier
    }
}

/// The reward of a trajectory with this share of well-formed turns, in [0, 1], and this grade,
/// `None` without a valid submission.
pub fn reward(weights: &RewardWeights, format_share: f64, grade: Option<&Grade>) -> Reward {
    let milestones = [
        (Tier::Median, weights.median),
        (Tier::Bronze, weights.bronze),
        (Tier::Silver, weights.silver),
        (Tier::Gold, weights.gold),
    ];
    let reached = grade.and_then(|grade| grade.tier);
    Reward {
        format: weights.format * format_share,
        execution: if grade.is_some() { weights.execute } else { 0.0 },
        // Not `sum`, whose empty value is -0.0.
        tier: milestones
            .iter()
            .filter(|(tier, _)| reached >= Some(*tier))
            .fold(0.0, |sum, (_, weight)| sum + weight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(weights: &RewardWeights, tier: Option<Tier>) -> f64 {
        reward(weights, 1.0, Some(&Grade { score: 0.0, tier })).total()
    }

    #[test]
    fn tiers_accumulate_as_in_the_paper() {
        let tiers =
            [None, Some(Tier::Median), Some(Tier::Bronze), Some(Tier::Silver), Some(Tier::Gold)];
        let dense = tiers.map(|tier| total(&RewardWeights::DENSE, tier));
        let sparse = tiers.map(|tier| total(&RewardWeights::SPARSE, tier));
        for (got, want) in dense.iter().zip([0.3, 0.4, 0.8, 0.9, 1.0]) {
            assert!((got - want).abs() < 1e-12);
        }
        for (got, want) in sparse.iter().zip([0.1, 0.1, 0.1, 0.1, 1.0]) {
            assert!((got - want).abs() < 1e-12);
        }
        let without = reward(&RewardWeights::DENSE, 0.5, None);
        assert!((without.total() - 0.05).abs() < 1e-12);
        assert!(without.tier.is_sign_positive());
    }

    #[test]
    fn weights_are_checked() {
        let parse = |text: &str| serde_json::from_str::<RewardWeights>(text);
        let json = serde_json::to_string(&RewardWeights::DENSE).unwrap();
        assert_eq!(parse(&json).unwrap(), RewardWeights::DENSE);
        assert!(parse(&json.replace("0.4", "0.5")).unwrap_err().to_string().contains("sum to 1"));
        assert!(parse(&json.replace("0.1", "-0.1")).is_err());
    }

    proptest! {
        #[test]
        fn the_reward_is_a_share_and_grows_with_tier_and_format(
            low in 0.0..1.0f64, high in 0.0..1.0f64,
        ) {
            let (low, high) = if low < high { (low, high) } else { (high, low) };
            for weights in [RewardWeights::DENSE, RewardWeights::SPARSE] {
                let of = |share| reward(&weights, share, None).total();
                prop_assert!(of(low) <= of(high));
                let mut last = of(high);
                for tier in [None, Some(Tier::Median), Some(Tier::Gold)] {
                    let next = reward(&weights, high, Some(&Grade { score: 0.0, tier })).total();
                    prop_assert!(last <= next && next <= 1.0 + 1e-12);
                    last = next;
                }
            }
        }
    }
}
