//! The settings of `rl train`, with the paper's values for large policies.

use super::credit::Credit;
use super::curriculum::Curriculum;
use super::mask::MaskRules;
use super::stuck::StuckGuidance;
use crate::generate::remote::EngineApi;
use crate::model::LoraSettings;
use crate::optim::{AdamConfig, Decay, Schedule};
use crate::rollout::{ContextOverflow, RolloutSettings};
use crate::run::settings::{SettingsError, Validate, is_nowhere, is_off, require};
use crate::train::advantage::Normalisation;
use crate::train::batch::Memory;
use crate::train::harness::{Cadence, Validation};
use crate::train::loss::{Aggregation, Clip, Kl, Objective};
use crate::train::presets::{Dtype, Scale};
use crate::train::schema::Described;
use crate::train::tinker::LearnerSettings;
use crate::world::check_place;
use agents::scaffold::react::EpisodeRules;
use camino::Utf8PathBuf;
use sandbox::env::Feedback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use worlds::TaskSpec;

/// The settings of `rl train`.
///
/// | field | tiny | large | purpose |
/// | --- | --- | --- | --- |
/// | `steps` | 24; small: 100 | 100 | updates |
/// | `world` | none | none | the folder of a task of a suite (`docs/WORLDS.md`), instead of a corpus |
/// | `searches` | none | none | folders of searches whose questions are trained on instead of whole episodes |
/// | `tasks_per_step` | 16; small: 8 | 16 | tasks per update |
/// | `group_size` | 4; small: 8 | 4 | episodes per task, at least 2 |
/// | `learning_rate` | 2e-4; small: 8e-5; in a `world`: 2e-5 | 1e-6 | learning rate after warm-up |
/// | `warmup` | 2 | 0 | updates of linear warm-up |
/// | `dtype` | `f32` | `bf16` | type of weights and activations |
/// | `lora` | none | none | see [`LoraSettings`]: adapters are trained instead |
/// | `learner` | none | none | see [`LearnerSettings`]: weights and engines are on other machines |
/// | `memory` | see [`Memory`] | | micro-batches and gradient checkpointing |
/// | `adam.max_grad_norm` | 0.1 | 1 | gradient clipping: the largest global norm |
/// | `validate_every` | 8 | 5 | updates between validations; 0 for none |
/// | `validate_attempts` | 2 | 1 | episodes per held-out task |
/// | `checkpoint_every` | 4 | 5 | updates between checkpoints |
/// | `keep_best` | yes | yes | whether the checkpoint of the best validation stays |
/// | `early_stopping_patience` | 0 | 0 | early stopping: validations without gain until the run ends; 0 for none |
/// | `dynamic_sampling.max_rounds` | 1 | 1 | rounds of tasks per step; above 1, groups without different rewards are replaced |
/// | `curriculum.sampler` | `uniform` | `uniform` | how tasks are drawn; see [`Curriculum`] |
/// | `mini_batches` | 1 | 1 | parts of a step's groups, each with an update of its own |
/// | `epochs` | 1 | 1 | passes over a step's groups |
/// | `aggregation` | `seq-mean-token-mean`; small: `token-mean` | `seq-mean-token-mean` | how token losses become one number |
/// | `kl.beta` | 0 | 0 | weight of the KL penalty against the reference model; 0 for none |
/// | `tis_cap` | 0 | 2 | cap of truncated importance sampling; 0 for no correction |
/// | `credit` | `off` | `off` | `drop` or `signed`: verdicts on single turns decide which of them an advantage reaches; see [`Credit`] |
/// | `guide` | none | none | see [`StuckGuidance`]: groups that are stuck are played again with advice |
/// | `shuffle_rewards` | no | no | a control: rewards change places within their group |
/// | `watchdog_seconds` | 300 | 300 | seconds without progress until a warning; 0 for none |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainSettings {
    /// A run's folder, a model's folder or name.
    pub model: String,
    /// The folder of the corpus.
    #[serde(default, skip_serializing_if = "is_nowhere")]
    #[schemars(with = "String")]
    pub tasks: Utf8PathBuf,
    /// The folder of a task of a suite of generated environments, instead of a corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub world: Option<Utf8PathBuf>,
    /// Folders of searches on tasks of the corpus. With any, the policy is trained on their
    /// questions, an answer each, and not on whole episodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", !skip_serializing_if)]
    pub searches: Vec<Utf8PathBuf>,
    /// The seed of everything.
    pub seed: u64,
    /// The number of training steps.
    pub steps: u64,
    /// Tasks per step (batch size); at least 1.
    pub tasks_per_step: usize,
    /// Group size: episodes per task and update; at least 2.
    pub group_size: usize,
    /// Learning rate after warm-up; above 0.
    pub learning_rate: f64,
    /// Updates of linear warm-up until the full learning rate.
    pub warmup: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// Adapters to train instead of the model itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraSettings>,
    /// The learner on other machines, with its engines; without it both are in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learner: Option<LearnerSettings>,
    /// What bounds the memory of an update.
    pub memory: Memory,
    /// Updates between validations; 0 for none.
    pub validate_every: u64,
    /// Episodes per held-out task.
    pub validate_attempts: u64,
    /// Steps between checkpoints; at least 1.
    pub checkpoint_every: u64,
    /// How many of the newest checkpoints are kept.
    pub keep: usize,
    /// Whether the checkpoint of the best validation stays, as `checkpoints/best`.
    pub keep_best: bool,
    /// Early stopping: the run ends after this many validations in a row without a better reward;
    /// 0 for no early stopping.
    pub early_stopping_patience: u64,
    /// Replaces groups whose rewards are all the same.
    pub dynamic_sampling: DynamicSampling,
    /// How often each task is drawn.
    #[serde(default, skip_serializing_if = "Curriculum::is_default")]
    pub curriculum: Curriculum,
    /// Parts into which a step's groups are divided, each with an update of its own.
    pub mini_batches: usize,
    /// Passes over a step's groups.
    pub epochs: usize,
    /// How token losses are aggregated into one number.
    pub aggregation: Aggregation,
    /// The clip range of the probability ratio.
    pub clip: Clip,
    /// KL penalty against the reference model, which is the policy that training starts from.
    /// With `beta` above 0, the reference model is kept in memory beside the trained one.
    pub kl: Kl,
    /// Truncated importance sampling: the cap of the weight that corrects a token's loss for the
    /// difference between sampler and trainer; 0 for no correction, which is exact where they
    /// agree, else at least 1.
    pub tis_cap: f64,
    /// Which episodes are masked out of the loss, by how they ended.
    pub mask: MaskRules,
    /// How the rewards of a group are normalised into advantages.
    pub advantage: Normalisation,
    /// Which turns of an episode its advantage reaches, by verdicts on them.
    #[serde(default, skip_serializing_if = "Credit::is_off")]
    #[schemars(!skip_serializing_if)]
    pub credit: Credit,
    /// Groups that are stuck are played once more with advice, and what succeeds is imitated.
    #[serde(default, skip_serializing_if = "StuckGuidance::is_default")]
    pub guide: StuckGuidance,
    /// A control experiment: before advantages are made of them, the rewards of a group change
    /// places by chance, so that they teach nothing. Records keep the true ones.
    #[serde(default, skip_serializing_if = "is_off")]
    #[schemars(!skip_serializing_if)]
    pub shuffle_rewards: bool,
    /// The optimizer's settings, gradient clipping included.
    pub adam: AdamConfig,
    /// Seconds without progress after which a warning names the blocking phase; 0 for none.
    pub watchdog_seconds: u64,
    /// How episodes are generated.
    pub rollout: RolloutSettings,
    /// The rules of episodes.
    pub rules: EpisodeRules,
}

