//! The record of one episode: the conversation, token by token, how it ended and its reward.
//!
//! Token in, token out: the ids a policy sampled are the ids it is trained on, never
//! re-tokenised. Which tokens carry gradient follows from each segment's [`Source`] and is
//! never stored beside it. Trajectories of text-only agents are the same type without ids.

use crate::reward::{Reward, RewardWeights, reward};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::Outcome;
use sandbox::env::{Action, EpisodeResult, Feedback};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use tasks::files;
use tasks::grade::Grade;
use tasks::task::TaskId;
use tasks::thresholds::BeyondGold;

/// The version of [`Trajectory`] that this build writes. It also reads version 1, in which endings
/// of scripts are text and all episodes are on MLE tasks.
pub const TRAJECTORY_VERSION: u32 = 2;

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
    /// Advice of a person to a running agent. Context; never trained on.
    Guide,
}

/// A stretch of the conversation from one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Where the text comes from.
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
pub enum EpisodeEnding {
    /// The agent sent `<answer>submission</answer>`; in other environments than MLE tasks, it
    /// answered or reached its goal.
    Answered,
    /// The turn or wall-time budget was used up.
    Budget,
    /// A turn or the context ran out of tokens.
    Tokens,
}

/// What a turn asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// The turn runs a Python script.
    Python,
    /// Feedback on the submission.
    Score,
    /// The turn ends the episode.
    Answer,
    /// A fact about the task, in scaffolds where that is asked for.
    Info,
    /// An action or an answer in an environment other than an MLE task.
    Act,
    /// Nothing that can be carried out.
    Malformed,
}

impl Tool {
    /// The tool of an action.
    pub fn of(action: &Action) -> Self {
        match action {
            Action::Python { .. } => Self::Python,
            Action::Score => Self::Score,
            Action::Answer => Self::Answer,
            Action::Malformed { .. } => Self::Malformed,
        }
    }

    /// The name as in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Score => "score",
            Self::Answer => "answer",
            Self::Info => "info",
            Self::Act => "act",
            Self::Malformed => "malformed",
        }
    }
}

/// What happened in one turn, for reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnRecord {
    /// The tool that the agent called.
    pub tool: Tool,
    /// Whether it opened with a non-empty thought.
    pub has_thought: bool,
    /// How the script ended, if one ran.
    #[serde(deserialize_with = "outcome")]
    pub outcome: Option<Outcome>,
    /// Wall time of the script, in seconds. If the reply is cached, of the run that was recorded.
    pub seconds: f64,
    /// Whether the agent got a recorded reply and nothing was run
    /// ([`CachedWorld`](crate::script_cache::CachedWorld)). Left out of files if not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl TurnRecord {
    /// Whether no script ran, or it ended by itself: no limit and no signal ended it.
    pub fn ended_by_itself(&self) -> bool {
        match self.outcome {
            None | Some(Outcome::Finished | Outcome::Raised { .. } | Outcome::Exited { .. }) => {
                true
            }
            Some(
                Outcome::TimedOut
                | Outcome::OutOfMemory
                | Outcome::DiskLimit
                | Outcome::OutputLimit
                | Outcome::Killed { .. },
            ) => false,
        }
    }

    /// Whether the turn was malformed or its script failed.
    pub fn failed(&self) -> bool {
        self.tool == Tool::Malformed
            || self.outcome.as_ref().is_some_and(|outcome| !outcome.is_finished())
    }
}

/// Reads an outcome as version 2 writes it, or as the text of version 1.
fn outcome<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Outcome>, D::Error> {
    use serde::de::Error;
    match Option::<Value>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Value::String(text)) => text.parse().map(Some).map_err(Error::custom),
        Some(value) => serde_json::from_value(value).map(Some).map_err(Error::custom),
    }
}

/// The result of an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeOutcome {
    /// Of an MLE task: the final grade, or the reason there is none.
    Mle(EpisodeResult),
    /// Of any other environment.
    World(EnvironmentVerdict),
}

