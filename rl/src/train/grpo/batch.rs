//! The episodes of one step, with what the update needs to know about each.

use super::credit::{Credit, Lesson};
use super::gaps::LogProbGaps;
use super::mask::EpisodeCounts;
use super::metrics::EpisodeSummary;
use super::{TrainError, TrainSettings};
use crate::rollout::RolloutResult;
use crate::train::advantage::{Inclusion, advantages};
use crate::train::batch::TrainSequence;
use crate::train::learner::GrpoInputs;
use crate::train::loss::Aggregation;
use agents::guide::transcript::Transcript;
use agents::guide::verdicts::Verdicts;
use agents::reward::RewardWeights;
use agents::trajectory::Trajectory;
use camino::Utf8Path;
use fs_err as fs;
use rand::seq::SliceRandom;
use std::ops::Range;
use tasks::files;
use tasks::stream::Stream;

/// Episodes of one step as the trainer sees them, group after group; broken ones are only counted.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) trajectories: Vec<Trajectory>,
    /// The sequences of each trajectory, by place in the three lists that follow: one, but for those
    /// that were summarised.
    sequences: Vec<Range<usize>>,
    pub(super) contexts: Vec<Vec<i64>>,
    pub(super) samples: Vec<TrainSequence>,
    /// What the sampler reported.
    pub(super) log_probs: Vec<Vec<f32>>,
    pub(super) inclusions: Vec<Inclusion>,
    pub(super) advantages: Vec<f64>,
    /// Verdicts on the turns of each, and how many of its tokens leave the loss for them; empty where
    /// `credit` is off.
    verdicts: Vec<Verdicts>,
    dropped: Vec<usize>,
    pub(super) episode_counts: EpisodeCounts,
    pub(super) last_fault: String,
    groups: Vec<EpisodeGroup>,
}

/// What each sequence of a batch counts in an update.
#[derive(Default)]
pub(super) struct Shares {
    /// Of each of its tokens in the loss; 0 for those that are no part of the update.
    pub(super) weights: Vec<f64>,
    pub(super) advantages: Vec<f64>,
}

/// Log-probabilities that are computed once per batch, per sequence.
pub(super) struct Scores {
    /// The trainer's before the first update, where they differ from the sampler's and from those
    /// of a later update.
    pub(super) old: Option<Vec<Vec<f32>>>,
    /// The reference model's.
    pub(super) reference: Option<Vec<Vec<f32>>>,
}

/// Lets the rewards of a group change places; where each episode counts stays as it is.
fn shuffle_rewards(group: &mut [(f64, Inclusion)], stream: Stream) {
    let mut earned: Vec<&mut f64> = group
        .iter_mut()
        .filter(|(_, inclusion)| *inclusion != Inclusion::Faulted)
        .map(|(reward, _)| reward)
        .collect();
    let mut shuffled: Vec<f64> = earned.iter().map(|reward| **reward).collect();
    shuffled.shuffle(&mut stream.rng());
    for (reward, shuffled) in earned.iter_mut().zip(shuffled) {
        **reward = shuffled;
    }
}

/// Writes the trajectories of a step into a file of `folder`, which is made if there is none.
pub(super) fn write_episodes(
    folder: &Utf8Path,
    step: u64,
    trajectories: &[Trajectory],
) -> Result<(), std::io::Error> {
    fs::create_dir_all(folder)?;
    let mut text = Vec::new();
    for trajectory in trajectories {
        serde_json::to_writer(&mut text, trajectory)?;
        text.push(b'\n');
    }
    files::write_atomic(&folder.join(format!("step-{step:06}.jsonl")), &text)
}

/// The episodes of one task.
struct EpisodeGroup {
    members: Range<usize>,
    /// Whether their rewards differ; without a difference there is no gradient.
    mixed: bool,
    /// How many of them are trained on.
    trained: usize,
}

impl Batch {
    /// Takes in the groups of episodes that were played, in order.
    pub(super) fn take(
        &mut self,
        played: Vec<RolloutResult>,
        settings: &TrainSettings,
        stream: Stream,
    ) {
        let mut played = played.into_iter().peekable();
        while played.peek().is_some() {
            let stream = stream.index(self.groups.len() as u64);
            self.take_group(played.by_ref().take(settings.group_size), settings, stream);
        }
    }

