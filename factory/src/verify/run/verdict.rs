//! What an evaluator prints about one submission, against what the native grader says of it.

use serde::Deserialize;
use tasks::grade::{Grade, GradeError, NativeGrader};
use tasks::metrics::Direction;
use tasks::text::with_causes;
use tasks::thresholds::Thresholds;

/// How far scores may lie apart, relative to the native one.
const RELATIVE: f64 = 1e-9;
/// The same next to a score of 0, where sums are rounded in another order.
const ABSOLUTE: f64 = 1e-12;

/// What an evaluator prints.
#[derive(Debug, Deserialize)]
pub(super) struct Verdict {
    /// The score; `None` for a submission that it refuses.
    pub(super) score: Option<f64>,
    is_lower_better: bool,
    gold_threshold: f64,
    silver_threshold: f64,
    bronze_threshold: f64,
    median_threshold: f64,
}

/// How an evaluator and the native grader differ.
#[derive(Debug)]
pub(super) struct Disagreement {
    /// Whether the evaluator scores what the native grader refuses.
    pub(super) accepts: bool,
    /// Both sides in words, for example `it says 1, the grader 2`.
    pub(super) text: String,
}

impl Verdict {
    /// Reads what an evaluator printed; `None` if that is not one JSON object with all fields.
    pub(super) fn parse(printed: &str) -> Option<Self> {
        serde_json::from_str(printed).ok()
    }

    /// How it differs from what `grader` said of the same submission; `None` if both agree.
    ///
    /// # Errors
    /// A fault of the task in words, if its answers cannot be used.
    pub(super) fn compare(
        &self,
        native: &Result<Grade, GradeError>,
        grader: &NativeGrader,
    ) -> Result<Option<Disagreement>, String> {
        let differs = |text: String| Ok(Some(Disagreement { accepts: false, text }));
        match (native, self.score) {
            (Ok(grade), Some(score)) => {
                if (score - grade.score).abs() > RELATIVE * grade.score.abs() + ABSOLUTE {
                    return differs(format!("it says {score}, the grader {}", grade.score));
                }
                // The native score, so that rounding decides nothing at a threshold.
                let tier = self.thresholds().tier(grade.score, self.direction());
                if (tier, &self.thresholds()) != (grade.tier, grader.thresholds())
                    || self.direction() != grader.metric().direction()
                {
                    let text = "thresholds or direction are wrong: it awards";
                    return differs(format!("{text} {tier:?}, the grader {:?}", grade.tier));
                }
                Ok(None)
            }
            (Ok(grade), None) => {
                differs(format!("it refuses what the grader scores {}", grade.score))
            }
            // Where a metric is undefined, scikit-learn may have a convention; a grade has none.
            (Err(GradeError::Submission(_)), None) | (Err(GradeError::NotFinite { .. }), _) => {
                Ok(None)
            }
            (Err(GradeError::Submission(error)), Some(score)) => {
                let text = format!("it says {score}, the grader refuses it: {error}");
                Ok(Some(Disagreement { accepts: true, text }))
            }
            // Unreadable answers; what else there is belongs to other kinds of tasks.
            (Err(error), _) => Err(with_causes(error)),
        }
    }

    fn thresholds(&self) -> Thresholds {
        let Self { gold_threshold, silver_threshold, bronze_threshold, median_threshold, .. } =
            *self;
        Thresholds { gold_threshold, silver_threshold, bronze_threshold, median_threshold }
    }

    fn direction(&self) -> Direction {
        if self.is_lower_better { Direction::LowerIsBetter } else { Direction::HigherIsBetter }
    }
}