/// How an environment other than an MLE task judges an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentVerdict {
    /// What is trained on, in [0, 1].
    pub reward: f64,
    /// What is reported, in the unit of the environment's metric.
    pub score: f64,
    /// Labels for tables, such as the kind of a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Further facts as JSON, shown to people only.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// One piece of advice that a person gave during the episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guidance {
    /// The segment that holds it, by index.
    pub segment: usize,
    /// Its name in the journal of the guidance server.
    pub id: String,
    /// Name of the person who gave it.
    pub by: String,
    /// The turn that it is about, from 0; `None` for the episode as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<u32>,
    /// As it was written.
    pub text: String,
    /// Seconds between its sending and its delivery to the agent.
    pub waited_seconds: f64,
}

/// A summary that took the place of earlier segments, because the context was full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The segment, by index, before which it was made.
    pub before: usize,
    /// The segments that it replaced, by index. They are among the omissions, too.
    pub replaces: Vec<usize>,
    /// Token ids of the prompt that asked for it; empty for text-only agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<u32>,
    /// Token ids of the summary; empty for text-only agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u32>,
    /// Natural-log probability of each id; as long as `ids`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_probs: Vec<f32>,
    /// The summary as text.
    pub text: String,
    /// Token ids that the agent reads from then on in the place of all segments before the first turn
    /// that is still shown: the prompt with the summary, and the advice among them. Empty for text-only
    /// agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opens: Vec<u32>,
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
#[serde(try_from = "TrajectoryFile")]
pub struct Trajectory {
    /// Version of the format, [`TRAJECTORY_VERSION`] in new files.
    pub version: u32,
    /// Name of the task that was played.
    pub task: TaskId,
    /// The agent, such as `scripted/forest` or a checkpoint's name.
    pub agent: String,
    /// Which of the agent's attempts at this task.
    pub attempt: u64,
    /// The feedback mode of the tool `Score`; `None` outside of MLE tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Whether people could advise the agent, and its prompt said so. Such an episode is never compared
    /// with one without. Left out of files if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guided: bool,
    /// The conversation, in order and in full.
    pub segments: Vec<Segment>,
    /// What of it the agent did not see any more, and from when on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omissions: Vec<Omission>,
    /// Advice of people, in the order of delivery.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<Guidance>,
    /// Summaries that the agent wrote of its own conversation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Summary>,
    /// One entry per model turn.
    pub turns: Vec<TurnRecord>,
    /// Why the episode ended.
    pub ending: EpisodeEnding,
    /// Whether a script hit its time limit. Such trajectories are left out of the policy
    /// gradient (SandMLE §4.3).
    pub timed_out: bool,
    /// The environment's result of the episode.
    pub outcome: EpisodeOutcome,
    /// The reward, in its parts.
    pub reward: Reward,
}

/// A trajectory of version 1 or 2 as it is on disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrajectoryFile {
    version: u32,
    task: TaskId,
    agent: String,
    attempt: u64,
    feedback: Option<Feedback>,
    #[serde(default)]
    guided: bool,
    segments: Vec<Segment>,
    #[serde(default)]
    omissions: Vec<Omission>,
    #[serde(default)]
    guidance: Vec<Guidance>,
    #[serde(default)]
    summaries: Vec<Summary>,
    turns: Vec<TurnRecord>,
    ending: EpisodeEnding,
    timed_out: bool,
    outcome: Option<EpisodeOutcome>,
    /// What version 1 has in place of `outcome`.
    finish: Option<EpisodeResult>,
    reward: Reward,
}

