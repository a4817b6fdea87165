//! From a submission to a score and the milestones it reaches.
//!
//! Our own tasks have [`NativeGrader`], competitions a [`MleBenchGrader`]. A released bundle brings a
//! script of its own as grader, which needs a jail, so it is not here.

mod competition;
mod ours;

pub use competition::MleBenchGrader;
pub use ours::NativeGrader;

use crate::metrics::{Direction, Metric, MetricError};
use crate::mlebench::checks::GraderRefusal;
use crate::mlebench::grading::GradingError;
use crate::submission::{Part, SubmissionError};
use crate::task::TaskId;
use crate::thresholds::{Milestone, Thresholds};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The score of a valid submission and the tier that it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// The metric's value, always finite.
    pub score: f64,
    /// The best tier reached, if any.
    pub tier: Option<Milestone>,
}

/// Why there is no grade. [`GradeError::is_fault`] separates errors of the submission, which are
/// the agent's, from errors of the task.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// The submission is not acceptable; the text is written for the agent.
    #[error("invalid submission: {0}")]
    Submission(#[from] SubmissionError),
    /// The submission is well formed but its metric is not a finite number.
    #[error("invalid submission: its {metric} is not a finite number ({source})")]
    NotFinite {
        /// The metric of the task.
        metric: Metric,
        /// Why the metric has no value.
        source: MetricError,
    },
    /// The task's grader refused it; the text is written for the agent.
    #[error("invalid submission: {0}")]
    Refused(String),
    /// The competition's grader refused it, or broke on it as the original would.
    #[error(transparent)]
    Original(#[from] GraderRefusal),
    /// The grader found it acceptable and its score is no finite number.
    #[error("invalid submission: its score is not a finite number")]
    NoScore,
    /// A competition's answers could not be used.
    #[error("failed to open the grader of the competition")]
    Competition(#[source] GradingError),
    /// A task's own evaluator failed.
    #[error("the evaluator of task {task} failed")]
    Evaluator {
        /// The task whose evaluator failed.
        task: TaskId,
        /// How the evaluator failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The task's own answers could not be used.
    #[error("failed to read the answers `{path}`")]
    Answers {
        /// Path of the answer file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: SubmissionError,
    },
}

impl GradeError {
    /// Whether the task is at fault rather than the submission.
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
    /// A [`GradeError`]. [`GradeError::is_fault`] separates errors of the task from those of the
    /// agent.
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError>;

    /// An upper bound in bytes of the memory that grading a submission of `size` bytes takes, the
    /// submission included.
    fn memory(&self, size: u64) -> u64 {
        size.saturating_mul(4).saturating_add(1 << 20)
    }

    /// Thresholds of the task's milestones, in units of its score.
    fn thresholds(&self) -> Thresholds;

    /// Which way scores improve.
    fn direction(&self) -> Direction;

    /// The metric; `None` if it is not one of [`Metric`]'s.
    fn metric(&self) -> Option<Metric>;
}
