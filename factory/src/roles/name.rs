//! Names of the roles, and of the parts of a task that they write.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The four roles that make a task, and the reader of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    /// Data Strategist: the blueprint.
    Strategist,
    /// ML Developer: data, baselines and thresholds.
    Developer,
    /// `MLOps` Engineer: the evaluator.
    Operator,
    /// Technical Writer: the description.
    Writer,
    /// Judge: reads the description of a chat model and makes no part of a task.
    Judge,
}

/// A part of a task that a check can refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskPart {
    /// The mechanism behind the targets: the hidden rule, and how much noise covers it.
    Mechanism,
    /// Rows and items: what they show, and what they give away.
    Data,
    /// The standalone evaluator.
    Evaluator,
    /// The description page.
    Description,
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strategist => "data strategist",
            Self::Developer => "ML developer",
            Self::Operator => "MLOps engineer",
            Self::Writer => "technical writer",
            Self::Judge => "judge",
        })
    }
}
