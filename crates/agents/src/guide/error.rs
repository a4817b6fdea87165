//! What can go wrong with a store and with what is asked of it.

use super::guidance::GuidanceState;
use super::ids::{ConversationId, GuidanceId};
use super::transcript::TranscriptError;
use super::verdicts::JudgedError;
use crate::run::journal::JournalError;
use camino::Utf8PathBuf;
use std::io;

/// Why a store cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file could not be read or written.
    #[error("failed to use the guide store")]
    Io(#[from] io::Error),
    /// Another process works on it.
    #[error("another process works on the guide store `{0}`; use that one, or another folder")]
    Locked(Utf8PathBuf),
    /// The settings cannot be read.
    #[error("failed to read `{path}`")]
    Settings {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A store or journal of another version of the format.
    #[error(
        "`{path}` is of version {found} of the format, and this build reads version {}; use another \
         folder",
        super::event::GUIDE_VERSION
    )]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Its version.
        found: u64,
    },
    /// A line that is no event.
    #[error(
        "line {line} of `{path}` is no event; move its folder out of the store to go on without"
    )]
    Line {
        /// The journal.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// Lines contradict each other.
    #[error(
        "line {line} of `{path}` cannot follow what stands before it: {why}; move its folder out of \
         the store to go on without"
    )]
    Order {
        /// The journal.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Something else lies among the conversations.
    #[error("`{0}` is no conversation; move it out of the store")]
    Stranger(Utf8PathBuf),
    /// There is no such conversation.
    #[error("the guide store `{store}` has no conversation `{id}`")]
    Unknown {
        /// The store.
        store: Utf8PathBuf,
        /// The conversation.
        id: ConversationId,
    },
}

/// Why something that was asked of a conversation was not done. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum GuideError {
    /// There is no such conversation.
    #[error("there is no conversation `{0}`")]
    Unknown(ConversationId),
    /// There is no such piece of guidance.
    #[error("there is no piece of guidance `{0}`")]
    UnknownPiece(GuidanceId),
    /// The name is taken by another person's piece.
    #[error("another person's piece of guidance is called `{0}`")]
    Taken(GuidanceId),
    /// A piece of another person.
    #[error("the piece of guidance `{0}` is another person's")]
    NotYours(GuidanceId),
    /// A piece is on its way, or arrived.
    #[error("the piece of guidance is {}, and cannot be changed any more", .0.name())]
    NotQueued(GuidanceState),
    /// The run is over.
    #[error("the run is over")]
    Ended,
    /// Too much guidance waits.
    #[error(
        "{waiting} bytes of guidance wait for the agent, and there is room for {most}; wait until it \
         has read some"
    )]
    QueueFull {
        /// Bytes that wait.
        waiting: usize,
        /// Bytes that may.
        most: usize,
    },
    /// A text that is longer than it may be.
    #[error("the text has {bytes} bytes, and may have {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        most: usize,
    },
    /// Something that makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A conversation of that name was opened for another run.
    #[error("the conversation `{0}` was opened for another run, or with another prompt")]
    OtherRun(ConversationId),
    /// An agent tells a turn otherwise than before.
    #[error("turn {turn} was told otherwise before; two runs may share one conversation")]
    TurnDiffers {
        /// The turn.
        turn: u32,
    },
    /// An agent has guidance that was never sent.
    #[error("the agent has guidance up to {have}, and none above {sent} was sent; open it again")]
    Ahead {
        /// What the agent has.
        have: u64,
        /// What was sent.
        sent: u64,
    },
    /// A file could not be read or written.
    #[error("failed to write it down")]
    Io(#[from] io::Error),
    /// A text of the journal is missing.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The conversation cannot be read with its texts.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// What a judge said of it cannot be read.
    #[error(transparent)]
    Judged(#[from] JudgedError),
    /// An event that was written cannot follow those before it: an error of ours.
    #[error("an event contradicts those before it: {0}")]
    Contradiction(&'static str),
}

impl GuideError {
    /// Whether the disk has no room.
    pub fn is_full_disk(&self) -> bool {
        let full = |error: &io::Error| {
            use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
            matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
        };
        match self {
            Self::Io(error) | Self::Journal(JournalError::Io(error)) => full(error),
            _ => false,
        }
    }
}
