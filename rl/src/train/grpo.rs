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
//!    separate pass for old log-probabilities. The gap between sampler and trainer is checked
//!    at the start and logged at every step.
//! 2. *Masked trajectories leave the group before the baseline* (an option), so that a slow
//!    script does not move the others' advantages.
//! 3. *An infrastructure error is no reward.* Such episodes are dropped before the baseline and
//!    counted.
//! 4. Trajectories without advantage have no backward pass: their gradient is exactly zero. They
//!    do count in the mean over trajectories.
//! 5. Rewards are exact milestones; there is no length penalty.
//!
//! Options, all off by default: a curriculum (`curriculum`), dynamic sampling (`dynamic_sampling`),
//! several updates per batch (`mini_batches`, `epochs`), a KL penalty against the reference model
//! (`kl`), truncated importance sampling (`tis_cap`), a dual clip (`clip.dual`), other masks
//! (`mask`), credit for single turns by verdicts on them (`credit`), advice for groups that are stuck
//! (`guide`).
//!
//! `docs/GRPO.md` works through three trajectories by hand, `docs/METRICS.md` explains each name
//! in `metrics.jsonl`.

mod batch;
mod credit;
mod curriculum;
mod draw;
mod error;
mod gaps;
mod items;
mod mask;
mod metrics;
mod play;
mod settings;
mod stuck;

pub use credit::{Credit, Lesson};
pub use curriculum::{Curriculum, Sampler};
pub use error::TrainError;
pub use mask::MaskRules;
pub use settings::{DynamicSampling, TrainSettings};
pub use stuck::{ImitatedContext, StuckError, StuckGuidance};

use crate::checkpoint::policy;
use crate::generate::{Generator, NativeGenerator};
use crate::rollout::{RolloutError, fleet};
use crate::run::memory;
use crate::run::metrics::Metrics;
use crate::run::settings::Checked;
use crate::run::stop::{RunEnd, Stop};
use crate::run::view::{ProgressView, Stages};
use crate::run::watchdog::{Heartbeat, Phase, Watchdog};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::TrainSequence;
use crate::train::harness::{Earlier, Harness};
use crate::train::learner::{Learner, LearnerError, TrainingLoss, UpdateStats, WeightSet};
use crate::train::native::NativeLearner;
use crate::train::publisher::Publisher;
use crate::train::tinker::{
    AdapterStart, LearnerSettings, TinkerGenerator, TinkerLearner, TinkerStart,
};
use crate::world::{self, TrainingItems};
use agents::play::World;
use agents::remote::RemoteWorld;
use agents::scaffold::react::MleWorld;
use agents::script_cache::{CachedWorld, ScriptCache};
use batch::{Batch, Scores};
use camino::Utf8Path;
use curriculum::GroupHistory;
use draw::TaskSampler;
use items::{Items, operators};
use jail::exec::SandboxOptions;
use metrics::{
    EpisodeSummary, Gathered, Made, PhaseTimes, StepMetrics, StuckMetrics, TrainMetrics,
};
use play::{EpisodePlayer, PlayedStep};
use sandbox::env::{SuiteError, TaskSuite};
use std::time::{Duration, Instant};
use stuck::TrainingGuide;
use tasks::stream::Stream;
use tasks::task::{Collection, Opening};
use tch::Device;