impl TryFrom<TrajectoryFile> for Trajectory {
    type Error = String;
    fn try_from(raw: TrajectoryFile) -> Result<Self, String> {
        let outcome = match (raw.version, raw.outcome, raw.finish) {
            (1, None, Some(finish)) => EpisodeOutcome::Mle(finish),
            (TRAJECTORY_VERSION, Some(outcome), None) => outcome,
            (1, ..) => return Err("version 1 has `finish` and no `outcome`".to_owned()),
            (TRAJECTORY_VERSION, ..) => {
                return Err("version 2 has `outcome` and no `finish`".to_owned());
            }
            (version, ..) => {
                return Err(format!("version {version} is neither 1 nor {TRAJECTORY_VERSION}"));
            }
        };
        Ok(Self {
            version: TRAJECTORY_VERSION,
            task: raw.task,
            agent: raw.agent,
            attempt: raw.attempt,
            feedback: raw.feedback,
            guided: raw.guided,
            segments: raw.segments,
            omissions: raw.omissions,
            guidance: raw.guidance,
            summaries: raw.summaries,
            turns: raw.turns,
            ending: raw.ending,
            timed_out: raw.timed_out,
            outcome,
            reward: raw.reward,
        })
    }
}

impl Trajectory {
    /// Task, agent and attempt, which are unique within a run. Files have episodes in the order in
    /// which they ended; sorted by this key, the order is always the same.
    pub fn key(&self) -> (&TaskId, &str, u64) {
        (&self.task, &self.agent, self.attempt)
    }

    /// Share of turns that open with a closed, non-empty thought; 0 without turns.
    pub fn format_share(turns: &[TurnRecord]) -> f64 {
        let formatted = turns.iter().filter(|turn| turn.has_thought).count();
        if turns.is_empty() { 0.0 } else { formatted as f64 / turns.len() as f64 }
    }

    /// The grade of the final submission; `None` without a valid one, and outside of MLE tasks.
    pub fn grade(&self) -> Option<&Grade> {
        match &self.outcome {
            EpisodeOutcome::Mle(finish) => finish.grade.as_ref(),
            EpisodeOutcome::World(_) => None,
        }
    }

    /// Why there is no grade; `None` where there is one, and outside of MLE tasks.
    pub fn refusal(&self) -> Option<&str> {
        match &self.outcome {
            EpisodeOutcome::Mle(finish) => finish.refusal.as_deref(),
            EpisodeOutcome::World(_) => None,
        }
    }

    /// The environment's verdict, outside of MLE tasks.
    pub fn verdict(&self) -> Option<&EnvironmentVerdict> {
        match &self.outcome {
            EpisodeOutcome::Mle(_) => None,
            EpisodeOutcome::World(verdict) => Some(verdict),
        }
    }