/// Dynamic sampling: groups whose rewards are all the same have no gradient and are replaced by
/// groups on other tasks (Yu et al. 2025, DAPO).
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `max_rounds` | 1 | how often tasks are drawn for a step; 1 replaces nothing |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicSampling {
    /// Most rounds of drawing tasks for one step; at least 1. With 1 no group is replaced.
    pub max_rounds: u64,
}

impl TrainSettings {
    /// The keys that may change when a run is resumed: how long it is and what is kept; and what
    /// changes nothing but speed or messages.
    pub const FREE: [&str; 12] = [
        "steps",
        "early_stopping_patience",
        "keep",
        "keep_best",
        "learner.url",
        "learner.patience_seconds",
        "rollout.engine",
        "rollout.sandboxes",
        "rollout.script_cache",
        "rollout.script_cache_folder",
        "rollout.workers",
        "watchdog_seconds",
    ];

    /// Defaults for a policy of this scale.
    pub fn defaults(scale: Scale) -> Self {
        let tiny = !scale.is_large();
        // Tokens of the small one are words, so an episode has many, and most of what it could say
        // next is wrong: its rate is low, and groups are large enough to tell good from lucky.
        let (steps, tasks_per_step, group_size, learning_rate) = match scale {
            Scale::Tiny => (24, 16, 4, 2e-4),
            Scale::Small => (100, 8, 8, 8e-5),
            Scale::Large => (100, 16, 4, 1e-6),
        };
        Self {
            model: String::new(),
            tasks: Utf8PathBuf::new(),
            world: None,
            searches: Vec::new(),
            seed: 0,
            steps,
            tasks_per_step,
            group_size,
            learning_rate,
            warmup: if tiny { 2 } else { 0 },
            dtype: scale.dtype(),
            lora: None,
            learner: None,
            memory: scale.memory(),
            validate_every: if tiny { 8 } else { 5 },
            validate_attempts: if tiny { 2 } else { 1 },
            checkpoint_every: if tiny { 4 } else { 5 },
            keep: 2,
            keep_best: true,
            early_stopping_patience: 0,
            dynamic_sampling: DynamicSampling { max_rounds: 1 },
            curriculum: Curriculum::default(),
            mini_batches: 1,
            epochs: 1,
            // Scripts of the small one differ in length by what they do, and the mean over each
            // would weigh the words of short ones more: it learnt to use a single model.
            aggregation: match scale {
                Scale::Small => Aggregation::TokenMean,
                Scale::Tiny | Scale::Large => Aggregation::SeqMeanTokenMean,
            },
            clip: Clip::default(),
            kl: Kl::default(),
            // In f32 sampler and trainer agree to 1e-4; in bf16 they round differently.
            tis_cap: if tiny { 0.0 } else { 2.0 },
            mask: MaskRules::default(),
            advantage: Normalisation::default(),
            credit: Credit::Off,
            guide: StuckGuidance::default(),
            shuffle_rewards: false,
            adam: AdamConfig {
                // For large policies verl's constants, which the paper's release keeps.
                beta2: if tiny { 0.95 } else { 0.999 },
                weight_decay: if tiny { 0.0 } else { 0.01 },
                // Usual norms of a tiny policy are near 0.1; larger ones come from rare tokens.
                max_grad_norm: if tiny { 0.1 } else { 1.0 },
                ..AdamConfig::default()
            },
            watchdog_seconds: 300,
            rollout: scale.rollout(),
            rules: scale.rules(),
        }
    }

