//! The settings of `rl sft`.

use crate::checkpoint::source::BuiltIn;
use crate::model::{InitialAttention, LoraSettings};
use crate::optim::AdamConfig;
use crate::run::settings::{SettingsError, Validate, is_nowhere, require};
use crate::text::tokenizer::Pieces;
use crate::train::batch::Memory;
use crate::train::presets::{Dtype, Scale};
use crate::train::schema::Described;
use crate::world::check_place;
use agents::scaffold::react::EpisodeRules;
use agents::scaffold::scripted::{Approach, ScriptedLevel};
use camino::Utf8PathBuf;
use sandbox::env::Feedback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use worlds::TaskSpec;

/// Whose episodes are imitated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Demonstrator {
    /// Those of the public rungs of the ladder, each equally often: whole scripts, weak and strong.
    #[default]
    Ladder,
    /// Scripts put together at random from weak parts, and never from those that are likely to be
    /// strongest together.
    Composed,
}

impl Demonstrator {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_ladder(&self) -> bool {
        *self == Self::Ladder
    }

    /// The approaches of its agents, each of which plays every task.
    pub(super) fn approaches(self) -> Vec<Approach> {
        match self {
            Self::Ladder => ScriptedLevel::PUBLIC.map(Approach::Level).to_vec(),
            Self::Composed => vec![Approach::Composed],
        }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

fn of_four() -> usize {
    4
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_of_four(count: &usize) -> bool {
    *count == of_four()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_never(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_no_share(share: &f64) -> bool {
    *share == 0.0
}

fn fifty() -> u64 {
    50
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_fifty(count: &u64) -> bool {
    *count == fifty()
}

/// The settings of `rl sft`.
///
/// | field | tiny | purpose |
/// | --- | --- | --- |
/// | `world` | none | the folder of a task of a suite (`docs/WORLDS.md`), instead of a corpus |
/// | `data` | none | files with examples, instead of a corpus |
/// | `assistant_only_loss` | yes | whether of conversations in `data` the assistant's messages alone are imitated, or all tokens, as in pretraining |
/// | `samples` | none | folders of samples of guided runs that are imitated instead of scripted agents |
/// | `searches` | none | folders of searches whose good answers are imitated instead of scripted agents |
/// | `episodes` | none | folders of evaluations or runs whose best episodes are imitated instead |
/// | `best_of` | 4 | of how many episodes on a task the best one is imitated |
/// | `demonstrations` | `ladder`; small: `composed` | whose episodes are imitated |
/// | `attempts` | 3; small: 24 | episodes per task and approach |
/// | `max_samples` | 0 | most examples, drawn by chance; 0 for all |
/// | `validation_share` | 0 | share of the examples that are held out |
/// | `validate_every` | 50 | updates between validations, where examples are held out |
/// | `keep_best` | yes | whether the checkpoint of the best validation stays |
/// | `early_stopping_patience` | 0 | early stopping: validations without gain until the run ends; 0 for none |
/// | `shuffle_dataset` | yes | whether each pass takes the examples in an order of its own, or in that in which they are given |
/// | `max_steps` | 0 | most updates; 0 for all of `epochs` |
/// | `vocab_size` | 3000 | tokens of a tiny policy's vocabulary |
/// | `initial_attention` | `random` | what the attention of a new `tiny` or `small` policy looks at: nothing in particular, or what followed tokens like the current one (`induction`) |
/// | `epochs` | 8; small: 6 | passes over the episodes |
/// | `batch` | 16 | episodes per update |
/// | `learning_rate` | 3e-3; a trained model in a `world`: 1e-3 | peak learning rate |
/// | `context_noise` | 0.1; a trained model in a `world`: 0 | share of context tokens that are replaced by chance; large: 0 |
/// | `warmup` | 20 | updates until the peak |
/// | `dtype` | `f32` | type of weights and activations; `bf16` for large policies |
/// | `lora` | none | see [`LoraSettings`]: adapters are trained instead |
/// | `memory` | see [`Memory`] | what is traded for memory |
/// | `context` | 1536 | longer episodes are left out |
/// | `checkpoint_every` | 50 | updates between checkpoints |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SftSettings {
    /// `tiny`, a model's name or a folder.
    pub model: String,
    /// The folder of the corpus.
    #[serde(default, skip_serializing_if = "is_nowhere")]
    #[schemars(with = "String")]
    pub tasks: Utf8PathBuf,
    /// The folder of a task of a suite of generated environments, instead of a corpus: the policy
    /// imitates the expert of its training items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub world: Option<Utf8PathBuf>,
    /// Files with examples, instead of a corpus: one JSON object a line, with `messages`, with
    /// `prompt` and `completion`, or with `text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", !skip_serializing_if)]
    pub data: Vec<Utf8PathBuf>,
    /// Whether of conversations in `data` the assistant's messages alone are imitated (TRL's setting
    /// of this name, which is off there); else all tokens, as in pretraining.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(!skip_serializing_if)]
    pub assistant_only_loss: bool,
    /// Folders of samples of guided runs (`agents guide export`). With any, the policy imitates what
    /// of them is to be trained on, on training tasks, and not scripted agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", !skip_serializing_if)]
    pub samples: Vec<Utf8PathBuf>,
    /// Folders of searches on tasks of the corpus. With any, the policy imitates their good answers
    /// and not scripted agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", !skip_serializing_if)]
    pub searches: Vec<Utf8PathBuf>,
    /// Folders of runs of `rl eval` or `rl train`. With any, the policy imitates the best episodes
    /// on training tasks in them, as in rejection fine-tuning, and not scripted agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", !skip_serializing_if)]
    pub episodes: Vec<Utf8PathBuf>,
    /// Of how many episodes on a task the best one is imitated, with `episodes`; at least 1.
    #[serde(default = "of_four", skip_serializing_if = "is_of_four")]
    #[schemars(!skip_serializing_if)]
    pub best_of: usize,
    /// Whose episodes are imitated, where there are neither searches nor episodes.
    #[serde(default, skip_serializing_if = "Demonstrator::is_ladder")]
    #[schemars(!skip_serializing_if)]
    pub demonstrations: Demonstrator,
    /// Most examples, drawn by chance from all that there are; 0 for all.
    #[serde(default, skip_serializing_if = "is_nothing")]
    #[schemars(!skip_serializing_if)]
    pub max_samples: usize,
    /// Share of the examples that are held out, drawn by chance, and never trained on; at least 0 and
    /// below 1. The loss on them is `eval_loss` in `metrics.jsonl`.
    #[serde(default, skip_serializing_if = "is_no_share")]
    #[schemars(!skip_serializing_if)]
    pub validation_share: f64,
    /// Updates between validations, where examples are held out; at least 1. The first validation is
    /// before the first update, the last after the last one.
    #[serde(default = "fifty", skip_serializing_if = "is_fifty")]
    #[schemars(!skip_serializing_if)]
    pub validate_every: u64,
    /// Whether the checkpoint of the smallest `eval_loss` stays, as `checkpoints/best`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(!skip_serializing_if)]
    pub keep_best: bool,
    /// Early stopping: the run ends after this many validations in a row without a smaller
    /// `eval_loss`; 0 for no early stopping.
    #[serde(default, skip_serializing_if = "is_never")]
    #[schemars(!skip_serializing_if)]
    pub early_stopping_patience: u64,
    /// Whether each pass takes the examples in an order of its own, or in that in which they are given,
    /// for data of which what is easy comes first (TRL's setting of this name, which is off there).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(!skip_serializing_if)]
    pub shuffle_dataset: bool,
    /// Most updates; 0 for all of `epochs`. The schedule of the learning rate ends with them.
    #[serde(default, skip_serializing_if = "is_never")]
    #[schemars(!skip_serializing_if)]
    pub max_steps: u64,
    /// The seed of everything.
    pub seed: u64,
    /// Episodes per task and approach.
    pub attempts: u64,
    /// Tokens of a tiny policy's vocabulary.
    pub vocab_size: usize,
    /// What the attention of a new policy of a built-in shape looks at before it is trained.
    #[serde(default, skip_serializing_if = "InitialAttention::is_random")]
    #[schemars(!skip_serializing_if)]
    pub initial_attention: InitialAttention,
    /// Passes over the episodes.
    pub epochs: u64,
    /// Batch size: episodes per update; at least 1.
    pub batch: usize,
    /// The learning rate after warm-up; above 0.
    pub learning_rate: f64,
    /// Share of context tokens that are replaced by any token of the vocabulary, drawn anew for
    /// each update (word dropout: Iyyer et al. 2015, §4). A tiny policy knows nothing but its
    /// demonstrations, and a word that none of them has would lead it anywhere.
    pub context_noise: f64,
    /// Updates until the peak.
    pub warmup: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// Adapters to train instead of the model itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraSettings>,
    /// What is traded for memory.
    pub memory: Memory,
    /// Longer episodes are left out.
    pub context: usize,
    /// Updates between checkpoints; at least 1.
    pub checkpoint_every: u64,
    /// How many of the newest checkpoints are kept.
    pub keep: usize,
    /// Threads that run the scripted agents.
    pub workers: usize,
    /// A folder in which replies to scripts are kept for other runs on this machine, as
    /// `rollout.script_cache_folder` of `rl train`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub script_cache_folder: Option<Utf8PathBuf>,
    /// The optimizer's settings, gradient clipping included.
    pub adam: AdamConfig,
    /// The rules of episodes.
    pub rules: EpisodeRules,
}

impl SftSettings {
    /// Defaults for a policy of this scale.
    pub fn defaults(scale: Scale) -> Self {
        let rollout = scale.rollout();
        Self {
            model: String::new(),
            tasks: Utf8PathBuf::new(),
            world: None,
            data: Vec::new(),
            assistant_only_loss: true,
            samples: Vec::new(),
            searches: Vec::new(),
            episodes: Vec::new(),
            best_of: of_four(),
            max_samples: 0,
            validation_share: 0.0,
            validate_every: fifty(),
            keep_best: true,
            early_stopping_patience: 0,
            shuffle_dataset: true,
            max_steps: 0,
            seed: 0,
            demonstrations: match scale {
                Scale::Small => Demonstrator::Composed,
                Scale::Tiny | Scale::Large => Demonstrator::Ladder,
            },
            attempts: if scale == Scale::Small { 24 } else { 3 },
            vocab_size: 3000,
            initial_attention: InitialAttention::Random,
            epochs: match scale {
                Scale::Tiny => 8,
                Scale::Small => 6,
                Scale::Large => 2,
            },
            batch: 16,
            learning_rate: match scale {
                Scale::Tiny | Scale::Small => 3e-3,
                Scale::Large => 1e-5,
            },
            context_noise: match scale {
                Scale::Tiny | Scale::Small => 0.1,
                Scale::Large => 0.0,
            },
            warmup: 20,
            dtype: scale.dtype(),
            lora: None,
            memory: scale.memory(),
            context: rollout.max_model_len,
            checkpoint_every: 50,
            keep: 2,
            workers: rollout.workers,
            script_cache_folder: None,
            adam: AdamConfig::default(),
            rules: scale.rules(),
        }
    }

    /// Gives defaults the limits of a task of a suite, and where a small model that is trained already
    /// goes on there, a lower rate and a context that is left as it is.
    pub fn set_world(&mut self, spec: &TaskSpec, scale: Scale, is_trained: bool) {
        self.context = spec.limits.context as usize;
        if is_trained && !scale.is_large() {
            // It copies what it reads: another word there is another thing or place.
            (self.learning_rate, self.context_noise) = (1e-3, 0.0);
        }
    }

    /// What the tokens of a new policy of this shape are made of.
    pub(super) fn pieces(&self, shape: BuiltIn) -> Pieces {
        match shape {
            _ if self.world.is_some() || !self.data.is_empty() => Pieces::WordsAndDigits,
            BuiltIn::Tiny => Pieces::Lines,
            BuiltIn::Small => Pieces::Words,
        }
    }
}

impl Described for SftSettings {
    fn of_scale(scale: Scale) -> Self {
        Self::defaults(scale)
    }

    fn example(scale: Scale) -> Self {
        Self { model: "tiny".into(), tasks: "tasks".into(), ..Self::defaults(scale) }
    }
}

impl Validate for SftSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        self.rules.episode.policy.check()?;
        require(
            self.rules.episode.feedback != Feedback::Exposed,
            "rules.episode.feedback",
            &"exposed",
            "`validate`, `tier` or `full` in training: `exposed` tells scores on all test rows, and \
             a policy would be trained on its test set",
        )?;
        check_place(self.world.as_ref(), &self.tasks)?;
        let has_place = self.world.is_some() || !is_nowhere(&self.tasks);
        require(
            self.data.is_empty() || !has_place,
            "data",
            &"given",
            "left out where there are `tasks` or a `world`: one of them is imitated",
        )?;
        require(
            self.assistant_only_loss || !self.data.is_empty(),
            "assistant_only_loss",
            &false,
            "left out where there is no `data`: of episodes the policy's turns alone are imitated",
        )?;
        require(
            self.searches.is_empty() || self.world.is_none(),
            "searches",
            &"given",
            "left out where there is a `world`: searches are on tasks of a corpus",
        )?;
        let has_others = !self.searches.is_empty() || !self.episodes.is_empty();
        require(
            self.samples.is_empty() || !has_others,
            "samples",
            &"given",
            "left out where there are `searches` or `episodes`: one of them is imitated",
        )?;
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        require(self.best_of > 0, "best_of", &self.best_of, "at least 1")?;
        require(
            self.searches.is_empty() || self.episodes.is_empty(),
            "episodes",
            &"given",
            "left out where there are `searches`: one of both is imitated",
        )?;
        require(self.epochs > 0, "epochs", &self.epochs, "at least 1")?;
        let share = self.validation_share;
        require((0.0..1.0).contains(&share), "validation_share", &share, "at least 0 and below 1")?;
        require(self.validate_every > 0, "validate_every", &self.validate_every, "at least 1")?;
        require(
            self.early_stopping_patience == 0 || share > 0.0,
            "early_stopping_patience",
            &self.early_stopping_patience,
            "0 where `validation_share` is 0: without validation nothing can stop a run early",
        )?;
        require(self.batch > 0, "batch", &self.batch, "at least 1")?;
        require(
            self.vocab_size >= 300,
            "vocab_size",
            &self.vocab_size,
            "at least 300: bytes, tags and some words",
        )?;
        require(
            self.initial_attention.is_random() || BuiltIn::named(&self.model).is_some(),
            "initial_attention",
            &"induction",
            "left out where the policy is neither `tiny` nor `small`: it has weights already",
        )?;
        require(
            self.learning_rate > 0.0 && self.learning_rate.is_finite(),
            "learning_rate",
            &self.learning_rate,
            "above 0",
        )?;
        let noise = self.context_noise;
        require((0.0..1.0).contains(&noise), "context_noise", &noise, "at least 0 and below 1")?;
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
