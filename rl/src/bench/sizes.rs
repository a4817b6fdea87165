//! How large each case is.

use crate::model::{LoraSettings, Mixture, Published, Qwen3Config};
use crate::train::grpo::TrainSettings;
use crate::train::presets::{Dtype, Scale};
use serde::{Deserialize, Serialize};

/// The vocabulary of the built-in shapes: about what the tiny policy learns.
const VOCAB: i64 = 1500;

/// The names of the built-in shapes.
pub const BUILT_IN: [&str; 2] = ["tiny", "tiny-moe"];

/// The shape with this name: `tiny`, `tiny-moe` (one with experts), or a published one.
pub fn shape(name: &str) -> Option<Qwen3Config> {
    let tiny = Qwen3Config::tiny(VOCAB, 1, 2);
    let mixture = Mixture {
        experts: 8,
        per_token: 2,
        intermediate_size: 128,
        normalise: true,
        sparse_step: 1,
        dense_layers: vec![0],
    };
    match name {
        "tiny" => Some(tiny),
        "tiny-moe" => Some(Qwen3Config { mixture: Some(mixture), ..tiny }),
        _ => Published::named(name).map(Published::config),
    }
}

/// How large each case is.
///
/// | field | small shapes | others | purpose |
/// | --- | --- | --- | --- |
/// | `rows` | 8 | 64 | conversations that generate at once; those of a GRPO step |
/// | `context` | 128, then 256 | 2048, then 4096 | tokens a conversation has while decoding is timed |
/// | `steps` | 16 | 64 | timed decoding steps |
/// | `sequences` | 8 | 8 | sequences of an SFT step |
/// | `length` | 256 | 8192 | tokens of one of them |
/// | `updates` | 2 | 2 | timed SFT steps, after one to warm up |
/// | `conversation` | 256 | 4096 | tokens of a conversation of a GRPO step |
/// | `turns` | 3 | 4 | its turns |
/// | `lora_rank` | 8 | 32 | rank of adapters |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchSizes {
    /// Sequences that are generated at once.
    pub rows: usize,
    /// Tokens of one while decoding is timed.
    pub context: usize,
    /// Decoding steps that are timed.
    pub steps: usize,
    /// Sequences of an SFT step.
    pub sequences: usize,
    /// Tokens of one of them.
    pub length: usize,
    /// SFT updates that are timed.
    pub updates: usize,
    /// Tokens of a conversation of a GRPO step.
    pub conversation: usize,
    /// Turns of a conversation of a GRPO step.
    pub turns: usize,
    /// Rank of the adapters (`LoRA`).
    pub lora_rank: i64,
}

impl BenchSizes {
    /// Defaults for a shape of this scale, and its contexts, of which each is a case.
    pub fn defaults(scale: Scale) -> (Self, [usize; 2]) {
        match scale {
            Scale::Tiny | Scale::Small => {
                let sizes = Self {
                    rows: 8,
                    context: 128,
                    steps: 16,
                    sequences: 8,
                    length: 256,
                    updates: 2,
                    conversation: 256,
                    turns: 3,
                    lora_rank: 8,
                };
                (sizes, [128, 256])
            }
            Scale::Large => {
                let sizes = Self {
                    rows: 64,
                    context: 2048,
                    steps: 64,
                    sequences: 8,
                    length: 8192,
                    updates: 2,
                    conversation: 4096,
                    turns: 4,
                    lora_rank: 32,
                };
                (sizes, [2048, 4096])
            }
        }
    }

    /// Adapters of the case's rank beside every projection that can have one.
    pub fn lora(&self, config: &Qwen3Config) -> LoraSettings {
        let alpha = 2.0 * self.lora_rank as f64;
        LoraSettings { rank: self.lora_rank, alpha, ..LoraSettings::default() }.fitted(config)
    }
}

/// Settings of `rl train` for a model of this shape: what `rl plan` is asked about, and where
/// memory and optimizer are taken from. Layers are always recomputed, as those of large models
/// must be.
pub(super) fn train_settings(
    config: &Qwen3Config,
    dtype: Dtype,
    lora: Option<LoraSettings>,
) -> TrainSettings {
    let mut settings = TrainSettings::defaults(Scale::from_parameters(config.parameter_count()));
    settings.dtype = dtype;
    settings.lora = lora;
    settings.memory.gradient_checkpointing = true;
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_a_name() {
        for name in BUILT_IN.iter().copied().chain(["qwen3-8b", "qwen3-30b-a3b"]) {
            assert!(shape(name).is_some(), "{name}");
        }
        assert_eq!(shape("qwen3-9b"), None);
        assert!(shape("tiny-moe").unwrap().mixture.is_some());
    }
}
