//! The record of one episode: who said what, token by token, how it ended and what it earned.
//!
//! Token in, token out: the ids a policy sampled are the ids it is trained on, never
//! re-tokenised. Which tokens carry gradient follows from each segment's [`Source`] and is
//! never stored beside it. Trajectories of text-only agents are the same type without ids.

use crate::reward::{Reward, RewardWeights, reward};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::Outcome;
use sandbox::env::{Feedback, Finish};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use tasks::task::TaskId;

/// The version of [`Trajectory`] that this build reads and writes.
pub const TRAJECTORY_VERSION: u32 = 1;

/// Who produced a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// System text and task description.
    Prompt,
    /// The policy. Only these tokens are trained on.
    Model,
    /// Tool output and the chat layout around it.
    Environment,
}

/// A stretch of the conversation from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Who produced it.
    pub source: Source,
    /// As text, without chat layout.
    pub text: String,
    /// As token ids, chat layout included; empty for text-only agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u32>,
    /// Natural-log probability of each id under the policy that sampled it, at its temperature;
    /// as long as `ids` for sampled segments, else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_probs: Vec<f32>,
}

impl Segment {
    /// A segment without token ids.
    pub fn text(source: Source, text: impl Into<String>) -> Self {
        Self { source, text: text.into(), ids: Vec::new(), log_probs: Vec::new() }
    }
}

/// Why an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The agent said `<answer>submission</answer>`.
    Answered,
    /// The turn or wall-time budget was used up.
    Budget,
    /// A turn or the context ran out of tokens.
    Tokens,
}

/// What happened in one turn, for reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnRecord {
    /// `python`, `score`, `answer` or `malformed`.
    pub tool: String,
    /// Whether it opened with a non-empty thought.
    pub has_thought: bool,
    /// How the script ended, if one ran.
    pub outcome: Option<String>,
    /// Wall time of the script, in seconds.
    pub seconds: f64,
}

impl TurnRecord {
    /// Whether nothing came of it: its script failed, or it could not be understood.
    pub fn failed(&self) -> bool {
        let finished = Outcome::Finished.to_string();
        self.tool == "malformed"
            || self.outcome.as_ref().is_some_and(|outcome| *outcome != finished)
    }
}

/// Part of the conversation was taken away from the agent, because the rest had no room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// The segment, by its index, before which that happened: neither it nor any later one was
    /// written with the omitted ones in view.
    pub before: usize,
    /// The segments that were taken away then, by index.
    pub segments: Vec<usize>,
}

/// One episode of one agent on one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// [`TRAJECTORY_VERSION`].
    pub version: u32,
    /// The task.
    pub task: TaskId,
    /// Who played, such as `scripted/forest` or a checkpoint's name.
    pub agent: String,
    /// Which of the agent's attempts at this task.
    pub attempt: u64,
    /// The `Score` mode in force.
    pub feedback: Feedback,
    /// The conversation, in order and in full.
    pub segments: Vec<Segment>,
    /// What of it the agent did not see any more, and from when on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omissions: Vec<Omission>,
    /// One entry per model turn.
    pub turns: Vec<TurnRecord>,
    /// Why it ended.
    pub ending: Ending,
    /// Whether a script hit its time limit. Such trajectories are left out of the policy
    /// gradient (SandMLE §4.3).
    pub timed_out: bool,
    /// The final grade or the reason there is none.
    pub finish: Finish,
    /// What it earned.
    pub reward: Reward,
}

impl Trajectory {
    /// What tells it from all others of the same run: task, agent and attempt. Files have episodes
    /// in the order in which they ended; sorted by this, the order is always the same.
    pub fn key(&self) -> (&TaskId, &str, u64) {
        (&self.task, &self.agent, self.attempt)
    }

    /// Share of turns that open with a closed, non-empty thought; 0 without turns.
    pub fn format_share(turns: &[TurnRecord]) -> f64 {
        let formatted = turns.iter().filter(|turn| turn.has_thought).count();
        if turns.is_empty() { 0.0 } else { formatted as f64 / turns.len() as f64 }
    }

    /// The reward under other weights.
    pub fn reward_under(&self, weights: &RewardWeights) -> Reward {
        reward(weights, Self::format_share(&self.turns), self.finish.grade.as_ref())
    }

    /// All token ids in order.
    pub fn ids(&self) -> Vec<u32> {
        self.segments.iter().flat_map(|segment| &segment.ids).copied().collect()
    }

    /// For each id of [`Self::ids`], whether it was sampled by the policy and so is trained on.
    pub fn mask(&self) -> Vec<bool> {
        let of = |segment: &Segment| {
            std::iter::repeat_n(segment.source == Source::Model, segment.ids.len())
        };
        self.segments.iter().flat_map(of).collect()
    }
}

