//! Sampling: from logits to the next token and its log-probability.

mod grammar;
mod processors;
mod rows;
mod sampler;
mod score;

pub use grammar::{Grammar, GrammarError};
pub use processors::{LogitProcessors, Penalties};
pub use sampler::{Draw, SampledToken, Sampling, SamplingError, TopToken, draw};
pub use score::{ScoredToken, score};
