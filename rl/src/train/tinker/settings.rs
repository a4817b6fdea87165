//! The settings of a learner on other machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The settings of a learner on other machines. Their presence means that there is one.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `api` | `tinker` | the protocol |
/// | `url` | none | address of the server, such as `http://10.0.0.5:8000` |
/// | `base_model` | the only one that the server has | model that is trained, by the server's name |
/// | `backend` | `fsdp` | what the server was started with: `fsdp`, `megatron` or `jax` |
/// | `loss` | `ppo` | the server's loss function: `ppo` or `importance-sampling` |
/// | `own_optimizer` | no | whether the server was started with optimizer settings of its own |
/// | `export` | yes | whether the server writes the model itself beside each training state |
/// | `patience_seconds` | 3600 | most seconds until the result of one request |
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LearnerSettings {
    /// The protocol.
    pub api: LearnerApi,
    /// The address of the server.
    pub url: String,
    /// The model that is trained, as the server calls it; empty for the only one that it has. Its
    /// tokenizer and shape must be those of `model`.
    pub base_model: String,
    /// What computes on the server.
    pub backend: Backend,
    /// The server's loss function.
    pub loss: LossFunction,
    /// Whether the server was started with the optimizer settings that `adam` has. Otherwise they
    /// must be `SkyRL`'s defaults, because `fsdp` and `megatron` take nothing but the learning rate
    /// from requests.
    pub own_optimizer: bool,
    /// Whether the server writes the model in Hugging Face's format (or adapters in PEFT's) beside
    /// the training state of each checkpoint.
    pub export: bool,
    /// Most seconds until the result of one request; at least 1.
    pub patience_seconds: u64,
}

impl Default for LearnerSettings {
    fn default() -> Self {
        Self {
            api: LearnerApi::Tinker,
            url: String::new(),
            base_model: String::new(),
            backend: Backend::Fsdp,
            loss: LossFunction::Ppo,
            own_optimizer: false,
            export: true,
            patience_seconds: 3600,
        }
    }
}

/// The protocol of a learner on other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LearnerApi {
    /// The Tinker protocol, as the Python package `skyrl` 0.4 serves it.
    Tinker,
}

/// What computes on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// PyTorch's fully sharded data parallelism: the whole model or adapters, on one or several
    /// GPUs.
    Fsdp,
    /// Megatron: the same, with tensor, pipeline and expert parallelism.
    Megatron,
    /// JAX: adapters alone.
    Jax,
}

impl Backend {
    /// Whether a gradient is the mean over all sequences since the last step, and not their sum.
    pub fn averages(self) -> bool {
        self == Self::Jax
    }

    /// Whether all constants of Adam are taken from each request, and not only the learning rate.
    pub fn takes_adam(self) -> bool {
        self == Self::Jax
    }

    /// Whether gradients are clipped.
    pub fn clips(self) -> bool {
        self != Self::Jax
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fsdp => "fsdp",
            Self::Megatron => "megatron",
            Self::Jax => "jax",
        })
    }
}

/// A loss function of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossFunction {
    /// The clipped surrogate, with both thresholds from `clip`.
    Ppo,
    /// The surrogate without a clip: the same where the ratio is 1, which needs a single update per
    /// batch and old log-probabilities from the trainer.
    ImportanceSampling,
}

impl LossFunction {
    /// Its name in requests.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ppo => "ppo",
            Self::ImportanceSampling => "importance_sampling",
        }
    }
}
