//! Requests to a chat model and what comes back.

use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing instructions.
    System,
    /// Whoever asks.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

/// Everything that determines an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The provider's name of the model.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Sampling temperature, 0 for greedy.
    pub temperature: f64,
    /// Most tokens to generate.
    pub max_tokens: u32,
}

impl Request {
    /// A content address: equal requests, and only those, share it.
    pub fn key(&self) -> String {
        // Field order is that of the struct, so the text is canonical.
        let text = serde_json::to_vec(self).expect("a request has string keys only");
        blake3::hash(&text).to_hex().to_string()
    }
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// Its text.
    pub text: String,
    /// Tokens read, as the provider counts them.
    pub prompt_tokens: u64,
    /// Tokens written, as the provider counts them.
    pub completion_tokens: u64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The recording could not be read.
    #[error("failed to read the recorded answers")]
    Io(#[from] std::io::Error),
    /// A line of a recording is malformed.
    #[error("line {line} of the recorded answers is malformed")]
    Recording {
        /// 1-based.
        line: usize,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
    /// The recording has no answer to this request.
    #[error("no answer is recorded for request {key}, which begins with `{begin}`")]
    NotRecorded {
        /// The request's content address.
        key: String,
        /// The first characters of its last message.
        begin: String,
    },
}

/// Something that answers chat requests.
pub trait ChatModel: Send + Sync {
    /// Answers one request.
    ///
    /// # Errors
    /// [`ChatError`].
    fn complete(&self, request: &Request) -> Result<Completion, ChatError>;
}
