//! One verdict on one turn, as files have it.

use super::rules::Rule;
use crate::guide::event::{TurnPart, Verdict};
use serde::{Deserialize, Serialize};
use tasks::task::TaskId;

/// The version of [`VerdictRecord`] that this build reads and writes.
pub const VERDICTS_VERSION: u32 = 1;

/// Which run a verdict is on: task, agent and attempt, as its trajectory has them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrajectoryKey {
    /// The task.
    pub task: TaskId,
    /// The agent.
    pub agent: String,
    /// Which of its attempts.
    pub attempt: u64,
}

/// Who says so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictSource {
    /// A rule.
    Rule(Rule),
    /// A model, by name.
    Judge(String),
    /// A person, by name.
    Person(String),
}

/// A line of `verdicts.jsonl`: what somebody says of a turn as an example to learn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRecord {
    /// Version of the format, [`VERDICTS_VERSION`] in this build.
    pub version: u32,
    /// The run.
    pub trajectory: TrajectoryKey,
    /// The turn, from 0.
    pub turn: u32,
    /// Which part of it. Rules and judges judge whole turns.
    #[serde(default, skip_serializing_if = "TurnPart::is_whole")]
    pub part: TurnPart,
    /// The verdict. A judge that could not decide says so; a person takes back what they said.
    pub verdict: Verdict,
    /// Whose it is.
    pub by: VerdictSource,
    /// Why.
    pub reason: String,
    /// Its place among verdicts of its kind: of a person's, the `seq` of the event in the journal; of a
    /// judge's, the line of its file; 0 of a rule's. Where several of a kind are on the same turn, the
    /// highest counts.
    pub seq: u64,
}
