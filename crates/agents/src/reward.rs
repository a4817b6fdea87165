//! The milestone reward (SandMLE §4.3), plain functions over plain numbers.
//!
//! ```text
//! r = w_format · r_format + w_execute · 1[valid submission] + Σ_s w_s · 1[tier s reached]
//! ```
//! with weights that sum to 1, the [`RewardWeights`]. `r_format` is the share of turns that can be
//! parsed and open with a closed, non-empty `<think>` block that opens no other.

pub use sandbox::reward::RewardWeights;

use serde::{Deserialize, Serialize};
use tasks::grade::Grade;

/// A trajectory's reward and its parts, each already weighted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// From the format share.
    pub format: f64,
    /// From a valid submission.
    pub execution: f64,
    /// From the thresholds that the score reaches.
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
    Reward {
        format: weights.format * format_share,
        execution: if grade.is_some() { weights.execute } else { 0.0 },
        tier: weights.tiers(grade.and_then(|grade| grade.tier)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tasks::thresholds::Milestone;

    fn total(weights: &RewardWeights, tier: Option<Milestone>) -> f64 {
        reward(weights, 1.0, Some(&Grade { score: 0.0, tier })).total()
    }

    #[test]
    fn tiers_accumulate_as_in_the_paper() {
        let tiers = [
            None,
            Some(Milestone::Median),
            Some(Milestone::Bronze),
            Some(Milestone::Silver),
            Some(Milestone::Gold),
        ];
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
                for tier in [None, Some(Milestone::Median), Some(Milestone::Gold)] {
                    let next = reward(&weights, high, Some(&Grade { score: 0.0, tier })).total();
                    prop_assert!(last <= next && next <= 1.0 + 1e-12);
                    last = next;
                }
            }
        }
    }
}
