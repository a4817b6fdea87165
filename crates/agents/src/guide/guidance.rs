//! A piece of guidance: what a person tells a running agent, and what became of it.

use super::defuse::defused;
use super::ids::GuidanceId;
use crate::trajectory::Guidance;
use serde::{Deserialize, Serialize};

/// Most bytes of one piece.
pub const LONGEST_GUIDANCE: usize = 8 << 10;

/// What became of a piece of guidance. A draft is none yet: drafts are kept per annotator, by
/// themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuidanceState {
    /// It waits for the agent's next exchange. It may still be edited or retracted.
    Queued,
    /// It was in the answer to an exchange. The agent may not have got it, and then gets it again.
    Sent,
    /// The agent has written it down.
    Acknowledged,
    /// The run ended before the agent had it. It is kept as a comment.
    Late,
    /// Its author took it back in time.
    Retracted,
}

impl GuidanceState {
    /// The name as in files and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Acknowledged => "acknowledged",
            Self::Late => "late",
            Self::Retracted => "retracted",
        }
    }
}

/// Turns, from 0, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnRange {
    /// The first.
    pub from: u32,
    /// The last.
    pub to: u32,
}

/// What a person writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuidanceText {
    /// The text, at most 8 KiB.
    pub text: String,
    /// The turn that it is about, from 0; `None` for the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<u32>,
    /// Turns that the agent should not learn from, for what this says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<TurnRange>,
}

/// A piece of guidance in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostedGuidance {
    /// Its name.
    pub id: GuidanceId,
    /// Its place in the order of delivery: the `seq` of the event that posted it.
    pub seq: u64,
    /// Name of the person.
    pub by: String,
    /// When it was posted, in milliseconds since 1970, for people. No order follows from it.
    pub at: u64,
    /// What it says, as last edited.
    pub what: GuidanceText,
    /// What became of it.
    pub state: GuidanceState,
}

impl PostedGuidance {
    /// Whether the agent may still get it.
    pub fn is_pending(&self) -> bool {
        matches!(self.state, GuidanceState::Queued | GuidanceState::Sent)
    }

    /// The piece as the agent gets it at a time in milliseconds since 1970; without one, as if at once.
    pub(super) fn delivered(&self, at: Option<u64>) -> DeliveredGuidance {
        let waited = at.map_or(0, |at| at.saturating_sub(self.at));
        DeliveredGuidance {
            id: self.id.clone(),
            seq: self.seq,
            by: self.by.clone(),
            about: self.what.about,
            text: self.what.text.clone(),
            waited_seconds: waited as f64 / 1000.0,
        }
    }
}

/// A piece of guidance on its way to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveredGuidance {
    /// Its name.
    pub id: GuidanceId,
    /// Its place in the order of delivery, above that of all before it.
    pub seq: u64,
    /// Name of the person, for the record. The agent is not told.
    pub by: String,
    /// The turn that it is about, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<u32>,
    /// The text.
    pub text: String,
    /// Seconds since it was posted, by the server's clock.
    pub waited_seconds: f64,
}

impl DeliveredGuidance {
    /// What the agent reads of it: not whose it is, and nothing that could be taken for a tag.
    pub fn advice(&self) -> String {
        let text = defused(&self.text);
        match self.about {
            Some(turn) => format!("(about your turn {})\n{text}", u64::from(turn) + 1),
            None => text.into_owned(),
        }
    }

    /// The piece as the record of a trajectory has it, whose segment `segment` holds it.
    pub fn heard_in(&self, segment: usize) -> Guidance {
        Guidance {
            segment,
            id: self.id.to_string(),
            by: self.by.clone(),
            about: self.about,
            text: self.text.clone(),
            waited_seconds: self.waited_seconds,
        }
    }
}
