//! The rewards of a served episode.
//!
//! The value of a submission is the milestone reward, by default the dense one
//! ([`RewardWeights::DENSE`]), without its format part, which needs the text of the agent's turns:
//! ```text
//! value = w_execute · 1[valid submission] + Σ_s w_s · 1[tier s reached]
//!         + w_beyond · share of the way from gold to the ceiling
//! ```
//! in `[0, 1 - w_format]`. The last part is 0 in the dense reward, and always 0 in the value of
//! feedback; it needs [`Reveal::Score`], since the score can be computed from it.
//!
//! The reward of a step is the change of the value that the client knows: after `score`, the value of
//! the feedback (validity in the mode `validate`, tiers on the feedback rows in the others); after the
//! last step, the value of the revealed part of the final grade ([`Reveal`]). The rewards of an
//! episode therefore sum to the value of its final grade if all of it is revealed, with the tier to
//! that without the part above gold, else to that of a valid submission. A reward never reveals more
//! than the text of the reply.

use super::reveal::Reveal;
use crate::env::{EpisodeResult, ScoreFeedback};
use crate::reward::RewardWeights;
use tasks::thresholds::{BeyondGold, Milestone};

fn value(weights: &RewardWeights, valid: bool, reached: Option<Milestone>) -> f64 {
    if valid { weights.execute + weights.tiers(reached) } else { 0.0 }
}

/// The value of a result of `score`, without the part above gold; in [0, 1].
pub fn feedback_value(weights: &RewardWeights, feedback: &ScoreFeedback) -> f64 {
    value(weights, feedback.valid, feedback.tier)
}

/// The value of a final grade on a task with this way above gold, `None` if its ceiling is not
/// known; in [0, 1].
///
/// # Examples
/// ```rust
/// use sandbox::env::EpisodeResult;
/// use sandbox::reward::RewardWeights;
/// use sandbox::serve::{Reveal, final_value, revealed_value};
/// use tasks::grade::Grade;
/// use tasks::thresholds::Milestone;
///
/// let grade = Grade { score: 0.71, tier: Some(Milestone::Bronze) };
/// let result = EpisodeResult { grade: Some(grade), refusal: None };
/// let weights = RewardWeights::DENSE;
/// // 0.2 for a valid submission, 0.1 for the median and 0.4 for bronze.
/// assert!((final_value(&weights, &result, None) - 0.7).abs() < 1e-12);
/// // If a client learns only that the submission is valid, so does the reward.
/// assert_eq!(revealed_value(&weights, &result, None, Reveal::None), 0.2);
/// ```
pub fn final_value(
    weights: &RewardWeights,
    finish: &EpisodeResult,
    way: Option<&BeyondGold>,
) -> f64 {
    revealed_value(weights, finish, way, Reveal::Score)
}

/// The value of the part of a final grade that a client learns, in [0, 1].
pub fn revealed_value(
    weights: &RewardWeights,
    finish: &EpisodeResult,
    way: Option<&BeyondGold>,
    reveal: Reveal,
) -> f64 {
    let revealed = reveal.apply(finish).grade;
    let score = revealed.and_then(|grade| grade.score);
    value(weights, finish.grade.is_some(), revealed.and_then(|grade| grade.tier))
        + score.map_or(0.0, |score| weights.above_gold(score, way))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::grade::Grade;
    use tasks::metrics::Direction;

    const DENSE: &RewardWeights = &RewardWeights::DENSE;

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
            assert!((final_value(DENSE, &finish, None) - expected).abs() < 1e-12, "{tier:?}");
            assert_eq!(
                feedback_value(DENSE, &ScoreFeedback { valid: true, tier }),
                final_value(DENSE, &finish, None)
            );
        }
        for tier in tiers {
            let finish = EpisodeResult { grade: Some(Grade { score: 1.0, tier }), refusal: None };
            for reveal in [Reveal::Tier, Reveal::Score] {
                assert_eq!(
                    revealed_value(DENSE, &finish, None, reveal),
                    final_value(DENSE, &finish, None)
                );
            }
            assert_eq!(revealed_value(DENSE, &finish, None, Reveal::None), 0.2);
        }
        assert_eq!(final_value(DENSE, &EpisodeResult { grade: None, refusal: None }, None), 0.0);
        assert_eq!(
            feedback_value(DENSE, &ScoreFeedback { valid: false, tier: Some(Milestone::Gold) }),
            0.0
        );
    }

    #[test]
    fn the_part_above_gold_is_paid_only_with_the_score() {
        let weights = &RewardWeights::BEYOND_GOLD;
        let way = BeyondGold::new(0.8, 1.0, Direction::HigherIsBetter);
        let grade = Grade { score: 0.9, tier: Some(Milestone::Gold) };
        let finish = EpisodeResult { grade: Some(grade), refusal: None };
        let of = |way: Option<&BeyondGold>, reveal| revealed_value(weights, &finish, way, reveal);
        for (way, reveal, expected) in [
            (Some(&way), Reveal::Score, 0.85),
            (None, Reveal::Score, 0.8),
            (Some(&way), Reveal::Tier, 0.8),
            (Some(&way), Reveal::None, 0.2),
        ] {
            assert!((of(way, reveal) - expected).abs() < 1e-12, "{reveal:?}");
        }
        assert_eq!(final_value(weights, &finish, Some(&way)), of(Some(&way), Reveal::Score));
    }
}
