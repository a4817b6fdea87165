//! The milestone reward (SandMLE §4.3), plain functions over plain numbers.
//!
//! ```text
//! r = w_format · r_format + w_execute · 1[valid submission] + Σ_s w_s · 1[tier s reached]
//!     + w_beyond · clamp((score - gold) / (ceiling - gold), 0, 1)
//! ```
//! with weights that sum to 1, the [`RewardWeights`]. The last part is ours, and off by default: the
//! share of the way from gold to the ceiling, 0 below gold. `r_format` is the share of turns that can be
//! parsed and open with a closed, non-empty `<think>` block that opens no other.

pub use sandbox::reward::RewardWeights;

use serde::{Deserialize, Serialize};
use tasks::grade::Grade;
use tasks::thresholds::BeyondGold;

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
    /// From the way that the score has come above gold. Left out of files if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beyond: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(part: &f64) -> bool {
    *part == 0.0
}

impl Reward {
    /// The sum of the parts, in [0, 1].
    pub fn total(&self) -> f64 {
        self.format + self.execution + self.tier + self.beyond
    }
}

/// The reward of a trajectory with this share of well-formed turns, in [0, 1], and this grade,
/// `None` without a valid submission, on a task with this way above gold, `None` if its ceiling is
/// not known.
pub fn reward(
    weights: &RewardWeights,
    format_share: f64,
    grade: Option<&Grade>,
    way: Option<&BeyondGold>,
) -> Reward {
    Reward {
        format: weights.format * format_share,
        execution: if grade.is_some() { weights.execute } else { 0.0 },
        tier: weights.tiers(grade.and_then(|grade| grade.tier)),
        beyond: grade.map_or(0.0, |grade| weights.above_gold(grade.score, way)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tasks::metrics::Direction;
    use tasks::thresholds::{Milestone, Thresholds};

    fn total(weights: &RewardWeights, tier: Option<Milestone>) -> f64 {
        reward(weights, 1.0, Some(&Grade { score: 0.0, tier }), None).total()
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
        let without = reward(&RewardWeights::DENSE, 0.5, None, None);
        assert!((without.total() - 0.05).abs() < 1e-12);
        assert!(without.tier.is_sign_positive());
    }

    #[test]
    fn reward_goes_on_above_gold_up_to_the_ceiling() {
        let way = BeyondGold::new(0.9, 1.0, Direction::HigherIsBetter);
        let gold = Some(Milestone::Gold);
        let of =
            |weights, score| reward(weights, 1.0, Some(&Grade { score, tier: gold }), Some(&way));
        let weights = &RewardWeights::BEYOND_GOLD;
        for (score, beyond, total) in [(0.9, 0.0, 0.9), (0.95, 0.05, 0.95), (1.0, 0.1, 1.0)] {
            let found = of(weights, score);
            assert!((found.beyond - beyond).abs() < 1e-12, "{found:?}");
            assert!((found.total() - total).abs() < 1e-12, "{found:?}");
        }
        let dense = of(&RewardWeights::DENSE, 1.0);
        assert_eq!(dense, of(&RewardWeights::DENSE, 0.9), "flat without the part");
        let text = serde_json::to_string(&dense).unwrap();
        assert_eq!(text.matches(':').count(), 3, "as before there was such a part: {text}");
        assert_eq!(serde_json::from_str::<Reward>(&text).unwrap(), dense);
    }

    proptest! {
        #[test]
        fn the_reward_is_monotone_in_the_score(
            a in -0.5..1.5f64, b in -0.5..1.5f64, format in 0.0..1.0f64, lower in any::<bool>(),
        ) {
            let direction =
                if lower { Direction::LowerIsBetter } else { Direction::HigherIsBetter };
            let [median, bronze, silver, gold, ceiling] = if lower {
                [0.8, 0.6, 0.4, 0.3, 0.1]
            } else {
                [0.2, 0.4, 0.6, 0.7, 0.9]
            };
            let thresholds = Thresholds {
                gold_threshold: gold,
                silver_threshold: silver,
                bronze_threshold: bronze,
                median_threshold: median,
            };
            let way = BeyondGold::new(gold, ceiling, direction);
            let (worse, better) = if direction.better(a, b) { (b, a) } else { (a, b) };
            for weights in
                [RewardWeights::DENSE, RewardWeights::SPARSE, RewardWeights::BEYOND_GOLD]
            {
                let of = |score: f64| {
                    let grade = Grade { score, tier: thresholds.tier(score, direction) };
                    reward(&weights, format, Some(&grade), Some(&way)).total()
                };
                let (low, high) = (of(worse), of(better));
                prop_assert!(0.0 <= low && low <= high && high <= 1.0 + 1e-12);
                let inside = direction.reaches(worse, gold) && direction.reaches(ceiling, better);
                if weights.beyond > 0.0 && inside && direction.better(better, worse) {
                    prop_assert!(low < high, "strictly, between gold and the ceiling");
                }
            }
        }

        #[test]
        fn the_reward_is_a_share_and_grows_with_tier_and_format(
            low in 0.0..1.0f64, high in 0.0..1.0f64,
        ) {
            let (low, high) = if low < high { (low, high) } else { (high, low) };
            for weights in [RewardWeights::DENSE, RewardWeights::SPARSE] {
                let of = |share| reward(&weights, share, None, None).total();
                prop_assert!(of(low) <= of(high));
                let mut last = of(high);
                for tier in [None, Some(Milestone::Median), Some(Milestone::Gold)] {
                    let next = reward(&weights, high, Some(&Grade { score: 0.0, tier }), None).total();
                    prop_assert!(last <= next && next <= 1.0 + 1e-12);
                    last = next;
                }
            }
        }
    }
}
