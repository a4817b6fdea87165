//! The events of a conversation, as its journal has them.

use super::guidance::GuidanceText;
use super::ids::GuidanceId;
use super::turn::{End, StoredOpening, StoredTurn};
use serde::{Deserialize, Serialize};

/// The version of the journal that this build reads and writes.
pub const GUIDE_VERSION: u32 = 1;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLine {
    /// Version of the format, [`GUIDE_VERSION`] in this build.
    pub version: u32,
    /// Its number: 1 for the first line, one more for each after it. Every order follows from this.
    pub seq: u64,
    /// When it was written, in milliseconds since 1970, for people. No order follows from it.
    pub at: u64,
    /// Name of the person who caused it; `None` for the agent and the server itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What happened.
    pub event: Event,
}

/// What happened in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// An agent opened it; the first event.
    Opened(Box<StoredOpening>),
    /// The agent came back, after a restart or a silence.
    Resumed {},
    /// The agent took a turn.
    Turn(Box<StoredTurn>),
    /// A person posted a piece of guidance.
    Guidance {
        /// Its name.
        id: GuidanceId,
        /// What it says.
        what: GuidanceText,
    },
    /// A person changed a piece that was queued.
    Edited {
        /// Its name.
        id: GuidanceId,
        /// What it says now.
        what: GuidanceText,
    },
    /// A person took a queued piece back.
    Retracted {
        /// Its name.
        id: GuidanceId,
    },
    /// Queued pieces are in the answer to an exchange.
    Sent {
        /// Their names, in order.
        ids: Vec<GuidanceId>,
    },
    /// The agent has written down what was sent.
    Acknowledged {
        /// The `seq` of the last piece that it has.
        have: u64,
    },
    /// Pieces that the agent never had: the run ended first.
    Late {
        /// Their names, in order.
        ids: Vec<GuidanceId>,
    },
    /// A person asked the agent to wait.
    Held {},
    /// The agent need not wait any more.
    Released {
        /// Why.
        why: ReleaseReason,
    },
    /// What a person has typed and not sent; empty once there is nothing.
    Draft {
        /// The text.
        text: String,
    },
    /// A person marked a turn.
    Mark(TurnMark),
    /// A person judged a turn, or changed the judgement.
    Verdict(TurnVerdict),
    /// Nothing was heard of the agent for long.
    Lost {},
    /// The run is over.
    Closed(Box<End>),
}

/// Why a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// A person released it.
    Person,
    /// It lasted as long as a hold may.
    Limit,
    /// The connection of the person who held it was gone for too long.
    Gone,
}

/// A note on a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnMark {
    /// The turn, from 0.
    pub turn: u32,
    /// The note, at most 8 KiB; may be empty.
    pub note: String,
}

/// What a person says of a turn as an example to learn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnVerdict {
    /// The turn, from 0.
    pub turn: u32,
    /// Which part of it.
    #[serde(default, skip_serializing_if = "TurnPart::is_whole")]
    pub part: TurnPart,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, at most 8 KiB; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The part of a turn that a verdict is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnPart {
    /// All of it.
    #[default]
    Turn,
    /// The thought.
    Thought,
    /// The action.
    Action,
}

impl TurnPart {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_whole(&self) -> bool {
        *self == Self::Turn
    }
}

/// Whether a turn is worth learning from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is.
    Keep,
    /// It is not.
    Drop,
    /// The person does not say, or takes a verdict back.
    Undecided,
}
