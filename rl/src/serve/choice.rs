//! One choice of a response while it is generated: token ids in, deltas of text out.

use super::api_error::ApiError;
use super::request_options::RequestOptions;
use super::text::Text;
use crate::generate::engine::TurnEnd;
use crate::generate::jobs::JobEvent;
use crate::generate::sample::{ScoredToken, TopToken};
use crate::text::tokenizer::Tokenizer;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// The most tokens of one delta.
const BATCH: usize = 64;

/// A token as it appears in a response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenLogprob {
    pub(super) id: i64,
    /// `None` for the first token of a prompt, and for all of a prompt that is not scored.
    pub(super) log_prob: Option<f32>,
    /// Its bytes in the text. A control token has none there; these are then the bytes of its name.
    pub(super) bytes: Vec<u8>,
    /// Where it begins in the text, in characters.
    pub(super) offset: usize,
    /// The likeliest tokens in its place, likeliest first.
    pub(super) top: Vec<TopLogprob>,
}

/// One of the likeliest tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopLogprob {
    pub(super) bytes: Vec<u8>,
    pub(super) log_prob: f32,
}

/// A prompt that is part of its choice's text.
#[derive(Debug)]
pub(super) struct Echo {
    /// The ids of the prompt.
    pub(super) ids: Vec<i64>,
    /// Whether nothing is generated after it.
    pub(super) is_all: bool,
}

/// Why generation of a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishReason {
    /// The model ended its turn, or a stop string or stop token was generated.
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
    /// The tokens of the prompt, if it is part of the text.
    pub(super) echoed: Vec<TokenLogprob>,
    /// Tokens of the prompt that were cached already; told once.
    pub(super) cached_tokens: usize,
    /// Generated tokens.
    pub(super) tokens: Vec<TokenLogprob>,
    /// Set in the last delta.
    pub(super) reason: Option<FinishReason>,
    /// The stop string or the id of the stop token that ended the choice, as in vLLM; else null.
    pub(super) stop_reason: Value,
}

impl ChoiceDelta {
    /// Appends the next delta.
    pub(super) fn extend(&mut self, next: ChoiceDelta) {
        self.text.push_str(&next.text);
        self.echoed.extend(next.echoed);
        self.cached_tokens += next.cached_tokens;
        self.tokens.extend(next.tokens);
        self.reason = next.reason;
        self.stop_reason = next.stop_reason;
    }
}

/// What ends a choice besides the model, and whether it is part of the text.
#[derive(Debug, Clone)]
pub(super) struct StopRules {
    /// Texts that end it.
    strings: Vec<String>,
    /// Ids of tokens that end it; the engine stops at them.
    ids: Vec<i64>,
    /// Ids of tokens that end the model's turn, where control tokens are part of the text: these
    /// are not, unless what ended the choice is included.
    ending: Vec<i64>,
    /// Whether control tokens are left out of the text.
    skip_special: bool,
    /// Whether the text includes the string or token that ended it.
    is_included: bool,
    /// Stop strings that are complete within so many tokens do not count.
    min_tokens: usize,
}

impl StopRules {
    /// Those of a request to a model whose turns end with one of `ending`.
    pub(super) fn new(options: &RequestOptions, ending: &[i64]) -> Self {
        let needs_none = options.skip_special || options.ignore_eos;
        Self {
            strings: options.stop.clone(),
            ids: options.extras.stop_ids.clone(),
            ending: if needs_none { Vec::new() } else { ending.to_vec() },
            skip_special: options.skip_special,
            is_included: options.include_stop,
            min_tokens: options.extras.processors.min_tokens,
        }
    }
}

