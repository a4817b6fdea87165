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
    /// How far a generator's may be from them in the mean, in nats: what rounding explains.
    pub tolerance: f64,
}

impl Probe {
    /// The mean difference of `scores` from the known log-probabilities, in nats; infinite if they
    /// are not as many, and not a number if one of them is none.
    pub fn mean_gap(&self, scores: &[f32]) -> f64 {
        if scores.len() != self.log_probs.len() {
            return f64::INFINITY;
        }
        let pairs = scores.iter().zip(&self.log_probs);
        let sum: f64 = pairs.map(|(found, known)| f64::from((found - known).abs())).sum();
        sum / scores.len() as f64
    }
}

impl Publication {
    /// Weights that the generator shares with the learner.
    pub fn shared(version: u64) -> Self {
        Self { version, weights: PublishedWeights::Shared, probe: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_missed_by_other_scores_fewer_scores_and_no_numbers() {
        let probe = Probe { ids: vec![1, 2, 3], log_probs: vec![-1.0, -2.0], tolerance: 1e-3 };
        assert!(probe.mean_gap(&[-1.0, -2.0]).abs() < 1e-12);
        assert!((probe.mean_gap(&[-1.5, -1.5]) - 0.5).abs() < 1e-12, "signs do not cancel");
        assert!(probe.mean_gap(&[-1.0]).is_infinite());
        assert!(probe.mean_gap(&[f32::NAN, -2.0]).is_nan());
    }
}