    /// Gives defaults the limits of a task of a suite, and small models the rate that keeps what they
    /// do there whole (`docs/LOG.md`).
    pub fn set_world(&mut self, spec: &TaskSpec, scale: Scale) {
        self.rollout.max_model_len = spec.limits.context as usize;
        self.rollout.turn_tokens = spec.limits.turn_tokens as usize;
        self.rules.episode.budget.turns = spec.limits.turns;
        if !scale.is_large() {
            self.learning_rate = 2e-5;
        }
    }

    /// When a run saves, validates and ends.
    pub(super) fn cadence(&self) -> Cadence {
        let Self { keep_best, early_stopping_patience: patience, .. } = *self;
        let validation = Validation { every: self.validate_every, keep_best, patience };
        Cadence {
            steps: self.steps,
            checkpoint_every: self.checkpoint_every,
            validation: Some(validation),
        }
    }

    /// The learning rate of every step.
    pub(super) fn schedule(&self) -> Schedule {
        Schedule {
            peak: self.learning_rate,
            warmup: self.warmup,
            decay: Decay::Constant,
            steps: self.steps,
        }
    }

    /// How a token's loss is made.
    pub fn objective(&self) -> Objective {
        Objective { clip: self.clip, kl: self.kl, tis_cap: self.tis_cap }
    }

