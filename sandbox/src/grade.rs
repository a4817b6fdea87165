//! From a valid submission to a score and the milestones it reaches.

use crate::judge::{EvaluatorFault, Judge};
use crate::metrics::{Metric, MetricError};
use crate::mlebench::checks::Refusal;
use crate::mlebench::grading::GradingError;
use crate::submission::{self, Answers, Part, Submission, SubmissionError};
use crate::task::{Prediction, TaskDir, TaskId};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Losses and errors.
    LowerIsBetter,
    /// Accuracies, areas, correlations.
    HigherIsBetter,
}

impl Direction {
    /// Whether `a` is strictly better than `b`. Nothing is better or worse than NaN.
    pub fn better(self, a: f64, b: f64) -> bool {
        match self {
            Self::LowerIsBetter => a < b,
            Self::HigherIsBetter => a > b,
        }
    }

    /// Whether `score` meets or passes `threshold`.
    pub fn reaches(self, score: f64, threshold: f64) -> bool {
        !score.is_nan() && !self.better(threshold, score)
    }

    /// `value` so that larger is always better.
    pub fn gain(self, value: f64) -> f64 {
        match self {
            Self::LowerIsBetter => -value,
            Self::HigherIsBetter => value,
        }
    }
}

/// The milestones of a task: exactly the four keys of `threshold.json`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// The hardest.
    pub gold_threshold: f64,
    /// Between gold and bronze.
    pub silver_threshold: f64,
    /// The easiest medal.
    pub bronze_threshold: f64,
    /// What a simple honest model reaches.
    pub median_threshold: f64,
}

impl Thresholds {
    /// From the easiest to the hardest: median, bronze, silver, gold.
    pub fn ascending(&self) -> [(Tier, f64); 4] {
        [
            (Tier::Median, self.median_threshold),
            (Tier::Bronze, self.bronze_threshold),
            (Tier::Silver, self.silver_threshold),
            (Tier::Gold, self.gold_threshold),
        ]
    }

    /// The best tier that `score` reaches.
    pub fn tier(&self, score: f64, direction: Direction) -> Option<Tier> {
        self.ascending()
            .into_iter()
            .rev()
            .find(|(_, threshold)| direction.reaches(score, *threshold))
            .map(|(tier, _)| tier)
    }

    /// Whether gold > silver > bronze > median > `sample`, each strictly better than the next
    /// (SandMLE §4.2, equation 1).
    pub fn strictly_ordered(&self, sample: f64, direction: Direction) -> bool {
        let mut previous = sample;
        self.ascending().into_iter().all(|(_, threshold)| {
            direction.better(threshold, std::mem::replace(&mut previous, threshold))
        })
    }
}

/// The milestones by name, from the easiest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// At least the median threshold.
    Median,
    /// At least the bronze threshold.
    Bronze,
    /// At least the silver threshold.
    Silver,
    /// At least the gold threshold.
    Gold,
}

impl Tier {
    /// The name as in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Bronze => "bronze",
            Self::Silver => "silver",
            Self::Gold => "gold",
        }
    }
}

/// What a valid submission earned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// The metric's value, always finite.
    pub score: f64,
    /// The best tier reached, if any.
    pub tier: Option<Tier>,
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
        source: EvaluatorFault,
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

/// Grades the submissions to one of our own tasks. Answers are read once and stay in this value.
#[derive(Debug)]
pub struct Grader {
    answers: Answers,
    metric: Metric,
    prediction: Prediction,
    thresholds: Thresholds,
}

impl Grader {
    /// Reads the private half of `task`.
    ///
    /// # Errors
    /// [`GradeError::Answers`] if the answers are unreadable or malformed.
    pub fn open(task: &TaskDir) -> Result<Self, GradeError> {
        let manifest = task.manifest();
        let path = task.private().answers();
        let answers = submission::read_answers(&path, &manifest.id_column, &manifest.prediction)
            .map_err(|source| GradeError::Answers { path, source })?;
        Ok(Self {
            answers,
            metric: manifest.metric,
            prediction: manifest.prediction.clone(),
            thresholds: manifest.thresholds,
        })
    }

    /// Parses and checks a submission without scoring it.
    ///
    /// # Errors
    /// [`SubmissionError`], worded for the agent.
    pub fn validate(&self, csv: &[u8]) -> Result<Submission, SubmissionError> {
        Submission::parse(csv, &self.answers, &self.prediction)
    }

    /// Scores a submission's `part` of the test rows.
    ///
    /// # Errors
    /// [`GradeError`] as documented on its variants.
    pub fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError> {
        let submission = self.validate(csv)?;
        let score = submission
            .score(&self.answers, self.metric, part)
            .map_err(|source| GradeError::NotFinite { metric: self.metric, source })?;
        Ok(Grade { score, tier: self.thresholds.tier(score, self.metric.direction()) })
    }

    /// The task's metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The task's milestones.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }
}

impl Judge for Grader {
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError> {
        Self::grade(self, csv, part)
    }

    fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    fn direction(&self) -> Direction {
        self.metric.direction()
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }
}
