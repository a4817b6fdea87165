//! The journal of a run: one JSON object a line, appended and flushed to the disk before anything
//! depends on it. The state of a run is a fold over its lines.
//!
//! ```text
//! <run>/journal.jsonl     lines, in the order of events
//! <run>/blobs/<hash>      prompts, answers, scripts, outputs, submissions, once each
//! <run>/lock              held while a process works on the run
//! ```

use super::header::{JOURNAL_VERSION, RunHeader};
use super::knowledge::KnowledgeFacts;
use super::node::{BlobHash, Decision, Node, NodeId};
use super::player::Asked;
use super::turn::TurnFacts;
use crate::guide::guidance::DeliveredGuidance;
use crate::guide::ids::ConversationId;
use crate::synced_lines::{FolderLock, SyncedLines};
use crate::trajectory::EpisodeEnding;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use llm::{Finish, Usage};
use serde::{Deserialize, Serialize};
use std::io;
use tasks::files;

/// One event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum JournalLine {
    /// What the run is of; the first line.
    Header(Box<RunHeader>),
    /// What the run is given of a knowledge base, where a model was asked for it; before the first
    /// decision. Otherwise the header says it.
    Knowledge {
        /// What it is given.
        facts: Box<KnowledgeFacts>,
        /// Active seconds so far.
        clock: f64,
    },
    /// A decision of a search was taken.
    Decided {
        /// The node that it will be.
        node: NodeId,
        /// What was decided.
        decision: Decision,
        /// Active seconds so far.
        clock: f64,
    },
    /// The player answered.
    Asked(Box<AskFacts>),
    /// A decision of a search was carried out.
    Node(Box<Node>),
    /// A linear agent took a turn.
    Turn(Box<TurnFacts>),
    /// People may advise the run, in a conversation of this name.
    Guided {
        /// Its name.
        conversation: ConversationId,
    },
    /// A linear agent is to read advice before its next turn.
    Heard {
        /// The turn after which it was delivered.
        turn: NodeId,
        /// What was delivered, in order.
        guidance: Vec<DeliveredGuidance>,
    },
    /// The run stopped before its end and can go on.
    Paused {
        /// Why.
        why: String,
        /// Active seconds so far.
        clock: f64,
    },
    /// It went on.
    Resumed {
        /// Active seconds so far.
        clock: f64,
        /// Turns whose scripts were run again, to have the files of the work dir, and left another
        /// submission or ended otherwise than before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<NodeId>,
    },
    /// The run is over.
    Finish {
        /// The node or turn whose submission counts; without one there is none.
        chosen: Option<NodeId>,
        /// Why it ended.
        why: AgentEnd,
        /// Active seconds in all.
        clock: f64,
    },
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentEnd {
    /// All steps or turns were taken.
    Steps,
    /// As many questions were asked as may be.
    Calls,
    /// The time is up.
    Time,
    /// The policy had nothing left to try.
    Exhausted,
    /// Too many answers in a row had no script, or the player of a linear agent declined.
    Refused,
    /// The agent said that it is done.
    Answered,
    /// The conversation does not fit into the context.
    Context,
}

impl AgentEnd {
    /// The word for it in files.
    pub fn name(self) -> String {
        let word = serde_json::to_value(self).ok();
        word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// The ending of the episode; `None` where the player ended the run, which is then no example.
    pub fn episode_ending(self) -> Option<EpisodeEnding> {
        match self {
            Self::Answered => Some(EpisodeEnding::Answered),
            Self::Steps | Self::Calls | Self::Time | Self::Exhausted => Some(EpisodeEnding::Budget),
            Self::Context => Some(EpisodeEnding::Tokens),
            Self::Refused => None,
        }
    }
}

/// A question to the player, and the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskFacts {
    /// The node or turn that it is for.
    pub node: NodeId,
    /// What was asked for.
    pub what: Asked,
    /// 0 for the first try.
    pub attempt: u32,
    /// The conversation, as JSON.
    pub prompt: BlobHash,
    /// The answer's text; `None` if the player refused.
    pub answer: Option<BlobHash>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Why the answer ended.
    pub finish: Finish,
    /// Tokens read and written.
    pub usage: Usage,
    /// The name of the player that answered, where roles have players of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Time until the answer was there, in seconds.
    pub seconds: f64,
    /// What of the prompt was left out because the context was full; empty if nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Earlier turns of a linear agent that the prompt did not show any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out_turns: Vec<NodeId>,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file could not be read or written.
    #[error("failed to use the journal of a run")]
    Io(#[from] io::Error),
    /// A line that this build does not read.
    #[error("line {line} of `{path}` is not one of a journal")]
    Line {
        /// The journal.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A journal of another version of the format.
    #[error(
        "`{path}` is of version {found} of the format, and this build reads version {}; begin the \
         run anew in another folder",
        JOURNAL_VERSION
    )]
    Version {
        /// The journal.
        path: Utf8PathBuf,
        /// Its version.
        found: u64,
    },
    /// The first line is no header, or a header stands elsewhere.
    #[error("`{0}` is not a journal: its first line, and only that, must be a header")]
    NoHeader(Utf8PathBuf),
    /// Lines contradict each other.
    #[error("line {line} of `{path}` cannot follow what stands before it: {why}")]
    Order {
        /// The journal.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Another process works on the run.
    #[error("another process works on `{0}`; wait for it, or choose another folder")]
    Locked(Utf8PathBuf),
    /// A blob that the journal names is missing or was changed.
    #[error("`{0}` is missing or was changed")]
    Blob(Utf8PathBuf),
    /// Tricks that were written down are not read.
    #[error("the tricks that the run was given are not read")]
    Knowledge {
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// The run was made with other settings.
    #[error("`{path}` was begun with other settings: {}", differences.join("; "))]
    OtherRun {
        /// The folder of the run.
        path: Utf8PathBuf,
        /// The settings that differ, with both values.
        differences: Vec<String>,
    },
}

/// Texts and files of a run, stored once each under their hash.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: Utf8PathBuf,
}

impl Blobs {
    /// The blobs of the run in `run`.
    pub fn new(run: &Utf8Path) -> Self {
        Self { folder: run.join("blobs") }
    }

