//! The settings of `rl train`, with the paper's values for large policies.

use crate::advantage::Normalisation;
use crate::batch::Memory;
use crate::loss::{Aggregation, Clip};
use crate::model::LoraSettings;
use crate::optim::AdamConfig;
use crate::presets::{Dtype, Scale};
use crate::rollout::RolloutSettings;
use crate::settings::{SettingsError, require};
use agents::scaffold::react::Rules;
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

/// The settings of `rl train`.
///
/// | field | tiny | large | purpose |
/// | --- | --- | --- | --- |
/// | `steps` | 24 | 100 | updates |
/// | `tasks_per_step` | 16 | 16 | tasks per update |
/// | `group` | 4 | 4 | episodes per task |
/// | `rate` | 2e-4 | 1e-6 | learning rate |
/// | `warmup` | 2 | 0 | updates until the full rate |
/// | `dtype` | `f32` | `bf16` | type of weights and activations |
/// | `lora` | none | none | see [`LoraSettings`]: adapters are trained instead |
/// | `memory` | see [`Memory`] | | what is traded for memory |
/// | `adam.clip_norm` | 0.1 | 1 | the largest gradient norm |
/// | `validate_every` | 8 | 5 | updates between validations; 0 for none |
/// | `validate_attempts` | 2 | 1 | episodes per held-out task |
/// | `checkpoint_every` | 4 | 5 | updates between checkpoints |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSettings {
    /// A run's folder, a model's folder or name.
    pub model: String,
    /// The corpus.
    pub tasks: Utf8PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// Updates.
    pub steps: u64,
    /// Tasks per update.
    pub tasks_per_step: usize,
    /// Episodes per task.
    pub group: usize,
    /// Learning rate.
    pub rate: f64,
    /// Updates until the full rate.
    pub warmup: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// Adapters to train instead of the model itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraSettings>,
    /// What is traded for memory.
    pub memory: Memory,
    /// Updates between validations; 0 for none.
    pub validate_every: u64,
    /// Episodes per held-out task.
    pub validate_attempts: u64,
    /// Updates between checkpoints.
    pub checkpoint_every: u64,
    /// Checkpoints that stay.
    pub keep: usize,
    /// How token losses become one.
    pub aggregation: Aggregation,
    /// The trust region.
    pub clip: Clip,
    /// How rewards become advantages.
    pub normalisation: Normalisation,
    /// The optimizer's constants.
    pub adam: AdamConfig,
    /// How episodes are generated.
    pub rollout: RolloutSettings,
    /// The rules of episodes.
    pub rules: Rules,
}

impl TrainSettings {
    /// Defaults for a policy of this scale.
    pub fn defaults(scale: Scale) -> Self {
        let tiny = scale == Scale::Tiny;
        Self {
            model: String::new(),
            tasks: Utf8PathBuf::new(),
            seed: 0,
            steps: if tiny { 24 } else { 100 },
            tasks_per_step: 16,
            group: 4,
            rate: if tiny { 2e-4 } else { 1e-6 },
            warmup: if tiny { 2 } else { 0 },
            dtype: scale.dtype(),
            lora: None,
            memory: scale.memory(),
            validate_every: if tiny { 8 } else { 5 },
            validate_attempts: if tiny { 2 } else { 1 },
            checkpoint_every: if tiny { 4 } else { 5 },
            keep: 2,
            aggregation: Aggregation::SeqMeanTokenMean,
            clip: Clip::default(),
            normalisation: Normalisation::default(),
            adam: AdamConfig {
                weight_decay: 0.0,
                // Usual norms of a tiny policy are near 0.1; larger ones come from rare tokens.
                clip_norm: if tiny { 0.1 } else { 1.0 },
                ..AdamConfig::default()
            },
            rollout: scale.rollout(),
            rules: scale.rules(),
        }
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`SettingsError::Range`] naming the key.
    pub fn check(&self) -> Result<(), SettingsError> {
        require(
            self.group >= 2,
            "group",
            &self.group,
            "at least 2: one episode has nobody to be compared with",
        )?;
        require(self.tasks_per_step > 0, "tasks_per_step", &self.tasks_per_step, "at least 1")?;
        require(self.rate > 0.0 && self.rate.is_finite(), "rate", &self.rate, "above 0")?;
        require(
            self.checkpoint_every > 0,
            "checkpoint_every",
            &self.checkpoint_every,
            "at least 1",
        )?;
        let sampling = &self.rollout.sampling;
        require(
            !sampling.is_greedy(),
            "rollout.sampling.temperature",
            &sampling.temperature,
            "above 0: greedy groups are all alike",
        )?;
        self.lora.as_ref().map_or(Ok(()), LoraSettings::check)?;
        self.memory.check()?;
        self.rollout.check()
    }
}
