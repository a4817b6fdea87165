//! The settings of a server, and why it does not start.

use crate::generate::engine::{Capacity, EngineError};
use crate::run::settings::Validate;
use crate::text::template::TemplateError;
use std::net::SocketAddr;
use tasks::units::ByteSize;
use web::token::Token;

/// The settings of a server.
///
/// | field | purpose | default of the command |
/// | --- | --- | --- |
/// | `listen` | where it listens; port 0 lets the system choose one | 127.0.0.1:8001 |
/// | `name` | the name of the model in requests and responses | the last part of `--model` |
/// | `key` | the bearer token that requests need | none: only this machine is served |
/// | `rows` | sequences that are generated at once (vLLM: `max_num_seqs`) | 16; large policies on a CPU: 4 |
/// | `context` | tokens of a prompt and its completion (vLLM: `max_model_len`) | 4096; large policies on a GPU: 8192 |
/// | `cache` | memory of the KV cache | what the device has left, at most room for all rows |
/// | `prefix_caching` | whether rows are kept for later prompts that begin alike (vLLM: `enable_prefix_caching`) | yes |
/// | `queue` | choices that wait for a row; further ones get status 429 | 256 |
#[derive(Debug, Clone)]
pub struct InferenceConfig {
    /// The address and port to listen on.
    pub listen: SocketAddr,
    /// The name of the model in requests and responses.
    pub name: String,
    /// The bearer token that requests need; `None` if they need none.
    pub key: Option<Token>,
    /// Sequences that are generated at once, 1 to 2^20.
    pub rows: usize,
    /// Tokens of a prompt and its completion together, 2 to 2^20.
    pub context: usize,
    /// Memory of the KV cache; `None` for as much as all rows can need.
    pub cache: Option<ByteSize>,
    /// Whether rows of the cache are kept for later prompts that begin alike.
    pub prefix_caching: bool,
    /// Choices that wait for a row, at most 2^20.
    pub queue: usize,
}

/// Why a server does not start, or stops.
#[derive(Debug, thiserror::Error)]
pub enum InferenceError {
    /// An address that other machines can reach, without a key.
    #[error(
        "{0} can be reached from other machines; set a key that clients must show (`--api-key`, \
         or RL_API_KEY), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A size that is out of its range.
    #[error("`--{0}` must be between {1} and {2}")]
    Size(&'static str, usize, usize),
    /// The address could not be bound.
    #[error("failed to listen on {address}; `--port` names another port, 0 a free one")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The checkpoint's chat template cannot be used.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Threads or signal handlers could not be set up.
    #[error("failed to set up the server")]
    Runtime(#[source] std::io::Error),
    /// Generation failed.
    #[error("failed to generate")]
    Engine(#[from] EngineError),
    /// The thread that generates panicked.
    #[error(
        "the thread that generates panicked, for the reason above; if memory ran out, lower \
         `--max-num-seqs` or `--max-model-len`, else this is a bug"
    )]
    Panicked,
}

impl InferenceConfig {
    pub(super) fn capacity(&self) -> Capacity {
        Capacity { cache: self.cache, ..Capacity::new(self.rows, self.context) }
    }
}

impl Validate for InferenceConfig {
    type Error = InferenceError;

    fn verify(&self) -> Result<(), InferenceError> {
        if !self.listen.ip().is_loopback() && self.key.is_none() {
            return Err(InferenceError::Open(self.listen));
        }
        for (name, size, least) in [
            ("max-num-seqs", self.rows, 1),
            ("queue", self.queue, 0),
            ("max-model-len", self.context, 2),
        ] {
            let most = 1 << 20;
            if !(least..=most).contains(&size) {
                return Err(InferenceError::Size(name, least, most));
            }
        }
        Ok(())
    }
}
