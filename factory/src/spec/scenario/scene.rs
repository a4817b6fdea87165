//! Stories about pictures whose truth is a mask, boxes or a better picture.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tasks::task::Formulation;

/// A story about pictures whose truth is a mask, boxes or a better picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneScenario {
    /// Heading of the task's description page.
    pub title: String,
    /// What one row is.
    pub row: String,
    /// Name of the id column.
    pub id: String,
    /// Two sentences of background.
    pub story: String,
    /// The kind of prediction: a scene serves one.
    #[schemars(with = "String")]
    pub formulation: Formulation,
    /// The column that names the pictures' files.
    pub column: String,
    /// What the pictures are and how they came about.
    pub shows: String,
    /// The column of the truth.
    pub target: String,
    /// What the mask, the boxes or the clean picture stand for.
    pub means: String,
    /// The classes of boxes, one to three.
    #[serde(default)]
    pub classes: Vec<String>,
}