    fn take_group(
        &mut self,
        played: impl Iterator<Item = RolloutResult>,
        settings: &TrainSettings,
        stream: Stream,
    ) {
        let first = self.trajectories.len();
        let mut group = Vec::new();
        for episode in played {
            self.episode_counts.played += 1;
            match episode {
                RolloutResult::Finished { trajectory, contexts } => {
                    let turns = settings.rules.episode.budget.turns;
                    let reason = settings.mask.reason(&trajectory, turns);
                    let inclusion = match reason {
                        Some(_) => Inclusion::Masked,
                        None => Inclusion::Trained,
                    };
                    if let Some(reason) = reason {
                        self.episode_counts.mask(reason);
                    }
                    group.push((trajectory.reward.total(), inclusion));
                    let start = self.samples.len();
                    for (sample, log_probs) in TrainSequence::from_rollout(&trajectory) {
                        self.samples.push(sample);
                        self.log_probs.push(log_probs);
                    }
                    self.sequences.push(start..self.samples.len());
                    if settings.credit != Credit::Off {
                        let transcript = Transcript::of_episode(&trajectory);
                        self.verdicts.push(Verdicts::of(&transcript, Vec::new()));
                        self.dropped.push(0);
                    }
                    self.inclusions.push(inclusion);
                    self.contexts.extend(contexts);
                    self.trajectories.push(*trajectory);
                }
                RolloutResult::Fault { task, fault } => {
                    group.push((0.0, Inclusion::Faulted));
                    self.episode_counts.dropped += 1;
                    self.last_fault = tasks::text::with_causes(&fault);
                    tracing::warn!(%task, fault = self.last_fault, "an episode broke and is dropped");
                }
            }
        }
        if settings.shuffle_rewards {
            shuffle_rewards(&mut group, stream);
        }
        let advantages = advantages(&group, settings.advantage);
        let (mut mixed, mut trained) = (false, 0);
        for (advantage, (_, inclusion)) in advantages.into_iter().zip(&group) {
            if *inclusion == Inclusion::Faulted {
                continue;
            }
            let index = self.advantages.len();
            self.advantages.push(advantage);
            if *inclusion == Inclusion::Trained {
                let teaches = advantage.abs() > 0.0 && self.learns(index, settings.credit);
                mixed |= teaches;
                trained += 1;
                let count = if teaches {
                    &mut self.episode_counts.trained
                } else {
                    &mut self.episode_counts.zero_advantage
                };
                *count += 1;
            }
        }
        self.groups.push(EpisodeGroup { members: first..self.trajectories.len(), mixed, trained });
    }

    /// Lets the turns of an episode leave the loss that its advantage is not to reach; returns whether any
    /// stays.
    fn learns(&mut self, index: usize, credit: Credit) -> bool {
        let Some(verdicts) = self.verdicts.get(index) else { return true };
        let lesson =
            Lesson::new(&self.trajectories[index], verdicts, credit, self.advantages[index]);
        let stays = lesson.dropped == 0 || !lesson.log_probs.is_empty();
        self.dropped[index] = lesson.dropped;
        let place = self.sequences[index].start;
        (self.samples[place], self.log_probs[place]) = (lesson.sample, lesson.log_probs);
        stays
    }

    /// Sampled tokens that leave the loss because of the verdict on their turn.
    pub(super) fn dropped_tokens(&self) -> usize {
        self.dropped.iter().sum()
    }

    /// Summaries per episode.
    pub(super) fn summaries(&self) -> f64 {
        let all: usize = self.trajectories.iter().map(|episode| episode.summaries.len()).sum();
        all as f64 / self.trajectories.len().max(1) as f64
    }

