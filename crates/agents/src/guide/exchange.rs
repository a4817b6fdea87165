//! What an agent and a conversation say to each other.

use super::conversation::Hold;
use super::guidance::DeliveredGuidance;
use super::turn::TurnReport;
use serde::{Deserialize, Serialize};

/// The answer to opening a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The turn that is missing, from 0: 0 of a new conversation.
    pub expects: u32,
    /// The highest `seq` of guidance that was sent. An agent that has more has it from elsewhere, as
    /// from a store that was lost.
    pub sent: u64,
    /// Whether the run is over already.
    pub is_over: bool,
}

/// A turn, told to a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Its number, from 0.
    pub turn: u32,
    /// The highest `seq` of guidance that the agent has written down; 0 without any.
    pub have: u64,
    /// Whether the agent reads what is answered. It does not when it catches up, or took its last
    /// turn: then nothing is sent.
    pub listens: bool,
    /// What happened in it.
    pub report: TurnReport,
}

/// The answer to an [`Update`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Guidance above `have`, in order. All of it goes to the agent, or none.
    pub guidance: Vec<DeliveredGuidance>,
    /// Whether the agent is to wait, and to ask again: with the same update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// The turn that is missing. If it is not above that of the update, nothing was taken up, and the
    /// turns from there on are to be told first.
    pub expects: u32,
}
