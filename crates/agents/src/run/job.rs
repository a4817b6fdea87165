//! The kinds of questions that `AutoMind` asks.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A kind of question that `AutoMind` asks; each has a prompt of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoMindJob {
    /// A plan from the task alone.
    Draft,
    /// A plan that changes one thing.
    Improve,
    /// A plan that takes one trick in.
    ImproveWith,
    /// A plan that repairs a script.
    Debug,
    /// Whether a trick is of use for a plan.
    Applies,
    /// How hard a plan is to code.
    Complexity,
    /// The steps in which a plan is coded.
    Decompose,
    /// A whole script.
    Code,
    /// The script of one step.
    CodeStep,
    /// A judgement of a run.
    Verify,
}

impl AutoMindJob {
    /// All kinds, in the order of a node.
    pub const ALL: [Self; 10] = [
        Self::Draft,
        Self::Improve,
        Self::ImproveWith,
        Self::Debug,
        Self::Applies,
        Self::Complexity,
        Self::Decompose,
        Self::Code,
        Self::CodeStep,
        Self::Verify,
    ];

    /// Its name, as the first line of its prompt has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Improve => "improve",
            Self::ImproveWith => "improve_with",
            Self::Debug => "debug",
            Self::Applies => "applies",
            Self::Complexity => "complexity",
            Self::Decompose => "decompose",
            Self::Code => "code",
            Self::CodeStep => "code_step",
            Self::Verify => "verify",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|job| job.name() == name)
    }

    /// Whether it asks for a judgement rather than for a plan or a script.
    pub fn judges(self) -> bool {
        matches!(self, Self::Applies | Self::Complexity | Self::Verify)
    }
}

impl fmt::Display for AutoMindJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
