//! Rollouts: the episodes of a training step and of a validation.

use super::batch::Batch;
use super::draw::{DrawMetrics, TaskSampler};
use super::metrics::EpisodeSummary;
use super::stuck::{StuckPlay, TrainingGuide};
use super::{TrainError, TrainSettings};
use crate::generate::Generator;
use crate::generate::engine::CacheUse;
use crate::rollout::episodes::left_out;
use crate::rollout::{
    EpisodeRequest, Policy, Rollout, RolloutContext, RolloutError, RolloutGuide, RolloutResult,
    rollout,
};
use crate::run::stop::Stop;
use crate::run::view::Stages;
use crate::run::watchdog::{Heartbeat, Phase};
use crate::text::template::ChatTemplate;
use crate::text::tokenizer::Tokenizer;
use agents::play::World;
use std::time::Instant;
use tasks::stream::Stream;
use tasks::task::TaskId;

/// Tokens of the prompt that generators are compared on.
const PROBE_TOKENS: usize = 256;

/// Where and by which rules episodes are played, step after step.
pub(super) struct EpisodePlayer<'a> {
    pub(super) settings: &'a TrainSettings,
    pub(super) world: &'a dyn World,
    pub(super) held_out: Vec<&'a TaskId>,
    /// Who advises groups that are stuck.
    pub(super) guide: Option<&'a TrainingGuide>,
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) root: Stream,
    pub(super) stages: &'a dyn Stages,
    pub(super) stop: &'a Stop,
    pub(super) heartbeat: &'a Heartbeat,
}

/// The episodes of a step.
pub(super) struct PlayedStep<'a> {
    pub(super) batch: Batch,
    /// The task of each group: of the corpus, or a question of a search.
    pub(super) drawn: Vec<&'a TaskId>,
    /// What the draws were like, if they depend on earlier groups.
    pub(super) curriculum: Option<DrawMetrics>,
    /// How often tasks were drawn.
    pub(super) draws: u64,
    /// How the KV cache was used.
    pub(super) cache: CacheUse,
    /// How long it took, without guided episodes.
    pub(super) seconds: f64,
    /// Groups that were stuck, played once more with advice; `None` if nobody advises.
    pub(super) stuck: Option<StuckPlay>,
}

