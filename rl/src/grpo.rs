//! Trajectory-level GRPO, strictly on-policy.
//!
//! ```text
//! repeat: draw tasks; play a group of episodes on each; reward r
//!         A = (r - mean of group) / (std of group + eps)
//!         L = mean over trajectories of mean over sampled tokens of
//!               -min(ρ A, clip(ρ, 1 - 0.2, 1 + 0.28) A)
//!         one AdamW step
//! ```
//! As in the paper (SandMLE §4.4 and its settings): one advantage for a whole trajectory, groups
//! of 4, seq-mean-token-mean, clip-higher, no KL and no entropy term, observations masked,
//! trajectories whose script hit the time limit masked.
//!
//! Where we depart from the paper's runs:
//! 1. *Strictly on-policy.* One update per batch, and the old log-probabilities are those that
//!    the sampler itself computed. So ρ is 1 up to rounding, the clip is idle, and there is no
//!    separate pass for old log-probabilities. The maximal gap between sampler and trainer is
//!    checked at the start and logged at every step.
//! 2. *Masked trajectories leave the group before the baseline* (an option), so that a slow
//!    script does not move the others' advantages.
//! 3. *A fault of ours is no reward.* Broken episodes are dropped before the baseline and counted.
//! 4. Trajectories without advantage are not differentiated: they add exactly nothing. They do
//!    count in the mean over trajectories.
//! 5. Rewards are exact milestones; there is no length penalty and no dynamic sampling.
//!
//! `docs/METRICS.md` explains each name in `metrics.jsonl`.

use crate::advantage::{Normalisation, Standing, advantages};
use crate::batch::{Micro, Sample, micro_batches};
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, open_policy};
use crate::loss::{Aggregation, Clip, surrogate};
use crate::metrics::{Metrics, resident_memory};
use crate::model::Qwen3;
use crate::optim::{AdamConfig, AdamW, Decay, OptimError, Schedule};
use crate::playground::{Playground, PlaygroundError};
use crate::presets::Scale;
use crate::rollout::{Job, Played, Policy, RolloutError, RolloutSettings, rollout, sampled};
use crate::settings::{SettingsError, require};
use crate::sft::Stages;
use crate::tokenizer::Tokenizer;
use agents::evaluation::Row;
use agents::scaffold::react::Rules;
use agents::trajectory::{Ending, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rand::seq::SliceRandom;
use sandbox::files;
use sandbox::stream::Stream;
use sandbox::task::{Split, TaskDir, TaskId};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use tch::{Device, Kind, Tensor, no_grad_guard};

/// How far sampler and trainer may differ on a log-probability, in f32.
const LOG_PROB_GAP: f64 = 1e-4;

/// The settings of `rl train`.
///
/// | field | tiny | large | purpose |
/// | --- | --- | --- | --- |
/// | `steps` | 40 | 100 | updates |
/// | `tasks_per_step` | 16 | 16 | tasks per update |
/// | `group` | 4 | 4 | episodes per task |
/// | `rate` | 2e-4 | 1e-6 | learning rate |
/// | `warmup` | 2 | 0 | updates until the full rate |
/// | `micro_tokens` | 4096 | 32768 | tokens that are differentiated at once |
/// | `validate_every` | 10 | 5 | updates between validations; 0 for none |
/// | `validate_attempts` | 2 | 1 | episodes per held-out task |
/// | `checkpoint_every` | 5 | 5 | updates between checkpoints |
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
    /// Tokens that are differentiated at once.
    pub micro_tokens: usize,
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
            steps: if tiny { 40 } else { 100 },
            tasks_per_step: 16,
            group: 4,
            rate: if tiny { 2e-4 } else { 1e-6 },
            warmup: if tiny { 2 } else { 0 },
            micro_tokens: if tiny { 4096 } else { 32_768 },
            validate_every: if tiny { 10 } else { 5 },
            validate_attempts: if tiny { 2 } else { 1 },
            checkpoint_every: 5,
            keep: 2,
            aggregation: Aggregation::SeqMeanTokenMean,
            clip: Clip::default(),
            normalisation: Normalisation::default(),
            adam: AdamConfig { weight_decay: 0.0, ..AdamConfig::default() },
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
        require(
            sampling.check().is_ok(),
            "rollout.sampling",
            &format!("{sampling:?}"),
            "within the ranges of its fields",
        )
    }
}

