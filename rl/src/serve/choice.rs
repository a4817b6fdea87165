//! One choice of a response while it is generated: token ids in, deltas of text out.

use super::api_error::ApiError;
use super::text::Text;
use crate::generate::engine::TurnEnd;
use crate::generate::jobs::JobEvent;
use crate::text::tokenizer::Tokenizer;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The most tokens of one delta.
const BATCH: usize = 64;

/// A generated token as it appears in a response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenLogprob {
    pub(super) id: i64,
    pub(super) log_prob: f32,
    /// Its bytes in the text. A control token has none there; these are then the bytes of its name.
    pub(super) bytes: Vec<u8>,
    /// Where it begins in the text, in characters.
    pub(super) offset: usize,
}

/// Why generation of a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishReason {
    /// The model ended its turn, or a stop string was generated.
    Stop,
    /// The token limit or the end of the context was reached.
    Length,
}

/// What was generated of a choice since the last delta; in a response that is not streamed, the
/// whole choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChoiceDelta {
    /// Index of the choice in the response.
    pub(super) index: usize,
    pub(super) text: String,
    pub(super) tokens: Vec<TokenLogprob>,
    /// Set in the last delta.
    pub(super) reason: Option<FinishReason>,
}

impl ChoiceDelta {
    /// Appends the next delta.
    pub(super) fn extend(&mut self, next: ChoiceDelta) {
        self.text.push_str(&next.text);
        self.tokens.extend(next.tokens);
        self.reason = next.reason;
    }
}

/// A choice that is being generated. Dropping it cancels its job.
#[derive(Debug)]
pub(super) struct ChoiceStream {
    index: usize,
    tokenizer: Arc<Tokenizer>,
    text: Text,
    /// `None` after the last delta.
    events: Option<UnboundedReceiver<JobEvent>>,
}

impl ChoiceStream {
    pub(super) fn new(
        index: usize,
        tokenizer: Arc<Tokenizer>,
        stops: Vec<String>,
        events: UnboundedReceiver<JobEvent>,
    ) -> Self {
        Self { index, tokenizer, text: Text::new(stops), events: Some(events) }
    }

    /// The next delta; `None` after the last one.
    pub(super) async fn next(&mut self) -> Option<Result<ChoiceDelta, ApiError>> {
        let events = self.events.as_mut()?;
        let mut arrived = Vec::new();
        events.recv_many(&mut arrived, BATCH).await;
        if arrived.is_empty() {
            // The generator has ended before this choice did.
            self.events = None;
            return Some(Err(ApiError::stopped()));
        }
        let delta = self.delta(arrived);
        if !matches!(delta, Ok(ChoiceDelta { reason: None, .. })) {
            self.events = None;
        }
        Some(delta)
    }

    fn delta(&mut self, events: Vec<JobEvent>) -> Result<ChoiceDelta, ApiError> {
        let mut delta = ChoiceDelta { index: self.index, ..ChoiceDelta::default() };
        for event in events {
            match event {
                JobEvent::Token { id, log_prob } => {
                    let bytes = self
                        .tokenizer
                        .bytes(id)
                        .map_err(|error| ApiError::broken(error.to_string()))?;
                    let offset = self.text.characters();
                    if !self.tokenizer.is_control(id) {
                        delta.text.push_str(&self.text.push(&bytes));
                    }
                    delta.tokens.push(TokenLogprob { id, log_prob, bytes, offset });
                    if self.text.is_stopped() {
                        delta.reason = Some(FinishReason::Stop);
                        break;
                    }
                }
                JobEvent::End(ending) => {
                    delta.text.push_str(&self.text.finish());
                    delta.reason = Some(match ending {
                        TurnEnd::EndOfTurn => FinishReason::Stop,
                        TurnEnd::TurnLength | TurnEnd::ContextFull => FinishReason::Length,
                    });
                }
                JobEvent::Refused(message) => return Err(ApiError::broken(message)),
            }
        }
        Ok(delta)
    }
}
