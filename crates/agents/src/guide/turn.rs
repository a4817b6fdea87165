//! What an agent tells of itself: how a conversation opens, its turns, its end.

use crate::linear::guidance::thought_and_action;
use crate::run::journal::{AgentEnd, Blobs, JournalError};
use crate::run::node::BlobHash;
use crate::trajectory::{EpisodeEnding, EpisodeOutcome, Tool, Trajectory, TurnRecord};
use jail::exec::Outcome;
use llm::{Message, Role};
use sandbox::env::Feedback;
use serde::{Deserialize, Serialize};
use std::io;
use tasks::grade::Grade;
use tasks::task::TaskId;

/// Longest text that stands in the journal itself, in bytes; longer ones are blobs.
const INLINE: usize = 4 << 10;

/// How a conversation opens: all that an annotator needs to know of it before the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The task that is played.
    pub task: TaskId,
    /// The agent, such as `react/NAME`.
    pub agent: String,
    /// Which of the agent's attempts at this task.
    pub attempt: u64,
    /// Most turns.
    pub turns: u32,
    /// Most time, in seconds.
    pub seconds: u64,
    /// What the agent is told of the test rows; `None` outside of MLE tasks.
    pub feedback: Option<Feedback>,
    /// The messages that the agent reads before its first turn.
    pub prompt: Vec<Message>,
}

/// One turn of an agent, with what it was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnReport {
    /// What the agent thought, with the marks around it; empty if it did not think.
    pub thought: String,
    /// What it did: the rest of what it wrote. Thought and action together are its text, to the
    /// character.
    pub action: String,
    /// What it read in return; `None` of a turn that ended the run.
    pub observation: Option<String>,
    /// What happened.
    pub record: TurnRecord,
    /// Earlier turns, from 0, that the agent was no longer shown when it took this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<u32>,
    /// Summaries that the agent wrote of earlier turns since the turn before. It reads the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<TurnSummary>,
}

/// A summary that an agent wrote of its turns, and that it reads in their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnSummary {
    /// The turns, from 0, in order. It was written with these, and the summary before it, in view.
    pub replaces: Vec<u32>,
    /// What asked for it.
    pub request: String,
    /// The summary.
    pub text: String,
}

impl TurnReport {
    /// A turn whose text is `text`.
    pub fn new(
        text: &str,
        observation: Option<String>,
        record: TurnRecord,
        left_out: Vec<u32>,
    ) -> Self {
        let (thought, action) = thought_and_action(text);
        let (thought, action) = (thought.to_owned(), action.to_owned());
        let summaries = Vec::new();
        Self { thought, action, observation, record, left_out, summaries }
    }

    /// What the agent wrote, to the character.
    pub fn text(&self) -> String {
        format!("{}{}", self.thought, self.action)
    }
}

/// How a conversation ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Why, in a word such as `answered`.
    pub ending: String,
    /// The final grade.
    pub grade: Option<Grade>,
    /// Why there is none.
    pub refusal: Option<String>,
}

impl End {
    /// That of an episode that could have `turns` turns.
    pub fn of(trajectory: &Trajectory, turns: u32) -> Self {
        let ending = match trajectory.ending {
            EpisodeEnding::Answered => AgentEnd::Answered,
            EpisodeEnding::Tokens => AgentEnd::Context,
            EpisodeEnding::Budget if trajectory.turns.len() >= turns as usize => AgentEnd::Steps,
            EpisodeEnding::Budget => AgentEnd::Time,
        };
        let (grade, refusal) = match &trajectory.outcome {
            EpisodeOutcome::Mle(result) => (result.grade, result.refusal.clone()),
            EpisodeOutcome::World(_) => (None, None),
        };
        Self { ending: ending.name(), grade, refusal }
    }
}

/// A text of the journal: itself, or a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredText {
    /// At most 4 KiB.
    Inline(String),
    /// Longer.
    Blob {
        /// Where it is.
        blob: BlobHash,
        /// Its length.
        bytes: u64,
    },
}

impl StoredText {
    /// Stores `text`.
    pub(super) fn put(text: String, blobs: &Blobs) -> io::Result<Self> {
        if text.len() <= INLINE {
            return Ok(Self::Inline(text));
        }
        let bytes = text.len() as u64;
        Ok(Self::Blob { blob: blobs.put(text.as_bytes())?, bytes })
    }