/// Why training stopped.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// No place to play.
    #[error(transparent)]
    Playground(#[from] PlaygroundError),
    /// Episodes could not be played.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Every episode of a step broke.
    #[error("every episode of step {step} broke; the last said: {last}")]
    AllFaulted {
        /// The step.
        step: u64,
        /// What the last one said.
        last: String,
    },
    /// The policy could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The update could not be made.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// A file of the run could not be written.
    #[error("failed to write the run's files")]
    Io(#[from] std::io::Error),
    /// What is trained on is not what was sampled.
    #[error(
        "self-check failed on task `{task}`: the trainer's tokens are not those that the engine saw"
    )]
    OtherTokens {
        /// The task.
        task: TaskId,
    },
    /// The mask does not cover exactly what was sampled.
    #[error("self-check failed: {trained} tokens are trained on, {sampled} were sampled")]
    MaskSum {
        /// Tokens under the mask.
        trained: usize,
        /// Log-probabilities that the sampler kept.
        sampled: usize,
    },
    /// Sampler and trainer disagree.
    #[error(
        "self-check failed: log-probabilities of sampler and trainer differ by up to {gap:e}, more than {LOG_PROB_GAP:e}"
    )]
    Gap {
        /// The largest difference.
        gap: f64,
    },
}

/// One line of `metrics.jsonl`.
#[derive(Debug, Serialize)]
struct Line {
    step: u64,
    #[serde(flatten)]
    train: Option<TrainLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<Summary>,
}

/// What episodes came to.
#[derive(Debug, Serialize)]
struct Summary {
    reward: f64,
    reward_format: f64,
    reward_execution: f64,
    reward_tier: f64,
    valid: f64,
    median: f64,
    bronze: f64,
    silver: f64,
    gold: f64,
    turns: f64,
    answered: f64,
    out_of_tokens: f64,
    tokens: f64,
    episodes: usize,
    faults: usize,
}

#[derive(Debug, Serialize)]
struct TrainLine {
    #[serde(flatten)]
    summary: Summary,
    masked: usize,
    /// Share of groups whose rewards differ: the others teach nothing.
    mixed_groups: f64,
    loss: f64,
    clipped: f64,
    /// Mean of -log p over sampled tokens, an estimate of the entropy per token.
    entropy: f64,
    log_prob_gap: f64,
    gradient_norm: f64,
    rate: f64,
    trained_tokens: usize,
    rollout_seconds: f64,
    update_seconds: f64,
    resident_bytes: Option<u64>,
}

/// Trains the policy in `folder` on the corpus; `out` is the run's folder. Returns the folder of
/// the last checkpoint.
///
/// # Errors
/// [`TrainError`].
pub fn run(
    settings: &TrainSettings,
    folder: &Utf8Path,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
) -> Result<Utf8PathBuf, TrainError> {
    let root = Stream::root(settings.seed).child("grpo");
    let checkpoints = Checkpoints::of(out, settings.keep);
    let latest = checkpoints.latest()?;
    let start = latest.as_ref().map_or(folder, Checkpoint::folder);
    let (model, tokenizer) = open_policy(start, Kind::Float, device)?;
    let mut optimizer = AdamW::new(&model, settings.adam);
    let mut done = 0;
    if let Some(checkpoint) = &latest {
        checkpoint.restore(&mut optimizer)?;
        done = checkpoint.step();
        tracing::info!(step = done, "continuing");
    }
    let bar = stages.stage("training", settings.steps);
    bar.set_position(done);
    let mut last = start.to_owned();
    if done >= settings.steps {
        bar.finish();
        return Ok(last);
    }
    let playground = Playground::open(&settings.tasks)?;
    let (tasks, held_out) = (playground.tasks(Split::Train)?, playground.tasks(Split::Val)?);
    let trainer = Trainer {
        settings,
        playground: &playground,
        model: &model,
        tokenizer: &tokenizer,
        out,
        root,
    };
    let schedule = Schedule {
        peak: settings.rate,
        warmup: settings.warmup,
        decay: Decay::Constant,
        steps: settings.steps,
    };
    let mut metrics = Metrics::resume(out, done)?;
    if latest.is_none() && settings.validate_every > 0 {
        let validation = trainer.validate(&held_out, stages)?;
        tracing::info!(
            step = 0,
            reward = validation.reward,
            valid = validation.valid,
            "held-out tasks"
        );
        // A run killed before its first checkpoint starts over, and so does its metrics file.
        metrics = Metrics::restart(out)?;
        metrics.append(&Line { step: 0, train: None, validation: Some(validation) })?;
    }

    for step in done..settings.steps {
        // 1. Tasks, and a group of episodes on each.
        let tasks = draw(&tasks, step, settings.tasks_per_step, root.child("tasks"));
        let began = Instant::now();
        let played = trainer.play(&tasks, step, stages)?;
        let rollout_seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();

        // 2. Rewards to advantages, group by group.
        let batch = Batch::of(played, settings);
        let Some(summary) = batch.summary() else {
            return Err(TrainError::AllFaulted { step, last: batch.last_fault });
        };
        if step == done {
            batch.check_tokens()?;
            trainer.check_log_probs(&batch)?;
        }

        // 3. The surrogate and its gradient, then one step.
        let learnt = trainer.differentiate(&batch);
        let rate = schedule.rate(step);
        let gradient_norm = if learnt.tokens > 0 { optimizer.step(rate)? } else { 0.0 };
        let line = TrainLine {
            masked: batch.count(Standing::Masked),
            mixed_groups: batch.mixed_groups,
            loss: learnt.loss,
            clipped: learnt.clipped,
            entropy: batch.entropy(),
            log_prob_gap: learnt.gap,
            gradient_norm,
            rate,
            trained_tokens: learnt.tokens,
            rollout_seconds,
            update_seconds: began.elapsed().as_secs_f64(),
            resident_bytes: resident_memory(),
            summary,
        };
        bar.set_message(format!(
            "reward {:.3}, valid {:.0}%",
            line.summary.reward,
            100.0 * line.summary.valid
        ));
        bar.inc(1);

        // 4. Held-out tasks, the record, the checkpoint.
        let number = step + 1;
        let ends = number == settings.steps;
        let due = settings.validate_every > 0 && (number % settings.validate_every == 0 || ends);
        let validation = if due { Some(trainer.validate(&held_out, stages)?) } else { None };
        if let Some(validation) = &validation {
            tracing::info!(
                step = number,
                reward = validation.reward,
                valid = validation.valid,
                "held-out tasks"
            );
        }
        trainer.keep_episodes(number, &batch)?;
        metrics.append(&Line { step: number, train: Some(line), validation })?;
        if number % settings.checkpoint_every == 0 || ends {
            last =
                checkpoints.save(number, &model, &tokenizer, &optimizer, &())?.folder().to_owned();
        }
    }
    bar.finish();
    Ok(last)
}