/// Why a trajectory file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TrajectoryError {
    /// Unreadable or unwritable.
    #[error("failed to read or write trajectories")]
    Io(#[from] std::io::Error),
    /// A line that is not a trajectory of this version.
    #[error("`{path}` line {line} is not a version {TRAJECTORY_VERSION} trajectory")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// 1-based.
        line: usize,
        /// What serde found.
        #[source]
        source: serde_json::Error,
    },
}

/// Appends trajectories to a JSONL file and flushes them to disk.
///
/// # Errors
/// [`TrajectoryError::Io`].
pub fn append(path: &Utf8Path, trajectories: &[Trajectory]) -> Result<(), TrajectoryError> {
    let mut text = Vec::new();
    for trajectory in trajectories {
        serde_json::to_writer(&mut text, trajectory).map_err(std::io::Error::from)?;
        text.push(b'\n');
    }
    let mut file = fs_err::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(&text)?;
    Ok(file.sync_data()?)
}

/// Reads a JSONL file of trajectories. A last line without its newline is what a killed writer
/// leaves behind and is passed over.
///
/// # Errors
/// [`TrajectoryError`] for unreadable files and any other broken line.
pub fn read(path: &Utf8Path) -> Result<Vec<Trajectory>, TrajectoryError> {
    let mut reader = BufReader::new(fs_err::File::open(path)?);
    let mut trajectories = Vec::new();
    let mut text = String::new();
    while reader.read_line(&mut text)? > 0 && text.ends_with('\n') {
        let line = trajectories.len() + 1;
        let parsed = serde_json::from_str(&text);
        trajectories.push(parsed.map_err(|source| TrajectoryError::Line {
            path: path.to_owned(),
            line,
            source,
        })?);
        text.clear();
    }
    Ok(trajectories)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trajectory() -> Trajectory {
        let segment = |source, ids: &[u32]| Segment {
            source,
            text: "text".to_owned(),
            ids: ids.to_vec(),
            log_probs: if source == Source::Model { vec![-0.5; ids.len()] } else { Vec::new() },
        };
        Trajectory {
            version: TRAJECTORY_VERSION,
            task: TaskId::new("task-1").unwrap(),
            agent: "policy".to_owned(),
            attempt: 3,
            feedback: Feedback::Tier,
            segments: vec![
                segment(Source::Prompt, &[1, 2]),
                segment(Source::Model, &[3, 4, 5]),
                segment(Source::Environment, &[6]),
                segment(Source::Model, &[7]),
            ],
            omissions: Vec::new(),
            turns: Vec::new(),
            ending: Ending::Answered,
            timed_out: false,
            finish: Finish { grade: None, refusal: Some("no file".to_owned()) },
            reward: Reward { format: 0.1, execution: 0.0, tier: 0.0 },
        }
    }

    #[test]
    fn the_mask_marks_what_the_model_sampled() {
        let trajectory = trajectory();
        assert_eq!(trajectory.ids(), [1, 2, 3, 4, 5, 6, 7]);
        let trained: Vec<u32> = std::iter::zip(trajectory.ids(), trajectory.mask())
            .filter_map(|(id, trained)| trained.then_some(id))
            .collect();
        assert_eq!(trained, [3, 4, 5, 7]);
    }

    #[test]
    fn a_turn_fails_by_its_script_or_its_form() {
        let turn = |tool: &str, outcome: Option<Outcome>| TurnRecord {
            tool: tool.to_owned(),
            has_thought: true,
            outcome: outcome.map(|outcome| outcome.to_string()),
            seconds: 0.0,
        };
        let raised = Outcome::Raised { exception: "KeyError".to_owned() };
        for failed in [turn("python", Some(raised)), turn("malformed", None)] {
            assert!(failed.failed());
        }
        for fine in [turn("python", Some(Outcome::Finished)), turn("score", None)] {
            assert!(!fine.failed());
        }
    }

    #[test]
    fn files_round_trip_and_survive_a_torn_last_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("t.jsonl");
        append(&path, &[trajectory()]).unwrap();
        append(&path, &[trajectory(), trajectory()]).unwrap();
        assert_eq!(read(&path).unwrap(), vec![trajectory(); 3]);
        let mut text = fs_err::read_to_string(&path).unwrap();
        text.truncate(text.len() - 30);
        fs_err::write(&path, &text).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
        fs_err::write(&path, format!("{{}}\n{text}")).unwrap();
        assert!(matches!(read(&path), Err(TrajectoryError::Line { line: 1, .. })));
    }
}
