//! One line of a ledger, and the hash that binds it to the line before.

use super::event::Event;
use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// The version of ledgers that this build reads and writes.
pub const LEDGER_VERSION: u32 = 1;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// [`LEDGER_VERSION`].
    pub version: u32,
    /// Number of the line, from 0.
    pub seq: u64,
    /// Milliseconds since the run was opened.
    pub elapsed_ms: u64,
    /// The time of day, for people.
    pub time: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// The hash of the line before; zeros in the first.
    pub prev: Digest,
}

/// A line as it is on disk: an entry, and `BLAKE3(prev ‖ line without its hash)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SealedEntry {
    /// What it says.
    #[serde(flatten)]
    pub entry: Entry,
    /// Its hash.
    pub hash: Digest,
}

/// Why a line is not one of a ledger.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is no JSON, or has not the fields of a line.
    #[error("it is not a line of a ledger")]
    Parse(#[from] serde_json::Error),
    /// It has other bytes than this program writes for what it says.
    #[error("it is not written as this program writes it")]
    Form,
    /// Its version is not this build's.
    #[error("it has version {0}, and this program reads {LEDGER_VERSION}")]
    Version(u32),
    /// Its hash is not that of its content.
    #[error("its hash is not that of its content: it was changed")]
    Hash,
    /// It does not follow the line before.
    #[error("it does not follow the line before: a line was dropped, added or moved")]
    Chain,
}

impl Entry {
    /// The line with its hash.
    pub fn seal(self) -> SealedEntry {
        let hash = self.hash();
        SealedEntry { entry: self, hash }
    }

    fn hash(&self) -> Digest {
        let body = serde_json::to_vec(self).expect("entries are plain data");
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.prev.bytes()).update(&body);
        hasher.finalize().into()
    }
}

impl SealedEntry {
    /// Reads a line that follows the one with the hash `prev`, and has the number `seq`.
    ///
    /// # Errors
    /// [`LineError`].
    pub fn read(line: &str, seq: u64, prev: Digest) -> Result<Self, LineError> {
        let sealed: Self = serde_json::from_str(line)?;
        if sealed.entry.version != LEDGER_VERSION {
            return Err(LineError::Version(sealed.entry.version));
        }
        // Whoever reads the file otherwise must not read anything else than what was hashed.
        if serde_json::to_string(&sealed)? != line {
            return Err(LineError::Form);
        }
        if sealed.entry.hash() != sealed.hash {
            return Err(LineError::Hash);
        }
        if sealed.entry.seq != seq || sealed.entry.prev != prev {
            return Err(LineError::Chain);
        }
        Ok(sealed)
    }
}
