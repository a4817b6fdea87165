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
//! 5. Rewards are exact milestones; there is no length penalty.
//!
//! Options, all off by default: dynamic sampling (`max_draws`), several updates per batch
//! (`mini_batches`, `epochs`), a pull towards the start policy (`kl`), truncated importance
//! weights (`importance_cap`), a dual clip (`clip.dual`), other masks (`mask`).
//!
//! `docs/GRPO.md` works through three trajectories by hand, `docs/METRICS.md` explains each name
//! in `metrics.jsonl`.

mod batch;
mod error;
mod line;
mod mask;
mod settings;
mod tasks;
mod update;

pub use error::TrainError;
pub use mask::Mask;
pub use settings::TrainSettings;
pub use update::{Learnt, Update};

use crate::checkpoint::policy;
use crate::generate::engine::CacheUse;
use crate::generate::NativeGenerator;
use crate::generate::sample::Sampling;
use crate::model::{Gradients, Qwen3};
use crate::optim::{AdamW, Decay, Schedule};
use crate::rollout::episodes::left_out;
use crate::rollout::{Job, Place, Played, Policy, Rollout, RolloutError, rollout};
use crate::run::device::memory_in_use;
use crate::run::heap;
use crate::run::metrics::{Metrics, resident_memory};
use crate::run::stop::{Ended, Stop};
use crate::run::view::{Stages, View};
use crate::run::watchdog::{Heartbeat, Phase, Watchdog};
use crate::text::tokenizer::Tokenizer;
use crate::train::advantage::Standing;
use crate::train::batch::{Micro, Sample, micro_batches};
use crate::train::harness::{Earlier, Harness};
use agents::playground::Playground;
use batch::Batch;
use camino::Utf8Path;
use error::LOG_PROB_GAP;
use fs_err as fs;
use line::{Line, Summary, Times, TrainLine};
use sandbox::files;
use sandbox::stream::Stream;
use sandbox::task::{Split, TaskDir};
use std::time::{Duration, Instant};
use tasks::{draw, draw_again};
use tch::{Device, Kind};
use update::largest_gap;

/// Trains the policy in `folder` on the corpus; `out` is the run's folder. Goes on from the newest
/// checkpoint there.
///
/// # Errors
/// [`TrainError`].
pub fn run(
    settings: &TrainSettings,
    folder: &Utf8Path,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<Ended, TrainError> {
    let earlier = Earlier::find(out, settings.keep)?;
    let start = earlier.folder().unwrap_or(folder);
    let root = Stream::root(settings.seed).child("grpo");
    let (lora, kind) = (settings.lora.as_ref(), settings.dtype.kind());
    let (model, tokenizer) =
        policy::open_to_train(start, lora, kind, device, root.child("adapters"))?;
    let mut optimizer = AdamW::new(&model, settings.adam);
    let harness = Harness::new(earlier, settings.cadence(), stop)?;
    harness.restore(&mut optimizer)?;
    let mut view = View::new(stages.stage("training", settings.steps), harness.step());
    if harness.is_resumed() && harness.is_over() {
        view.finish();
        return Ok(harness.finished(folder));
    }
    let metrics = harness.metrics()?;
    let pulled = settings.kl.beta > 0.0;
    let reference =
        pulled.then(|| policy::open(folder, kind, device)).transpose()?.map(|(model, _)| model);
    let playground = Playground::open(&settings.tasks)?;
    let _watch = stop.abandons(playground.sandbox());
    let heartbeat = Heartbeat::default();
    let patience = Duration::from_secs(settings.watchdog_seconds);
    let _watchdog = Watchdog::start(&heartbeat, patience, |text| tracing::warn!("{text}"));
    let trainer = Trainer {
        settings,
        playground: &playground,
        tasks: playground.tasks(Split::Train)?,
        held_out: playground.tasks(Split::Val)?,
        model: &model,
        reference: reference.as_ref(),
        tokenizer: &tokenizer,
        out,
        root,
        stages,
        stop,
        heartbeat: &heartbeat,
    };
    let mut run = Run { trainer, optimizer, harness, metrics };
    let ended = run.go(&mut view);
    view.finish();
    match ended {
        Ok(()) => Ok(run.harness.finished(folder)),
        Err(TrainError::Rollout(RolloutError::Stopped)) => {
            // Whatever was under way is begun again by the next start; what is done is kept.
            if run.harness.is_unsaved() {
                run.save()?;
            }
            Ok(run.harness.stopped())
        }
        Err(error) => Err(error),
    }
}

/// A run under way. Between any two of its rollouts it can be saved.
struct Run<'a> {
    trainer: Trainer<'a>,
    optimizer: AdamW,
    harness: Harness<'a, TrainLine>,
    metrics: Metrics,
}

