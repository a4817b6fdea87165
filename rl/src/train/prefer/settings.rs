//! The settings of `rl prefer`.

use super::loss::{PairLoss, PreferenceLoss};
use crate::model::LoraSettings;
use crate::optim::AdamConfig;
use crate::run::settings::{SettingsError, Validate, require};
use crate::train::batch::Memory;
use crate::train::presets::{Dtype, Scale};
use crate::train::schema::Described;
use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of `rl prefer`.
///
/// | field | tiny | large | purpose |
/// | --- | --- | --- | --- |
/// | `loss` | `sigmoid` | `sigmoid` | see [`PairLoss`] |
/// | `beta` | 0.1 | 0.1 | how strongly the policy is held at the reference |
/// | `label_smoothing` | 0 | 0 | share of labels that are wrong, of `robust` |
/// | `max_samples` | 0 | 0 | most pairs, drawn by chance; 0 for all |
/// | `validation_share` | 0 | 0 | share of the pairs that are held out |
/// | `validate_every` | 50 | 50 | updates between validations, where pairs are held out |
/// | `keep_best` | yes | yes | whether the checkpoint of the best validation stays |
/// | `early_stopping_patience` | 0 | 0 | validations without gain until the run ends; 0 for none |
/// | `epochs` | 3 | 1 | passes over the pairs |
/// | `max_steps` | 0 | 0 | most updates; 0 for all of `epochs` |
/// | `batch` | 16 | 16 | pairs per update |
/// | `learning_rate` | 1e-4 | 1e-6 | peak learning rate |
/// | `warmup` | 10 | 10 | updates until the peak |
/// | `dtype` | `f32` | `bf16` | type of weights and activations |
/// | `lora` | none | none | see [`LoraSettings`]: adapters are trained instead |
/// | `memory` | see [`Memory`] | | what is traded for memory |
/// | `context` | 1536 | 32768 | longer pairs are left out |
/// | `checkpoint_every` | 50 | 50 | updates between checkpoints |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferSettings {
    /// A run's folder, a model's folder or name. It is also the reference model.
    pub model: String,
    /// Files with pairs: JSON objects with `prompt`, `chosen` and `rejected`.
    #[schemars(with = "Vec<String>")]
    pub data: Vec<Utf8PathBuf>,
    /// Which loss.
    pub loss: PairLoss,
    /// β: how strongly the policy is held at the reference; above 0.
    pub beta: f64,
    /// Share of pairs whose answers are taken to be the wrong way round; at least 0 and below 0.5. For
    /// the loss `robust` alone.
    pub label_smoothing: f64,
    /// Most pairs, drawn by chance from all that there are; 0 for all.
    pub max_samples: usize,
    /// Share of the pairs that are held out, drawn by chance, and never trained on; at least 0 and below
    /// 1. The loss on them is `eval_loss` in `metrics.jsonl`.
    pub validation_share: f64,
    /// Updates between validations, where pairs are held out; at least 1. The first validation is before
    /// the first update, the last after the last one.
    pub validate_every: u64,
    /// Whether the checkpoint of the smallest `eval_loss` stays, as `checkpoints/best`.
    pub keep_best: bool,
    /// Early stopping: the run ends after this many validations in a row without a smaller `eval_loss`; 0
    /// for no early stopping.
    pub early_stopping_patience: u64,
    /// The seed of everything.
    pub seed: u64,
    /// Passes over the pairs.
    pub epochs: u64,
    /// Most updates; 0 for all of `epochs`. The schedule of the learning rate ends with them.
    pub max_steps: u64,
    /// Batch size: pairs per update; at least 1.
    pub batch: usize,
    /// The learning rate after warm-up; above 0.
    pub learning_rate: f64,
    /// Updates until the peak.
    pub warmup: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// Adapters to train instead of the model itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraSettings>,
    /// What bounds the memory of an update.
    pub memory: Memory,
    /// Pairs of which an answer with its prompt is longer, in tokens, are left out.
    pub context: usize,
    /// Updates between checkpoints; at least 1.
    pub checkpoint_every: u64,
    /// How many of the newest checkpoints are kept.
    pub keep: usize,
    /// The optimizer's settings, gradient clipping included.
    pub adam: AdamConfig,
}

impl PreferSettings {
    /// Defaults for a policy of this scale.
    pub fn defaults(scale: Scale) -> Self {
        let is_large = scale.is_large();
        Self {
            model: String::new(),
            data: Vec::new(),
            loss: PairLoss::default(),
            beta: 0.1,
            label_smoothing: 0.0,
            max_samples: 0,
            validation_share: 0.0,
            validate_every: 50,
            keep_best: true,
            early_stopping_patience: 0,
            seed: 0,
            epochs: if is_large { 1 } else { 3 },
            max_steps: 0,
            batch: 16,
            learning_rate: if is_large { 1e-6 } else { 1e-4 },
            warmup: 10,
            dtype: scale.dtype(),
            lora: None,
            memory: scale.memory(),
            context: scale.rollout().max_model_len,
            checkpoint_every: 50,
            keep: 2,
            adam: AdamConfig::default(),
        }
    }

    /// The loss with its constants.
    pub fn loss(&self) -> PreferenceLoss {
        let Self { loss: kind, beta, label_smoothing, .. } = *self;
        PreferenceLoss { kind, beta, label_smoothing }
    }
}

impl Described for PreferSettings {
    fn of_scale(scale: Scale) -> Self {
        Self::defaults(scale)
    }

    fn example(scale: Scale) -> Self {
        let data = vec!["pairs.jsonl".into()];
        Self { model: "sft".into(), data, ..Self::defaults(scale) }
    }
}

impl Validate for PreferSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        require(!self.data.is_empty(), "data", &"[]", "at least one file with pairs")?;
        let (beta, smoothing) = (self.beta, self.label_smoothing);
        require(beta > 0.0 && beta.is_finite(), "beta", &beta, "above 0")?;
        require(
            (0.0..0.5).contains(&smoothing),
            "label_smoothing",
            &smoothing,
            "at least 0 and below 0.5",
        )?;
        require(
            smoothing == 0.0 || self.loss == PairLoss::Robust,
            "label_smoothing",
            &smoothing,
            "0 unless `loss` is `robust`",
        )?;
        require(self.epochs > 0, "epochs", &self.epochs, "at least 1")?;
        require(self.batch > 0, "batch", &self.batch, "at least 1")?;
        let rate = self.learning_rate;
        require(rate > 0.0 && rate.is_finite(), "learning_rate", &rate, "above 0")?;
        let share = self.validation_share;
        require((0.0..1.0).contains(&share), "validation_share", &share, "at least 0 and below 1")?;
        require(self.validate_every > 0, "validate_every", &self.validate_every, "at least 1")?;
        require(
            self.early_stopping_patience == 0 || share > 0.0,
            "early_stopping_patience",
            &self.early_stopping_patience,
            "0 where `validation_share` is 0: without validation nothing can stop a run early",
        )?;
        require(
            self.checkpoint_every > 0,
            "checkpoint_every",
            &self.checkpoint_every,
            "at least 1",
        )?;
        self.adam.check()?;
        self.lora.as_ref().map_or(Ok(()), LoraSettings::check)?;
        self.memory.check()
    }
}
