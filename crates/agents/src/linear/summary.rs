//! Summaries of a linear agent's own conversation: the older half of the turns that are shown makes way for
//! one.

use crate::guide::turn::TurnSummary;
use crate::summary::REQUEST;

/// Times that a summary is asked for before one turn.
pub(super) const TRIES: u32 = 8;

/// A summary that stands in the place of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastSummary {
    /// The turn, by number, before which it was written.
    pub(super) before: usize,
    /// The turns that it is of, by number. Those of an earlier summary are not among them: that summary
    /// was read with these turns.
    pub(super) replaces: Vec<usize>,
    pub(super) text: String,
}

impl PastSummary {
    /// As it is told to people.
    pub(super) fn told(&self) -> TurnSummary {
        let turns = self.replaces.iter();
        TurnSummary {
            replaces: turns.map(|&turn| u32::try_from(turn).expect("fewer than 2^32")).collect(),
            request: REQUEST.to_owned(),
            text: self.text.clone(),
        }
    }
}