    /// How many updates are made from one batch; a part of it without a gradient makes none.
    pub fn updates_per_step(&self) -> usize {
        self.mini_batches * self.epochs
    }
}

impl Described for TrainSettings {
    fn of_scale(scale: Scale) -> Self {
        Self::defaults(scale)
    }

    fn example(scale: Scale) -> Self {
        Self { model: "tiny".into(), tasks: "tasks".into(), ..Self::defaults(scale) }
    }
}

impl Validate for TrainSettings {
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
        require(
            self.world.is_none() || self.searches.is_empty(),
            "searches",
            &"given",
            "left out where there is a `world`: searches are on tasks of a corpus",
        )?;
        require(
            self.world.is_none() || self.rollout.sandboxes.is_empty(),
            "rollout.sandboxes",
            &"given",
            "left out where there is a `world`, which needs no servers",
        )?;
        require(
            self.group_size >= 2,
            "group_size",
            &self.group_size,
            "at least 2: one episode cannot be compared with others",
        )?;
        require(self.tasks_per_step > 0, "tasks_per_step", &self.tasks_per_step, "at least 1")?;
        require(
            self.learning_rate > 0.0 && self.learning_rate.is_finite(),
            "learning_rate",
            &self.learning_rate,
            "above 0",
        )?;
        require(
            self.checkpoint_every > 0,
            "checkpoint_every",
            &self.checkpoint_every,
            "at least 1",
        )?;
        require(
            self.dynamic_sampling.max_rounds > 0,
            "dynamic_sampling.max_rounds",
            &self.dynamic_sampling.max_rounds,
            "at least 1",
        )?;
        self.curriculum.check()?;
        require(
            (1..=self.tasks_per_step).contains(&self.mini_batches),
            "mini_batches",
            &self.mini_batches,
            "at least 1 and at most `tasks_per_step`",
        )?;
        require(self.epochs > 0, "epochs", &self.epochs, "at least 1")?;
        let Clip { low, high, dual } = self.clip;
        require((0.0..=1.0).contains(&low), "clip.low", &low, "between 0 and 1")?;
        require(high >= 0.0 && high.is_finite(), "clip.high", &high, "at least 0")?;
        require(
            dual == 0.0 || (dual > 1.0 && dual.is_finite()),
            "clip.dual",
            &dual,
            "0 for none, or above 1",
        )?;
        let beta = self.kl.beta;
        require(
            beta >= 0.0 && beta.is_finite(),
            "kl.beta",
            &beta,
            "0 for no KL penalty, or above",
        )?;
        let cap = self.tis_cap;
        require(
            cap == 0.0 || (cap >= 1.0 && cap.is_finite()),
            "tis_cap",
            &cap,
            "0 for no correction, or at least 1: equal probabilities have the weight 1",
        )?;
        let share = self.mask.time_limit_share;
        require(
            (0.0..1.0).contains(&share),
            "mask.time_limit_share",
            &share,
            "at least 0 and below 1: the share of tool calls of which more must hit the time limit",
        )?;
        let sampling = &self.rollout.sampling;
        require(
            !sampling.is_greedy(),
            "rollout.sampling.temperature",
            &sampling.temperature,
            "above 0: greedy groups are all alike",
        )?;
        require(
            self.rollout.context_overflow != ContextOverflow::Evict,
            "rollout.context_overflow",
            &"evict",
            "`end` or `summarise` in training: a conversation from which turns were removed is no \
             single sequence that the policy could be trained on",
        )?;
        let summarises = self.rollout.context_overflow == ContextOverflow::Summarise;
        require(
            !summarises || (self.credit == Credit::Off && self.guide.person.is_none()),
            "rollout.context_overflow",
            &"summarise",
            "`end` with `credit` or `guide.person`: verdicts on turns, and what guided episodes teach, \
             are laid out as one conversation",
        )?;
        if let Some(engine) = &self.rollout.engine {
            require(
                self.learner.is_none(),
                "rollout.engine",
                &"set",
                "left out with `learner`: the server that trains samples as well",
            )?;
            require(
                cap > 0.0,
                "tis_cap",
                &cap,
                "at least 1 with `rollout.engine`, such as 2: engines compute with other kernels",
            )?;
            require(
                sampling.top_k == 0 && sampling.top_p >= 1.0,
                "rollout.sampling",
                &format!("top_k {} and top_p {}", sampling.top_k, sampling.top_p),
                "top_k 0 and top_p 1 with `rollout.engine`: an engine's log-probabilities are \
                 those of what they leave, and the trainer's are not",
            )?;
            require(
                sampling.min_p <= 0.0 || engine.api == EngineApi::Vllm,
                "rollout.sampling.min_p",
                &sampling.min_p,
                "0 with SGLang, whose log-probabilities are those of before min-p",
            )?;
        }
        self.guide.check(self)?;
        self.adam.check()?;
        let epsilon = self.advantage.epsilon;
        require(
            epsilon >= 0.0 && epsilon.is_finite(),
            "advantage.epsilon",
            &epsilon,
            "at least 0",
        )?;
        self.lora.as_ref().map_or(Ok(()), LoraSettings::check)?;
        self.learner.as_ref().map_or(Ok(()), |learner| learner.check(self))?;
        self.memory.check()?;
        self.rollout.check()
    }
}

