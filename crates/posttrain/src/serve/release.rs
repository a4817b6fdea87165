//! The routes of the published benchmark's server, in its shapes, so that its agents run unchanged.
//! Each answers what the routes under `/v1` do, and none of them sets anything.

use super::access::read_json;
use super::answers::{self, Answer, OURS};
use super::routes::{receive, same_content, wait_for};
use super::shared::Shared;
use super::submit::Received;
use super::views;
use crate::ledger::Outcome;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::SystemTime;

/// The body of `POST /submit`; other fields are passed over, as there.
#[derive(Debug, Deserialize)]
struct SubmitRequest {
    model_path: String,
}

pub(super) async fn submit(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let request: SubmitRequest = match read_json(request).await {
        Ok(request) => request,
        Err(answer) => return answer.into_response(),
    };
    let id = match receive(&shared, request.model_path, None).await {
        Err(answer) => return answer,
        Ok(Received::SameContent(id)) => return same_content(id).into_response(),
        Ok(Received::Failed) => {
            return Answer::error(StatusCode::INTERNAL_SERVER_ERROR, OURS).into_response();
        }
        Ok(Received::Accepted(id)) => {
            wait_for(&shared, id).await;
            id
        }
        Ok(Received::Refused(id, _)) => id,
    };
    let run = shared.run();
    let state = run.ledger.state();
    let Some(submission) = state.submissions().get(&id) else {
        return Answer::error(StatusCode::INTERNAL_SERVER_ERROR, OURS).into_response();
    };
    let mut body = answers::entry(state, id, submission);
    match submission.outcome {
        Outcome::Waiting | Outcome::Failed { .. } => {
            return Answer { status: StatusCode::INTERNAL_SERVER_ERROR, body }.into_response();
        }
        // There, what cannot be evaluated has the score of a failure and an `error`.
        Outcome::Refused(_) => body["score"] = state.facts().failure_score.into(),
        Outcome::Graded(_) | Outcome::Cached { .. } => {}
    }
    body["best"] = answers::best(state);
    body["total_submissions"] = state.submissions().len().into();
    Answer::ok(body).into_response()
}

pub(super) async fn time(State(shared): State<Arc<Shared>>) -> Answer {
    let run = shared.run();
    let mut body = views::times(&run);
    body["now"] = views::since_1970(SystemTime::now()).into();
    body["remaining"] = if run.is_over() { 0 } else { run.ledger.left_ms() / 1000 }.into();
    Answer::ok(body)
}

pub(super) async fn health(State(shared): State<Arc<Shared>>) -> Answer {
    Answer::ok(json!({
        "status": "ok",
        "task": shared.spec.id.as_str(),
        "available_gpus": [],
    }))
}
