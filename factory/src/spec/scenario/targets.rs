//! What a story can ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A binary target: its column and what `1` means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BinaryTarget {
    /// Name of the target's column.
    pub name: String,
    /// What the class 1 stands for.
    pub means: String,
}

/// A numeric target with its natural range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberTarget {
    /// Name of the target's column.
    pub name: String,
    /// A typical low value, in the target's unit.
    pub low: f64,
    /// A typical high value, in the target's unit.
    pub high: f64,
    /// Digits after the point.
    pub decimals: usize,
    /// What the target measures, in words.
    pub means: String,
}

/// The target of ranking tasks, which ask for the order of rows within each query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankingTarget {
    /// The column that names the query, such as `session`.
    pub query: String,
    /// The column of the grade, from 0 (useless) to 3 (best).
    pub name: String,
    /// What a high grade means.
    pub means: String,
}
