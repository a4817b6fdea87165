//! Which episodes are masked out of the loss, and how the episodes of a step are counted.

use agents::trajectory::{EpisodeEnding, Trajectory};
use serde::{Deserialize, Serialize};

/// Which episodes are masked out of the loss because of how they ended. An ending that the agent
/// could have avoided is trained on; one that depends on the machine is not.
///
/// | field | default | masked if |
/// | --- | --- | --- |
/// | `time_limit` | yes | a script hit its time limit, or the episode its wall time (SandMLE §4.3) |
/// | `length` | no | a turn or the conversation ran out of tokens |
/// | `turn_limit` | no | the turns were used up |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MaskRules {
    /// A script hit its time limit, or the episode its wall time.
    pub time_limit: bool,
    /// A turn or the conversation ran out of tokens.
    pub length: bool,
    /// The turns were used up.
    pub turn_limit: bool,
}

impl Default for MaskRules {
    fn default() -> Self {
        Self { time_limit: true, length: false, turn_limit: false }
    }
}

/// Why an episode is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaskReason {
    TimeLimit,
    Length,
    TurnLimit,
}

impl MaskRules {
    /// Why `trajectory` is masked, if it is; `turns` are all that an episode has. Of several
    /// reasons the first in the order of [`MaskRules`] counts.
    pub(super) fn reason(self, trajectory: &Trajectory, turns: u32) -> Option<MaskReason> {
        let used_up = trajectory.turns.len() >= turns as usize;
        let out_of_budget = trajectory.ending == EpisodeEnding::Budget;
        let late = trajectory.timed_out || (out_of_budget && !used_up);
        let reasons = [
            (self.time_limit && late, MaskReason::TimeLimit),
            (self.length && trajectory.ending == EpisodeEnding::Tokens, MaskReason::Length),
            (self.turn_limit && out_of_budget && used_up, MaskReason::TurnLimit),
        ];
        reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }
}

/// How many episodes of a step were trained on, masked or dropped; each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EpisodeCounts {
    /// All episodes of the step: the sum of the other fields.
    pub(super) played: usize,
    /// Episodes with an advantage other than zero.
    pub(super) trained: usize,
    /// Episodes without an advantage: all rewards of the group are the same, or no other counts.
    pub(super) zero_advantage: usize,
    pub(super) masked_time_limit: usize,
    pub(super) masked_length: usize,
    pub(super) masked_turn_limit: usize,
    /// Episodes that an infrastructure error ended.
    pub(super) dropped: usize,
}

impl EpisodeCounts {
    pub(super) fn mask(&mut self, reason: MaskReason) {
        *match reason {
            MaskReason::TimeLimit => &mut self.masked_time_limit,
            MaskReason::Length => &mut self.masked_length,
            MaskReason::TurnLimit => &mut self.masked_turn_limit,
        } += 1;
    }

    /// Whether every episode is counted exactly once.
    pub(super) fn adds_up(&self) -> bool {
        let masked = self.masked_time_limit + self.masked_length + self.masked_turn_limit;
        self.played == self.trained + self.zero_advantage + masked + self.dropped
    }
}