/// The tasks of a step: an endless row of shuffles, cut into batches, so that every task comes up
/// equally often and the tasks of a step depend on nothing but the step.
fn draw<'t>(tasks: &[&'t TaskDir], step: u64, count: usize, stream: Stream) -> Vec<&'t TaskDir> {
    let (first, length) = (step * count as u64, tasks.len() as u64);
    (first..first + count as u64)
        .map(|place| {
            let mut order: Vec<&TaskDir> = tasks.to_vec();
            order.shuffle(&mut stream.index(place / length).rng());
            order[usize::try_from(place % length).unwrap_or(0)]
        })
        .collect()
}

/// What all steps share.
struct Trainer<'a> {
    settings: &'a TrainSettings,
    playground: &'a Playground,
    model: &'a Qwen3,
    tokenizer: &'a Tokenizer,
    out: &'a Utf8Path,
    root: Stream,
}

/// What an update came to.
struct Learnt {
    loss: f64,
    clipped: f64,
    gap: f64,
    tokens: usize,
}

impl Trainer<'_> {
    /// A group of episodes on each task, in order.
    fn play(
        &self,
        tasks: &[&TaskDir],
        step: u64,
        stages: &dyn Stages,
    ) -> Result<Vec<Played>, TrainError> {
        let stream = self.root.child("episodes").index(step);
        let mut jobs = Vec::new();
        for (place, task) in tasks.iter().copied().enumerate() {
            for attempt in 0..self.settings.group as u64 {
                // By place, because a small corpus may draw a task twice in a step.
                let stream = stream.index(place as u64).index(attempt);
                jobs.push(Job { task, attempt, stream });
            }
        }
        self.rollout("episodes", &jobs, stages)
    }

    /// The held-out tasks, always with the same draws.
    fn validate(&self, tasks: &[&TaskDir], stages: &dyn Stages) -> Result<Summary, TrainError> {
        let stream = self.root.child("validation");
        let mut jobs = Vec::new();
        for task in tasks.iter().copied() {
            for attempt in 0..self.settings.validate_attempts {
                let stream = stream.child(task.id().as_str()).index(attempt);
                jobs.push(Job { task, attempt, stream });
            }
        }
        let played = self.rollout("validating", &jobs, stages)?;
        let (mut trajectories, mut faults) = (Vec::new(), 0);
        for played in played {
            match played {
                Played::Finished { trajectory, .. } => trajectories.push(*trajectory),
                Played::Fault { .. } => faults += 1,
            }
        }
        Ok(Summary::of(&trajectories, faults))
    }

    fn rollout(
        &self,
        name: &'static str,
        jobs: &[Job<'_>],
        stages: &dyn Stages,
    ) -> Result<Vec<Played>, TrainError> {
        let policy = Policy { name: "policy", model: self.model, tokenizer: self.tokenizer };
        let bar = stages.stage(name, jobs.len() as u64);
        let settings = self.settings;
        let played = rollout(
            policy,
            self.playground.sandbox(),
            &settings.rules,
            &settings.rollout,
            jobs,
            &mut || bar.inc(1),
        )?;
        bar.finish_and_clear();
        Ok(played)
    }

    /// Recomputes every sampled token: sampler and trainer must agree.
    fn check_log_probs(&self, batch: &Batch) -> Result<(), TrainError> {
        let _guard = no_grad_guard();
        let mut gap: f64 = 0.0;
        for chosen in micro_batches(&batch.samples, self.settings.micro_tokens) {
            let micro = Micro::new(&batch.samples, &chosen, self.model.device());
            gap = gap.max(batch.gap(&micro, &micro.log_probs(self.model, self.temperature())));
        }
        // Narrower types round more than the tolerance; there the gap is only reported.
        if self.model.kind() == Kind::Float && gap > LOG_PROB_GAP {
            return Err(TrainError::Gap { gap });
        }
        let trained: usize = batch.samples.iter().map(Sample::trained_count).sum();
        tracing::info!(
            trajectories = batch.samples.len(),
            trained_tokens = trained,
            log_prob_gap = gap,
            "self-checks passed: the trainer's tokens are the engine's, the mask covers what was sampled, \
             log-probabilities agree"
        );
        Ok(())
    }

    fn temperature(&self) -> f64 {
        self.settings.rollout.sampling.scale()
    }

    /// Accumulates the gradient of the surrogate over the trajectories that have an advantage.
    fn differentiate(&self, batch: &Batch) -> Learnt {
        let counted = |index: usize| batch.standings[index] == Standing::Counted;
        let count =
            |index: usize| if counted(index) { batch.samples[index].trained_count() } else { 0 };
        let counts: Vec<usize> = (0..batch.samples.len()).map(count).collect();
        let weights = self.settings.aggregation.weights(&counts);
        let teaches = |index: usize| batch.advantages[index].abs() > 0.0;
        let teaching: Vec<Sample> = (0..batch.samples.len())
            .map(
                |index| {
                    if teaches(index) { batch.samples[index].clone() } else { Sample::default() }
                },
            )
            .collect();
        let mut learnt = Learnt { loss: 0.0, clipped: 0.0, gap: 0.0, tokens: 0 };
        for chosen in micro_batches(&teaching, self.settings.micro_tokens) {
            let micro = Micro::new(&teaching, &chosen, self.model.device());
            let new = micro.log_probs(self.model, self.temperature());
            let old = micro.pack(|index| &batch.log_probs[index]);
            let advantage = micro.spread(|index| batch.advantages[index]);
            let weight = micro.spread(|index| weights[index]);
            let surrogate = surrogate(&new, &old, &advantage, &weight, self.settings.clip);
            surrogate.loss.backward();
            learnt.loss += surrogate.loss.double_value(&[]);
            learnt.clipped += surrogate.clipped.double_value(&[]);
            learnt.gap = learnt.gap.max(batch.gap(&micro, &new));
            learnt.tokens += micro.members().iter().map(|(_, count)| count).sum::<usize>();
        }
        learnt.clipped /= learnt.tokens.max(1) as f64;
        learnt
    }

    /// Episodes to read, one file per step.
    fn keep_episodes(&self, step: u64, batch: &Batch) -> Result<(), std::io::Error> {
        let folder = self.out.join("episodes");
        fs::create_dir_all(&folder)?;
        let mut text = Vec::new();
        for trajectory in &batch.trajectories {
            serde_json::to_writer(&mut text, trajectory)?;
            text.push(b'\n');
        }
        files::write_atomic(&folder.join(format!("step-{step:06}.jsonl")), &text)
    }
}

