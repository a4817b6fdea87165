//! A grade, as text and as JSON.

use super::exit;
use anyhow::Result;
use serde_json::{Value, json};
use tasks::grade::{Grade, GradeError, Grader};
use tasks::metrics::Direction;
use tasks::task::Task;
use tasks::text::with_causes;

/// The exit code of a grade.
///
/// # Errors
/// A task that cannot be graded.
pub(super) fn code(grade: &Result<Grade, GradeError>) -> Result<u8> {
    match grade {
        Ok(_) => Ok(exit::SUCCESS),
        Err(error) if error.is_fault() => {
            Err(anyhow::Error::new(Ungradable { why: with_causes(error) }))
        }
        Err(_) => Ok(exit::SUBMISSION),
    }
}

/// The fault of a task.
#[derive(Debug, thiserror::Error)]
#[error("the task itself cannot be graded: {why}")]
pub(super) struct Ungradable {
    why: String,
}

pub(super) fn to_json(
    task: &Task,
    grader: &dyn Grader,
    grade: &Result<Grade, GradeError>,
) -> Value {
    json!({
        "task": task.id(),
        "metric": grader.metric(),
        "valid": grade.is_ok(),
        "score": grade.as_ref().ok().map(|grade| grade.score),
        "tier": grade.as_ref().ok().and_then(|grade| grade.tier),
        "error": grade.as_ref().err().map(ToString::to_string),
        "thresholds": grader.thresholds(),
        "is_lower_better": grader.direction() == Direction::LowerIsBetter,
    })
}

pub(super) fn to_text(grader: &dyn Grader, grade: &Result<Grade, GradeError>) -> String {
    let metric = grader.metric().map_or_else(|| "score".to_owned(), |metric| metric.to_string());
    match grade {
        Ok(Grade { score, tier: Some(tier) }) => format!("{metric}: {score} ({tier:?})"),
        Ok(Grade { score, tier: None }) => format!("{metric}: {score} (below the median)"),
        Err(error) => error.to_string(),
    }
}
