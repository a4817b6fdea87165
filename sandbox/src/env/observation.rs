//! What the environment says back: text for the agent, bounded, never a secret.

use crate::exec::{Outcome, Run};
use crate::grade::{Direction, Grade, GradeError, Thresholds, Tier};
use std::fmt::Write as _;

/// The reply to one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// For the agent.
    pub text: String,
}

impl Observation {
    /// How a run ended and what was kept of its output.
    pub(super) fn of_run(run: &Run, has_submission: bool) -> Self {
        let mut text = match &run.outcome {
            Outcome::Finished => "finished".to_owned(),
            outcome => format!("failed: {outcome}"),
        };
        // Seconds to one decimal: enough to plan with, and small policies see few variants.
        let _ = write!(text, " in {:.1} s; ", run.wall.as_secs_f64());
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

    /// That a submission is valid, and as much of its grade as the feedback mode allows.
    pub(super) fn valid() -> Self {
        Self { text: "valid submission".to_owned() }
    }

    pub(super) fn tier(tier: Option<Tier>) -> Self {
        Self { text: format!("valid submission; tier: {}", tier_name(tier)) }
    }

    pub(super) fn full(grade: &Grade, thresholds: &Thresholds, direction: Direction) -> Self {
        let better = match direction {
            Direction::HigherIsBetter => "higher",
            Direction::LowerIsBetter => "lower",
        };
        let mut text = format!(
            "valid submission; score: {:.5} ({better} is better); tier: {}; thresholds:",
            grade.score,
            tier_name(grade.tier)
        );
        for (tier, threshold) in thresholds.ascending() {
            let _ = write!(text, " {} {threshold:.5}", tier_name(Some(tier)));
        }
        Self { text }
    }

    pub(super) fn refused(error: &GradeError) -> Self {
        Self { text: error.to_string() }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

fn tier_name(tier: Option<Tier>) -> &'static str {
    match tier {
        None => "none",
        Some(Tier::Median) => "median",
        Some(Tier::Bronze) => "bronze",
        Some(Tier::Silver) => "silver",
        Some(Tier::Gold) => "gold",
    }
}
