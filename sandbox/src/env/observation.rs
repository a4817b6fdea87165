//! Observations: the replies of the environment, as bounded text that never reveals answers.

use jail::exec::{Outcome, Run};
use std::fmt::Write as _;
use std::time::Duration;
use tasks::grade::{Grade, GradeError};
use tasks::metrics::Direction;
use tasks::thresholds::{Milestone, Thresholds};

/// The reply to one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The text that the agent gets.
    pub text: String,
}

impl Observation {
    /// How a run ended and what was kept of its output.
    ///
    /// The wall time is included only if it exceeds a third of the limit: it differs between two
    /// runs of the same script, and training runs must be repeatable.
    pub(super) fn from_run(run: &Run, has_submission: bool, time_limit: Duration) -> Self {
        let mut text = match &run.outcome {
            Outcome::Finished => "finished".to_owned(),
            outcome => format!("failed: {outcome}"),
        };
        if Self::states_wall(run, time_limit) {
            let (wall, limit) = (run.wall.as_secs_f64(), time_limit.as_secs_f64());
            let _ = write!(text, " after {wall:.0} s of the {limit:.0} s allowed");
        }
        text.push_str("; ");
        text.push_str(if has_submission {
            "submission.csv is there"
        } else {
            "no submission.csv yet"
        });
        for (name, stream) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            let printed = stream.text();
            let printed = printed.trim_end();
            if !printed.is_empty() {
                let _ = write!(text, "\n[{name}]\n{printed}");
            }
        }
        Self { text }
    }

    /// Whether the observation of a run states its wall time.
    pub(super) fn states_wall(run: &Run, time_limit: Duration) -> bool {
        run.wall > time_limit / 3
    }

    /// Adds that a session will begin anew.
    pub(super) fn interpreter_lost(&mut self) {
        self.text.push_str("\n[the interpreter ended: variables are gone, files are kept]");
    }

    /// That a submission is valid, and as much of its grade as the feedback mode allows.
    pub(super) fn valid() -> Self {
        Self { text: "valid submission".to_owned() }
    }

    pub(super) fn tier(tier: Option<Milestone>) -> Self {
        Self { text: format!("valid submission; tier: {}", tier.map_or("none", Milestone::name)) }
    }

    pub(super) fn full(grade: &Grade, thresholds: &Thresholds, direction: Direction) -> Self {
        let better = match direction {
            Direction::HigherIsBetter => "higher",
            Direction::LowerIsBetter => "lower",
        };
        let mut text = format!("valid submission; score: {:.5} ({better} is better)", grade.score);
        // A competition of MLE-Dojo has none.
        if !thresholds.median_threshold.is_finite() {
            return Self { text };
        }
        let tier = grade.tier.map_or("none", Milestone::name);
        let _ = write!(text, "; tier: {tier}; thresholds:");
        for (tier, threshold) in thresholds.ascending() {
            let _ = write!(text, " {} {threshold:.5}", tier.name());
        }
        Self { text }
    }

    /// Why there is no grade. Why a metric has no value may depend on the rows it is computed on,
    /// which are secret, so there is one text for all reasons.
    pub(super) fn refused(error: &GradeError) -> Self {
        let text = match error {
            GradeError::NotFinite { metric, .. } => format!(
                "invalid submission: its {metric} is not a finite number; predictions may be \
                 constant, too large, or outside the metric's domain"
            ),
            error => error.to_string(),
        };
        Self { text }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::metrics::{Metric, MetricError};

    #[test]
    fn a_metric_without_a_value_has_one_refusal() {
        let refused = |source| {
            let error = GradeError::NotFinite { metric: Metric::Mae, source };
            Observation::refused(&error).text
        };
        let first = refused(MetricError::Constant);
        for source in [MetricError::Domain(-42.5), MetricError::Overflow, MetricError::OneClass] {
            assert_eq!(refused(source), first);
        }
        assert!(!first.contains("42") && first.contains("not a finite number"), "{first}");
    }
}