/// Trains the policy in `folder` on the corpus; `out` is the run's folder. Resumes from the newest
/// checkpoint there.
///
/// # Errors
/// [`TrainError`] if the corpus, the policy or a checkpoint cannot be used, a self-check fails, or
/// every episode of a step faults.
pub fn run(
    settings: &Checked<TrainSettings>,
    folder: &Utf8Path,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<RunEnd, TrainError> {
    let harness = Harness::new(Earlier::find(out, settings.keep)?, settings.cadence(), stop)?;
    let view = ProgressView::new(stages.stage("training", settings.steps), harness.step());
    if harness.is_resumed() && harness.is_over() {
        view.finish();
        return Ok(harness.finished(folder));
    }
    // Before weights are read, which takes minutes.
    check_place(settings)?;
    let root = Stream::root(settings.seed).child("grpo");
    let start = Start { settings, folder, out, device, stages, stop, root };
    if let Some(remote) = &settings.learner {
        return run_remotely(&start, harness, view, remote);
    }
    let (lora, kind) = (settings.lora.as_ref(), settings.dtype.kind());
    let (model, tokenizer) = {
        let start = harness.resumed().unwrap_or(folder);
        policy::open_to_train(start, lora, kind, device, root.child("adapters"))?
    };
    let reference = (settings.kl.beta > 0.0)
        .then(|| policy::open(folder, kind, device))
        .transpose()?
        .map(|(model, _)| model);
    let mut learner = NativeLearner::new(&model, &tokenizer, settings.adam, settings.memory)
        .with_reference(reference.as_ref());
    let mut generator: Box<dyn Generator + '_> = match &settings.rollout.engine {
        None => Box::new(NativeGenerator::new(&model, settings.rollout.capacity())),
        Some(engine) => {
            let folder = Publisher::folder_of_run(out, engine.weights.as_deref())?;
            learner = learner.with_publisher(Publisher::new(&folder)?);
            Box::new(settings.rollout.remote(engine, model.config())?)
        }
    };
    run_with(&start, harness, view, &tokenizer, (&mut learner, generator.as_mut()))
}

/// What a run starts from.
#[derive(Clone, Copy)]
struct Start<'a> {
    settings: &'a Checked<TrainSettings>,
    folder: &'a Utf8Path,
    out: &'a Utf8Path,
    device: Device,
    stages: &'a dyn Stages,
    stop: &'a Stop,
    root: Stream,
}

/// A run before its first episode.
struct Prepared<'a> {
    start: Start<'a>,
    harness: Harness<'a, TrainMetrics, GroupHistory>,
    view: ProgressView,
    tokenizer: &'a Tokenizer,
    heartbeat: &'a Heartbeat,
}

/// Trains on a server over the Tinker protocol.
fn run_remotely<'a>(
    start: &Start<'a>,
    harness: Harness<'a, TrainMetrics, GroupHistory>,
    view: ProgressView,
    remote: &LearnerSettings,
) -> Result<RunEnd, TrainError> {
    let Start { settings, folder, root, .. } = *start;
    let tokenizer = policy::open_tokenizer(folder)?;
    let seed = u32::try_from(root.child("adapters").seed() >> 33).unwrap_or_default();
    let rank = settings.lora.as_ref().map_or(0, |lora| lora.rank);
    let mut learner = TinkerLearner::open(TinkerStart {
        settings: remote,
        adam: settings.adam,
        folder,
        tokenizer: &tokenizer,
        adapters: AdapterStart { rank, seed },
    })
    .map_err(LearnerError::from)?;
    let control = tokenizer.control();
    let stops = vec![control.end_of_turn, control.end_of_text];
    let rollout = &settings.rollout;
    let client = learner.model().client().clone();
    let mut generator =
        TinkerGenerator::new(&client, rollout.max_num_seqs, rollout.max_model_len, stops);
    run_with(start, harness, view, &tokenizer, (&mut learner, &mut generator))
}

/// Whether there is something to train on.
fn check_place(settings: &TrainSettings) -> Result<(), TrainError> {
    if let Some(folder) = &settings.world {
        return Ok(world::check_train(folder)?);
    }
    let tasks = Collection::open(&settings.tasks, &Opening::default()).map_err(SuiteError::from)?;
    tasks.for_training().map_err(SuiteError::from)?;
    Ok(())
}

/// Trains with this learner and this generator.
fn run_with<'a>(
    start: &Start<'a>,
    harness: Harness<'a, TrainMetrics, GroupHistory>,
    view: ProgressView,
    tokenizer: &Tokenizer,
    actors: (&mut dyn Learner, &mut dyn Generator),
) -> Result<RunEnd, TrainError> {
    let heartbeat = Heartbeat::default();
    let silence = Duration::from_secs(start.settings.watchdog_seconds);
    let _watchdog = Watchdog::start(&heartbeat, silence, |text| tracing::warn!("{text}"));
    let run = Prepared { start: *start, harness, view, tokenizer, heartbeat: &heartbeat };
    match &start.settings.world {
        Some(folder) => run_in_world(run, folder, actors),
        None => run_on_corpus(run, actors),
    }
}

