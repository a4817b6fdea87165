//! Generation: token ids in, token ids and log-probabilities out.

pub mod engine;
mod generator;
pub(crate) mod jobs;
pub mod sample;

pub use generator::{Capacity, ConversationId, Generated, Generator, NativeGenerator};
