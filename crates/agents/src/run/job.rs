//! The kinds of questions that `AutoMind` asks.

use super::role::AgentRole;
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
    /// Whether two published methods go together.
    Compatible,
    /// The parts of a published method that are of use.
    Modules,
    /// An outline of a plan from such parts.
    Abstract,
    /// A plan with all details, from an outline.
    Detailed,
    /// Whether a plan can be carried out.
    Check,
}

impl AutoMindJob {
    /// All kinds, in the order of a node; those of drafts from papers last.
    pub const ALL: [Self; 15] = [
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
        Self::Compatible,
        Self::Modules,
        Self::Abstract,
        Self::Detailed,
        Self::Check,
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
            Self::Compatible => "compatible",
            Self::Modules => "modules",
            Self::Abstract => "abstract",
            Self::Detailed => "detailed",
            Self::Check => "check",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|job| job.name() == name)
    }

    /// Who answers it, where roles have models of their own.
    pub fn role(self) -> AgentRole {
        match self {
            Self::Draft
            | Self::Compatible
            | Self::Modules
            | Self::Abstract
            | Self::Detailed
            | Self::Check => AgentRole::Planner,
            Self::Improve | Self::ImproveWith | Self::Debug => AgentRole::Improver,
            Self::Applies | Self::Complexity => AgentRole::Analyzer,
            Self::Decompose | Self::Code | Self::CodeStep => AgentRole::Coder,
            Self::Verify => AgentRole::Verifier,
        }
    }

    /// Whether it asks for a judgement rather than for a plan or a script.
    pub fn judges(self) -> bool {
        matches!(
            self,
            Self::Applies | Self::Complexity | Self::Verify | Self::Compatible | Self::Check
        )
    }
}

impl fmt::Display for AutoMindJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
