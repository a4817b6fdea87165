//! A submission and what became of it, as the ledger tells.

use super::event::{ModelFacts, RequestFacts, Scored};
use crate::digest::Digest;
use crate::refusal::Refusal;

/// What became of a submission.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is still to be graded.
    Waiting,
    /// It was graded.
    Graded(Scored),
    /// It has the score of another submission, or of the base.
    Cached {
        /// Which submission; none for the base.
        of: Option<u64>,
        /// The score, and the results that it is from.
        scored: Scored,
    },
    /// It cannot be evaluated.
    Refused(Refusal),
    /// We could not grade it.
    Failed {
        /// Why, for the operator.
        fault: String,
        /// The device was taken.
        busy: bool,
    },
}

/// A submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What was asked for.
    pub request: RequestFacts,
    /// The time of day when it was recorded, for people.
    pub time: String,
    /// Hash, size and facts of the model; none if it was refused at intake.
    pub model: Option<(Digest, u64, ModelFacts)>,
    /// What became of it.
    pub outcome: Outcome,
}

impl Submission {
    /// Its score, if it could be graded.
    pub fn scored(&self) -> Option<&Scored> {
        match &self.outcome {
            Outcome::Graded(scored) | Outcome::Cached { scored, .. } => Some(scored),
            Outcome::Waiting | Outcome::Refused(_) | Outcome::Failed { .. } => None,
        }
    }

    /// The hash of its model, where it was accepted.
    pub fn digest(&self) -> Option<Digest> {
        self.model.as_ref().map(|(digest, _, _)| *digest)
    }
}

/// A score after the end.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalScore {
    /// The submission; none for the base, and where there is no valid one.
    pub id: Option<u64>,
    /// The score; none where there is no valid submission.
    pub scored: Option<Scored>,
}
