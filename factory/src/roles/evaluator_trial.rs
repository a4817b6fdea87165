//! Trying the evaluator of a chat model before it becomes part of a task.

use super::{RoleCheckError, TaskFacts};
use std::fmt;

/// Tries evaluators of chat models. They are untrusted code, so an implementation runs them in a
/// sandbox.
pub trait EvaluatorTrial: fmt::Debug + Send + Sync {
    /// Compares an evaluator with the native grader, on submissions to the task of `facts`.
    ///
    /// # Errors
    /// [`RoleCheckError::Refused`] if both disagree, with a reason that holds nothing of the
    /// answers but scores; [`RoleCheckError::Fault`] if it could not be tried.
    fn try_out(&self, facts: &TaskFacts, code: &str) -> Result<(), RoleCheckError>;
}
