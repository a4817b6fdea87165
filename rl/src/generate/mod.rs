//! Generation: token ids in, token ids and log-probabilities out.

pub mod engine;
mod generator;
pub(crate) mod jobs;
pub mod sample;

pub use engine::Capacity;
pub use generator::{ConversationId, Generated, Generator, NativeGenerator};
