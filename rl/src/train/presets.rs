//! Defaults for policies of three sizes.
//!
//! The paper's values suit billions of parameters, not a million: a tiny policy needs a larger
//! learning rate, a shorter prompt and shorter observations.

use crate::generate::sample::Sampling;
use crate::model::CpuLinear;
use crate::rollout::{ContextOverflow, RolloutSettings};
use crate::train::batch::Memory;
use agents::prompt::PromptStyle;
use agents::reward::RewardWeights;
use agents::scaffold::react::EpisodeRules;
use clap::ValueEnum;
use jail::limits::{Keep, RunLimits};
use sandbox::env::{Budget, EpisodeConfig, Feedback};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tasks::units::{ByteSize, Span};
use tch::Kind;

/// Policies below this many parameters get the defaults of the tiny one.
const TINY: i64 = 1_500_000;
/// Policies below this many parameters get the defaults of the small one.
const SMALL: i64 = 100_000_000;

/// The type of weights and activations. The optimizer keeps weights in f32 whatever this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32 bits, exact enough to compare bits.
    F32,
    /// 16 bits with the range of `f32`: half the memory, and what GPUs are fast at.
    Bf16,
}

impl Dtype {
    /// Its name in libtorch.
    pub fn kind(self) -> Kind {
        match self {
            Self::F32 => Kind::Float,
            Self::Bf16 => Kind::BFloat16,
        }
    }
}

/// The size of a policy, which decides its defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// A million parameters, on a laptop: whole lines of scripts are its tokens.
    Tiny,
    /// A few million parameters, on a laptop: words are its tokens, and it reads data cards.
    Small,
    /// 100 million parameters or more.
    Large,
}

impl Scale {
    /// The scale of a policy with this many parameters.
    pub fn from_parameters(parameters: i64) -> Self {
        match parameters {
            ..TINY => Self::Tiny,
            TINY..SMALL => Self::Small,
            _ => Self::Large,
        }
    }

    /// Whether it is none of those that learn everything from demonstrations.
    pub fn is_large(self) -> bool {
        self == Self::Large
    }

    /// The rules of episodes.
    pub fn rules(self) -> EpisodeRules {
        let keep = |head, tail| Keep { head: ByteSize::new(head), tail: ByteSize::new(tail) };
        match self {
            Self::Large => EpisodeRules::default(),
            Self::Tiny | Self::Small => EpisodeRules {
                prompt: if self == Self::Tiny { PromptStyle::Brief } else { PromptStyle::Card },
                episode: EpisodeConfig {
                    budget: Budget { turns: 5, wall_seconds: 120 },
                    feedback: Feedback::Tier,
                    policy: RunLimits {
                        time_limit: Span(Duration::from_secs(20)),
                        // The last line of a traceback is the error.
                        stdout: keep(150, 50),
                        stderr: keep(0, 120),
                        ..RunLimits::default()
                    },
                    ..EpisodeConfig::default()
                },
                reward: RewardWeights::DENSE,
                ..EpisodeRules::default()
            },
        }
    }

    /// The type of weights and activations.
    pub fn dtype(self) -> Dtype {
        match self {
            Self::Tiny | Self::Small => Dtype::F32,
            Self::Large => Dtype::Bf16,
        }
    }

    /// What bounds the memory of training.
    pub fn memory(self) -> Memory {
        match self {
            Self::Tiny | Self::Small => Memory {
                max_tokens_per_micro_batch: 4096,
                logit_tokens: 4096,
                gradient_checkpointing: false,
                share_prefixes: true,
            },
            Self::Large => Memory {
                max_tokens_per_micro_batch: 32_768,
                logit_tokens: 1024,
                gradient_checkpointing: true,
                share_prefixes: false,
            },
        }
    }

    /// How episodes are generated.
    pub fn rollout(self) -> RolloutSettings {
        let processors = std::thread::available_parallelism().map_or(1, Into::into);
        // The tail of a tiny policy's distribution is noise: a token in a hundred breaks a script.
        // And where such a token happens to do no harm, its gradient is the largest of all, so
        // that reinforcement learns to ramble (`docs/LOG.md`).
        let sampling = match self {
            Self::Tiny => Sampling { min_p: 0.02, ..Sampling::default() },
            // Its scripts have five times as many tokens, and as many chances to slip. With 0.02
            // rare tokens have most of the gradient, and updates are mostly noise.
            Self::Small => Sampling { min_p: 0.1, ..Sampling::default() },
            Self::Large => Sampling::default(),
        };
        // Twice as many workers as processors: one reads and grades while another's script runs.
        let workers = 2 * processors;
        let settings = |max_model_len, turn_tokens, threads| RolloutSettings {
            max_num_seqs: 64,
            max_model_len,
            cache: None,
            merge_adapters: None,
            cpu_linear: CpuLinear::default(),
            turn_tokens,
            trajectory_tokens: 0,
            context_overflow: ContextOverflow::End,
            deterministic: false,
            // A tiny policy writes the same scripts again and again, a large one hardly ever.
            script_cache: !self.is_large(),
            script_cache_folder: None,
            engine: None,
            sandboxes: Vec::new(),
            workers,
            threads,
            sampling,
        };
        match self {
            Self::Tiny | Self::Small => settings(1536, 640, 1),
            Self::Large => settings(32_768, 8192, processors),
        }
    }
}
