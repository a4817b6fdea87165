//! The rewards of a served episode.
//!
//! The value of a submission is the dense milestone reward ([`RewardWeights::DENSE`]) without its
//! format part, which needs the text of the agent's turns:
//! ```text
//! value = w_execute · 1[valid submission] + Σ_s w_s · 1[tier s reached]
//! ```
//! in [0, 0.9]. The reward of a step is the change of the value that the client knows: after `score`,
//! the value of the feedback (validity in the mode `validate`, tiers on the feedback rows in the
//! others); after the last step, the value of the revealed part of the final grade ([`Reveal`]). The
//! rewards of an episode therefore sum to the value of its final grade if the tier is revealed, else
//! to that of a valid submission. A reward never reveals more than the text of the reply.

use super::reveal::Reveal;
use crate::env::{EpisodeResult, ScoreFeedback};
use crate::reward::RewardWeights;
use tasks::thresholds::Milestone;

const WEIGHTS: RewardWeights = RewardWeights::DENSE;

fn value(valid: bool, reached: Option<Milestone>) -> f64 {
    if valid { WEIGHTS.execute + WEIGHTS.tiers(reached) } else { 0.0 }
}

/// The value of a result of `score`, in [0, 0.9].
pub fn feedback_value(feedback: &ScoreFeedback) -> f64 {
    value(feedback.valid, feedback.tier)
}

/// The value of a final grade, in [0, 0.9].
///
/// # Examples
/// ```rust
/// use sandbox::env::EpisodeResult;
/// use sandbox::serve::{Reveal, final_value, revealed_value};
/// use tasks::grade::Grade;
/// use tasks::thresholds::Milestone;
///
/// let grade = Grade { score: 0.71, tier: Some(Milestone::Bronze) };
/// let result = EpisodeResult { grade: Some(grade), refusal: None };
/// // 0.2 for a valid submission, 0.1 for the median and 0.4 for bronze.
/// assert!((final_value(&result) - 0.7).abs() < 1e-12);
/// // If a client learns only that the submission is valid, so does the reward.
/// assert_eq!(revealed_value(&result, Reveal::None), 0.2);
/// ```
pub fn final_value(finish: &EpisodeResult) -> f64 {
    value(finish.grade.is_some(), finish.grade.and_then(|grade| grade.tier))
}

/// The value of the part of a final grade that a client learns, in [0, 0.9].
pub fn revealed_value(finish: &EpisodeResult, reveal: Reveal) -> f64 {
    let revealed = reveal.apply(finish).grade;
    value(finish.grade.is_some(), revealed.and_then(|grade| grade.tier))
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
            assert_eq!(feedback_value(&ScoreFeedback { valid: true, tier }), final_value(&finish));
        }
        for tier in tiers {
            let finish = EpisodeResult { grade: Some(Grade { score: 1.0, tier }), refusal: None };
            for reveal in [Reveal::Tier, Reveal::Score] {
                assert_eq!(revealed_value(&finish, reveal), final_value(&finish));
            }
            assert_eq!(revealed_value(&finish, Reveal::None), 0.2);
        }
        assert_eq!(final_value(&EpisodeResult { grade: None, refusal: None }), 0.0);
        assert_eq!(
            feedback_value(&ScoreFeedback { valid: false, tier: Some(Milestone::Gold) }),
            0.0
        );
    }
}