impl Run<'_> {
    fn go(&mut self, view: &mut View) -> Result<(), TrainError> {
        let settings = self.trainer.settings;
        if !self.harness.is_resumed() && settings.validate_every > 0 {
            let mut times = Times::of(&self.trainer.heartbeat.take_times());
            let validation = self.trainer.validate(0)?;
            times.validated(&self.trainer.heartbeat.take_times());
            self.validated(&validation, view);
            let line = Line { step: 0, train: None, validation: Some(validation), times };
            self.metrics.append(&line)?;
        }
        if self.harness.is_unrecorded() {
            self.conclude(view)?;
        }
        let first = self.harness.step();
        while !self.harness.is_over() {
            let line = self.update(self.harness.step() == first)?;
            view.step(line.seen(self.harness.step() + 1));
            self.harness.made(line);
            self.conclude(view)?;
        }
        if self.harness.step() < settings.steps {
            let (step, best) = (self.harness.step(), self.harness.best().map(|best| best.step));
            tracing::info!(step, best, patience = settings.patience, "no gain any more: ending");
        }
        Ok(())
    }

    /// Episodes on the tasks of a step, and the updates that they teach.
    fn update(&mut self, is_first: bool) -> Result<TrainLine, TrainError> {
        let Self { trainer, optimizer, harness, .. } = self;
        let (settings, step) = (trainer.settings, harness.step());

        // 1. Tasks, a group of episodes on each, rewards to advantages.
        let began = Instant::now();
        let Play { batch, draws, cache } = trainer.play(step)?;
        let rollout_seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let Some(summary) = batch.summary() else {
            return Err(TrainError::AllFaulted { step: step + 1, last: batch.last_fault });
        };
        if !batch.tally.adds_up() {
            return Err(TrainError::Unaccounted {
                step: step + 1,
                tally: format!("{:?}", batch.tally),
            });
        }
        trainer.heartbeat.enter(Phase::Scoring);
        if is_first {
            batch.check_tokens()?;
            trainer.check_log_probs(&batch)?;
        }
        let scores = trainer.scores(&batch);

        // 2. The surrogate and its gradient, then one step; for each part, in each pass.
        let rate = schedule(settings).rate(step);
        let parts = batch.parts(settings.mini_batches, settings.max_draws > 1);
        let (mut learnt, mut norms) = (Learnt::default(), Vec::new());
        for part in std::iter::repeat_n(&parts, settings.epochs).flatten() {
            trainer.heartbeat.enter(Phase::Differentiating);
            let (mut taught, mut gradients) = trainer.differentiate(&batch, part, &scores);
            // Only while the policy is the sampler's can be seen whether the two agree.
            if !norms.is_empty() {
                taught.gap = 0.0;
            }
            trainer.heartbeat.enter(Phase::Stepping);
            if taught.tokens > 0 {
                norms.push(optimizer.step(&mut gradients, rate)?);
                learnt.add(&taught);
            }
        }
        trainer.heartbeat.enter(Phase::Other);
        trainer.keep_episodes(step + 1, &batch)?;
        let (updates, tokens) = (norms.len(), learnt.tokens.max(1) as f64);
        let per_update = 1.0 / updates.max(1) as f64;
        let (groups, mixed) = batch.groups();
        Ok(TrainLine {
            tally: batch.tally,
            mixed_groups: mixed as f64 / groups.max(1) as f64,
            draws,
            replaced_groups: groups.saturating_sub(settings.tasks_per_step),
            updates,
            loss: learnt.loss * per_update,
            clipped: learnt.clipped / tokens,
            kl: trainer.reference.map(|_| learnt.distance / tokens),
            importance: (settings.importance_cap > 0.0).then(|| learnt.importance / tokens),
            entropy: batch.entropy(),
            log_prob_gap: learnt.gap,
            // A sum of nothing is -0.
            gradient_norm: norms.iter().fold(0.0, |sum, norm| sum + norm) * per_update,
            rate,
            trained_tokens: learnt.tokens,
            tokens_per_second: batch.sampled_tokens() as f64 / rollout_seconds,
            preemptions: cache.preemptions,
            reread_tokens: cache.reread_tokens,
            cache_bytes: cache.peak_bytes,
            rollout_seconds,
            update_seconds: began.elapsed().as_secs_f64(),
            resident_bytes: resident_memory(),
            device_bytes: memory_in_use(trainer.model.device()),
            summary,
        })
    }

    /// Held-out tasks, the record, the checkpoint.
    fn conclude(&mut self, view: &mut View) -> Result<(), TrainError> {
        let step = self.harness.step();
        let mut times = Times::of(&self.trainer.heartbeat.take_times());
        let due = self.harness.validation_is_due();
        let validation = if due { Some(self.trainer.validate(step)?) } else { None };
        times.validated(&self.trainer.heartbeat.take_times());
        let is_best =
            validation.as_ref().is_some_and(|validation| self.validated(validation, view));
        let train = self.harness.take_unrecorded();
        self.metrics.append(&Line { step, train, validation, times })?;
        if self.harness.checkpoint_is_due(is_best) {
            self.save()?;
        }
        heap::give_back();
        Ok(())
    }

    /// Takes note of a validation, and returns whether it is the best so far.
    fn validated(&mut self, validation: &Summary, view: &mut View) -> bool {
        let is_best = self.harness.validated(validation.reward);
        if let Some(best) = self.harness.best() {
            view.held_out(self.harness.step(), validation.reward, best.reward, best.step);
        }
        is_best
    }

    fn save(&mut self) -> Result<(), TrainError> {
        let Trainer { model, tokenizer, heartbeat, .. } = self.trainer;
        heartbeat.enter(Phase::Saving);
        self.harness.save(model, tokenizer, &self.optimizer)?;
        heartbeat.enter(Phase::Other);
        Ok(())
    }
}

