//! What agents are told: JSON made from the state.

use super::shared::Run;
use crate::clock::{Budget, ClockMode};
use crate::ledger::{Outcome, State, Submission};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A status and a JSON body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Answer {
    pub(super) fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body }
    }

    /// An error that says what to do.
    pub(super) fn error(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, body: json!({ "error": message.into() }) }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let text = self.body.to_string() + "\n";
        (self.status, [(CONTENT_TYPE, "application/json")], text).into_response()
    }
}

/// What an agent is told where we failed. The fault itself is for the operator.
pub(super) const OURS: &str = "the server could not score this submission, which is not your fault and \
                               does not count; submit it again";

/// A submission, as the agent sees it.
pub(super) fn entry(state: &State, id: u64, submission: &Submission) -> Value {
    let scored = submission.scored();
    let score = scored.map(|scored| scored.score);
    let (name, error) = match &submission.outcome {
        Outcome::Waiting => ("waiting", None),
        Outcome::Graded(_) => ("graded", None),
        Outcome::Cached { .. } => ("cached", None),
        Outcome::Refused(refusal) => ("refused", Some(refusal.message.clone())),
        Outcome::Failed { busy: true, fault } => {
            let message = format!(
                "the device is busy ({fault}): free it, or submit again later; this does not count"
            );
            ("busy", Some(message))
        }
        Outcome::Failed { .. } => ("failed", Some(OURS.to_owned())),
    };
    let mut entry = json!({
        "submission_id": id,
        "timestamp": submission.time,
        "elapsed_seconds": seconds(submission.request.used_ms),
        "model_path": submission.request.model_path,
        "state": name,
        "score": score,
        "baseline_score": state.baseline().map(|baseline| baseline.score),
        "improvement": score.and_then(|score| state.improvement(score)),
        "is_best": state.best().is_some_and(|(best, _)| best == id),
    });
    if let Some((digest, bytes, facts)) = &submission.model {
        entry["model_hash"] = digest.to_string().into();
        entry["bytes"] = (*bytes).into();
        entry["facts"] = serde_json::to_value(facts).unwrap_or_default();
    }
    if let Some(note) = &submission.request.note {
        entry["note"] = note.as_str().into();
    }
    if let Outcome::Cached { of, .. } = &submission.outcome {
        entry["same_as"] = of.map_or_else(|| "base".into(), Value::from);
    }
    if let Outcome::Refused(refusal) = &submission.outcome {
        entry["code"] = serde_json::to_value(refusal.code).unwrap_or_default();
    }
    if let Some(error) = error {
        entry["error"] = error.into();
    }
    entry
}

/// The entry of the best submission.
pub(super) fn best(state: &State) -> Value {
    let best = state.best().and_then(|(id, _)| Some((id, state.submissions().get(&id)?)));
    best.map_or(Value::Null, |(id, submission)| entry(state, id, submission))
}

/// The agent's time, and how often it may still submit.
pub(super) fn time(run: &Run) -> Value {
    let state = run.ledger.state();
    let Budget { limit_ms, clock } = state.facts().budget;
    let limits = &state.facts().limits;
    let spending = state.spending();
    let word = if !spending.is_started() {
        "not_started"
    } else if run.is_over() {
        "over"
    } else if spending.is_running() {
        "running"
    } else {
        "paused"
    };
    json!({
        "state": word,
        "clock": match clock { ClockMode::Wall => "wall", ClockMode::Paused => "paused" },
        "limit_seconds": seconds(limit_ms),
        "used_seconds": seconds(run.ledger.used_ms()),
        "remaining_seconds": if word == "over" { 0.0 } else { seconds(run.ledger.left_ms()) },
        "submissions": {
            "made": state.submissions().len(),
            "counted": state.counted(),
            "limit": limits.submissions,
            "waiting": state.all_waiting().count(),
        },
        "grading": {
            "used_seconds": state.grading_seconds(),
            "limit_seconds": limits.grading_share.map(|share| share * seconds(limit_ms)),
        },
    })
}

pub(super) fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
