//! The bodies of requests and answers, as the server and its client have them.

use super::guidance::{GuidanceText, PostedGuidance};
use super::ids::{ConversationId, GuidanceId};
use super::turn::{End, Opening};
use serde::{Deserialize, Serialize};

/// Port of a server whose address names none.
pub const PORT: u16 = 8300;

/// `POST /conversations`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenBody {
    /// The name that the agent's side has drawn.
    pub id: ConversationId,
    /// How it opens.
    pub opening: Opening,
}

/// `POST /conversations/{id}/close`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseBody {
    /// The `seq` of the last piece that the agent has written down.
    pub have: u64,
    /// How it ends.
    pub end: End,
}

/// Its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedBody {
    /// What came too late, in order.
    pub late: Vec<PostedGuidance>,
}

/// `POST /conversations/{id}/guidance`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostBody {
    /// The name that the person's side has drawn.
    pub id: GuidanceId,
    /// What it says.
    pub what: GuidanceText,
}

/// The answer to a request that was not followed.
#[derive(Debug, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Why, in a word for programs.
    pub code: String,
    /// Why, for people.
    pub error: String,
    /// The piece of guidance as it is, where one could not be changed or came too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<Box<PostedGuidance>>,
}

/// Code of an answer after which a conversation is to be opened again.
pub const FORGOTTEN: &str = "forgotten";
/// Code of the answer to guidance that the agent will not read: its run was over.
pub const LATE: &str = "late";