    /// Compares every loss mask with one that is made another way.
    pub(super) fn check_credit(&self, credit: Credit) -> Result<(), TrainError> {
        for (index, verdicts) in self.verdicts.iter().enumerate() {
            let (trajectory, advantage) = (&self.trajectories[index], self.advantages[index]);
            // Others are not trained on, and their masks are of all that was sampled.
            if self.inclusions[index] != Inclusion::Trained || advantage == 0.0 {
                continue;
            }
            let place = self.sequences[index].start;
            let lesson = Lesson {
                sample: self.samples[place].clone(),
                log_probs: self.log_probs[place].clone(),
                dropped: self.dropped[index],
            };
            lesson.check(trajectory, verdicts, credit, advantage).map_err(|fault| {
                TrainError::CreditMask { task: trajectory.task.clone(), token: fault.token }
            })?;
        }
        Ok(())
    }

    /// The groups, by place, in which every episode that was graded stays below a reward, and one was.
    pub(super) fn stuck(&self, below: f64) -> Vec<usize> {
        let is_stuck = |group: &EpisodeGroup| {
            let mut episodes = self.trajectories[group.members.clone()].iter();
            !group.members.is_empty() && episodes.all(|episode| episode.reward.total() < below)
        };
        (0..self.groups.len()).filter(|&place| is_stuck(&self.groups[place])).collect()
    }

    /// How many groups were played, and in how many of them rewards differ.
    pub(super) fn groups(&self) -> (usize, usize) {
        (self.groups.len(), self.groups.iter().filter(|group| group.mixed).count())
    }

