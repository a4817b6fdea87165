//! Weights on their way from a learner to generators.

use camino::Utf8PathBuf;

/// Weights that a learner has published.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// Their version: the number of the training step that made them.
    pub version: u64,
    /// Where they are.
    pub weights: PublishedWeights,
    /// What the learner makes of a known conversation with them. Generators with copies of their
    /// own must agree before they sample.
    pub probe: Option<Probe>,
}

/// Where published weights are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishedWeights {
    /// The generator samples with the very tensors that are trained.
    Shared,
    /// In a folder in Hugging Face's format: a whole model, or adapters in PEFT's format.
    Folder {
        /// The folder, as the learner and the generators both see it.
        path: Utf8PathBuf,
        /// Whether there are adapters and not a whole model.
        adapters: bool,
    },
    /// On a server, by a name there.
    Named(String),
}

/// A conversation whose log-probabilities are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// Its tokens; at least two.
    pub ids: Vec<i64>,
    /// The log-probability of each token from the second on, in nats, at temperature 1 and without
    /// filters.
    pub log_probs: Vec<f32>,
}

impl Publication {
    /// Weights that the generator shares with the learner.
    pub fn shared(version: u64) -> Self {
        Self { version, weights: PublishedWeights::Shared, probe: None }
    }
}
