//! The episodes of one step, with what the update needs to know about each.

use super::mask::Tally;
use super::{Summary, TrainError, TrainSettings};
use crate::rollout::Played;
use crate::train::advantage::{Standing, advantages};
use crate::train::batch::Sample;
use crate::train::sample::sampled;
use agents::trajectory::Trajectory;
use std::ops::Range;

/// Episodes of one step as the trainer sees them, group after group; broken ones are only counted.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) trajectories: Vec<Trajectory>,
    pub(super) contexts: Vec<Vec<i64>>,
    pub(super) samples: Vec<Sample>,
    /// What the sampler reported.
    pub(super) log_probs: Vec<Vec<f32>>,
    pub(super) standings: Vec<Standing>,
    pub(super) advantages: Vec<f64>,
    pub(super) tally: Tally,
    pub(super) last_fault: String,
    groups: Vec<Group>,
}

/// The episodes of one task.
struct Group {
    members: Range<usize>,
    /// Whether their rewards differ: the others teach nothing.
    mixed: bool,
}

impl Batch {
    /// Takes in the groups of episodes that were played, in order.
    pub(super) fn take(&mut self, played: Vec<Played>, settings: &TrainSettings) {
        let mut played = played.into_iter().peekable();
        while played.peek().is_some() {
            self.take_group(played.by_ref().take(settings.group), settings);
        }
    }

    fn take_group(&mut self, played: impl Iterator<Item = Played>, settings: &TrainSettings) {
        let first = self.samples.len();
        let mut group = Vec::new();
        for episode in played {
            self.tally.played += 1;
            match episode {
                Played::Finished { trajectory, context } => {
                    let turns = settings.rules.episode.budget.turns;
                    let reason = settings.mask.reason(&trajectory, turns);
                    let standing = match reason {
                        Some(_) => Standing::Masked,
                        None => Standing::Counted,
                    };
                    if let Some(reason) = reason {
                        self.tally.mask(reason);
                    }
                    group.push((trajectory.reward.total(), standing));
                    let (sample, log_probs) = sampled(&trajectory);
                    self.samples.push(sample);
                    self.log_probs.push(log_probs);
                    self.standings.push(standing);
                    self.contexts.push(context);
                    self.trajectories.push(*trajectory);
                }
                Played::Fault { task, fault } => {
                    group.push((0.0, Standing::Dropped));
                    self.tally.dropped += 1;
                    self.last_fault = crate::run::chain(&fault);
                    tracing::warn!(%task, fault = self.last_fault, "an episode broke and is dropped");
                }
            }
        }
        let advantages = advantages(&group, settings.normalisation);
        let mut mixed = false;
        for (advantage, (_, standing)) in advantages.into_iter().zip(&group) {
            if *standing == Standing::Dropped {
                continue;
            }
            self.advantages.push(advantage);
            if *standing == Standing::Counted {
                let teaches = advantage.abs() > 0.0;
                mixed |= teaches;
                let count =
                    if teaches { &mut self.tally.trained } else { &mut self.tally.zero_advantage };
                *count += 1;
            }
        }
        self.groups.push(Group { members: first..self.samples.len(), mixed });
    }

    /// How many groups were played, and in how many of them rewards differ.
    pub(super) fn groups(&self) -> (usize, usize) {
        (self.groups.len(), self.groups.iter().filter(|group| group.mixed).count())
    }

    /// The episodes of each of (at most) `count` updates, groups whole and in order; only those of
    /// mixed groups if `only_mixed`.
    pub(super) fn parts(&self, count: usize, only_mixed: bool) -> Vec<Vec<usize>> {
        let chosen: Vec<&Group> =
            self.groups.iter().filter(|group| group.mixed || !only_mixed).collect();
        let size = chosen.len().div_ceil(count.max(1)).max(1);
        chosen
            .chunks(size)
            .map(|groups| groups.iter().flat_map(|group| group.members.clone()).collect())
            .collect()
    }

