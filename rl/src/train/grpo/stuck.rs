//! Guided when stuck: a group of which no episode comes far enough is played once more with advice, and
//! what succeeds is imitated.
//!
//! `stuck groups -> guided episodes -> successes -> samples without advice`
//!
//! `L = L_GRPO + λ · mean NLL(kept tokens)`. Guided episodes have an easier task, so they never share a
//! baseline with unguided ones; and they were sampled with advice in the context, so no ratio of theirs is
//! on-policy: they are imitated, not reinforced. What is imitated reads as an unguided episode, since at
//! test time nobody advises.

use super::TrainSettings;
use super::batch::write_episodes;
use crate::rollout::{RolloutGuide, RolloutResult};
use crate::run::settings::{SettingsError, require};
use crate::text::template::{ChatTemplate, TemplateError};
use crate::text::tokenizer::{Tokenizer, signed_ids};
use crate::train::batch::TrainSequence;
use agents::guide::advice::unguided_text;
use agents::guide::channel::OnLost;
use agents::guide::export::{WorldAgain, is_confirmed};
use agents::guide::ids::ConversationId;
use agents::guide::source::{RunGuide, SourceError};
use agents::guide::transcript::{Transcript, TranscriptError};
use agents::guide::verdicts::{Trained, Verdicts};
use agents::play::World;
use agents::trajectory::{Source, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::thread;

/// What is read in a sample that is imitated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImitatedContext {
    /// All turns and observations; advice is left out.
    #[default]
    Quiet,
    /// Turns that are dropped, their observations and all advice are left out, where the turns that are
    /// left, played again, come out as they were; else as [`Self::Quiet`].
    Excise,
}

/// Guidance of groups that are stuck.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `person` | none | file with the rules of a scripted person; without one nothing is guided |
/// | `below` | 0.3 | a group is stuck if the reward of every episode of it is below this, in (0, 1] |
/// | `imitate` | 0 | λ, the weight of the imitation in the loss; above 0 with a `person` |
/// | `context` | `quiet` | `quiet` or `excise`: what is read in what is imitated |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StuckGuidance {
    /// The rules of a scripted person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub person: Option<Utf8PathBuf>,
    /// A group is stuck if the reward of every graded episode of it is below this. A guided episode
    /// succeeds if its reward is not.
    pub below: f64,
    /// The weight of the imitation in the loss.
    pub imitate: f64,
    /// What is read in what is imitated.
    pub context: ImitatedContext,
}

impl Default for StuckGuidance {
    fn default() -> Self {
        Self { person: None, below: 0.3, imitate: 0.0, context: ImitatedContext::Quiet }
    }
}

impl StuckGuidance {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what types cannot, beside the other settings of a run.
    pub(super) fn check(&self, settings: &TrainSettings) -> Result<(), SettingsError> {
        let (below, weight) = (self.below, self.imitate);
        require(below > 0.0 && below <= 1.0, "guide.below", &below, "above 0 and at most 1")?;
        require(weight >= 0.0 && weight.is_finite(), "guide.imitate", &weight, "at least 0")?;
        let Some(person) = &self.person else {
            return require(
                weight == 0.0,
                "guide.person",
                &"missing",
                "a file with the rules of a scripted person where `guide.imitate` is above 0",
            );
        };
        require(
            weight > 0.0,
            "guide.imitate",
            &weight,
            "above 0 where there is a `guide.person`: episodes would be played for nothing",
        )?;
        require(
            settings.world.is_none() && settings.searches.is_empty(),
            "guide.person",
            person,
            "left out with `world` and `searches`: people advise episodes on MLE tasks",
        )?;
        require(
            settings.learner.is_none(),
            "guide.person",
            person,
            "left out with `learner`, whose losses do not add up",
        )
    }
}

