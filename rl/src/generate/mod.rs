//! Generation: token ids in, token ids and log-probabilities out.

pub mod engine;
mod generator;
pub mod sample;

pub use generator::{Capacity, ConversationId, Generated, Generator, NativeGenerator};
