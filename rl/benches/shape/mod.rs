//! The shapes that benches compare.

use clap::ValueEnum;
use rl::model::Qwen3Config;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BenchShape {
    /// The tiny policy.
    Tiny,
    /// Sixty million parameters, 32 thousand tokens.
    Medium,
}

impl BenchShape {
    pub(crate) fn config(self) -> Qwen3Config {
        let tiny = Qwen3Config::tiny(1500, 1, 2);
        match self {
            Self::Tiny => tiny,
            Self::Medium => Qwen3Config {
                vocab_size: 32_000,
                hidden_size: 640,
                intermediate_size: 1920,
                num_hidden_layers: 8,
                num_attention_heads: 10,
                num_key_value_heads: 5,
                head_dim: 64,
                initializer_range: 0.02,
                ..tiny
            },
        }
    }
}
