//! The options of a turn, and its result.

use crate::generate::sample::{LogitProcessors, Sampling, ScoredToken, TopToken};
use tasks::stream::Stream;

/// How one turn is generated; `SamplingParams` in vLLM.
#[derive(Debug, Clone, Copy)]
pub struct TurnOptions {
    /// Temperature and filters of the distribution.
    pub sampling: Sampling,
    /// The random numbers of the draws, one per token.
    pub stream: Stream,
    /// The most tokens of the turn; at least 1.
    pub max_tokens: usize,
    /// Whether generation continues after the token that ends a turn.
    pub ignore_eos: bool,
}

/// What a request to a server asks of a turn besides [`TurnOptions`]; the default asks for nothing.
#[derive(Debug, Clone, Default)]
pub struct TurnExtras {
    /// How many of the likeliest tokens are reported beside each token that has a log-probability.
    pub top: usize,
    /// Whether the tokens that are given are scored. They are then prefilled alone, without any
    /// cached prefix.
    pub score_prompt: bool,
    /// What changes the logits before they are sampled from.
    pub processors: LogitProcessors,
    /// Further tokens that end the turn.
    pub stop_ids: Vec<i64>,
}

/// What is known of a turn besides its tokens.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnDetails {
    /// How many of the given tokens were cached already and not prefilled.
    pub cached_tokens: usize,
    /// The scores of the given tokens from the second on, if [`TurnExtras::score_prompt`] asks for
    /// them: complete before the first token is sampled.
    pub prompt: Vec<ScoredToken>,
    /// For each sampled token the likeliest ones in its place, likeliest first; empty if
    /// [`TurnExtras::top`] is 0.
    pub top: Vec<Vec<TopToken>>,
    /// Why the turn could not go on, if its grammar could not be followed. It has ended then.
    pub failure: Option<String>,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model sampled a token that ends a turn; it is the last of the turn.
    EndOfTurn,
    /// The turn reached its limit.
    TurnLength,
    /// The conversation reached the context length of the engine.
    ContextFull,
}

/// A turn that has ended, with its tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The row that produced the turn.
    pub row: RowId,
    /// The sampled ids, the closing one included.
    pub ids: Vec<i64>,
    /// Their log-probabilities under `softmax(logits / temperature)`.
    pub log_probs: Vec<f32>,
    /// Why the turn ended.
    pub ending: TurnEnd,
}

/// Identifies a sequence of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    pub(super) slot: usize,
    pub(super) ticket: u64,
}
