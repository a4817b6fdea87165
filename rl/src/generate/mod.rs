//! Generation: token ids in, token ids and log-probabilities out.

pub mod engine;
pub mod sample;
