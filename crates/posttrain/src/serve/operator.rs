//! The operator's routes, on a Unix socket in the sealed folder, which no agent reaches.

use super::answers::Answer;
use super::shared::Shared;
use crate::clock::{BudgetChange, PauseReason};
use crate::ledger::{EndReason, Event, LedgerError, Outcome, Which};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name of the socket in the sealed folder.
pub(super) const SOCKET: &str = "operator.sock";

pub(super) fn router(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route("/state", get(state))
        .route("/pause", post(pause))
        .route("/resume", post(resume))
        .route("/end", post(end))
        .with_state(Arc::clone(shared))
}

/// Everything, with the scores on the test items and the faults.
async fn state(State(shared): State<Arc<Shared>>) -> Answer {
    let run = shared.run();
    let state = run.ledger.state();
    let submissions: Vec<Value> = state
        .submissions()
        .iter()
        .map(|(id, submission)| {
            let mut entry = super::answers::entry(state, *id, submission);
            if let Outcome::Failed { fault, .. } = &submission.outcome {
                entry["fault"] = fault.as_str().into();
            }
            entry
        })
        .collect();
    let mut finals = Map::new();
    for (which, score) in state.finals() {
        let name = match which {
            Which::Base => "base",
            Which::Best => "best",
            Which::Last => "last",
        };
        let value = score.scored.as_ref().map_or(state.facts().failure_score, |one| one.score);
        finals.insert(name.to_owned(), json!({ "submission_id": score.id, "score": value }));
    }
    let (seq, head) = run.ledger.head();
    Answer::ok(json!({
        "facts": state.facts(),
        "time": super::answers::time(&run),
        "baseline": state.baseline(),
        "submissions": submissions,
        "ended": state.ended(),
        "finals": finals,
        "head": { "seq": seq, "hash": head },
    }))
}

async fn pause(State(shared): State<Arc<Shared>>) -> Answer {
    change(&shared, BudgetChange::Paused { reason: PauseReason::Operator })
}

async fn resume(State(shared): State<Arc<Shared>>) -> Answer {
    change(&shared, BudgetChange::Resumed { reason: PauseReason::Operator })
}

fn change(shared: &Shared, change: BudgetChange) -> Answer {
    let mut run = shared.run();
    match shared.append(&mut run, Event::Budget(change)) {
        Ok(()) => Answer::ok(super::answers::time(&run)),
        Err(LedgerError::Event(error)) => Answer::error(StatusCode::CONFLICT, error.to_string()),
        Err(error) => Answer::error(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Ends the run once what waits is graded.
async fn end(State(shared): State<Arc<Shared>>) -> Answer {
    let mut run = shared.run();
    run.end_asked.get_or_insert(EndReason::Operator);
    shared.wake();
    Answer::ok(super::answers::time(&run))
}
