//! One answer while it is made: tokens in, parts of text out.

use super::generator::Event;
use super::refusal::Refusal;
use super::text::Text;
use crate::generate::engine::Ending;
use crate::text::tokenizer::Tokenizer;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The most tokens that one part tells of.
const BATCH: usize = 64;

/// A token as clients are told of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) id: i64,
    pub(super) log_prob: f32,
    /// Its bytes in the text; those of a control token are none, and here its name.
    pub(super) bytes: Vec<u8>,
    /// Where it begins in the text, in characters.
    pub(super) offset: usize,
}

/// Why an answer is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The model ended its turn, or a stop string came.
    Stop,
    /// There is no room for more.
    Length,
}

/// What has become of an answer since the last part, or altogether.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Part {
    /// Which answer of the request.
    pub(super) index: usize,
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
    /// Set in the last part.
    pub(super) reason: Option<Reason>,
}

impl Part {
    /// Puts the next part behind this one.
    pub(super) fn extend(&mut self, next: Part) {
        self.text.push_str(&next.text);
        self.tokens.extend(next.tokens);
        self.reason = next.reason;
    }
}

/// An answer that is being made. Dropping it gives it up.
#[derive(Debug)]
pub(super) struct Answer {
    index: usize,
    tokenizer: Arc<Tokenizer>,
    text: Text,
    /// Nothing after the last part.
    events: Option<UnboundedReceiver<Event>>,
}

impl Answer {
    pub(super) fn new(
        index: usize,
        tokenizer: Arc<Tokenizer>,
        stops: Vec<String>,
        events: UnboundedReceiver<Event>,
    ) -> Self {
        Self { index, tokenizer, text: Text::new(stops), events: Some(events) }
    }

    /// The next part, or nothing after the last one.
    pub(super) async fn next(&mut self) -> Option<Result<Part, Refusal>> {
        let events = self.events.as_mut()?;
        let mut arrived = Vec::new();
        events.recv_many(&mut arrived, BATCH).await;
        if arrived.is_empty() {
            // The generator is gone, and this answer with it.
            self.events = None;
            return Some(Err(Refusal::stopped()));
        }
        let part = self.part(arrived);
        if !matches!(part, Ok(Part { reason: None, .. })) {
            self.events = None;
        }
        Some(part)
    }

    fn part(&mut self, events: Vec<Event>) -> Result<Part, Refusal> {
        let mut part = Part { index: self.index, ..Part::default() };
        for event in events {
            match event {
                Event::Token { id, log_prob } => {
                    let bytes = self
                        .tokenizer
                        .bytes(id)
                        .map_err(|error| Refusal::broken(error.to_string()))?;
                    let offset = self.text.characters();
                    if !self.tokenizer.is_control(id) {
                        part.text.push_str(&self.text.push(&bytes));
                    }
                    part.tokens.push(Token { id, log_prob, bytes, offset });
                    if self.text.is_stopped() {
                        part.reason = Some(Reason::Stop);
                        break;
                    }
                }
                Event::End(ending) => {
                    part.text.push_str(&self.text.finish());
                    part.reason = Some(match ending {
                        Ending::EndOfTurn => Reason::Stop,
                        Ending::TurnLength | Ending::ContextFull => Reason::Length,
                    });
                }
                Event::Refused(message) => return Err(Refusal::broken(message)),
            }
        }
        Ok(part)
    }
}