/// Episodes of one step as the trainer sees them; broken ones are only counted.
struct Batch {
    trajectories: Vec<Trajectory>,
    contexts: Vec<Vec<i64>>,
    samples: Vec<Sample>,
    log_probs: Vec<Vec<f32>>,
    standings: Vec<Standing>,
    advantages: Vec<f64>,
    mixed_groups: f64,
    faults: usize,
    last_fault: String,
}

impl Batch {
    fn of(played: Vec<Played>, settings: &TrainSettings) -> Self {
        let mut batch = Self {
            trajectories: Vec::new(),
            contexts: Vec::new(),
            samples: Vec::new(),
            log_probs: Vec::new(),
            standings: Vec::new(),
            advantages: Vec::new(),
            mixed_groups: 0.0,
            faults: 0,
            last_fault: String::new(),
        };
        let (mut groups, mut mixed) = (0_u32, 0_u32);
        let mut played = played.into_iter().peekable();
        while played.peek().is_some() {
            let mut group = Vec::new();
            for episode in played.by_ref().take(settings.group) {
                match episode {
                    Played::Finished { trajectory, context } => {
                        let standing =
                            if trajectory.timed_out { Standing::Masked } else { Standing::Counted };
                        group.push((trajectory.reward.total(), standing));
                        let (sample, log_probs) = sampled(&trajectory);
                        batch.samples.push(sample);
                        batch.log_probs.push(log_probs);
                        batch.standings.push(standing);
                        batch.contexts.push(context);
                        batch.trajectories.push(*trajectory);
                    }
                    Played::Fault { task, fault } => {
                        group.push((0.0, Standing::Dropped));
                        batch.faults += 1;
                        batch.last_fault = crate::chain(&fault);
                        tracing::warn!(%task, fault = batch.last_fault, "an episode broke and is dropped");
                    }
                }
            }
            let advantages = advantages(&group, settings.normalisation);
            groups += 1;
            mixed += u32::from(advantages.iter().any(|advantage| advantage.abs() > 0.0));
            let kept = advantages
                .into_iter()
                .zip(&group)
                .filter(|(_, (_, standing))| *standing != Standing::Dropped);
            batch.advantages.extend(kept.map(|(advantage, _)| advantage));
        }
        batch.mixed_groups = f64::from(mixed) / f64::from(groups.max(1));
        batch
    }