#[cfg(test)]
mod tests {
    use super::super::curriculum::Sampler;
    use super::*;
    use crate::run::recipes::open;
    use crate::run::settings::resolve;
    use crate::train::advantage::StdNorm;
    use crate::train::tinker::Backend;
    use agents::reward::RewardWeights;
    use toml::Table;

    fn resolved(recipe: &str, scale: Scale) -> TrainSettings {
        resolve(&TrainSettings::defaults(scale), Some(recipe), Table::new(), &[]).unwrap()
    }

    /// The dotted keys of a table's values.
    fn keys(prefix: &str, table: &Table) -> Vec<String> {
        let key = |(key, value): (&String, &toml::Value)| match value {
            toml::Value::Table(inner) => keys(&format!("{prefix}{key}."), inner),
            _ => vec![format!("{prefix}{key}")],
        };
        table.iter().flat_map(key).collect()
    }

    #[test]
    fn the_papers_recipe_is_the_large_default_but_for_feedback_context_and_timeouts() {
        let mut expected = TrainSettings::defaults(Scale::Large);
        expected.rules.episode.feedback = Feedback::Full;
        expected.rollout.max_model_len = 40_960;
        expected.mask.time_limit_share = 0.2;
        let found = resolved("sandmle", Scale::Large);
        assert_eq!(found, expected);
        found.verify().unwrap();
    }

    #[test]
    fn feedback_on_all_test_rows_is_refused_in_training() {
        let mut settings = TrainSettings::defaults(Scale::Tiny);
        settings.rules.episode.feedback = Feedback::Exposed;
        let error = settings.verify().unwrap_err().to_string();
        assert!(error.contains("rules.episode.feedback") && error.contains("test set"), "{error}");
    }

    #[test]
    fn the_papers_recipe_names_every_option() {
        let all = Table::try_from(TrainSettings::defaults(Scale::Large)).unwrap();
        let named = keys("", &open("sandmle").unwrap());
        let yours = ["model", "tasks", "seed", "rollout.workers", "rollout.threads"];
        for key in keys("", &all) {
            // Limits other than time are the sandbox's own.
            let of_the_jail =
                key.starts_with("rules.episode.policy.") || key == "rules.episode.submission_limit";
            assert!(
                named.contains(&key) || yours.contains(&key.as_str()) || of_the_jail,
                "`{key}` is not in configs/sandmle.toml"
            );
        }
    }