    /// Stores `bytes`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn put(&self, bytes: &[u8]) -> io::Result<BlobHash> {
        let hash = BlobHash::of(bytes);
        let path = self.folder.join(&hash.0);
        if !path.exists() {
            fs::create_dir_all(&self.folder)?;
            files::write_atomic(&path, bytes)?;
        }
        Ok(hash)
    }

    /// Reads a blob.
    ///
    /// # Errors
    /// [`JournalError::Blob`] if it is missing or has another hash.
    pub fn get(&self, hash: &BlobHash) -> Result<Vec<u8>, JournalError> {
        let path = self.folder.join(&hash.0);
        match fs::read(&path) {
            Ok(bytes) if BlobHash::of(&bytes) == *hash => Ok(bytes),
            _ => Err(JournalError::Blob(path)),
        }
    }

    /// Reads a blob as text.
    ///
    /// # Errors
    /// As [`Blobs::get`].
    pub fn text(&self, hash: &BlobHash) -> Result<String, JournalError> {
        let bytes = self.get(hash)?;
        String::from_utf8(bytes).map_err(|_| JournalError::Blob(self.folder.join(&hash.0)))
    }
}

/// A journal that is open for appending.
#[derive(Debug)]
pub struct Journal {
    file: SyncedLines,
    /// Held until the journal is dropped.
    _lock: FolderLock,
}

impl Journal {
    /// Opens the journal of the run in `run`, which is made if there is none, and reads its lines.
    /// A last line that is torn is removed.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(run: &Utf8Path) -> Result<(Self, Vec<JournalLine>), JournalError> {
        fs::create_dir_all(run)?;
        let lock = FolderLock::take(&run.join("lock"))?
            .ok_or_else(|| JournalError::Locked(run.to_owned()))?;
        let path = journal_path(run);
        let file = SyncedLines::open(&path)?;
        let lines = read_lines(&path)?;
        Ok((Self { file, _lock: lock }, lines))
    }

    /// Appends a line and waits until it is on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn append(&mut self, line: &JournalLine) -> io::Result<()> {
        self.file.append(std::slice::from_ref(line))?;
        Ok(())
    }
}

/// The journal of the run in `run`.
pub fn journal_path(run: &Utf8Path) -> Utf8PathBuf {
    run.join("journal.jsonl")
}

/// Reads the lines of a journal; a torn last line is passed over.
///
/// # Errors
/// [`JournalError`].
pub fn read_lines(path: &Utf8Path) -> Result<Vec<JournalLine>, JournalError> {
    let text = fs::read_to_string(path)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = Vec::new();
    if let Some(found) = whole.lines().next().and_then(other_version) {
        return Err(JournalError::Version { path: path.to_owned(), found });
    }
    for (index, line) in whole.lines().enumerate() {
        let parsed: JournalLine = serde_json::from_str(line).map_err(|source| {
            JournalError::Line { path: path.to_owned(), line: index + 1, source }
        })?;
        if matches!(parsed, JournalLine::Header(_)) != (index == 0) {
            return Err(JournalError::NoHeader(path.to_owned()));
        }
        lines.push(parsed);
    }
    Ok(lines)
}

/// The version of a journal that this build does not read, from its first line.
fn other_version(header: &str) -> Option<u64> {
    let header: serde_json::Value = serde_json::from_str(header).ok()?;
    header.get("version")?.as_u64().filter(|found| *found != u64::from(JOURNAL_VERSION))
}
