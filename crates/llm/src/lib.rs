//! Chat models: `messages -> completion`.
//!
//! [`ChatModel`] is the seam that model-driven factory roles and agents are written against.
//! [`Replay`] answers from a recording, so whatever uses a model is tested without one.

mod chat;
mod replay;

pub use chat::{ChatError, ChatModel, Completion, Message, Request, Role};
pub use replay::Replay;
