//! The grader of our own tasks, and of competitions with rules of their own.

use super::{Grade, GradeError, Grader};
use crate::metrics::{Direction, Metric};
use crate::prediction::Prediction;
use crate::submission::{self, Answers, Part, Submission, SubmissionError};
use crate::task::{Competition, TaskDir};
use crate::thresholds::Thresholds;

/// Grades the submissions to one of our own tasks. Answers are read once and stay in this value.
#[derive(Debug)]
pub struct NativeGrader {
    answers: Answers,
    metric: Metric,
    prediction: Prediction,
    thresholds: Thresholds,
}

impl NativeGrader {
    /// A grader of tasks that are in no folder yet.
    pub fn new(
        answers: Answers,
        metric: Metric,
        prediction: Prediction,
        thresholds: Thresholds,
    ) -> Self {
        Self { answers, metric, prediction, thresholds }
    }

    /// Reads the private half of `task`.
    ///
    /// # Errors
    /// [`GradeError::Answers`] if the answers are unreadable or malformed.
    pub fn open(task: &TaskDir) -> Result<Self, GradeError> {
        let manifest = task.manifest();
        let path = task.private().answers();
        let answers = submission::read_answers(&path, &manifest.id_column, &manifest.prediction)
            .map_err(|source| GradeError::Answers { path, source })?;
        let prediction = manifest.prediction.clone();
        Ok(Self::new(answers, manifest.metric, prediction, manifest.thresholds))
    }

    /// The grader of a competition with rules of its own; `None` of MLE-bench's.
    ///
    /// # Errors
    /// [`GradeError::Answers`] if the answers are unreadable or malformed.
    pub fn of_competition(competition: &Competition) -> Result<Option<Self>, GradeError> {
        let Some(rules) = competition.rules() else { return Ok(None) };
        let path = competition.answers();
        let answers = submission::read_answers(path, &rules.id_column, &rules.prediction)
            .map_err(|source| GradeError::Answers { path: path.to_owned(), source })?;
        Ok(Some(Self::new(answers, rules.metric, rules.prediction.clone(), rules.thresholds)))
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

    /// The metric that the task is scored with.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Thresholds of the task's milestones, in units of the metric.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }
}

impl Grader for NativeGrader {
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
