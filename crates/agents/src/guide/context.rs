//! What an agent had before it when it took a turn.

use super::conversation::Conversation;
use super::error::GuideError;
use crate::run::journal::Blobs;
use crate::trajectory::Source;
use serde::Serialize;

/// A part of what an agent read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextPart {
    /// Where it comes from.
    pub source: Source,
    /// The turn that it belongs to, from 0; `None` of the prompt.
    pub turn: Option<u32>,
    /// The text, without chat layout.
    pub text: String,
    /// Whether it is a summary that the agent wrote of turns that it was no longer shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_summary: bool,
}

/// What the agent read before it took a turn, in order: prompt, the latest summary of its own, then turns that it was
/// still shown with their observations, then the guidance that it had by then.
///
/// `conversation` has all its turns, as one that is read from the disk.
///
/// # Errors
/// [`GuideError::Invalid`] if there is no such turn, [`GuideError::Journal`] if a text is missing.
pub fn context(
    conversation: &Conversation,
    blobs: &Blobs,
    turn: u32,
) -> Result<Vec<ContextPart>, GuideError> {
    let turns = conversation.turns.all();
    let Some(asked) = turns.get(turn as usize) else {
        let turns = turns.len();
        return Err(GuideError::Invalid(format!("there is no turn {turn}; there are {turns}")));
    };
    let mut parts = Vec::new();
    for message in &conversation.opening.prompt {
        let text = message.text.read(blobs)?;
        parts.push(ContextPart { source: Source::Prompt, turn: None, text, is_summary: false });
    }
    let before = &turns[..=turn as usize];
    if let Some(summary) = before.iter().flat_map(|turn| &turn.summaries).next_back() {
        let text = summary.text.read(blobs)?;
        parts.push(ContextPart { source: Source::Model, turn: None, text, is_summary: true });
    }
    let mut push = |source, turn, text| {
        parts.push(ContextPart { source, turn, text, is_summary: false });
    };
    for (number, past) in (0..turn).zip(turns) {
        if !asked.left_out.contains(&number) {
            let text = format!("{}{}", past.thought.read(blobs)?, past.action.read(blobs)?);
            push(Source::Model, Some(number), text);
            if let Some(observation) = &past.observation {
                push(Source::Environment, Some(number), observation.read(blobs)?);
            }
        }
        // Advice stays where the turn before it is no longer shown.
        for seq in conversation.heard.get(&(number + 1)).into_iter().flatten() {
            if let Some(piece) = conversation.guidance.get(seq) {
                push(Source::Guide, Some(number), piece.what.text.clone());
            }
        }
    }
    Ok(parts)
}
