//! What an episode is worth, and each step of it.
//!
//! The worth of a submission is the milestone reward (SandMLE §4.3) without its format part,
//! which is for whoever sees how the agent words its turns:
//! ```text
//! value = 0.2·1[valid] + 0.1·1[median] + 0.4·1[bronze] + 0.1·1[silver] + 0.1·1[gold]
//! ```
//! in [0, 0.9]. A step's reward is the change of what is known of it: `score` pays up to the value
//! that it tells of (validity alone in the mode `validate`, tiers on the feedback rows in the
//! others), the last step up to the value of the final grade. So the rewards of an episode add
//! up to the value of its final grade, and tell nothing before that an agent was not told.

use crate::env::{Finish, Told};
use crate::grade::Tier;

/// For a valid submission.
const VALID: f64 = 0.2;
/// For each tier reached.
const TIERS: [(Tier, f64); 4] =
    [(Tier::Median, 0.1), (Tier::Bronze, 0.4), (Tier::Silver, 0.1), (Tier::Gold, 0.1)];

fn value(valid: bool, reached: Option<Tier>) -> f64 {
    let tiers = TIERS.iter().filter(|(tier, _)| valid && reached >= Some(*tier));
    tiers.fold(if valid { VALID } else { 0.0 }, |sum, (_, worth)| sum + worth)
}

/// The value of what `score` told.
pub fn told_value(told: &Told) -> f64 {
    value(told.valid, told.tier)
}

/// The value of a final grade.
pub fn final_value(finish: &Finish) -> f64 {
    value(finish.grade.is_some(), finish.grade.and_then(|grade| grade.tier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::Grade;

    #[test]
    fn values_are_those_of_the_milestones() {
        let tiers =
            [None, Some(Tier::Median), Some(Tier::Bronze), Some(Tier::Silver), Some(Tier::Gold)];
        for (tier, expected) in tiers.into_iter().zip([0.2, 0.3, 0.7, 0.8, 0.9]) {
            let finish = Finish { grade: Some(Grade { score: 1.0, tier }), refusal: None };
            assert!((final_value(&finish) - expected).abs() < 1e-12, "{tier:?}");
            assert_eq!(told_value(&Told { valid: true, tier }), final_value(&finish));
        }
        assert_eq!(final_value(&Finish { grade: None, refusal: None }), 0.0);
        assert_eq!(told_value(&Told { valid: false, tier: Some(Tier::Gold) }), 0.0);
    }
}