/// Trains on a task of a suite.
fn run_in_world(
    run: Prepared<'_>,
    folder: &Utf8Path,
    actors: (&mut dyn Learner, &mut dyn Generator),
) -> Result<RunEnd, TrainError> {
    let TrainingItems { world, train, held_out } = world::open_train(folder)?;
    let items = Items { train: train.iter().collect(), held_out: held_out.iter().collect() };
    train_on(run, &*world, items, None, actors)
}

/// Trains on the tasks of a corpus, or on questions of searches on them.
fn run_on_corpus(
    run: Prepared<'_>,
    actors: (&mut dyn Learner, &mut dyn Generator),
) -> Result<RunEnd, TrainError> {
    let Start { settings, stop, .. } = run.start;
    let tokenizer = run.tokenizer;
    let suite = TaskSuite::open(&settings.tasks, &Opening::default(), SandboxOptions::default())?;
    settings.rules.reward.check_tasks(suite.tasks())?;
    let _watch = stop.abandons(suite.sandbox());
    let episodes = MleWorld { suite: &suite, rules: &settings.rules };
    let fleet = fleet::connect(&settings.rollout)?;
    let remote = fleet.as_ref().map(|fleet| RemoteWorld {
        fleet,
        tasks: suite.tasks(),
        rules: &settings.rules,
    });
    remote.as_ref().map_or(Ok(()), RemoteWorld::check)?;
    let _fleet_watch = fleet.as_ref().map(|fleet| stop.on_request(fleet.abandoner()));
    let operators = operators(settings, &suite)?;
    if operators.is_some() && remote.is_some() {
        return Err(TrainError::SearchesOnFleet);
    }
    let (world, items) = match &operators {
        None => {
            let world = remote.as_ref().map_or(&episodes as &dyn World, |remote| remote);
            (world, Items::tasks(&suite, settings.validate_every > 0)?)
        }
        Some(operators) => {
            (operators as &dyn World, Items::questions(operators, tokenizer, &settings.rollout)?)
        }
    };
    let script_cache = settings.rollout.open_script_cache(suite.sandbox())?;
    let cached = script_cache.as_ref().map(|cache| CachedWorld::new(world, cache));
    let world = cached.as_ref().map_or(world, |cached| cached as &dyn World);
    if settings.validate_every > 0 {
        items.check_held_out(&suite)?;
    }
    train_on(run, world, items, script_cache.as_ref(), actors)
}

/// Trains on these items.
fn train_on(
    run: Prepared<'_>,
    world: &dyn World,
    items: Items<'_>,
    script_cache: Option<&ScriptCache>,
    (learner, generator): (&mut dyn Learner, &mut dyn Generator),
) -> Result<RunEnd, TrainError> {
    let Prepared { start, mut harness, view, tokenizer, heartbeat } = run;
    let Start { settings, folder, out, device, stages, stop, root } = start;
    harness.restore(learner)?;
    let metrics = harness.metrics()?;
    let history = harness.take_sampler();
    // There is one: corpora and searches without training tasks are refused.
    let first = items.train[0];
    let sampler =
        TaskSampler::new(&settings.curriculum, items.train, settings.tasks_per_step, root, history);
    let guide = TrainingGuide::open(settings, out, tokenizer)?;
    let player = EpisodePlayer {
        settings,
        world,
        held_out: items.held_out,
        guide: guide.as_ref(),
        tokenizer,
        root,
        stages,
        stop,
        heartbeat,
    };
    let probe = player.known_prompt(first)?;
    generator.publish(&learner.publish(harness.step(), &probe)?)?;
    let mut run = GrpoRun {
        settings,
        player,
        sampler,
        probe,
        generator,
        learner,
        harness,
        metrics,
        view,
        heartbeat,
        script_cache,
        out,
    };
    let ended = run.train(device);
    run.view.finish();
    match ended {
        Ok(()) => Ok(run.harness.finished(folder)),
        // The interrupted rollout is repeated by the next start; finished steps are kept.
        Err(TrainError::Rollout(RolloutError::Stopped)) => {
            if run.harness.is_unsaved() {
                run.save()?;
            }
            Ok(run.harness.stopped())
        }
        Err(error) => {
            if error.leaves_weights_as_they_were() && run.harness.is_unsaved() {
                run.save()?;
            }
            Err(error)
        }
    }
}