    #[test]
    fn the_curriculum_recipe_changes_draws_rewards_and_their_scale() {
        let mut expected = TrainSettings::defaults(Scale::Large);
        expected.curriculum.sampler = Sampler::Adaptive;
        expected.advantage.std = StdNorm::None;
        expected.rules.reward = RewardWeights::BEYOND_GOLD;
        let found = resolved("curriculum", Scale::Large);
        assert_eq!(found, expected);
        found.verify().unwrap();
    }

    #[test]
    fn settings_without_a_curriculum_are_written_as_before_there_was_one() {
        let settings = TrainSettings::defaults(Scale::Tiny);
        let text = toml::to_string(&settings).unwrap();
        assert!(!text.contains("curriculum") && !text.contains("beyond"), "{text}");
        let assigned = ["curriculum.sampler=adaptive".to_owned()];
        let settings: TrainSettings = resolve(&settings, None, Table::new(), &assigned).unwrap();
        let expected = Curriculum { sampler: Sampler::Adaptive, ..Curriculum::default() };
        assert_eq!(settings.curriculum, expected);
        assert!(toml::to_string(&settings).unwrap().contains("[curriculum]"));
    }

    #[test]
    fn settings_without_credit_and_guide_are_written_as_before_there_were_any() {
        let settings = TrainSettings::defaults(Scale::Tiny);
        let text = toml::to_string(&settings).unwrap();
        assert!(!text.contains("credit") && !text.contains("guide"), "{text}");
        let assigned =
            ["credit=drop", "guide.person=ann.toml", "guide.imitate=0.5"].map(str::to_owned);
        let settings: TrainSettings = resolve(&settings, None, Table::new(), &assigned).unwrap();
        assert_eq!((settings.credit, settings.guide.below), (Credit::Drop, 0.3));
        settings.verify().unwrap();
    }

    #[test]
    fn guidance_that_cannot_be_is_refused_with_its_key() {
        for (assigned, words) in [
            (&["guide.person=ann.toml"][..], "`guide.imitate`"),
            (&["guide.imitate=0.5"], "`guide.person`"),
            (&["guide.person=ann.toml", "guide.imitate=-1.0"], "`guide.imitate`"),
            (&["guide.person=ann.toml", "guide.imitate=1.0", "guide.below=0.0"], "`guide.below`"),
            (&["guide.person=ann.toml", "guide.imitate=1.0", "guide.below=1.1"], "`guide.below`"),
            (&["guide.person=ann.toml", "guide.imitate=1.0", "searches=['a']"], "`guide.person`"),
            (
                &["guide.person=ann.toml", "guide.imitate=1.0", "learner.url=http://gpu-1:8000"],
                "`guide.person`",
            ),
        ] {
            let assigned: Vec<String> = assigned.iter().map(|text| (*text).to_owned()).collect();
            let defaults = TrainSettings::defaults(Scale::Tiny);
            let settings: TrainSettings =
                resolve(&defaults, None, Table::new(), &assigned).unwrap();
            let refused = settings.verify().unwrap_err().to_string();
            assert!(refused.contains(words), "{assigned:?}: {refused}");
        }
    }

    #[test]
    fn a_learner_on_other_machines_is_a_table_that_is_checked_with_the_rest() {
        let defaults = TrainSettings::defaults(Scale::Large);
        assert!(!toml::to_string(&defaults).unwrap().contains("learner"));
        let assigned =
            ["learner.url=http://gpu-1:8000", "learner.backend=megatron"].map(str::to_owned);
        let settings: TrainSettings = resolve(&defaults, None, Table::new(), &assigned).unwrap();
        let learner = settings.learner.as_ref().unwrap();
        assert_eq!(
            (learner.url.as_str(), learner.backend),
            ("http://gpu-1:8000", Backend::Megatron)
        );
        settings.verify().unwrap();
        let mut settings = settings;
        settings.kl.beta = 0.1;
        assert!(settings.verify().unwrap_err().to_string().contains("kl.beta"));
    }

    #[test]
    fn the_sparse_recipe_changes_the_reward_alone() {
        let mut expected = TrainSettings::defaults(Scale::Tiny);
        expected.rules.reward = RewardWeights::SPARSE;
        assert_eq!(resolved("sparse", Scale::Tiny), expected);
    }
}