fn schedule(settings: &TrainSettings) -> Schedule {
    Schedule {
        peak: settings.rate,
        warmup: settings.warmup,
        decay: Decay::Constant,
        steps: settings.steps,
    }
}

/// What all steps share.
struct Trainer<'a> {
    settings: &'a TrainSettings,
    playground: &'a Playground,
    tasks: Vec<&'a TaskDir>,
    held_out: Vec<&'a TaskDir>,
    model: &'a Qwen3,
    /// The policy that training started from, where there is a pull towards it.
    reference: Option<&'a Qwen3>,
    tokenizer: &'a Tokenizer,
    out: &'a Utf8Path,
    root: Stream,
    stages: &'a dyn Stages,
    stop: &'a Stop,
    heartbeat: &'a Heartbeat,
}

/// The episodes of a step.
struct Play {
    batch: Batch,
    /// How often tasks were drawn.
    draws: u64,
    /// What keys and values went through.
    cache: CacheUse,
}

/// Log-probabilities that are computed once per batch, per trajectory.
struct Scores {
    /// The trainer's before the first update, where they differ from the sampler's and from those
    /// of a later update.
    old: Option<Vec<Vec<f32>>>,
    /// The reference policy's.
    reference: Option<Vec<Vec<f32>>>,
}

impl Trainer<'_> {
    /// A group of episodes on each of the step's tasks. With
    /// dynamic sampling, groups that teach nothing are replaced until there are enough that do, or
    /// too many draws were made; they stay in the batch, but not in the update.
    fn play(&self, step: u64) -> Result<Play, TrainError> {
        let settings = self.settings;
        let (tasks, stream) = (&self.tasks, self.root.child("episodes").index(step));
        let mut drawn = draw(tasks, step, settings.tasks_per_step, self.root.child("tasks"));
        let mut play = Play { batch: Batch::default(), draws: 1, cache: CacheUse::default() };
        let mut played = 0;
        loop {
            let mut jobs = Vec::new();
            for (place, task) in drawn.iter().copied().enumerate().skip(played) {
                for attempt in 0..settings.group as u64 {
                    // By place, because a small corpus may draw a task twice in a step.
                    let stream = stream.index(place as u64).index(attempt);
                    jobs.push(Job { task, attempt, stream });
                }
            }
            played = drawn.len();
            let rollout = self.rollout("episodes", &jobs)?;
            play.cache.add(&rollout.cache);
            play.batch.take(rollout.played, settings);
            let (_, mixed) = play.batch.groups();
            let missing = settings.tasks_per_step.saturating_sub(mixed);
            if missing == 0 || play.draws >= settings.max_draws {
                return Ok(play);
            }
            let stream = self.root.child("more tasks").index(step).index(play.draws);
            drawn.extend(draw_again(tasks, &drawn, missing, stream));
            play.draws += 1;
        }
    }

    /// The held-out tasks, always with the same draws.
    fn validate(&self, step: u64) -> Result<Summary, TrainError> {
        let stream = self.root.child("validation");
        let mut jobs = Vec::new();
        for task in self.held_out.iter().copied() {
            for attempt in 0..self.settings.validate_attempts {
                let stream = stream.child(task.id().as_str()).index(attempt);
                jobs.push(Job { task, attempt, stream });
            }
        }
        let (mut trajectories, mut last) = (Vec::new(), String::new());
        for played in self.rollout("validating", &jobs)?.played {
            match played {
                Played::Finished { trajectory, .. } => trajectories.push(*trajectory),
                Played::Fault { fault, .. } => last = left_out(&fault),
            }
        }
        if trajectories.is_empty() {
            return Err(TrainError::ValidationFaulted { step, last });
        }
        Ok(Summary::of(&trajectories, jobs.len() - trajectories.len()))
    }

    fn rollout(&self, name: &'static str, jobs: &[Job<'_>]) -> Result<Rollout, TrainError> {
        let policy = Policy { name: "policy", tokenizer: self.tokenizer };
        let mut generator = NativeGenerator::new(self.model, self.settings.rollout.capacity());
        let bar = self.stages.stage(name, jobs.len() as u64);
        let place = Place {
            sandbox: self.playground.sandbox(),
            rules: &self.settings.rules,
            settings: &self.settings.rollout,
            stop: self.stop,
            heartbeat: self.heartbeat,
        };
        self.heartbeat.enter(Phase::Other);
        let rollout = rollout(&mut generator, policy, place, jobs, &mut |_| {
            bar.inc(1);
            Ok(())
        });
        self.heartbeat.enter(Phase::Other);
        bar.finish_and_clear();
        Ok(rollout?)
    }

    /// Recomputes every sampled token: sampler and trainer must agree.
    fn check_log_probs(&self, batch: &Batch) -> Result<(), TrainError> {
        let memory = &self.settings.memory;
        let mut gap: f64 = 0.0;
        for chosen in micro_batches(&batch.samples, 0..batch.samples.len(), memory.micro_tokens) {
            let micro = Micro::new(&batch.samples, &chosen, self.model.device());
            let new = micro.log_probs(self.model, self.sampling(), memory);
            gap = gap.max(largest_gap(&new, &micro.pack(|index| &batch.log_probs[index])));
        }
        // Narrower types round more than the tolerance; there the gap is only reported, as where
        // it is corrected for.
        let must_agree = self.model.kind() == Kind::Float && self.settings.importance_cap == 0.0;
        if must_agree && gap > LOG_PROB_GAP {
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

    /// What must be known of a batch before its first update.
    fn scores(&self, batch: &Batch) -> Scores {
        // A single update is made at the weights that these would be computed with.
        let later = self.settings.updates_per_step() > 1;
        let old =
            (self.settings.importance_cap > 0.0 && later).then(|| self.score(self.model, batch));
        Scores { old, reference: self.reference.map(|reference| self.score(reference, batch)) }
    }

    /// Log-probabilities of every sampled token under `model`, per trajectory.
    fn score(&self, model: &Qwen3, batch: &Batch) -> Vec<Vec<f32>> {
        let memory = &self.settings.memory;
        let mut scores = vec![Vec::new(); batch.samples.len()];
        for chosen in micro_batches(&batch.samples, 0..batch.samples.len(), memory.micro_tokens) {
            let micro = Micro::new(&batch.samples, &chosen, model.device());
            let found = micro.log_probs(model, self.sampling(), memory);
            let mut values = vec![0.0; found.numel()];
            found.copy_data(&mut values, found.numel());
            let mut values = values.into_iter();
            for &(index, count) in micro.members() {
                scores[index] = values.by_ref().take(count).collect();
            }
            self.heartbeat.beat();
        }
        scores
    }

    /// The gradient of the loss over the trajectories of `part`.
    fn differentiate(&self, batch: &Batch, part: &[usize], scores: &Scores) -> (Learnt, Gradients) {
        let mut counts = vec![0; batch.samples.len()];
        for &index in part.iter().filter(|&&index| batch.standings[index] == Standing::Counted) {
            counts[index] = batch.samples[index].trained_count();
        }
        let update = Update {
            samples: &batch.samples,
            sampler: &batch.log_probs,
            old: scores.old.as_deref(),
            reference: scores.reference.as_deref(),
            advantages: &batch.advantages,
            counts: &counts,
        };
        update.differentiate(self.model, self.settings, &mut || self.heartbeat.beat())
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
