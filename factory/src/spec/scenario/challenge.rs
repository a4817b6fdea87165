//! Stories about rows whose answer has a form of its own.

use super::PositionStory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::task::Formulation;

/// A story about rows whose answer has a form of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChallengeScenario {
    /// Heading of the task's description page.
    pub title: String,
    /// What one row is.
    pub row: String,
    /// Name of the id column.
    pub id: String,
    /// Two sentences of background.
    pub story: String,
    /// The kind of prediction: a challenge serves one.
    #[schemars(with = "String")]
    pub formulation: Formulation,
    /// The columns of a row, as many as the kind of prediction has.
    pub columns: Vec<ChallengeColumn>,
    /// The column of the answers.
    pub target: String,
    /// What an answer stands for.
    pub means: String,
    /// What sentences are about, such as `the night ferry`; none where rows are no texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// Where and when it is, in four words or more, such as `on the way to the islands`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// What is known of the positions of a row's sequence; none where a row has one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionStory>,
}

/// A column of such rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChallengeColumn {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub shows: String,
    /// Bounds of a column of numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The words of a column of words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}
