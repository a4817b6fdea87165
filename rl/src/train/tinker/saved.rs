//! What a checkpoint has of a state on a server.

use crate::checkpoint::{CheckpointError, REMOTE_STATE};
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tasks::files;

/// The version of the file.
const VERSION: u32 = 1;

/// `trainer/remote.json` of a checkpoint: where the weights and the optimizer's state are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    version: u32,
    /// The model that is trained, as the server calls it.
    pub(super) base_model: String,
    /// Weights and optimizer, by their path on the server.
    pub(super) state: String,
    /// The model alone in Hugging Face's format, if it was written.
    pub(super) export: Option<String>,
    /// How many updates were made.
    pub(super) updates: u64,
}

impl Saved {
    pub(super) fn new(
        base_model: &str,
        state: String,
        export: Option<String>,
        updates: u64,
    ) -> Self {
        Self { version: VERSION, base_model: base_model.to_owned(), state, export, updates }
    }

    /// Everything that it needs on the server.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.state).chain(&self.export)
    }

    pub(super) fn write(&self, folder: &Utf8Path) -> Result<(), CheckpointError> {
        let path = folder.join(REMOTE_STATE);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(files::write_json(&path, self)?)
    }

    pub(super) fn read(folder: &Utf8Path) -> Result<Self, CheckpointError> {
        let path = folder.join(REMOTE_STATE);
        let text = fs::read(&path)?;
        let parse = |source| CheckpointError::Training { path: path.clone(), source };
        let saved: Self = serde_json::from_slice(&text).map_err(parse)?;
        if saved.version != VERSION {
            return Err(CheckpointError::Version { path, found: saved.version });
        }
        Ok(saved)
    }
}

/// What the checkpoints in `folder` need on the server. Those that cannot be read need nothing.
pub(super) fn needed(folder: &Utf8Path) -> BTreeSet<String> {
    let Ok(entries) = folder.read_dir_utf8() else { return BTreeSet::new() };
    let saved = entries.flatten().filter_map(|entry| Saved::read(entry.path()).ok());
    saved.flat_map(|saved| saved.paths().cloned().collect::<Vec<_>>()).collect()
}
