//! One experiment: what was tried, and what became of it.

use super::accept::Acceptance;
use super::check::{Check, ErrorClass, Stage};
use super::diagnosis::{Diagnosis, Evaluated};
use super::proposal::Proposal;
use crate::Digest;
use serde::{Deserialize, Serialize};

/// An experiment that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its number, from 1.
    pub number: u32,
    /// The experiment that it was made from; `None` of one that was made from nothing.
    pub parent: Option<u32>,
    /// What was tried.
    pub proposal: Proposal,
    /// The hashes of the last script and settings.
    pub digests: Option<(Digest, Digest)>,
    /// Its stages, those of earlier drafts included.
    pub checks: Vec<Check>,
    /// How it ended.
    pub outcome: ExperimentOutcome,
    /// What is thought about it.
    pub diagnosis: Option<Diagnosis>,
}

/// How an experiment ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExperimentOutcome {
    /// It was scored.
    Evaluated {
        /// Its scores.
        evaluated: Box<Evaluated>,
        /// The comparison with the best one before it.
        acceptance: Acceptance,
        /// The first and the last loss of its training.
        losses: Option<(f64, f64)>,
    },
    /// A stage rejected its last draft.
    Rejected {
        /// Which stage.
        stage: Stage,
        /// What would have to change.
        class: ErrorClass,
        /// Why.
        message: String,
    },
}

impl Experiment {
    /// Its scores, if it has some.
    pub fn evaluated(&self) -> Option<&Evaluated> {
        match &self.outcome {
            ExperimentOutcome::Evaluated { evaluated, .. } => Some(evaluated),
            ExperimentOutcome::Rejected { .. } => None,
        }
    }

    /// Whether it became the best one.
    pub fn is_accepted(&self) -> bool {
        matches!(&self.outcome, ExperimentOutcome::Evaluated { acceptance, .. } if acceptance.accepted)
    }
}

/// The best experiment: the last one that was accepted, since each of them was better than the one
/// before.
pub fn best_of(experiments: &[Experiment]) -> Option<&Experiment> {
    experiments.iter().rev().find(|experiment| experiment.is_accepted())
}
