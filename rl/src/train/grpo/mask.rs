//! Which endings are left out of the gradient, and how the episodes of a step are accounted for.

use agents::trajectory::{Ending, Trajectory};
use serde::{Deserialize, Serialize};

/// Which episodes are masked: left out of the gradient because of how they ended. What an agent
/// could have avoided should teach; what depends on the machine should not.
///
/// | field | default | masked if |
/// | --- | --- | --- |
/// | `time_limit` | yes | a script hit its time limit, or the episode its wall time (SandMLE §4.3) |
/// | `length` | no | a turn or the conversation ran out of tokens |
/// | `turn_limit` | no | the turns were used up |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mask {
    /// A script hit its time limit, or the episode its wall time.
    pub time_limit: bool,
    /// A turn or the conversation ran out of tokens.
    pub length: bool,
    /// The turns were used up.
    pub turn_limit: bool,
}

impl Default for Mask {
    fn default() -> Self {
        Self { time_limit: true, length: false, turn_limit: false }
    }
}

/// Why an episode is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    TimeLimit,
    Length,
    TurnLimit,
}

impl Mask {
    /// Why `trajectory` is masked, if it is; `turns` are all that an episode has. Of several
    /// reasons the first in the order of [`Mask`] counts.
    pub(super) fn reason(self, trajectory: &Trajectory, turns: u32) -> Option<Reason> {
        let used_up = trajectory.turns.len() >= turns as usize;
        let out_of_budget = trajectory.ending == Ending::Budget;
        let late = trajectory.timed_out || (out_of_budget && !used_up);
        let reasons = [
            (self.time_limit && late, Reason::TimeLimit),
            (self.length && trajectory.ending == Ending::Tokens, Reason::Length),
            (self.turn_limit && out_of_budget && used_up, Reason::TurnLimit),
        ];
        reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }
}

/// What became of every episode of a step: none is silently zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// All of them; the sum of the others.
    pub(super) played: usize,
    /// With an advantage: they teach.
    pub(super) trained: usize,
    /// As good as their group, or alone in it.
    pub(super) zero_advantage: usize,
    pub(super) masked_time_limit: usize,
    pub(super) masked_length: usize,
    pub(super) masked_turn_limit: usize,
    /// Broken by faults of ours, and dropped.
    pub(super) dropped: usize,
}

impl Tally {
    pub(super) fn mask(&mut self, reason: Reason) {
        *match reason {
            Reason::TimeLimit => &mut self.masked_time_limit,
            Reason::Length => &mut self.masked_length,
            Reason::TurnLimit => &mut self.masked_turn_limit,
        } += 1;
    }

    /// Whether every episode is in exactly one place.
    pub(super) fn adds_up(&self) -> bool {
        let masked = self.masked_time_limit + self.masked_length + self.masked_turn_limit;
        self.played == self.trained + self.zero_advantage + masked + self.dropped
    }
}
