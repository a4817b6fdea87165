//! Which episodes are masked out of the loss, and how the episodes of a step are counted.

use agents::trajectory::{EpisodeEnding, Tool, Trajectory, TurnRecord};
use jail::exec::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which episodes are masked out of the loss because of how they ended. An ending that the agent
/// could have avoided is trained on; one that depends on the machine is not.
///
/// | field | default | masked if |
/// | --- | --- | --- |
/// | `time_limit` | yes | a script hit its time limit, or the episode its wall time (SandMLE §4.3) |
/// | `time_limit_share` | 0 | more than this share of its tool calls hit the time limit; at 0, any |
/// | `length` | no | a turn or the conversation ran out of tokens |
/// | `turn_limit` | no | the turns were used up |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MaskRules {
    /// A script hit its time limit, or the episode its wall time.
    pub time_limit: bool,
    /// With `time_limit`: the share of an episode's tool calls, from 0 to 1, of which more must hit
    /// the time limit. At 0 a single one is enough, as the paper says; its release has 0.2.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(!skip_serializing_if)]
    pub time_limit_share: f64,
    /// A turn or the conversation ran out of tokens.
    pub length: bool,
    /// The turns were used up.
    pub turn_limit: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

impl Default for MaskRules {
    fn default() -> Self {
        Self { time_limit: true, time_limit_share: 0.0, length: false, turn_limit: false }
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
        let late = self.is_late(trajectory) || (out_of_budget && !used_up);
        let reasons = [
            (self.time_limit && late, MaskReason::TimeLimit),
            (self.length && trajectory.ending == EpisodeEnding::Tokens, MaskReason::Length),
            (self.turn_limit && out_of_budget && used_up, MaskReason::TurnLimit),
        ];
        reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }

    /// Whether enough of the episode's scripts hit their time limit.
    fn is_late(self, trajectory: &Trajectory) -> bool {
        if self.time_limit_share <= 0.0 {
            return trajectory.timed_out;
        }
        let calls = trajectory.turns.iter().filter(|turn| turn.tool != Tool::Answer).count();
        let late = |turn: &&TurnRecord| turn.outcome == Some(Outcome::TimedOut);
        let late = trajectory.turns.iter().filter(late).count();
        late as f64 > self.time_limit_share * calls as f64
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

#[cfg(test)]
mod tests {
    use super::*;
    use agents::trajectory::TRAJECTORY_VERSION;
    use serde_json::{Value, json};

    /// An episode that answered after so many calls, of which the first `late` hit the time limit.
    fn answered(calls: usize, late: usize) -> Trajectory {
        let turn = |tool: &str, is_late: bool| {
            let outcome = if is_late { json!(Outcome::TimedOut) } else { Value::Null };
            json!({"tool": tool, "has_thought": true, "outcome": outcome, "seconds": 0.0})
        };
        let mut turns: Vec<Value> = (0..calls).map(|call| turn("python", call < late)).collect();
        turns.push(turn("answer", false));
        let trajectory = json!({
            "version": TRAJECTORY_VERSION, "task": "t", "agent": "a", "attempt": 0,
            "feedback": "tier", "ending": "answered", "timed_out": late > 0, "turns": turns,
            "segments": [], "outcome": {"mle": {"grade": null, "refusal": null}},
            "reward": {"format": 0.1, "execution": 0.0, "tier": 0.0},
        });
        serde_json::from_value(trajectory).unwrap()
    }

    #[test]
    fn episodes_are_masked_by_the_share_of_calls_that_hit_the_time_limit() {
        let reason = |time_limit_share: f64, time_limit: bool, calls: usize, late: usize| {
            let rules = MaskRules { time_limit, time_limit_share, ..MaskRules::default() };
            rules.reason(&answered(calls, late), 15)
        };
        for (share, calls, late, masked) in [
            (0.0, 14, 0, false),
            (0.0, 14, 1, true),
            (0.2, 10, 2, false),
            (0.2, 10, 3, true),
            (0.2, 1, 1, true),
            (0.2, 0, 0, false),
        ] {
            let expected = masked.then_some(MaskReason::TimeLimit);
            assert_eq!(reason(share, true, calls, late), expected, "{share}, {late} of {calls}");
            assert_eq!(reason(share, false, calls, late), None);
        }
    }
}
