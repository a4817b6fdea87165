//! How much of an episode's final grade is revealed to its client.
//!
//! The record has the whole grade. A client that gets exact scores can play a task repeatedly and
//! solve for its answers, so the operator chooses how much is revealed, and rewards reveal no more
//! ([`revealed_value`](super::revealed_value)).

use crate::env::{EpisodeResult, Feedback};
use serde::{Deserialize, Serialize};
use tasks::thresholds::Milestone;

/// How much of the final grade is revealed to a client, in replies and by rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reveal {
    /// Whether the submission was valid, and why not.
    None,
    /// Also the tier that it reached, which training with the server's rewards needs.
    Tier,
    /// Also the exact score, from which the answers can be computed over many episodes.
    Score,
}

impl Reveal {
    /// The default for a feedback mode: as much as `score` reveals on the feedback rows.
    ///
    /// # Examples
    /// ```rust
    /// use sandbox::env::Feedback;
    /// use sandbox::serve::Reveal;
    ///
    /// assert_eq!(Reveal::from_feedback(Feedback::Validate), Reveal::None);
    /// assert_eq!(Reveal::from_feedback(Feedback::Full), Reveal::Score);
    /// ```
    pub fn from_feedback(feedback: Feedback) -> Self {
        match feedback {
            Feedback::Validate => Self::None,
            Feedback::Tier => Self::Tier,
            Feedback::Full | Feedback::Exposed => Self::Score,
        }
    }

    /// The part of a result that is revealed.
    pub(super) fn apply(self, finish: &EpisodeResult) -> RevealedResult {
        let grade = finish.grade.filter(|_| self != Self::None).map(|grade| RevealedGrade {
            score: (self == Self::Score).then_some(grade.score),
            tier: grade.tier,
        });
        RevealedResult { valid: finish.grade.is_some(), grade, refusal: finish.refusal.clone() }
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

/// The result of an episode as its client gets it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RevealedResult {
    valid: bool,
    /// Left out if none of it is revealed, or there is no grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grade: Option<RevealedGrade>,
    refusal: Option<String>,
}

/// The revealed part of a grade.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct RevealedGrade {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<f64>,
    pub(super) tier: Option<Milestone>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tasks::grade::Grade;

    #[test]
    fn reply_reveals_no_more_than_its_setting() {
        let graded = EpisodeResult { grade: Some(Grade { score: 0.5, tier: None }), refusal: None };
        for (reveal, expected) in [
            (Reveal::None, json!({"valid": true, "refusal": null})),
            (Reveal::Tier, json!({"valid": true, "grade": {"tier": null}, "refusal": null})),
            (
                Reveal::Score,
                json!({"valid": true, "grade": {"score": 0.5, "tier": null}, "refusal": null}),
            ),
        ] {
            assert_eq!(json!(reveal.apply(&graded)), expected);
            let refused = EpisodeResult { grade: None, refusal: Some("no".to_owned()) };
            assert_eq!(json!(reveal.apply(&refused)), json!({"valid": false, "refusal": "no"}));
            assert_eq!(json!(reveal), json!(reveal.name()));
        }
    }
}
