//! From a submission to a score and the milestones it reaches.
//!
//! Our own tasks have [`NativeGrader`], competitions a [`MleBenchGrader`]. A released bundle brings a
//! script of its own as grader, which needs a jail, so it is not here.

mod competition;
mod ours;

pub use competition::MleBenchGrader;
pub use ours::NativeGrader;

use crate::metrics::{Direction, Metric, MetricError};
use crate::mlebench::checks::Refusal;
use crate::mlebench::grading::GradingError;
use crate::submission::{Part, SubmissionError};
use crate::task::TaskId;
use crate::thresholds::{Milestone, Thresholds};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// What a valid submission earned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// The metric's value, always finite.
    pub score: f64,
    /// The best tier reached, if any.
    pub tier: Option<Milestone>,
}

/// Why there is no grade. The two halves must never be confused: the first is the agent's
/// doing, the second ours.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// The submission is not acceptable; the text is written for the agent.
    #[error("invalid submission: {0}")]
    Submission(#[from] SubmissionError),
    /// The submission is well formed but its metric is not a finite number.
    #[error("invalid submission: its {metric} is not a finite number ({source})")]
    NotFinite {
        /// The metric.
        metric: Metric,
        /// Why.
        source: MetricError,
    },
    /// The task's grader refused it; the text is written for the agent.
    #[error("invalid submission: {0}")]
    Refused(String),
    /// The competition's grader refused it, or broke on it as the original would.
    #[error(transparent)]
    Original(#[from] Refusal),
    /// The grader found it acceptable and its score is no finite number.
    #[error("invalid submission: its score is not a finite number")]
    NoScore,
    /// A competition's answers could not be used.
    #[error("failed to open the grader of the competition")]
    Competition(#[source] GradingError),
    /// A task's own evaluator did not do its work.
    #[error("the evaluator of task {task} failed")]
    Evaluator {
        /// The task.
        task: TaskId,
        /// How.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The task's own answers could not be used.
    #[error("failed to read the answers `{path}`")]
    Answers {
        /// The answer file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: SubmissionError,
    },
}

impl GradeError {
    /// Whether the fault lies with the task rather than with what the agent submitted.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Answers { .. } | Self::Competition(_) | Self::Evaluator { .. } => true,
            Self::Submission(_)
            | Self::NotFinite { .. }
            | Self::Refused(_)
            | Self::Original(_)
            | Self::NoScore => false,
        }
    }
}

/// Grades one task's submissions.
pub trait Grader: Debug + Send {
    /// Scores a submission's `part` of the test rows. Where the task does not
    /// [take parts](crate::task::Task::takes_parts), only [`Part::All`] is asked for.
    ///
    /// # Errors
    /// A [`GradeError`], which says whether the agent or the task is to blame.
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError>;

    /// The most memory in bytes that grading a submission of `size` bytes takes, its own bytes
    /// counted in: which callers keep within a bound of their own.
    fn memory(&self, size: u64) -> u64 {
        size.saturating_mul(4).saturating_add(1 << 20)
    }

    /// The task's milestones.
    fn thresholds(&self) -> Thresholds;

    /// Which way scores improve.
    fn direction(&self) -> Direction;

    /// What is computed, where that has a name here.
    fn metric(&self) -> Option<Metric>;
}
