//! The transcript: a line a turn, from which an agent that was interrupted goes on.

use agents::synced_lines::SyncedLines;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::io;

/// The version of lines.
const VERSION: u32 = 1;

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    version: u32,
    /// Its number, from 1.
    pub turn: u64,
    /// What the model answered.
    pub answer: String,
    /// The tool that it asked for; none if the answer is no step.
    pub tool: Option<String>,
    /// What it was told.
    pub observation: String,
    /// Tokens that the answer took, read and written.
    pub tokens: u64,
}

impl Turn {
    pub(super) fn new(
        turn: u64,
        answer: String,
        tool: Option<String>,
        observation: String,
        tokens: u64,
    ) -> Self {
        Self { version: VERSION, turn, answer, tool, observation, tokens }
    }
}

/// A transcript that is open for appending.
#[derive(Debug)]
pub struct Transcript {
    file: SyncedLines,
    past: Vec<Turn>,
}

impl Transcript {
    /// Opens the file at `path`, which is made if there is none. A last line that is torn is removed.
    ///
    /// # Errors
    /// An I/O error naming the file, also if a line of it is none of ours.
    pub fn open(path: &Utf8Path) -> io::Result<Self> {
        let file = SyncedLines::open(path)?;
        let text = fs::read_to_string(path)?;
        let read = |line: &str| -> io::Result<Turn> {
            let turn: Turn = serde_json::from_str(line)
                .map_err(|error| io::Error::other(format!("`{path}` has a bad line: {error}")))?;
            if turn.version == VERSION {
                return Ok(turn);
            }
            let version = turn.version;
            Err(io::Error::other(format!("`{path}` has version {version}; this is {VERSION}")))
        };
        let past = text.lines().map(read).collect::<Result<_, _>>()?;
        Ok(Self { file, past })
    }

    /// The turns that are in it.
    pub fn turns(&self) -> &[Turn] {
        &self.past
    }

    /// Adds a turn. It is on the disk once this returns.
    ///
    /// # Errors
    /// An I/O error.
    pub fn add(&mut self, turn: Turn) -> io::Result<()> {
        self.file.append(std::slice::from_ref(&turn))?;
        self.past.push(turn);
        Ok(())
    }
}
