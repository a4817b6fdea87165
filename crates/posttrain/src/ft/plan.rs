//! What is carried out: a proposal with its script and its settings, as a draft and as a plan.

use super::proposal::Proposal;
use super::schema::TrainConfig;
use crate::Digest;
use camino::Utf8PathBuf;

/// A proposal that was implemented, as a planner wrote it. Nothing of it is trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What is tried.
    pub proposal: Proposal,
    /// `process_data.py`.
    pub script: String,
    /// `train.toml`.
    pub config: String,
    /// The parent's `data.json`, which is kept with [`Proposal::reuse_data`].
    pub parent_data: Option<Utf8PathBuf>,
}

/// A draft whose proposal and settings are in their ranges and whose script can be started. Only the
/// static stage makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(super) proposal: Proposal,
    pub(super) script: String,
    pub(super) config: TrainConfig,
    pub(super) parent_data: Option<Utf8PathBuf>,
}

impl Plan {
    /// What is tried.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// `process_data.py`.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// `train.toml`.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The parent's `data.json`, where it is kept.
    pub fn kept_data(&self) -> Option<&Utf8PathBuf> {
        self.parent_data.as_ref().filter(|_| self.proposal.reuse_data)
    }

    /// The hashes of script and settings.
    pub fn digests(&self) -> (Digest, Digest) {
        (Digest::of(self.script.as_bytes()), Digest::of(self.config.text().as_bytes()))
    }
}