/// A choice that is being generated. Dropping it cancels its job.
#[derive(Debug)]
pub(super) struct ChoiceStream {
    index: usize,
    tokenizer: Arc<Tokenizer>,
    text: Text,
    stop: StopRules,
    /// Generated tokens so far.
    count: usize,
    /// See [`ChoiceDelta::stop_reason`].
    stop_reason: Value,
    /// Until the prompt was read.
    echo: Option<Echo>,
    /// Characters of the prompt that come before the generated text.
    echoed: usize,
    /// `None` after the last delta.
    events: Option<UnboundedReceiver<JobEvent>>,
}

impl ChoiceStream {
    pub(super) fn new(
        index: usize,
        tokenizer: Arc<Tokenizer>,
        stop: StopRules,
        echo: Option<Echo>,
        events: UnboundedReceiver<JobEvent>,
    ) -> Self {
        Self {
            index,
            tokenizer,
            text: Text::new(stop.strings.clone(), stop.is_included),
            stop,
            count: 0,
            stop_reason: Value::Null,
            echo,
            echoed: 0,
            events: Some(events),
        }
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
                JobEvent::Prompt { cached_tokens, scores } => {
                    delta.cached_tokens = cached_tokens;
                    let Some(echo) = self.echo.take() else { continue };
                    self.repeat(&echo.ids, scores, &mut delta);
                    if echo.is_all {
                        delta.reason = Some(FinishReason::Length);
                        break;
                    }
                }
                JobEvent::Token { id, log_prob, top } => {
                    let token = self.token(id, log_prob, &top, &mut delta.text)?;
                    delta.tokens.push(token);
                    if let Some(stop) = self.text.stopped() {
                        self.stop_reason = stop.into();
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
        if delta.reason.is_some() {
            delta.stop_reason = self.stop_reason.take();
        }
        Ok(delta)
    }

    /// Adds the text of a generated token to `text`.
    fn token(
        &mut self,
        id: i64,
        log_prob: f32,
        top: &[TopToken],
        text: &mut String,
    ) -> Result<TokenLogprob, ApiError> {
        let bytes =
            self.tokenizer.bytes(id).map_err(|error| ApiError::broken(error.to_string()))?;
        let offset = self.echoed + self.text.characters();
        self.count += 1;
        let is_stop = self.stop.ids.contains(&id);
        if is_stop {
            self.stop_reason = id.into();
        }
        let is_hidden = self.stop.skip_special && self.tokenizer.is_control(id);
        let is_end = is_stop || self.stop.ending.contains(&id);
        if !is_hidden && (!is_end || self.stop.is_included) {
            text.push_str(&self.text.push(&bytes, self.count > self.stop.min_tokens));
        }
        Ok(TokenLogprob { id, log_prob: Some(log_prob), bytes, offset, top: self.top(top) })
    }

    /// Adds the prompt to the first delta. `scores` begin with the second token.
    fn repeat(&mut self, ids: &[i64], scores: Vec<ScoredToken>, delta: &mut ChoiceDelta) {
        let mut text = Text::new(Vec::new(), false);
        let mut scores = scores.into_iter();
        for (position, &id) in ids.iter().enumerate() {
            let score = if position == 0 { None } else { scores.next() };
            let (bytes, offset) = (self.bytes(id), text.characters());
            delta.text.push_str(&text.push(&bytes, false));
            let log_prob = score.as_ref().map(|score| score.log_prob);
            let top = score.map_or_else(Vec::new, |score| self.top(&score.top));
            delta.echoed.push(TokenLogprob { id, log_prob, bytes, offset, top });
        }
        delta.text.push_str(&text.finish());
        self.echoed = delta.text.chars().count();
    }

    fn top(&self, entries: &[TopToken]) -> Vec<TopLogprob> {
        let entry =
            |entry: &TopToken| TopLogprob { bytes: self.bytes(entry.id), log_prob: entry.log_prob };
        entries.iter().map(entry).collect()
    }

    /// The bytes of a token; none for an id that only pads the model's vocabulary.
    fn bytes(&self, id: i64) -> Vec<u8> {
        self.tokenizer.bytes(id).unwrap_or_default()
    }
}