    /// Sampled tokens, trained on or not.
    pub(super) fn sampled_tokens(&self) -> usize {
        self.log_probs.iter().map(Vec::len).sum()
    }

    pub(super) fn summary(&self) -> Option<Summary> {
        (!self.trajectories.is_empty()).then(|| Summary::of(&self.trajectories, self.tally.dropped))
    }

    pub(super) fn entropy(&self) -> f64 {
        let sum: f64 = self.log_probs.iter().flatten().map(|&log_prob| f64::from(log_prob)).sum();
        -sum / self.sampled_tokens().max(1) as f64
    }

    /// The engine's own account of each conversation against what will be trained on, and the
    /// sampler's log-probabilities against the mask.
    pub(super) fn check_tokens(&self) -> Result<(), TrainError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::grpo::Mask;
    use crate::train::presets::Scale;
    use agents::trajectory::{Ending, TRAJECTORY_VERSION};
    use sandbox::env::EpisodeFault;
    use sandbox::task::TaskId;

    const TURNS: u32 = 3;

    fn settings(group: usize, mask: Mask) -> TrainSettings {
        let mut settings = TrainSettings { group, mask, ..TrainSettings::defaults(Scale::Tiny) };
        settings.rules.episode.budget.turns = TURNS;
        settings
    }

    fn played(reward: f64, ending: Ending, turns: u32, timed_out: bool) -> Played {
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
            "finish": {"grade": null, "refusal": null},
            "reward": {"format": reward, "execution": 0.0, "tier": 0.0},
        }));
        Played::Finished { trajectory: Box::new(trajectory.unwrap()), context: vec![1, 2] }
    }

    fn answered(reward: f64) -> Played {
        played(reward, Ending::Answered, 1, false)
    }

    fn fault() -> Played {
        Played::Fault { task: TaskId::new("t").unwrap(), fault: EpisodeFault::Over }
    }

    #[test]
    fn every_episode_is_in_one_place() {
        let endings = || {
            vec![
                answered(0.1),
                played(0.9, Ending::Answered, 1, true),
                played(0.8, Ending::Budget, TURNS - 1, false),
                played(0.7, Ending::Tokens, 1, false),
                played(0.6, Ending::Budget, TURNS, false),
                fault(),
                answered(0.2),
            ]
        };
        let all = Mask { time_limit: true, length: true, turn_limit: true };
        let none = Mask { time_limit: false, length: false, turn_limit: false };
        for (mask, trained, masked) in
            [(all, 2, [2, 1, 1]), (none, 6, [0, 0, 0]), (Mask::default(), 4, [2, 0, 0])]
        {
            let mut batch = Batch::default();
            batch.take(endings(), &settings(7, mask));
            let tally = batch.tally;
            assert!(tally.adds_up(), "{tally:?}");
            assert_eq!((tally.played, tally.dropped, tally.zero_advantage), (7, 1, 0));
            assert_eq!(tally.trained, trained, "{mask:?}");
            let found = [tally.masked_time_limit, tally.masked_length, tally.masked_turn_limit];
            assert_eq!(found, masked, "{mask:?}");
        }
    }

    #[test]
    fn groups_that_teach_nothing_stay_out_of_the_update_on_request() {
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
        batch.take(episodes, &settings(2, Mask::default()));
        assert_eq!(batch.groups(), (4, 2));
        assert_eq!((batch.tally.trained, batch.tally.zero_advantage), (4, 3));
        assert!(batch.tally.adds_up());
        let whole = [vec![0, 1, 2, 3, 4, 5, 6]];
        assert_eq!(batch.parts(1, false), whole);
        assert_eq!(batch.parts(2, false), [vec![0, 1, 2, 3], vec![4, 5, 6]]);
        assert_eq!(batch.parts(9, false), [vec![0, 1], vec![2, 3], vec![4], vec![5, 6]]);
        assert_eq!(batch.parts(1, true), [vec![2, 3, 5, 6]]);
        assert_eq!(batch.parts(2, true), [vec![2, 3], vec![5, 6]]);
    }
}
