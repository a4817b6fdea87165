//! What an episode is worth, and each step of it.
//!
//! The worth of a submission is the dense milestone reward ([`RewardWeights::DENSE`]) without its
//! format part, which is for whoever sees how the agent words its turns:
//! ```text
//! value = w_execute · 1[valid submission] + Σ_s w_s · 1[tier s reached]
//! ```
//! in [0, 0.9]. A step's reward is the change of what is known of it: `score` pays up to the value
//! that it tells of (validity alone in the mode `validate`, tiers on the feedback rows in the
//! others), the last step up to the value of what is told of the final grade ([`Reveal`]). So the
//! rewards of an episode add up to the value of its final grade where the tier is told, and to
//! that of validity alone where it is not; and no reward tells what was not told in words.

use super::reveal::Reveal;
use crate::env::{EpisodeResult, ScoreFeedback};
use crate::reward::RewardWeights;
use tasks::thresholds::Milestone;

const WEIGHTS: RewardWeights = RewardWeights::DENSE;

fn value(valid: bool, reached: Option<Milestone>) -> f64 {
    if valid { WEIGHTS.execute + WEIGHTS.tiers(reached) } else { 0.0 }
}

/// The value of what `score` told.
pub fn told_value(told: &ScoreFeedback) -> f64 {
    value(told.valid, told.tier)
}

/// The value of a final grade.
///
/// # Examples
/// ```rust
/// use sandbox::env::EpisodeResult;
/// use sandbox::serve::{Reveal, final_value, told_final_value};
/// use tasks::grade::Grade;
/// use tasks::thresholds::Milestone;
///
/// let grade = Grade { score: 0.71, tier: Some(Milestone::Bronze) };
/// let result = EpisodeResult { grade: Some(grade), refusal: None };
/// // 0.2 for a valid submission, 0.1 for the median and 0.4 for bronze.
/// assert!((final_value(&result) - 0.7).abs() < 1e-12);
/// // A client that is told validity alone is paid for validity alone.
/// assert_eq!(told_final_value(&result, Reveal::None), 0.2);
/// ```
pub fn final_value(finish: &EpisodeResult) -> f64 {
    value(finish.grade.is_some(), finish.grade.and_then(|grade| grade.tier))
}

/// The value of what a client is told of a final grade.
pub fn told_final_value(finish: &EpisodeResult, reveal: Reveal) -> f64 {
    let told = reveal.told(finish).grade;
    value(finish.grade.is_some(), told.and_then(|grade| grade.tier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::grade::Grade;

    #[test]
    fn values_are_those_of_the_milestones() {
        let tiers = [
            None,
            Some(Milestone::Median),
            Some(Milestone::Bronze),
            Some(Milestone::Silver),
            Some(Milestone::Gold),
        ];
        for (tier, expected) in tiers.into_iter().zip([0.2, 0.3, 0.7, 0.8, 0.9]) {
            let finish = EpisodeResult { grade: Some(Grade { score: 1.0, tier }), refusal: None };
            assert!((final_value(&finish) - expected).abs() < 1e-12, "{tier:?}");
            assert_eq!(told_value(&ScoreFeedback { valid: true, tier }), final_value(&finish));
        }
        for tier in tiers {
            let finish = EpisodeResult { grade: Some(Grade { score: 1.0, tier }), refusal: None };
            for reveal in [Reveal::Tier, Reveal::Score] {
                assert_eq!(told_final_value(&finish, reveal), final_value(&finish));
            }
            assert_eq!(told_final_value(&finish, Reveal::None), 0.2);
        }
        assert_eq!(final_value(&EpisodeResult { grade: None, refusal: None }), 0.0);
        assert_eq!(told_value(&ScoreFeedback { valid: false, tier: Some(Milestone::Gold) }), 0.0);
    }
}