/// Why guided episodes cannot be played, or not be read.
#[derive(Debug, thiserror::Error)]
pub enum StuckError {
    /// The person or the store cannot be used.
    #[error("failed to use `guide.person`")]
    Source(#[from] SourceError),
    /// A conversation cannot be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// A sample cannot be laid out.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// The scripted person of a run, and where their conversations are.
#[derive(Debug)]
pub(super) struct TrainingGuide {
    source: RunGuide,
    store: Utf8PathBuf,
}

impl TrainingGuide {
    /// That of a run in the folder `out`; `None` if nobody advises it. A template that cannot lay out
    /// advice is refused.
    pub(super) fn open(
        settings: &TrainSettings,
        out: &Utf8Path,
        tokenizer: &Tokenizer,
    ) -> Result<Option<Self>, StuckError> {
        let Some(person) = &settings.guide.person else { return Ok(None) };
        ChatTemplate::new(tokenizer)?.check_advice()?;
        let store = out.join("guide");
        let source = RunGuide::open(store.as_str(), None, Some(person), OnLost::Continue)?;
        Ok(Some(Self { source, store }))
    }

    /// For rollouts.
    pub(super) fn of_rollout(&self, settings: &TrainSettings) -> RolloutGuide<'_> {
        let episode = &settings.rules.episode;
        RolloutGuide {
            source: &self.source,
            turns: episode.budget.turns,
            feedback: Some(episode.feedback),
        }
    }

    /// A conversation with its texts, and what people and rules say of its turns.
    fn judged(&self, id: &ConversationId) -> Result<(Transcript, Verdicts), TranscriptError> {
        let transcript = Transcript::read(&self.store, id)?;
        let verdicts = Verdicts::of(&transcript, Vec::new());
        Ok((transcript, verdicts))
    }
}

/// Guided episodes of a step, and what of them is imitated.
#[derive(Debug, Default)]
pub(super) struct StuckPlay {
    /// Groups that were stuck.
    pub(super) groups: usize,
    /// All guided episodes that were graded.
    pub(super) trajectories: Vec<Trajectory>,
    /// Those that an infrastructure error ended.
    pub(super) faults: usize,
    /// What is imitated.
    pub(super) samples: Vec<TrainSequence>,
    /// How many of them have an excised context.
    pub(super) excised: usize,
    /// How long they took to play.
    pub(super) seconds: f64,
}

/// A guided episode that succeeded.
struct Success {
    trajectory: Trajectory,
    transcript: Transcript,
    verdicts: Verdicts,
}

impl StuckPlay {
    /// Takes in the guided episodes of `groups` stuck groups, each with the name of its conversation.
    pub(super) fn new(
        groups: usize,
        played: impl Iterator<Item = (RolloutResult, Option<ConversationId>)>,
        (guide, settings): (&TrainingGuide, &TrainSettings),
        (world, tokenizer): (&dyn World, &Tokenizer),
    ) -> Result<Self, StuckError> {
        let template = ChatTemplate::new(tokenizer)?;
        let mut found = Self { groups, ..Self::default() };
        let mut successes = Vec::new();
        for (episode, conversation) in played {
            let RolloutResult::Finished { trajectory, .. } = episode else {
                found.faults += 1;
                continue;
            };
            let turns = settings.rules.episode.budget.turns;
            let is_masked = settings.mask.reason(&trajectory, turns).is_some();
            let succeeds = trajectory.reward.total() >= settings.guide.below;
            if succeeds
                && !is_masked
                && let Some(id) = conversation
            {
                let (transcript, verdicts) = guide.judged(&id)?;
                let trajectory = Trajectory::clone(&trajectory);
                successes.push(Success { trajectory, transcript, verdicts });
            }
            found.trajectories.push(*trajectory);
        }
        let excises = settings.guide.context == ImitatedContext::Excise;
        let workers = settings.rollout.workers;
        let proved = if excises { proved(&successes, world, workers) } else { Vec::new() };
        for (place, success) in successes.iter().enumerate() {
            let is_excised = proved.get(place).copied().unwrap_or(false);
            let sample = success.sample(&template, is_excised)?;
            // One of which every turn is dropped teaches nothing.
            if sample.trained_count() > 0 {
                found.excised += usize::from(is_excised);
                found.samples.push(sample);
            }
        }
        Ok(found)
    }

    /// Writes the guided episodes to `guided/`, apart from the unguided ones, if there are any.
    pub(super) fn write(&self, out: &Utf8Path, step: u64) -> Result<(), std::io::Error> {
        if self.trajectories.is_empty() {
            return Ok(());
        }
        write_episodes(&out.join("guided"), step, &self.trajectories)
    }

    /// The mean reward of the guided episodes; 0 without any.
    pub(super) fn reward(&self) -> f64 {
        let rewards = self.trajectories.iter().map(|trajectory| trajectory.reward.total());
        rewards.sum::<f64>() / self.trajectories.len().max(1) as f64
    }
}

impl Success {
    /// The turns of which something is kept.
    fn kept(&self) -> Vec<u32> {
        let turns = 0..self.transcript.count();
        turns.filter(|turn| self.verdicts.trained(*turn) != Trained::Nothing).collect()
    }

    /// Whether the turns that are kept come out as they did when they are played by themselves.
    fn is_confirmed(&self, world: &dyn World) -> bool {
        let kept = self.kept();
        if kept.len() == self.transcript.turns.len() {
            return true;
        }
        is_confirmed(&WorldAgain(world), &self.transcript, &kept).unwrap_or_else(|failure| {
            let why = tasks::text::with_causes(&failure);
            tracing::warn!(why, "turns could not be played again, so none is cut out");
            false
        })
    }

    /// Its tokens as those of an unguided episode: without advice, and if `is_excised` without the turns
    /// that are dropped and their observations. Sampled ids stay as they are. Dropped turns are context.
    fn sample(
        &self,
        template: &ChatTemplate<&Tokenizer>,
        is_excised: bool,
    ) -> Result<TrainSequence, TemplateError> {
        let mut sequence = TrainSequence::default();
        let segments = &self.trajectory.segments;
        let mut prompt = segments.iter().filter(|segment| segment.source == Source::Prompt);
        let system = prompt.next().map_or("", |segment| &segment.text);
        let user = prompt.next().map_or("", |segment| &segment.text);
        sequence.push(&template.prompt(unguided_text(system).unwrap_or(""), user)?, false);
        let (mut turn, mut is_kept) = (0, false);
        for segment in segments {
            match segment.source {
                Source::Model => {
                    // One that was cut off is no turn, and nobody judged it.
                    let is_turn = turn < self.transcript.count();
                    is_kept = is_turn && self.verdicts.trained(turn) != Trained::Nothing;
                    turn += 1;
                    if is_kept || !is_excised {
                        sequence.push(&signed_ids(&segment.ids), is_kept);
                    }
                }
                Source::Environment if is_kept || !is_excised => {
                    sequence.push(&template.observation(&segment.text)?, false);
                }
                Source::Prompt | Source::Environment | Source::Guide => {}
            }
        }
        Ok(sequence)
    }
}

/// Which of the successes could have gone without the turns that are dropped: they are played again, so
/// many at a time.
fn proved(successes: &[Success], world: &dyn World, workers: usize) -> Vec<bool> {
    let mut proved = Vec::with_capacity(successes.len());
    for some in successes.chunks(workers.max(1)) {
        thread::scope(|scope| {
            let threads: Vec<_> =
                some.iter().map(|success| scope.spawn(|| success.is_confirmed(world))).collect();
            // A thread that panicked proved nothing.
            proved.extend(threads.into_iter().map(|thread| thread.join().unwrap_or(false)));
        });
    }
    proved
}

#[cfg(test)]
mod tests;
