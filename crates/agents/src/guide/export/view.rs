//! What an agent had before it at one time: of a run whose conversation was summarised there are several.
//!
//! Between two summaries the conversation only grows, so its state before each summary and at the end has
//! every turn with what it was taken after. Each summary is a view of its own, written after the turns
//! that it is of.

use crate::guide::transcript::Transcript;
use crate::guide::turn::TurnSummary;

/// One state of a conversation, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View<'a> {
    /// The summary that stands in the prompt.
    pub(super) opens_with: Option<&'a str>,
    /// The turns that are shown, by number, in order.
    pub(super) turns: Vec<u32>,
    /// Turns from here on are in no earlier view.
    pub(super) new_from: u32,
    /// Turns from here on are not there yet, nor is what was heard after them.
    pub(super) end: u32,
    /// The summary that was written then.
    pub(super) summary: Option<&'a TurnSummary>,
}

/// The views of a run, in order; one, if nothing was summarised.
pub(super) fn views(transcript: &Transcript) -> Vec<View<'_>> {
    let mut views = Vec::new();
    let mut replaced: Vec<u32> = Vec::new();
    let (mut opens_with, mut new_from) = (None, 0);
    let turns = |end: u32, replaced: &[u32]| -> Vec<u32> {
        (0..end).filter(|turn| !replaced.contains(turn)).collect()
    };
    for (number, turn) in (0..).zip(&transcript.turns) {
        for summary in &turn.report.summaries {
            if number > new_from {
                let turns = turns(number, &replaced);
                views.push(View { opens_with, turns, new_from, end: number, summary: None });
            }
            views.push(View {
                opens_with,
                turns: summary.replaces.clone(),
                new_from: number,
                end: summary.replaces.last().map_or(0, |last| last + 1),
                summary: Some(summary),
            });
            replaced.extend(&summary.replaces);
            (opens_with, new_from) = (Some(summary.text.as_str()), number);
        }
    }
    let end = transcript.count();
    views.push(View { opens_with, turns: turns(end, &replaced), new_from, end, summary: None });
    views
}
