//! What `AutoMind` notes of a node besides what every search does.

use super::node::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How a script was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodingStyle {
    /// In one piece.
    OnePass,
    /// Step by step, each step run before the next.
    Stepwise,
}

/// Who judged a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The player.
    Player,
    /// Rules over its output: the player was not asked, or its answer could not be read.
    Rules,
}

/// A trick that is being tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedTrick {
    /// Its id.
    pub trick: String,
    /// The node that it is to improve; repairs in between keep it.
    pub base: NodeId,
}

/// What `AutoMind` notes of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoMindFacts {
    /// How hard the plan is to code, 1 to 5; `None` where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<f64>,
    /// How the script was written; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coding: Option<CodingStyle>,
    /// Steps that were run before the whole; 0 where it was written in one piece.
    #[serde(default)]
    pub steps: u32,
    /// Validation scores of folds, as the script reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<f64>,
    /// Ids of the tricks in the plan: its own and those of the nodes before it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub applied: BTreeSet<String>,
    /// The trick that is being tried, until a script with it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applying: Option<TriedTrick>,
    /// A trick that was drawn and left out, because it does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
    /// Published methods that the draft was planned from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub papers: Vec<String>,
    /// Why no plan could be made from published methods, so that a plain one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_papers: Option<String>,
    /// Who judged the run; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<JudgedBy>,
}

impl AutoMindFacts {
    /// Of a node whose plan has these tricks.
    pub fn new(applied: BTreeSet<String>) -> Self {
        Self {
            complexity: None,
            coding: None,
            steps: 0,
            folds: Vec::new(),
            applied,
            applying: None,
            declined: None,
            papers: Vec::new(),
            no_papers: None,
            judged_by: None,
        }
    }
}
