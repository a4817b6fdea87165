//! Sampling: from logits to the next token and its log-probability.

mod rows;
mod sampler;
mod score;

pub use sampler::{Draw, SampledToken, Sampling, SamplingError, TopToken, draw};
pub use score::{ScoredToken, score};