/// A run under way. Between any two of its rollouts it can be saved.
struct GrpoRun<'a> {
    settings: &'a TrainSettings,
    player: EpisodePlayer<'a>,
    sampler: TaskSampler<'a>,
    /// The tokens on which generators are compared with the learner.
    probe: Vec<i64>,
    generator: &'a mut dyn Generator,
    learner: &'a mut dyn Learner,
    harness: Harness<'a, TrainMetrics, GroupHistory>,
    metrics: Metrics,
    view: ProgressView,
    heartbeat: &'a Heartbeat,
    script_cache: Option<&'a ScriptCache>,
    out: &'a Utf8Path,
}

impl GrpoRun<'_> {
    fn train(&mut self, device: Device) -> Result<(), TrainError> {
        let settings = self.settings;
        self.keep_sampler();
        let validates_start = !self.harness.is_resumed() && settings.validate_every > 0;
        if validates_start || self.harness.is_unrecorded() {
            self.finish_step()?;
        }
        let first = self.harness.step();
        while !self.harness.is_over() {
            let step = self.harness.step();

            // 1. Tasks, a group of episodes on each, rewards to advantages.
            let PlayedStep { batch, drawn, curriculum, draws, cache, seconds, stuck } =
                self.player.play(self.generator, &self.sampler, step)?;
            let began = Instant::now();
            let summary = batch.account(step + 1, &settings.rules.reward)?;
            batch.check_credit(settings.credit)?;

            // 2. Log-probabilities: what was sampled is what is trained on.
            self.heartbeat.enter(Phase::Scoring);
            if step == first {
                batch.check_tokens()?;
                self.check_log_probs(&batch)?;
            }
            let scores = self.scores(&batch)?;

            // 3. The surrogate and its gradient, then one optimizer step; for each part of the
            //    batch, in each pass over it.
            let rate = settings.schedule().rate(step);
            let mut parts =
                batch.parts(settings.mini_batches, settings.dynamic_sampling.max_rounds > 1);
            let imitated = stuck.as_ref().map_or(&[][..], |stuck| &stuck.samples);
            if parts.is_empty() && !imitated.is_empty() {
                parts.push(Vec::new());
            }
            let (mut stats, mut norms, mut compared) = (UpdateStats::default(), Vec::new(), 0);
            let mut imitation = UpdateStats::default();
            let passes = std::iter::repeat_n(&parts, settings.epochs);
            for (number, part) in passes.flat_map(|parts| parts.iter().enumerate()) {
                self.heartbeat.enter(Phase::ForwardBackward);
                let shares = batch.shares(part, settings.aggregation);
                let loss = TrainingLoss::Surrogate(batch.update(settings, &scores, &shares));
                let mut found = self.learner.accumulate(&loss, &mut || self.heartbeat.beat())?;
                // Sampler and trainer can be compared only before the first update of the batch.
                if norms.is_empty() {
                    compared += found.tokens;
                    gaps::check_mean(&found)?;
                } else {
                    (found.gap, found.gaps) = (0.0, 0.0);
                }
                // What guided episodes add to the loss, once in each pass.
                let mut of_imitation = UpdateStats::default();
                if number == 0 && !imitated.is_empty() {
                    let weight = settings.guide.imitate;
                    let loss = TrainingLoss::Imitation { samples: imitated, weight };
                    of_imitation = self.learner.accumulate(&loss, &mut || self.heartbeat.beat())?;
                }
                self.heartbeat.enter(Phase::Optimizer);
                if found.tokens + of_imitation.tokens > 0 {
                    norms.push(self.learner.step(rate)?);
                    imitation.add(&of_imitation);
                }
                if found.tokens > 0 {
                    stats.add(&found);
                }
            }
            self.generator.publish(&self.learner.publish(step + 1, &self.probe)?)?;

            // 4. The record, validation and checkpoint.
            self.heartbeat.enter(Phase::Other);
            batch.write(self.out, step + 1)?;
            if let Some(stuck) = &stuck {
                stuck.write(self.out, step + 1)?;
            }
            let stuck = stuck.map(|stuck| StuckMetrics::new(&stuck, &imitation, settings.epochs));
            let seconds_of_update = began.elapsed().as_secs_f64();
            let made = Made { stats, compared, norms: &norms, rate, seconds: seconds_of_update };
            let gathered = Gathered { summary, curriculum, draws, cache, seconds, stuck };
            let line = TrainMetrics::new(settings, &batch, gathered, &made, device);
            self.view.step(line.seen(step + 1));
            self.sampler.observe(step, drawn.into_iter().zip(batch.verdicts()));
            self.harness.made(line);
            self.keep_sampler();
            self.finish_step()?;
        }
        if self.harness.step() < settings.steps {
            let (step, best) = (self.harness.step(), self.harness.best().map(|best| best.step));
            tracing::info!(
                step,
                best,
                patience = settings.early_stopping_patience,
                "early stopping: no gain"
            );
        }
        Ok(())
    }

    /// Hands the sampler's state to the checkpoints to come.
    fn keep_sampler(&mut self) {
        if let Some(history) = self.sampler.state() {
            self.harness.keep_sampler(history.clone());
        }
    }

    /// Ends a step: validation if it is due, the line of metrics, the checkpoint if it is due.
    fn finish_step(&mut self) -> Result<(), TrainError> {
        let step = self.harness.step();
        let mut times = PhaseTimes::from_durations(&self.heartbeat.take_times());
        let due = self.harness.validation_is_due();
        let validation = due.then(|| self.player.validate(self.generator, step)).transpose()?;
        times.add_validation(&self.heartbeat.take_times());
        let mut is_best = false;
        if let Some(EpisodeSummary { reward, .. }) = validation {
            is_best = self.harness.record_validation(reward);
            if let Some(best) = self.harness.best() {
                self.view.held_out(step, reward, best.reward, best.step);
            }
        }
        let train = self.harness.take_unrecorded();
        let script_cache = self.script_cache.map(|cache| cache.take_use().into());
        self.metrics.append(&StepMetrics { step, train, validation, script_cache, times })?;
        if self.harness.checkpoint_is_due(is_best) {
            self.save()?;
        }
        memory::release_to_os();
        Ok(())
    }

    fn save(&mut self) -> Result<(), TrainError> {
        self.heartbeat.enter(Phase::Saving);
        self.harness.save(self.learner)?;
        self.heartbeat.enter(Phase::Other);
        Ok(())
    }

    /// Recomputes every sampled token: sampler and trainer must agree.
    fn check_log_probs(&self, batch: &Batch) -> Result<(), TrainError> {
        let gaps = batch.gaps(&self.log_probs(WeightSet::Current, batch)?);
        let settings = self.settings;
        gaps.check(settings)?;
        tracing::info!(
            trajectories = batch.samples.len(),
            trained_tokens = batch.samples.iter().map(TrainSequence::trained_count).sum::<usize>(),
            log_prob_gap = gaps.largest,
            log_prob_gap_mean = gaps.mean,
            "self-checks passed: the trainer's tokens are the engine's, the mask covers what was sampled, \
             log-probabilities agree"
        );
        Ok(())
    }

    /// Log-probabilities that the loss needs besides the sampler's, from before the first update.
    fn scores(&self, batch: &Batch) -> Result<Scores, TrainError> {
        let settings = self.settings;
        // A single update is made at the weights that these would be computed with.
        let later = settings.tis_cap > 0.0 && settings.updates_per_step() > 1;
        let score = |weights| self.log_probs(weights, batch);
        let old = later.then(|| score(WeightSet::Current)).transpose()?;
        let pulls = settings.kl.beta > 0.0;
        let reference = pulls.then(|| score(WeightSet::Reference)).transpose()?;
        Ok(Scores { old, reference })
    }

    /// Log-probabilities of every sampled token, per trajectory.
    fn log_probs(&self, weights: WeightSet, batch: &Batch) -> Result<Vec<Vec<f32>>, LearnerError> {
        let sampling = &self.settings.rollout.sampling;
        self.learner.log_probs(weights, &batch.samples, sampling, &mut || self.heartbeat.beat())
    }
}