impl<'a> EpisodePlayer<'a> {
    /// A group of episodes on each of the step's tasks, as `sampler` draws them. With dynamic sampling, groups without
    /// different rewards are replaced until there are enough that have some, or too many draws
    /// were made; they stay in the batch, but not in the update.
    pub(super) fn play(
        &self,
        generator: &mut dyn Generator,
        sampler: &TaskSampler<'a>,
        step: u64,
    ) -> Result<PlayedStep<'a>, TrainError> {
        let began = Instant::now();
        let settings = self.settings;
        let stream = self.root.child("episodes").index(step);
        let mut drawn = sampler.draw(step);
        let (mut batch, mut cache) = (Batch::default(), CacheUse::default());
        let (mut played, mut draws) = (0, 1);
        loop {
            let mut jobs = Vec::new();
            for (place, task) in drawn.iter().copied().enumerate().skip(played) {
                for attempt in 0..settings.group_size as u64 {
                    // By place, because a small corpus may draw a task twice in a step.
                    let stream = stream.index(place as u64).index(attempt);
                    jobs.push(EpisodeRequest { task, attempt, stream });
                }
            }
            played = drawn.len();
            let rollout = self.rollout(generator, "episodes", &jobs, None)?;
            cache.add(&rollout.cache);
            batch.take(rollout.played, settings, self.root.child("shuffled rewards").index(step));
            let (_, mixed) = batch.groups();
            let missing = settings.tasks_per_step.saturating_sub(mixed);
            if missing == 0 || draws >= settings.dynamic_sampling.max_rounds {
                let seconds = began.elapsed().as_secs_f64();
                let guide = self.guide;
                let stuck = guide
                    .map(|guide| self.play_stuck(generator, guide, step, &drawn, &batch))
                    .transpose()?;
                let curriculum = sampler.metrics(step, &drawn);
                return Ok(PlayedStep { batch, drawn, curriculum, draws, cache, seconds, stuck });
            }
            drawn.extend(sampler.draw_again(step, draws, &drawn, missing));
            draws += 1;
        }
    }

    /// Plays the groups that are stuck once more, with advice. They are no part of the batch.
    fn play_stuck(
        &self,
        generator: &mut dyn Generator,
        guide: &TrainingGuide,
        step: u64,
        drawn: &[&TaskId],
        batch: &Batch,
    ) -> Result<StuckPlay, TrainError> {
        let began = Instant::now();
        let settings = self.settings;
        let (stream, size) = (self.root.child("guided").index(step), settings.group_size as u64);
        // A task may be drawn again in a later step, and twice in a step of a small corpus; its attempts
        // are numbered through, so that each has draws of the person of its own.
        let places = settings.tasks_per_step as u64 * settings.dynamic_sampling.max_rounds;
        let stuck = batch.stuck(settings.guide.below);
        let mut jobs = Vec::new();
        for place in &stuck {
            let number = step * places + *place as u64;
            for attempt in 0..size {
                let stream = stream.index(*place as u64).index(attempt);
                let attempt = number * size + attempt;
                jobs.push(EpisodeRequest { task: drawn[*place], attempt, stream });
            }
        }
        if jobs.is_empty() {
            return Ok(StuckPlay::default());
        }
        let of_rollout = Some(guide.of_rollout(settings));
        let Rollout { played, conversations, .. } =
            self.rollout(generator, "guided episodes", &jobs, of_rollout)?;
        let played = played.into_iter().zip(conversations);
        let place = (self.world, self.tokenizer);
        let mut found = StuckPlay::new(stuck.len(), played, (guide, settings), place)?;
        found.seconds = began.elapsed().as_secs_f64();
        Ok(found)
    }

    /// The tokens of a task's prompt, as many as a probe needs.
    pub(super) fn known_prompt(&self, task: &TaskId) -> Result<Vec<i64>, TrainError> {
        let of_task = |source| RolloutError::Prompt { task: task.clone(), source };
        let prompt = self.world.prompt(task).map_err(of_task)?;
        let template = ChatTemplate::new(self.tokenizer)?;
        let mut ids = template.prompt(&prompt.system, &prompt.user)?;
        ids.truncate(PROBE_TOKENS);
        Ok(ids)
    }

    /// The held-out tasks, always with the same draws.
    pub(super) fn validate(
        &self,
        generator: &mut dyn Generator,
        step: u64,
    ) -> Result<EpisodeSummary, TrainError> {
        let stream = self.root.child("validation");
        let mut jobs = Vec::new();
        for &task in &self.held_out {
            for attempt in 0..self.settings.validate_attempts {
                let stream = stream.child(task.as_str()).index(attempt);
                jobs.push(EpisodeRequest { task, attempt, stream });
            }
        }
        let (mut trajectories, mut last) = (Vec::new(), String::new());
        for played in self.rollout(generator, "validating", &jobs, None)?.played {
            match played {
                RolloutResult::Finished { trajectory, .. } => trajectories.push(*trajectory),
                RolloutResult::Fault { fault, .. } => last = left_out(&fault),
            }
        }
        if trajectories.is_empty() {
            return Err(TrainError::ValidationFaulted { step, last });
        }
        let faults = jobs.len() - trajectories.len();
        let weights = &self.settings.rules.reward;
        Ok(EpisodeSummary::from_trajectories(&trajectories, faults, weights))
    }

    fn rollout(
        &self,
        generator: &mut dyn Generator,
        name: &'static str,
        jobs: &[EpisodeRequest<'_>],
        guide: Option<RolloutGuide<'_>>,
    ) -> Result<Rollout, TrainError> {
        let policy = Policy { name: "policy", tokenizer: self.tokenizer };
        let bar = self.stages.stage(name, jobs.len() as u64);
        let context = RolloutContext {
            world: self.world,
            settings: &self.settings.rollout,
            guide,
            stop: self.stop,
            heartbeat: self.heartbeat,
        };
        self.heartbeat.enter(Phase::Other);
        let rollout = rollout(generator, policy, context, jobs, &mut |_| {
            bar.inc(1);
            Ok(())
        });
        self.heartbeat.enter(Phase::Other);
        bar.finish_and_clear();
        Ok(rollout?)
    }
}
