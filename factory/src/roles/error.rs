//! Why a role delivers nothing: a refusal ends an attempt, a fault ends the run.

use super::RoleName;
use crate::baselines::ladder::LadderError;
use crate::generator::{GeneratorError, GeneratorRefusal};
use crate::kinds::RenderError;
use std::error::Error;

/// Reason code of a slot whose models have used up their calls or tokens. No attempt follows it.
pub const SPENT: &str = "spent";

/// A role cannot deliver, or its work is not accepted. The attempt is refused and counted, and
/// the next one begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct RoleRefusal {
    /// The reason code in ledgers.
    pub code: &'static str,
    /// The reason in words.
    pub detail: String,
}

impl From<RenderError> for RoleRefusal {
    fn from(error: RenderError) -> Self {
        Self { code: "render", detail: error.to_string() }
    }
}

impl From<LadderError> for RoleRefusal {
    fn from(error: LadderError) -> Self {
        Self { code: "ladder", detail: error.to_string() }
    }
}

impl From<GeneratorRefusal> for RoleRefusal {
    fn from(refusal: GeneratorRefusal) -> Self {
        Self { code: refusal.code(), detail: refusal.detail }
    }
}

/// Why the work of a chat model is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum RoleCheckError {
    /// It is wrong. Its author can do better.
    #[error(transparent)]
    Refused(#[from] RoleRefusal),
    /// It could not be checked, through no fault of its own.
    #[error("failed to check the work of a chat model")]
    Fault(#[source] Box<dyn Error + Send + Sync>),
}

impl From<GeneratorError> for RoleCheckError {
    fn from(error: GeneratorError) -> Self {
        match error {
            GeneratorError::Refused(refusal) => Self::Refused(refusal.into()),
            GeneratorError::Fault(fault) => Self::Fault(fault.into()),
        }
    }
}

/// A role could not be asked: a missing key, an exhausted budget, an unreachable server. This
/// says nothing of the task. The run ends, its open slots stay open, and the same command
/// continues it.
#[derive(Debug, thiserror::Error)]
#[error("failed to ask the {role}")]
pub struct RoleFault {
    /// The role that was to be asked.
    pub role: RoleName,
    /// What went wrong.
    #[source]
    pub source: Box<dyn Error + Send + Sync>,
}
