//! What must not be used for a task, and why.

use super::card::TrickId;
use super::compared_page::RUN;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Why an entry must not be used for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum ExclusionReason {
    /// It comes from the task's own competition.
    SameCompetition {
        /// The competition or paper.
        origin: String,
    },
    /// It comes from a competition of the same family.
    SameFamily {
        /// The competition.
        origin: String,
        /// Name of the family.
        family: String,
    },
    /// The descriptions are alike.
    SameDescription {
        /// Their cosine, 0 to 1.
        cosine: f64,
    },
    /// The descriptions share runs of words.
    SharedWords {
        /// How many.
        runs: usize,
        /// One of them.
        example: String,
    },
    /// A model says that it is the same competition or data.
    ModelSays {
        /// In its words.
        why: String,
    },
    /// A model was asked, and its answer cannot be understood.
    Unreadable {
        /// What is wrong with the answer.
        what: String,
    },
    /// Its code reads or does what a run must not.
    Reads {
        /// What is in the code.
        what: String,
    },
    /// It repeats words or names of the description.
    SharedText {
        /// The words, or the name of the column.
        what: String,
    },
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameCompetition { origin } => {
                write!(f, "it comes from `{origin}`, this competition")
            }
            Self::SameFamily { origin, family } => {
                write!(f, "it comes from `{origin}`, of the same family: {family}")
            }
            Self::SameDescription { cosine } => {
                write!(f, "its description is alike (cosine {cosine:.2})")
            }
            Self::SharedWords { runs, example } => {
                write!(f, "its description shares {runs} runs of {RUN} words, such as `{example}`")
            }
            Self::ModelSays { why } => write!(f, "a model takes it for the same: {why}"),
            Self::Unreadable { what } => {
                write!(
                    f,
                    "a model was asked whether it is the same, and its answer is unreadable: {what}"
                )
            }
            Self::Reads { what } => write!(f, "its code has `{what}`"),
            Self::SharedText { what } => write!(f, "it has `{what}`, as the description has"),
        }
    }
}

/// What must not be used for a task, each with its reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Exclusions(BTreeMap<TrickId, Vec<ExclusionReason>>);

impl Exclusions {
    /// Excludes an entry, for one more reason.
    pub fn add(&mut self, id: TrickId, reason: ExclusionReason) {
        self.0.entry(id).or_default().push(reason);
    }

    /// Whether an entry is excluded.
    pub fn has(&self, id: &TrickId) -> bool {
        self.0.contains_key(id)
    }

    /// All of them, in the order of names; each has at least one reason.
    pub fn iter(&self) -> impl Iterator<Item = (&TrickId, &[ExclusionReason])> {
        self.0.iter().map(|(id, reasons)| (id, reasons.as_slice()))
    }

    /// How many entries are excluded.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is excluded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
