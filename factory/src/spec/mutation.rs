//! Mutations: the ways in which a task's data is worse than clean.
//!
//! A mutation changes what is written, never the rule: answers follow from clean values.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number that stands for "not measured" where a sentinel is used.
pub const SENTINEL: f64 = -999.0;

/// One way in which a task's data is worse than clean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Mutation {
    /// Some labels are wrong (training and test alike).
    LabelNoise {
        /// Share of labels drawn anew.
        share: f64,
    },
    /// Class 1 is rare.
    Imbalance {
        /// Share of rows of class 1, in [0, 1].
        share: f64,
    },
    /// Values are missing, more often where they are large.
    Missing {
        /// Name of the column that loses values.
        column: String,
        /// Share of cells left empty, in [0, 1].
        share: f64,
    },
    /// Missing values are written as [`SENTINEL`].
    Sentinel {
        /// Name of the column that loses values.
        column: String,
        /// Share of cells replaced by the sentinel, in [0, 1].
        share: f64,
    },
    /// Some rows hold the value in another unit, as the companion column says.
    Units {
        /// Name of the column whose values change their unit.
        column: String,
        /// The column that names the unit: `std` or `alt`.
        companion: String,
        /// What the value is multiplied with in the other unit.
        factor: f64,
        /// Share of rows in the other unit.
        share: f64,
    },
    /// A column that repeats another with noise.
    Echo {
        /// Name of the column that is repeated.
        column: String,
        /// Name of the column that is added.
        name: String,
        /// Size of the noise in units of the column's spread.
        noise: f64,
    },
    /// Many columns that each repeat another with so much noise that they hardly say anything.
    Channels {
        /// What their names begin with.
        prefix: String,
        /// How many there are.
        count: usize,
        /// The columns that they repeat, by turns.
        columns: Vec<String>,
        /// Size of the noise in units of a column's spread.
        noise: f64,
    },
    /// A column that repeats another on a scale of its own.
    Rescaled {
        /// Name of the column that is repeated.
        column: String,
        /// Name of the column that is added.
        name: String,
        /// What the values are multiplied with.
        factor: f64,
        /// Size of the noise in units of the column's spread.
        noise: f64,
    },
    /// Some training rows almost repeat others, and not all of them have the same truth.
    NearDuplicates {
        /// Share of training rows that are repetitions.
        share: f64,
        /// Share of repetitions that keep a truth of their own.
        contradicting: f64,
    },
    /// Items are worse than clean, in a way that their medium knows.
    Blemish {
        /// The medium's name for it.
        name: String,
        /// How much of it.
        strength: f64,
    },
}

impl Mutation {
    /// Its name in statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LabelNoise { .. } => "label_noise",
            Self::Imbalance { .. } => "imbalance",
            Self::Missing { .. } => "missing",
            Self::Sentinel { .. } => "sentinel",
            Self::Units { .. } => "units",
            Self::Echo { .. } => "echo",
            Self::Channels { .. } => "channels",
            Self::Rescaled { .. } => "rescaled",
            Self::NearDuplicates { .. } => "near_duplicates",
            Self::Blemish { .. } => "blemish",
        }
    }
}

/// In words for people.
impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| format!("{:.0} %", 100.0 * share);
        match self {
            Self::LabelNoise { share } => write!(f, "{} of the labels are wrong", percent(share)),
            Self::Imbalance { share } => write!(f, "{} of the rows are positive", percent(share)),
            Self::Missing { column, share } => {
                write!(f, "{} of `{column}` is missing", percent(share))
            }
            Self::Sentinel { column, share } => {
                write!(f, "{} of `{column}` is {SENTINEL}", percent(share))
            }
            Self::Units { column, companion, factor, share } => write!(
                f,
                "{} of `{column}` is {factor} times as large, where `{companion}` is `alt`",
                percent(share)
            ),
            Self::Echo { column, name, noise } => {
                write!(f, "`{name}` repeats `{column}` with noise of {noise} of its spread")
            }
            Self::Channels { prefix, count, noise, .. } => {
                write!(f, "{count} columns `{prefix}...` with noise of {noise} of their spread")
            }
            Self::Rescaled { column, name, factor, .. } => {
                write!(f, "`{name}` is `{column}`, {factor} times as large, with noise")
            }
            Self::NearDuplicates { share, contradicting } => write!(
                f,
                "{} of the training rows almost repeat others, {} of these with another truth",
                percent(share),
                percent(contradicting)
            ),
            Self::Blemish { name, strength } => write!(f, "{name} of strength {strength}"),
        }
    }
}
