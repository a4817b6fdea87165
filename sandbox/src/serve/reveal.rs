//! How much of an episode's final grade its client is told.
//!
//! The grade goes to the record in full. A client that hears it in full hears it as often as it
//! likes to play the task, and can solve for the answers; so it is told as much as is asked for,
//! and no step's reward tells more ([`told_final_value`](super::told_final_value)).

use crate::env::{EpisodeResult, Feedback};
use serde::{Deserialize, Serialize};
use tasks::thresholds::Milestone;

/// How much of the final grade a client is told, in words and by rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reveal {
    /// Whether the submission was valid, and why not.
    None,
    /// Also the tier that it reached: what trainers need who take rewards from the server.
    Tier,
    /// Also the score with all its digits, from which the answers can be solved for.
    Score,
}

impl Reveal {
    /// As much as the feedback mode tells of other rows.
    ///
    /// # Examples
    /// ```rust
    /// use sandbox::env::Feedback;
    /// use sandbox::serve::Reveal;
    ///
    /// assert_eq!(Reveal::of(Feedback::Validate), Reveal::None);
    /// assert_eq!(Reveal::of(Feedback::Full), Reveal::Score);
    /// ```
    pub fn of(feedback: Feedback) -> Self {
        match feedback {
            Feedback::Validate => Self::None,
            Feedback::Tier => Self::Tier,
            Feedback::Full => Self::Score,
        }
    }

    /// What a client is told of an end.
    pub(super) fn told(self, finish: &EpisodeResult) -> ToldFinish {
        let grade = finish.grade.filter(|_| self != Self::None).map(|grade| ToldGrade {
            score: (self == Self::Score).then_some(grade.score),
            tier: grade.tier,
        });
        ToldFinish { valid: finish.grade.is_some(), grade, refusal: finish.refusal.clone() }
    }

    /// Its name, as on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tier => "tier",
            Self::Score => "score",
        }
    }
}

/// The end of an episode, for its client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ToldFinish {
    valid: bool,
    /// Left out where nothing of it is told, or nothing is there to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grade: Option<ToldGrade>,
    refusal: Option<String>,
}

/// What is told of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct ToldGrade {
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    pub(super) tier: Option<Milestone>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tasks::grade::Grade;

    #[test]
    fn no_more_is_told_than_was_asked_for() {
        let graded = EpisodeResult { grade: Some(Grade { score: 0.5, tier: None }), refusal: None };
        for (reveal, expected) in [
            (Reveal::None, json!({"valid": true, "refusal": null})),
            (Reveal::Tier, json!({"valid": true, "grade": {"tier": null}, "refusal": null})),
            (
                Reveal::Score,
                json!({"valid": true, "grade": {"score": 0.5, "tier": null}, "refusal": null}),
            ),
        ] {
            assert_eq!(json!(reveal.told(&graded)), expected);
            let refused = EpisodeResult { grade: None, refusal: Some("no".to_owned()) };
            assert_eq!(json!(reveal.told(&refused)), json!({"valid": false, "refusal": "no"}));
            assert_eq!(json!(reveal), json!(reveal.name()));
        }
    }
}
