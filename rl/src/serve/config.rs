//! The settings of a server, and why it does not start.

use crate::generate::engine::EngineError;
use crate::run::settings::Settings;
use crate::text::template::TemplateError;
use std::net::SocketAddr;
use tasks::units::ByteSize;
use web::token::Token;

/// How a server behaves.
///
/// | field | purpose | default of the command |
/// | --- | --- | --- |
/// | `listen` | where it listens; port 0 lets the system choose one | 127.0.0.1:8000 |
/// | `name` | what the model is called | `--model` as given |
/// | `key` | what clients must show | none: this machine alone is served |
/// | `rows` | answers in work at a time | 16; large policies on a CPU: 4 |
/// | `context` | tokens of a prompt and its answer together | 4096; large policies on a GPU: 8192 |
/// | `cache` | memory for keys and values | what the device has left, at most room for all rows |
/// | `queue` | answers that wait for a row; more are told to come again | 256 |
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// The address and port to listen on.
    pub listen: SocketAddr,
    /// What the model is called.
    pub name: String,
    /// What clients must show.
    pub key: Option<Token>,
    /// Answers in work at a time.
    pub rows: usize,
    /// Tokens of a prompt and its answer together.
    pub context: usize,
    /// Memory for keys and values; none for as much as all rows can come to need.
    pub cache: Option<ByteSize>,
    /// Answers that wait for a row.
    pub queue: usize,
}

/// A server does not start, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody could use it.
    #[error(
        "{0} can be reached from other machines; set a key that clients must show (`--api-key`, \
         or RL_API_KEY), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A size that cannot be.
    #[error("`--{0}` must be between {1} and {2}")]
    Size(&'static str, usize, usize),
    /// The address cannot be had.
    #[error("failed to listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// Conversations cannot be laid out.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Threads or signals cannot be had.
    #[error("failed to set up the server")]
    Runtime(#[source] std::io::Error),
    /// The model cannot go on.
    #[error("failed to generate")]
    Engine(#[from] EngineError),
    /// The thread that generates panicked.
    #[error(
        "the thread that generates panicked, for the reason above; if memory ran out, lower \
         `--max-num-seqs` or `--max-model-len`, else this is a bug"
    )]
    Panicked,
}

impl Settings for ServeConfig {
    type Error = ServeError;

    fn verify(&self) -> Result<(), ServeError> {
        if !self.listen.ip().is_loopback() && self.key.is_none() {
            return Err(ServeError::Open(self.listen));
        }
        for (name, size, least) in [
            ("max-num-seqs", self.rows, 1),
            ("queue", self.queue, 0),
            ("max-model-len", self.context, 2),
        ] {
            let most = 1 << 20;
            if !(least..=most).contains(&size) {
                return Err(ServeError::Size(name, least, most));
            }
        }
        Ok(())
    }
}
