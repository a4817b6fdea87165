//! One turn of a linear agent, with what came of it.

use super::node::{BlobHash, NodeId};
use crate::trajectory::TurnRecord;
use serde::{Deserialize, Serialize};

/// One turn and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnFacts {
    /// Its number, 0 for the first.
    pub number: NodeId,
    /// What the agent did, and how its script ended.
    pub record: TurnRecord,
    /// The script, if the turn ran one.
    pub code: Option<BlobHash>,
    /// What the agent was told; `None` after the last turn.
    pub reply: Option<BlobHash>,
    /// The validation score that the script printed.
    pub metric: Option<f64>,
    /// The submission that counts if the run ends here, valid or not.
    pub submission: Option<BlobHash>,
    /// Its score, where the feedback mode tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Active seconds of the run when it ended.
    pub ended_at: f64,
}