    fn summary(&self) -> Option<Summary> {
        (!self.trajectories.is_empty()).then(|| Summary::of(&self.trajectories, self.faults))
    }

    fn count(&self, standing: Standing) -> usize {
        self.standings.iter().filter(|found| **found == standing).count()
    }

    /// The largest difference between the sampler's log-probabilities and the trainer's.
    fn gap(&self, micro: &Micro, new: &Tensor) -> f64 {
        let old = micro.pack(|index| &self.log_probs[index]);
        (new.detach() - old).abs().max().double_value(&[])
    }

    fn entropy(&self) -> f64 {
        let tokens: usize = self.log_probs.iter().map(Vec::len).sum();
        let sum: f64 = self.log_probs.iter().flatten().map(|&log_prob| f64::from(log_prob)).sum();
        -sum / tokens.max(1) as f64
    }

    /// The engine's own account of each conversation against what will be trained on, and the
    /// sampler's log-probabilities against the mask.
    fn check_tokens(&self) -> Result<(), TrainError> {
        for ((trajectory, context), sample) in
            self.trajectories.iter().zip(&self.contexts).zip(&self.samples)
        {
            if *context != sample.ids {
                return Err(TrainError::OtherTokens { task: trajectory.task.clone() });
            }
        }
        for (sample, log_probs) in self.samples.iter().zip(&self.log_probs) {
            let (trained, sampled) = (sample.trained_count(), log_probs.len());
            if trained != sampled {
                return Err(TrainError::MaskSum { trained, sampled });
            }
        }
        Ok(())
    }
}

impl Summary {
    fn of(trajectories: &[Trajectory], faults: usize) -> Self {
        let row = Row::of("policy", trajectories, faults);
        let n = trajectories.len().max(1) as f64;
        let mean =
            |value: &dyn Fn(&Trajectory) -> f64| trajectories.iter().map(value).sum::<f64>() / n;
        let ended =
            |ending: Ending| mean(&|trajectory| f64::from(u8::from(trajectory.ending == ending)));
        Self {
            reward: row.reward,
            reward_format: mean(&|trajectory| trajectory.reward.format),
            reward_execution: mean(&|trajectory| trajectory.reward.execution),
            reward_tier: mean(&|trajectory| trajectory.reward.tier),
            valid: row.valid,
            median: row.median,
            bronze: row.bronze,
            silver: row.silver,
            gold: row.gold,
            turns: row.turns,
            answered: ended(Ending::Answered),
            out_of_tokens: ended(Ending::Tokens),
            tokens: mean(&|trajectory| trajectory.ids().len() as f64),
            episodes: row.episodes,
            faults,
        }
    }
}