    /// The text.
    ///
    /// # Errors
    /// [`JournalError::Blob`] if its blob is missing or was changed.
    pub fn read(&self, blobs: &Blobs) -> Result<String, JournalError> {
        match self {
            Self::Inline(text) => Ok(text.clone()),
            Self::Blob { blob, .. } => blobs.text(blob),
        }
    }
}

/// A message of the prompt, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredMessage {
    /// Its author.
    pub role: Role,
    /// Its text.
    pub text: StoredText,
}

/// An [`Opening`] as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredOpening {
    /// The task that is played.
    pub task: TaskId,
    /// The agent.
    pub agent: String,
    /// Which of the agent's attempts at this task.
    pub attempt: u64,
    /// Most turns.
    pub turns: u32,
    /// Most time, in seconds.
    pub seconds: u64,
    /// What the agent is told of the test rows.
    pub feedback: Option<Feedback>,
    /// What it reads before its first turn.
    pub prompt: Vec<StoredMessage>,
}

impl StoredOpening {
    pub(super) fn put(opening: Opening, blobs: &Blobs) -> io::Result<Self> {
        let Opening { task, agent, attempt, turns, seconds, feedback, prompt } = opening;
        let prompt = prompt.into_iter().map(|message| {
            let text = StoredText::put(message.content, blobs)?;
            Ok(StoredMessage { role: message.role, text })
        });
        let prompt = prompt.collect::<io::Result<_>>()?;
        Ok(Self { task, agent, attempt, turns, seconds, feedback, prompt })
    }
}

/// A [`TurnReport`] as the journal has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredTurn {
    /// Its number, from 0.
    pub turn: u32,
    /// What the agent thought.
    pub thought: StoredText,
    /// What it did.
    pub action: StoredText,
    /// What it read in return.
    pub observation: Option<StoredText>,
    /// What happened.
    pub record: TurnRecord,
    /// Earlier turns that it was no longer shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<u32>,
    /// Summaries of earlier turns that it wrote since the turn before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<StoredSummary>,
}

/// A [`TurnSummary`] as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSummary {
    /// The turns that it is of.
    pub replaces: Vec<u32>,
    /// What asked for it.
    pub request: StoredText,
    /// The summary.
    pub text: StoredText,
}

impl StoredSummary {
    fn put(summary: TurnSummary, blobs: &Blobs) -> io::Result<Self> {
        let TurnSummary { replaces, request, text } = summary;
        let (request, text) = (StoredText::put(request, blobs)?, StoredText::put(text, blobs)?);
        Ok(Self { replaces, request, text })
    }

    /// It, with its texts.
    ///
    /// # Errors
    /// [`JournalError::Blob`] if one is missing or was changed.
    pub fn read(&self, blobs: &Blobs) -> Result<TurnSummary, JournalError> {
        let (request, text) = (self.request.read(blobs)?, self.text.read(blobs)?);
        Ok(TurnSummary { replaces: self.replaces.clone(), request, text })
    }
}

impl StoredTurn {
    pub(super) fn put(turn: u32, report: TurnReport, blobs: &Blobs) -> io::Result<Self> {
        let TurnReport { thought, action, observation, record, left_out, summaries } = report;
        let summaries = summaries.into_iter().map(|summary| StoredSummary::put(summary, blobs));
        Ok(Self {
            turn,
            thought: StoredText::put(thought, blobs)?,
            action: StoredText::put(action, blobs)?,
            observation: observation.map(|text| StoredText::put(text, blobs)).transpose()?,
            record,
            left_out,
            summaries: summaries.collect::<io::Result<_>>()?,
        })
    }

    /// What happened, in a few words for lists.
    pub fn headline(&self) -> String {
        let outcome = match &self.record.outcome {
            Some(Outcome::Finished) | None => String::new(),
            Some(outcome) => format!(": {outcome}"),
        };
        let tool = match self.record.tool {
            Tool::Python => "script",
            other => other.name(),
        };
        format!("{tool}{outcome}")
    }
}
