//! Conditions on a row.

use super::Frame;
use serde::{Deserialize, Serialize};

/// A condition on a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case", deny_unknown_fields)]
pub enum Test {
    /// The column's value is greater than the threshold.
    Above {
        /// Name of the number column that is compared.
        column: String,
        /// Values greater than this one pass the test.
        threshold: f64,
    },
    /// The column's value is at most the threshold.
    AtMost {
        /// Name of the number column that is compared.
        column: String,
        /// Values up to and including this one pass the test.
        threshold: f64,
    },
    /// The column holds this word.
    Is {
        /// Name of the word column that is compared.
        column: String,
        /// The word that passes the test.
        value: String,
    },
    /// Every one of several conditions holds.
    All {
        /// The conditions that must all hold.
        of: Vec<Self>,
    },
}

impl Test {
    /// Whether it holds at a row.
    pub(super) fn holds(&self, frame: &Frame, row: usize) -> bool {
        match self {
            Self::Above { column, threshold } => frame.number(column, row) > *threshold,
            Self::AtMost { column, threshold } => frame.number(column, row) <= *threshold,
            Self::Is { column, value } => frame.words.get(column).is_some_and(|w| w[row] == *value),
            Self::All { of } => of.iter().all(|test| test.holds(frame, row)),
        }
    }

    /// Its single conditions: itself, or those that it joins.
    pub fn single(&self) -> Vec<&Self> {
        match self {
            Self::All { of } => of.iter().flat_map(Self::single).collect(),
            _ => vec![self],
        }
    }

    /// The number column that it compares, if it is a single condition on one.
    pub fn number_column(&self) -> Option<&str> {
        match self {
            Self::Above { column, .. } | Self::AtMost { column, .. } => Some(column),
            Self::Is { .. } | Self::All { .. } => None,
        }
    }

    /// The word column and the word that it compares, if it is a single condition on one.
    pub fn word(&self) -> Option<(&str, &str)> {
        match self {
            Self::Is { column, value } => Some((column, value)),
            _ => None,
        }
    }
}
