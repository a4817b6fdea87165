//! Sampling: from logits to the next token and its log-probability.

mod rows;
mod sampler;

pub use sampler::{Draw, SampledToken, Sampling, SamplingError, draw};
