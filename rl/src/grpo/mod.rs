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

mod batch;
mod line;
mod settings;

pub use settings::TrainSettings;

use crate::advantage::Standing;
use crate::batch::{Micro, Sample, micro_batches};
use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints, open_trained, resume};
use crate::episodes::Episodes;
use crate::loss::surrogate;
use crate::metrics::{Metrics, resident_memory};
use crate::model::{Gradients, Qwen3};
use crate::optim::{AdamW, Decay, OptimError, Schedule};
use crate::rollout::{Job, Played, Policy, RolloutError, rollout};
use crate::sample::Sampling;
use crate::sft::Stages;
use crate::signed;
use crate::tokenizer::Tokenizer;
use agents::playground::{Playground, PlaygroundError};
use batch::Batch;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use line::{Line, Summary, TrainLine};
use rand::seq::SliceRandom;
use sandbox::files;
use sandbox::stream::Stream;
use sandbox::task::{Split, TaskDir, TaskId};
use std::ops::Range;
use std::time::Instant;
use tch::{Device, Kind, Tensor};

/// How far sampler and trainer may differ on a log-probability, in f32.
const LOG_PROB_GAP: f64 = 1e-4;

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
    let (model, tokenizer) = open_trained(
        start,
        settings.lora.as_ref(),
        settings.dtype.kind(),
        device,
        root.child("adapters"),
    )?;
    let mut optimizer = AdamW::new(&model, settings.adam);
    let done = resume(latest.as_ref(), &mut optimizer)?;
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
        let validation = trainer.validate(&held_out, 0, stages)?;
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
        let mut gradients = Gradients::default();
        let learnt = trainer.differentiate(&batch, &mut gradients);
        let rate = schedule.rate(step);
        let gradient_norm =
            if learnt.tokens > 0 { optimizer.step(&mut gradients, rate)? } else { 0.0 };
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
        let validation =
            if due { Some(trainer.validate(&held_out, number, stages)?) } else { None };
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
    let shuffled = |pass| {
        let mut order = tasks.to_vec();
        order.shuffle(&mut stream.index(pass).rng());
        order
    };
    let row = (first / length..).flat_map(shuffled);
    row.skip(usize::try_from(first % length).unwrap_or(0)).take(count).collect()
}

/// The largest difference between two lists of log-probabilities `[n]`.
fn largest_gap(new: &Tensor, old: &Tensor) -> f64 {
    (new.detach() - old).abs().max().double_value(&[])
}

/// A range of packed tokens.
fn narrow(all: &Tensor, range: &Range<usize>) -> Tensor {
    all.narrow(0, signed(range.start), signed(range.len()))
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
    fn validate(
        &self,
        tasks: &[&TaskDir],
        step: u64,
        stages: &dyn Stages,
    ) -> Result<Summary, TrainError> {
        let stream = self.root.child("validation");
        let mut jobs = Vec::new();
        for task in tasks.iter().copied() {
            for attempt in 0..self.settings.validate_attempts {
                let stream = stream.child(task.id().as_str()).index(attempt);
                jobs.push(Job { task, attempt, stream });
            }
        }
        let mut episodes = Episodes::default();
        for played in self.rollout("validating", &jobs, stages)? {
            episodes.take(played.into_trajectory());
        }
        let summary = Summary::of(&episodes.trajectories, episodes.faults);
        tracing::info!(step, reward = summary.reward, valid = summary.valid, "held-out tasks");
        Ok(summary)
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
        let memory = &self.settings.memory;
        let mut gap: f64 = 0.0;
        for chosen in micro_batches(&batch.samples, memory.micro_tokens) {
            let micro = Micro::new(&batch.samples, &chosen, self.model.device());
            let new = micro.log_probs(self.model, self.sampling(), memory);
            let old = micro.pack(|index| &batch.log_probs[index]);
            gap = gap.max(largest_gap(&new, &old));
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

    fn sampling(&self) -> &Sampling {
        &self.settings.rollout.sampling
    }

    /// Adds up the gradient of the surrogate over the trajectories that have an advantage.
    fn differentiate(&self, batch: &Batch, gradients: &mut Gradients) -> Learnt {
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
        let memory = &self.settings.memory;
        for chosen in micro_batches(&teaching, memory.micro_tokens) {
            let micro = Micro::new(&teaching, &chosen, self.model.device());
            let old = micro.pack(|index| &batch.log_probs[index]);
            let advantage = micro.spread(|index| batch.advantages[index]);
            let weight = micro.spread(|index| weights[index]);
            let mut loss = |new: &Tensor, range: Range<usize>| {
                let part = |all: &Tensor| narrow(all, &range);
                let (old, advantage, weight) = (part(&old), part(&advantage), part(&weight));
                let surrogate = surrogate(new, &old, &advantage, &weight, self.settings.clip);
                learnt.loss += surrogate.loss.double_value(&[]);
                learnt.clipped += surrogate.clipped.double_value(&[]);
                learnt.gap = learnt.gap.max(largest_gap(new, &old));
                surrogate.loss
            };
            micro.differentiate(self.model, self.sampling(), memory, gradients, &mut loss);
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