    /// The reward under other weights, on a task with this way above gold. Outside of MLE tasks it
    /// does not depend on either.
    pub fn reward_under(&self, weights: &RewardWeights, way: Option<&BeyondGold>) -> Reward {
        match &self.outcome {
            EpisodeOutcome::Mle(finish) => {
                reward(weights, Self::format_share(&self.turns), finish.grade.as_ref(), way)
            }
            EpisodeOutcome::World(_) => self.reward,
        }
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
    /// The file could not be read or written.
    #[error("failed to read or write trajectories")]
    Io(#[from] std::io::Error),
    /// A line that is not a trajectory.
    #[error("`{path}` line {line} is not a trajectory of version 1 or {TRAJECTORY_VERSION}")]
    Line {
        /// Path of the trajectory file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Where the JSON cannot be parsed.
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

/// Reads the trajectories of an earlier start, and removes a torn last line, so that more can be
/// appended. Empty without a file.
///
/// # Errors
/// [`TrajectoryError`].
pub fn resume(path: &Utf8Path) -> Result<Vec<Trajectory>, TrajectoryError> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    files::remove_torn_line(path)?;
    read(path)
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
            feedback: Some(Feedback::Tier),
            guided: false,
            segments: vec![
                segment(Source::Prompt, &[1, 2]),
                segment(Source::Model, &[3, 4, 5]),
                segment(Source::Environment, &[6]),
                segment(Source::Model, &[7]),
            ],
            omissions: Vec::new(),
            guidance: Vec::new(),
            summaries: Vec::new(),
            turns: Vec::new(),
            ending: EpisodeEnding::Answered,
            timed_out: false,
            outcome: EpisodeOutcome::Mle(EpisodeResult {
                grade: None,
                refusal: Some("no file".to_owned()),
            }),
            reward: Reward { format: 0.1, execution: 0.0, tier: 0.0, beyond: 0.0 },
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
        let turn = |tool, outcome| TurnRecord {
            tool,
            has_thought: true,
            outcome,
            seconds: 0.0,
            cached: false,
        };
        let raised = Outcome::Raised { exception: "KeyError".to_owned() };
        for failed in [turn(Tool::Python, Some(raised)), turn(Tool::Malformed, None)] {
            assert!(failed.failed());
        }
        for fine in [turn(Tool::Python, Some(Outcome::Finished)), turn(Tool::Score, None)] {
            assert!(!fine.failed());
        }
    }

    #[test]
    fn cached_is_written_only_of_a_cached_turn() {
        let text = r#"{"tool":"score","has_thought":true,"outcome":null,"seconds":0.0}"#;
        let turn: TurnRecord = serde_json::from_str(text).unwrap();
        assert!(!turn.cached);
        assert_eq!(serde_json::to_string(&turn).unwrap(), text);
        let cached = serde_json::to_string(&TurnRecord { cached: true, ..turn }).unwrap();
        assert!(cached.contains(r#""cached":true"#), "{cached}");
        assert!(serde_json::from_str::<TurnRecord>(&cached).unwrap().cached);
    }

    #[test]
    fn version_1_is_read_as_version_2_and_other_versions_are_refused() {
        let text = r#"{
            "version": 1, "task": "task-1", "agent": "policy", "attempt": 3, "feedback": "tier",
            "segments": [{"source": "prompt", "text": "text", "ids": [1, 2]}],
            "turns": [
                {"tool": "python", "has_thought": true, "outcome": "raised KeyError", "seconds": 1.5},
                {"tool": "score", "has_thought": false, "outcome": null, "seconds": 0.0}
            ],
            "ending": "answered", "timed_out": false,
            "finish": {"grade": null, "refusal": "no file"},
            "reward": {"format": 0.1, "execution": 0.0, "tier": 0.0}
        }"#;
        let read: Trajectory = serde_json::from_str(text).unwrap();
        let raised = Outcome::Raised { exception: "KeyError".to_owned() };
        assert_eq!(read.version, TRAJECTORY_VERSION);
        assert_eq!(read.turns[0].outcome, Some(raised));
        assert_eq!((read.turns[1].tool, &read.turns[1].outcome), (Tool::Score, &None));
        assert_eq!((read.grade(), read.refusal()), (None, Some("no file")));
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Trajectory>(&written).unwrap(), read);
        for (from, to, message) in [
            ("\"version\": 1", "\"version\": 3", "version 3 is neither 1 nor 2"),
            ("\"version\": 1", "\"version\": 2", "version 2 has `outcome` and no `finish`"),
            ("raised KeyError", "exploded", "`exploded` is not an outcome"),
        ] {
            let refused = serde_json::from_str::<Trajectory>(&text.replace(from, to)).unwrap_err();
            assert!(refused.to_string().contains(message), "{refused}");
        }
    }

    #[test]
    fn guided_trajectory_says_what_was_heard_and_an_unguided_one_is_written_as_ever() {
        let plain = serde_json::to_string(&trajectory()).unwrap();
        assert!(!plain.contains("guid"), "{plain}");
        let mut guided = Trajectory { guided: true, ..trajectory() };
        guided
            .segments
            .insert(3, Segment { ids: vec![9], ..Segment::text(Source::Guide, "Look.") });
        guided.guidance.push(Guidance {
            segment: 3,
            id: "a1".to_owned(),
            by: "ann".to_owned(),
            about: Some(0),
            text: "Look.".to_owned(),
            waited_seconds: 2.5,
        });
        let text = serde_json::to_string(&guided).unwrap();
        assert_eq!(serde_json::from_str::<Trajectory>(&text).unwrap(), guided);
        let trained = std::iter::zip(guided.ids(), guided.mask()).filter(|(_, trained)| *trained);
        assert_eq!(trained.map(|(id, _)| id).collect::<Vec<_>>(), [3, 4, 5, 7]);
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
