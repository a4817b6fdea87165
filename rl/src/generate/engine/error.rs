//! Why an engine refuses or cannot go on.

use crate::generate::sample::SamplingError;
use crate::remote::ServerError;
use llm::KeyError;
use tasks::units::ByteSize;

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// All places are taken.
    #[error("all {0} rows are taken; release one first")]
    Full(usize),
    /// The row was released, or is another engine's.
    #[error("there is no such row; it was released")]
    Gone,
    /// The row's turn has not ended.
    #[error("the row is still generating")]
    Busy,
    /// A turn was started without any token.
    #[error("a turn needs at least one token to start from")]
    Empty,
    /// More tokens than a row holds.
    #[error("the conversation has {tokens} tokens; a row holds {capacity}")]
    TooLong {
        /// How many it would have.
        tokens: usize,
        /// How many fit, one place being kept for the answer.
        capacity: usize,
    },
    /// An id that the model has no embedding for.
    #[error("the id {id} is outside the vocabulary of {vocab_size}")]
    Id {
        /// The id that was given.
        id: i64,
        /// The size of the vocabulary.
        vocab_size: i64,
    },
    /// The cache could not hold a single conversation.
    #[error(
        "a cache of {given} is too small: the KV cache of one sequence of {capacity} tokens needs {least}; raise `rollout.cache` (`--cache`), or lower `rollout.max_model_len` (`--max-model-len`)"
    )]
    Cache {
        /// The size that was asked for.
        given: ByteSize,
        /// Tokens of the longest conversation.
        capacity: usize,
        /// The size that one sequence of `capacity` tokens needs.
        least: ByteSize,
    },
    /// The sampler's settings were refused.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The model's output is not a number.
    #[error("the model's output is not finite; its weights are broken")]
    NotFinite,
    /// A server refused a turn, or has other weights than those of the rollout.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// No server is left.
    #[error(
        "no server can generate ({}); once one can, the same command goes on from the last checkpoint",
        .0.join("; ")
    )]
    NoServer(Vec<String>),
    /// The key for the servers is none.
    #[error("`RL_ENGINE_KEY` holds no key")]
    Key(#[source] KeyError),
    /// No thread for connections.
    #[error("failed to start a thread for connections to servers")]
    Thread(#[source] std::io::Error),
    /// A generator on other machines failed.
    #[error("failed to generate on another machine")]
    Remote(#[source] Box<dyn std::error::Error + Send + Sync>),
}
