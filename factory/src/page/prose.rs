//! The prose of a description page, as a technical writer gives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The prose of a description page. What must be exact stands in the sections that our code
/// writes; prose repeats it or leaves it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prose {
    /// Heading of the page: one line of at most 80 characters.
    pub title: String,
    /// Who asks, what for, and what is to be predicted: plain paragraphs of at most 120 words.
    pub overview: String,
    /// Every column of the features, each once.
    pub columns: Vec<ColumnText>,
    /// What the target is: one sentence of at most 50 words.
    pub target: String,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnText {
    /// Name of the column.
    pub name: String,
    /// What it holds: one sentence of at most 40 words.
    pub text: String,
}