    /// Of each group in the order drawn: whether its rewards differ. `None` where fewer than two
    /// episodes are trained on, after faults or masks: that says nothing about the task.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = Option<bool>> + '_ {
        self.groups.iter().map(|group| (group.mixed || group.trained >= 2).then_some(group.mixed))
    }

    /// The episodes of each of (at most) `count` updates, groups whole and in order; only those of
    /// mixed groups if `only_mixed`.
    pub(super) fn parts(&self, count: usize, only_mixed: bool) -> Vec<Vec<usize>> {
        let chosen: Vec<&EpisodeGroup> =
            self.groups.iter().filter(|group| group.mixed || !only_mixed).collect();
        let size = chosen.len().div_ceil(count.max(1)).max(1);
        chosen
            .chunks(size)
            .map(|groups| groups.iter().flat_map(|group| group.members.clone()).collect())
            .collect()
    }

    /// Sampled tokens, trained on or not.
    pub(super) fn sampled_tokens(&self) -> usize {
        self.sampled().count()
    }

    /// The sampler's log-probabilities of all sampled tokens, trained on or not.
    fn sampled(&self) -> impl Iterator<Item = f32> + '_ {
        self.trajectories.iter().flat_map(|trajectory| {
            let turns = trajectory.segments.iter().map(|segment| &segment.log_probs);
            let summaries = trajectory.summaries.iter().map(|summary| &summary.log_probs);
            turns.chain(summaries).flatten().copied()
        })
    }

    /// Means over the episodes of step number `step`, after a check that each is counted exactly
    /// once.
    pub(super) fn account(
        &self,
        step: u64,
        weights: &RewardWeights,
    ) -> Result<EpisodeSummary, TrainError> {
        if self.trajectories.is_empty() {
            return Err(TrainError::AllFaulted { step, last: self.last_fault.clone() });
        }
        if !self.episode_counts.adds_up() {
            return Err(TrainError::Unaccounted {
                step,
                episode_counts: format!("{:?}", self.episode_counts),
            });
        }
        let faults = self.episode_counts.dropped;
        Ok(EpisodeSummary::from_trajectories(&self.trajectories, faults, weights))
    }

    /// How many tokens of each trajectory count in an update on those of `part`.
    fn counts(&self, part: &[usize]) -> Vec<usize> {
        let mut counts = vec![0; self.trajectories.len()];
        for &index in part.iter().filter(|&&index| self.inclusions[index] == Inclusion::Trained) {
            let samples = &self.samples[self.sequences[index].clone()];
            counts[index] = samples.iter().map(TrainSequence::trained_count).sum();
        }
        counts
    }

    /// The weights and advantages of the sequences in an update on the trajectories of `part`. What a
    /// trajectory weighs does not depend on how many sequences it is.
    pub(super) fn shares(&self, part: &[usize], aggregation: Aggregation) -> Shares {
        let counts = self.counts(part);
        let weights = aggregation.weights(&counts);
        let mut shares = Shares::default();
        for (index, sequences) in self.sequences.iter().enumerate() {
            let weight = if counts[index] > 0 { weights[index] } else { 0.0 };
            shares.weights.resize(sequences.end, weight);
            shares.advantages.resize(sequences.end, self.advantages[index]);
        }
        shares
    }

    /// The update on the sequences that weigh anything.
    pub(super) fn update<'a>(
        &'a self,
        settings: &TrainSettings,
        scores: &'a Scores,
        shares: &'a Shares,
    ) -> GrpoInputs<'a> {
        GrpoInputs {
            samples: &self.samples,
            sampler: &self.log_probs,
            old: scores.old.as_deref(),
            reference: scores.reference.as_deref(),
            advantages: &shares.advantages,
            weights: &shares.weights,
            objective: settings.objective(),
            sampling: settings.rollout.sampling,
        }
    }

    /// How far the sampler's log-probabilities are from others of the same tokens.
    pub(super) fn gaps(&self, others: &[Vec<f32>]) -> LogProbGaps {
        let own = self.log_probs.iter().flatten().copied();
        LogProbGaps::new(own.zip(others.iter().flatten().copied()))
    }

    /// Writes the trajectories to `episodes/`, to be read by people.
    pub(super) fn write(&self, out: &Utf8Path, step: u64) -> Result<(), std::io::Error> {
        write_episodes(&out.join("episodes"), step, &self.trajectories)
    }

    pub(super) fn entropy(&self) -> f64 {
        let sum: f64 = self.sampled().map(f64::from).sum();
        -sum / self.sampled_tokens().max(1) as f64
    }

    /// The engine's own account of each conversation against what will be trained on, and the
    /// sampler's log-probabilities against the mask.
    pub(super) fn check_tokens(&self) -> Result<(), TrainError> {
        for (trajectory, sequences) in self.trajectories.iter().zip(&self.sequences) {
            let contexts = self.contexts.get(sequences.clone()).into_iter().flatten();
            let samples = self.samples[sequences.clone()].iter().map(|sample| &sample.ids);
            if !contexts.eq(samples) {
                return Err(TrainError::OtherTokens { task: trajectory.task.clone() });
            }
        }
        for (sample, log_probs) in self.samples.iter().zip(&self.log_probs) {
            let (trained, sampled) = (sample.trained_count(), log_probs.len());
            if trained != sampled {
                return Err(TrainError::MaskSum { trained, sampled });
            }
        }
        let trained = self.samples.iter().map(TrainSequence::trained_count).sum::<usize>();
        let (all, sampled) = (trained + self.dropped_tokens(), self.sampled_tokens());
        if all != sampled {
            return Err(TrainError::MaskSum { trained: all, sampled });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::grpo::MaskRules;
    use crate::train::presets::Scale;
    use agents::trajectory::{
        EpisodeEnding, Segment, Source, Summary, TRAJECTORY_VERSION, Tool, TurnRecord,
    };
    use sandbox::env::EpisodeFault;
    use tasks::task::TaskId;

    const TURNS: u32 = 3;

    fn settings(group: usize, mask: MaskRules) -> TrainSettings {
        let mut settings =
            TrainSettings { group_size: group, mask, ..TrainSettings::defaults(Scale::Tiny) };
        settings.rules.episode.budget.turns = TURNS;
        settings
    }

    fn played(reward: f64, ending: EpisodeEnding, turns: u32, timed_out: bool) -> RolloutResult {
        let turn = serde_json::json!({
            "tool": "python", "has_thought": true, "outcome": null, "seconds": 0.0
        });
        let trajectory = serde_json::from_value(serde_json::json!({
            "version": TRAJECTORY_VERSION, "task": "t", "agent": "a", "attempt": 0,
            "feedback": "tier", "ending": ending, "timed_out": timed_out,
            "turns": vec![turn; turns as usize],
            "segments": [
                {"source": "prompt", "text": "", "ids": [1]},
                {"source": "model", "text": "", "ids": [2], "log_probs": [-0.5]},
            ],
            "outcome": {"mle": {"grade": null, "refusal": null}},
            "reward": {"format": reward, "execution": 0.0, "tier": 0.0},
        }));
        RolloutResult::Finished {
            trajectory: Box::new(trajectory.unwrap()),
            contexts: vec![vec![1, 2]],
        }
    }

    fn answered(reward: f64) -> RolloutResult {
        played(reward, EpisodeEnding::Answered, 1, false)
    }

    fn fault() -> RolloutResult {
        RolloutResult::Fault { task: TaskId::new("t").unwrap(), fault: EpisodeFault::Over }
    }

    #[test]
    fn shuffled_rewards_teach_others_and_records_keep_the_true_ones() {
        let rewards = [0.1, 0.2, 0.3, 0.9];
        let mut settings = settings(5, MaskRules::default());
        let advantages = |settings: &TrainSettings| {
            let mut batch = Batch::default();
            let played = rewards.map(answered).into_iter().chain([fault()]).collect();
            batch.take(played, settings, Stream::root(3));
            let kept: Vec<f64> =
                batch.trajectories.iter().map(|trajectory| trajectory.reward.total()).collect();
            assert_eq!(kept, rewards);
            batch.advantages
        };
        let own = advantages(&settings);
        settings.shuffle_rewards = true;
        let mut shuffled = advantages(&settings);
        assert_ne!(shuffled, own);
        shuffled.sort_by(f64::total_cmp);
        assert_eq!(shuffled, own, "the same advantages, at other episodes");
    }

    #[test]
    fn every_episode_is_counted_once() {
        let endings = || {
            vec![
                answered(0.1),
                played(0.9, EpisodeEnding::Answered, 1, true),
                played(0.8, EpisodeEnding::Budget, TURNS - 1, false),
                played(0.7, EpisodeEnding::Tokens, 1, false),
                played(0.6, EpisodeEnding::Budget, TURNS, false),
                fault(),
                answered(0.2),
            ]
        };
        let all = MaskRules { length: true, turn_limit: true, ..MaskRules::default() };
        let none = MaskRules { time_limit: false, ..MaskRules::default() };
        for (mask, trained, masked) in
            [(all, 2, [2, 1, 1]), (none, 6, [0, 0, 0]), (MaskRules::default(), 4, [2, 0, 0])]
        {
            let mut batch = Batch::default();
            batch.take(endings(), &settings(7, mask), Stream::root(0));
            let episode_counts = batch.episode_counts;
            assert!(episode_counts.adds_up(), "{episode_counts:?}");
            assert_eq!(
                (episode_counts.played, episode_counts.dropped, episode_counts.zero_advantage),
                (7, 1, 0)
            );
            assert_eq!(episode_counts.trained, trained, "{mask:?}");
            let found = [
                episode_counts.masked_time_limit,
                episode_counts.masked_length,
                episode_counts.masked_turn_limit,
            ];
            assert_eq!(found, masked, "{mask:?}");
        }
    }

    #[test]
    fn masked_groups_say_nothing_about_their_task() {
        let slow = |reward| played(reward, EpisodeEnding::Answered, 1, true);
        let mut batch = Batch::default();
        let episodes = vec![slow(0.1), slow(0.9), slow(0.1), answered(0.9), fault(), fault()];
        batch.take(episodes, &settings(2, MaskRules::default()), Stream::root(0));
        assert!(batch.verdicts().eq([None, None, None]));
    }

    /// An episode of two turns of two tokens, the first of which is malformed.
    fn stumbled(reward: f64) -> RolloutResult {
        let RolloutResult::Finished { mut trajectory, .. } = answered(reward) else {
            panic!("it is over");
        };
        let segment = |source, ids: &[u32]| Segment {
            ids: ids.to_vec(),
            log_probs: if source == Source::Model { vec![-0.5; ids.len()] } else { Vec::new() },
            ..Segment::text(source, "")
        };
        trajectory.segments = vec![
            segment(Source::Prompt, &[1]),
            segment(Source::Model, &[2, 3]),
            segment(Source::Environment, &[4]),
            segment(Source::Model, &[5, 6]),
        ];
        let turn = |tool: Tool| TurnRecord {
            tool,
            has_thought: true,
            outcome: None,
            seconds: 0.0,
            cached: false,
        };
        trajectory.turns = vec![turn(Tool::Malformed), turn(Tool::Act)];
        RolloutResult::Finished { trajectory, contexts: vec![vec![1, 2, 3, 4, 5, 6]] }
    }

    /// An episode of the turns [2, 3] and [6], between which a summary [8] took the place of the first turn
    /// and its observation [4]; the second one's is [7].
    fn long(reward: f64) -> RolloutResult {
        let RolloutResult::Finished { mut trajectory, .. } = stumbled(reward) else {
            panic!("it is over");
        };
        let segment = |source, ids: &[u32]| Segment {
            ids: ids.to_vec(),
            log_probs: if source == Source::Model { vec![-0.5; ids.len()] } else { Vec::new() },
            ..Segment::text(source, "")
        };
        trajectory.segments = vec![
            segment(Source::Prompt, &[1]),
            segment(Source::Model, &[2, 3]),
            segment(Source::Environment, &[4]),
            segment(Source::Model, &[6]),
            segment(Source::Environment, &[7]),
            segment(Source::Model, &[11]),
        ];
        trajectory.turns.push(trajectory.turns[1].clone());
        trajectory.summaries = vec![Summary {
            before: 5,
            replaces: vec![1, 2],
            prompt: vec![1, 2, 3, 4, 5],
            ids: vec![8],
            log_probs: vec![-0.5],
            text: String::new(),
            opens: vec![1, 8, 9],
        }];
        let contexts = vec![vec![1, 2, 3, 4, 6], vec![1, 2, 3, 4, 5, 8], vec![1, 8, 9, 6, 7, 11]];
        RolloutResult::Finished { trajectory, contexts }
    }

    #[test]
    fn trajectory_weighs_the_same_in_one_sequence_and_in_three() {
        let mut batch = Batch::default();
        let settings = settings(2, MaskRules::default());
        batch.take(vec![stumbled(0.9), long(0.1)], &settings, Stream::root(0));
        batch.check_tokens().unwrap();
        assert_eq!(
            (batch.samples.len(), batch.sampled_tokens(), batch.counts(&[0, 1])),
            (4, 9, vec![4, 5])
        );
        let trained: Vec<Vec<i64>> = batch
            .samples
            .iter()
            .map(|sample| {
                let kept = sample.ids.iter().zip(&sample.trained).filter(|(_, trained)| **trained);
                kept.map(|(id, _)| *id).collect()
            })
            .collect();
        assert_eq!(trained, [vec![2, 3, 5, 6], vec![2, 3, 6], vec![8], vec![11]]);
        let Shares { weights, advantages } = batch.shares(&[0, 1], Aggregation::SeqMeanTokenMean);
        assert_eq!(weights, [0.125, 0.1, 0.1, 0.1]);
        let [good, bad] = [batch.advantages[0], batch.advantages[1]];
        assert_eq!(advantages, [good, bad, bad, bad]);
        // One that is no part of the update weighs nothing.
        let shares = batch.shares(&[0], Aggregation::SeqMeanTokenMean);
        assert_eq!(shares.weights, [0.25, 0.0, 0.0, 0.0]);
        // A summary after which no turn was taken is the last sequence.
        let ended = &mut batch.trajectories[1];
        ended.segments.truncate(4);
        ended.summaries[0].before = 4;
        let sequences = TrainSequence::from_rollout(ended);
        let ids: Vec<&[i64]> = sequences.iter().map(|(sequence, _)| &sequence.ids[..]).collect();
        assert_eq!(ids, [&[1, 2, 3, 4, 6][..], &[1, 2, 3, 4, 5, 8]]);
        // Tokens of any sequence that the engine did not see end the run.
        batch.contexts[2].pop();
        assert!(batch.check_tokens().is_err());
    }

    #[test]
    fn good_episode_is_trained_on_without_the_turns_that_a_rule_drops() {
        let taken = |credit| {
            let settings = TrainSettings { credit, ..settings(2, MaskRules::default()) };
            let mut batch = Batch::default();
            batch.take(vec![stumbled(0.9), stumbled(0.1)], &settings, Stream::root(0));
            batch.check_tokens().unwrap();
            batch.check_credit(credit).unwrap();
            assert_eq!(batch.sampled_tokens(), 8);
            assert!((batch.entropy() - 0.5).abs() < 1e-12);
            batch
        };
        let off = taken(Credit::Off);
        assert_eq!((off.counts(&[0, 1]), off.dropped_tokens()), (vec![4, 4], 0));
        for credit in [Credit::Drop, Credit::Signed] {
            let batch = taken(credit);
            assert_eq!((batch.counts(&[0, 1]), batch.dropped_tokens()), (vec![2, 4], 2));
            assert_eq!(batch.samples[0].trained, [false, false, false, false, true, true]);
            assert_eq!(
                (batch.advantages, batch.samples[1].clone()),
                (off.advantages.clone(), off.samples[1].clone())
            );
            assert_eq!(batch.samples[0].ids, off.samples[0].ids);
        }
        // A mask that is not what the verdicts say ends the run.
        let mut faulty = taken(Credit::Drop);
        faulty.samples[0].trained[2] = true;
        let error = faulty.check_credit(Credit::Drop).unwrap_err().to_string();
        assert!(error.contains("self-check failed on task `t`"), "{error}");
    }

    #[test]
    fn episode_of_which_nothing_stays_has_no_advantage() {
        let settings = TrainSettings { credit: Credit::Drop, ..settings(2, MaskRules::default()) };
        let only_malformed = |reward| {
            let RolloutResult::Finished { mut trajectory, .. } = stumbled(reward) else {
                panic!("it is over");
            };
            trajectory.segments.truncate(2);
            trajectory.turns.truncate(1);
            RolloutResult::Finished { trajectory, contexts: vec![vec![1, 2, 3]] }
        };
        let mut batch = Batch::default();
        batch.take(vec![only_malformed(0.9), stumbled(0.1)], &settings, Stream::root(0));
        let counts = batch.episode_counts;
        assert!(counts.adds_up());
        assert_eq!((counts.trained, counts.zero_advantage), (1, 1));
        assert_eq!((batch.counts(&[0, 1]), batch.dropped_tokens()), (vec![0, 4], 2));
        batch.check_tokens().unwrap();
    }

    #[test]
    fn group_is_stuck_if_every_graded_episode_of_it_stays_below() {
        let mut batch = Batch::default();
        let episodes = vec![
            answered(0.1),
            answered(0.2),
            answered(0.1),
            answered(0.3),
            fault(),
            answered(0.2),
            fault(),
            fault(),
        ];
        batch.take(episodes, &settings(2, MaskRules::default()), Stream::root(0));
        assert_eq!(batch.stuck(0.3), [0, 2], "a reward that reaches it is not below");
        assert_eq!(batch.stuck(0.31), [0, 1, 2]);
        assert_eq!(batch.stuck(0.0), [0; 0]);
    }

    #[test]
    fn groups_without_different_rewards_are_left_out_on_request() {
        let mut batch = Batch::default();
        let episodes = vec![
            answered(0.3),
            answered(0.3),
            answered(0.1),
            answered(0.9),
            fault(),
            answered(0.5),
            answered(0.2),
            answered(0.4),
        ];
        batch.take(episodes, &settings(2, MaskRules::default()), Stream::root(0));
        assert_eq!(batch.groups(), (4, 2));
        let verdicts: Vec<Option<bool>> = batch.verdicts().collect();
        assert_eq!(verdicts, [Some(false), Some(true), None, Some(true)], "a fault says nothing");
        assert_eq!((batch.episode_counts.trained, batch.episode_counts.zero_advantage), (4, 3));
        assert!(batch.episode_counts.adds_up());
        let whole = [vec![0, 1, 2, 3, 4, 5, 6]];
        assert_eq!(batch.parts(1, false), whole);
        assert_eq!(batch.parts(2, false), [vec![0, 1, 2, 3], vec![4, 5, 6]]);
        assert_eq!(batch.parts(9, false), [vec![0, 1], vec![2, 3], vec![4], vec![5, 6]]);
        assert_eq!(batch.parts(1, true), [vec![2, 3, 5, 6]]);
        assert_eq!(batch.parts(2, true), [vec![2, 3], vec![5, 6]]);
    }
}
