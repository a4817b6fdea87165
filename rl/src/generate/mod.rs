//! Generation: token ids in, token ids and log-probabilities out.

pub mod engine;
mod generator;
pub(crate) mod jobs;
mod publication;
pub mod remote;
pub mod sample;

pub use engine::Capacity;
pub(crate) use generator::turn_room;
pub use generator::{ConversationId, Generated, Generator, NativeGenerator};
pub use publication::{Probe, Publication, PublishedWeights};
