//! A conversation with its texts, for what judges turns and makes samples of them.
//!
//! `journal -> transcript -> verdicts -> samples`
//!
//! It is read from the disk and changes nothing there, so another process may be serving the store.

use super::conversation::{Conversation, VerdictBy};
use super::error::StoreError;
use super::event::{Event, EventLine};
use super::guidance::{DeliveredGuidance, PostedGuidance};
use super::ids::{ConversationId, GuidanceId};
use super::store::read_journal;
use super::turn::{End, Opening, StoredMessage, StoredTurn, TurnReport};
use crate::run::journal::{Blobs, JournalError};
use crate::script::code_of_turn;
use crate::trajectory::{Source, Tool, Trajectory};
use camino::Utf8Path;
use llm::{Message, Role};
use std::collections::BTreeMap;

/// Why a transcript could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The store or the journal cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A text of the journal is missing.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A conversation with its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Its name.
    pub id: ConversationId,
    /// How it opened.
    pub opening: Opening,
    /// The turns so far, in order.
    pub turns: Vec<TranscriptTurn>,
    /// Every piece of guidance, in the order in which they were posted, retracted ones included.
    pub guidance: Vec<PostedGuidance>,
    /// The latest verdict of each person on each part of a turn.
    pub verdicts: Vec<VerdictBy>,
    /// How it ended, if it did.
    pub end: Option<End>,
}

/// A turn with its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptTurn {
    /// What was told of it.
    pub report: TurnReport,
    /// The script that it ran, if it ran one that can be read from its text.
    pub code: Option<String>,
    /// Guidance that the agent read after it and before the next one, in order. How long a piece waited
    /// is by the clock of the journal.
    pub heard: Vec<DeliveredGuidance>,
}

impl TranscriptTurn {
    /// A turn that was told, after which no guidance was read.
    pub fn new(report: TurnReport) -> Self {
        let is_script = report.record.tool == Tool::Python;
        let code = is_script.then(|| code_of_turn(&report.text())).flatten();
        Self { report, code, heard: Vec::new() }
    }
}

impl Transcript {
    /// Reads the conversation `id` of the store in a folder.
    ///
    /// # Errors
    /// [`TranscriptError`].
    pub fn read(store: &Utf8Path, id: &ConversationId) -> Result<Self, TranscriptError> {
        let lines = read_journal(store, id)?;
        let sent = sending_times(&lines);
        let conversation = Conversation::fold_at(store, id, lines)?;
        Ok(Self::of(conversation, &sent, &Blobs::new(store))?)
    }

    fn of(
        conversation: Conversation,
        sent: &BTreeMap<GuidanceId, u64>,
        blobs: &Blobs,
    ) -> Result<Self, JournalError> {
        let Conversation { id, opening, turns, guidance, heard, verdicts, end, .. } = conversation;
        let turns = turns.into_all();
        let mut read = Vec::with_capacity(turns.len());
        for (number, turn) in (0..).zip(turns) {
            let pieces = heard.get(&(number + 1)).into_iter().flatten();
            let pieces = pieces.filter_map(|seq| guidance.get(seq));
            let heard = pieces.map(|piece| piece.delivered(sent.get(&piece.id).copied())).collect();
            read.push(TranscriptTurn { heard, ..TranscriptTurn::new(report(turn, blobs)?) });
        }
        let message = |message: StoredMessage| {
            Ok::<_, JournalError>(Message::new(message.role, message.text.read(blobs)?))
        };
        let opening = Opening {
            task: opening.task,
            agent: opening.agent,
            attempt: opening.attempt,
            turns: opening.turns,
            seconds: opening.seconds,
            feedback: opening.feedback,
            prompt: opening.prompt.into_iter().map(message).collect::<Result<_, _>>()?,
        };
        let (guidance, verdicts) =
            (guidance.into_values().collect(), verdicts.into_values().collect());
        Ok(Self { id, opening, turns: read, guidance, verdicts, end })
    }

    /// An episode as a conversation in which nobody judged anything, for rules that judge turns. A turn that
    /// was cut off before it could be carried out is none.
    ///
    /// # Examples
    /// ```rust
    /// use agents::guide::transcript::Transcript;
    /// use agents::guide::verdicts::{Trained, Verdicts};
    /// use serde_json::json;
    ///
    /// let trajectory = serde_json::from_value(json!({
    ///     "version": 2, "task": "t", "agent": "a", "attempt": 0,
    ///     "segments": [{"source": "prompt", "text": ""}, {"source": "model", "text": "well"}],
    ///     "turns": [{"tool": "malformed", "has_thought": false, "outcome": null, "seconds": 0.0}],
    ///     "ending": "budget", "timed_out": false,
    ///     "outcome": {"mle": {"grade": null, "refusal": null}},
    ///     "reward": {"format": 0.0, "execution": 0.0, "tier": 0.0},
    /// }))?;
    /// let transcript = Transcript::of_episode(&trajectory);
    /// assert_eq!(Verdicts::of(&transcript, Vec::new()).trained(0), Trained::Nothing);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of_episode(trajectory: &Trajectory) -> Self {
        let mut turns: Vec<TranscriptTurn> = Vec::with_capacity(trajectory.turns.len());
        let mut records = trajectory.turns.iter();
        let mut prompt = Vec::new();
        // Whether the turn that was read last was carried out.
        let mut was_taken = false;
        for segment in &trajectory.segments {
            match segment.source {
                Source::Prompt => {
                    let role = if prompt.is_empty() { Role::System } else { Role::User };
                    prompt.push(Message::new(role, &segment.text));
                }
                Source::Model => {
                    let record = records.next();
                    was_taken = record.is_some();
                    turns.extend(record.map(|record| {
                        let report =
                            TurnReport::new(&segment.text, None, record.clone(), Vec::new());
                        TranscriptTurn::new(report)
                    }));
                }
                Source::Environment => {
                    if let Some(turn) = turns.last_mut().filter(|_| was_taken) {
                        turn.report.observation = Some(segment.text.clone());
                    }
                }
                Source::Guide => {}
            }
        }
        let opening = Opening {
            task: trajectory.task.clone(),
            agent: trajectory.agent.clone(),
            attempt: trajectory.attempt,
            turns: u32::try_from(turns.len()).expect("fewer than 2^32 turns"),
            seconds: 0,
            feedback: trajectory.feedback,
            prompt,
        };
        let end = Some(End::of(trajectory, opening.turns));
        let id = "episode".parse().expect("it is a name");
        Self { id, opening, turns, guidance: Vec::new(), verdicts: Vec::new(), end }
    }

    /// The number of its turns.
    pub fn count(&self) -> u32 {
        u32::try_from(self.turns.len()).expect("fewer than 2^32 turns")
    }
}

/// When each piece was first sent, in milliseconds since 1970.
fn sending_times(lines: &[EventLine]) -> BTreeMap<GuidanceId, u64> {
    let mut times = BTreeMap::new();
    for line in lines {
        if let Event::Sent { ids } = &line.event {
            for id in ids {
                times.entry(id.clone()).or_insert(line.at);
            }
        }
    }
    times
}

fn report(turn: StoredTurn, blobs: &Blobs) -> Result<TurnReport, JournalError> {
    let StoredTurn { turn: _, thought, action, observation, record, left_out, summaries } = turn;
    Ok(TurnReport {
        thought: thought.read(blobs)?,
        action: action.read(blobs)?,
        observation: observation.map(|text| text.read(blobs)).transpose()?,
        record,
        left_out,
        summaries: summaries.iter().map(|summary| summary.read(blobs)).collect::<Result<_, _>>()?,
    })
}
