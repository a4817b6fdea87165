//! The routes of agents.

use super::access::{Guard, admit, read_json};
use super::answers::{self, Answer, OURS};
use super::release;
use super::shared::Shared;
use super::submit::{Arrival, Received, TurnedAway};
use super::uses;
use crate::grade::Results;
use crate::ledger::Outcome;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use worlds::Part;

/// Bytes of a path.
const PATH: usize = 1_024;
/// Characters of a note.
const NOTE: usize = 2_000;

/// The body of `POST /v1/submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubmitRequest {
    /// A folder below `output/`.
    model_path: String,
    /// What the agent says of it.
    #[serde(default)]
    note: Option<String>,
    /// Whether to answer when it is graded.
    #[serde(default)]
    wait: bool,
    /// Accepted for clients of the published benchmark: the operator chooses the device.
    #[serde(default, rename = "gpu")]
    _gpu: Option<Value>,
}

/// The routes, for whoever shows the token, or for whoever reaches the listener.
pub(super) fn router(shared: &Arc<Shared>, guard: Guard) -> Router {
    let guarded = Router::new()
        .route("/v1/submit", post(submit))
        .route("/v1/submissions", get(submissions))
        .route("/v1/submissions/{id}", get(submission))
        .route("/v1/time", get(time))
        .route("/v1/task", get(task))
        .route("/v1/uses", post(uses::report))
        .route("/submit", post(release::submit))
        .route("/time", get(release::time))
        .fallback(unknown)
        .layer(middleware::from_fn_with_state((Arc::clone(shared), guard), admit));
    guarded
        .route("/v1/health", get(health))
        .route("/health", get(release::health))
        .with_state(Arc::clone(shared))
}

async fn submit(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let request: SubmitRequest = match read_json(request).await {
        Ok(request) => request,
        Err(answer) => return answer.into_response(),
    };
    if request.note.as_ref().is_some_and(|note| note.chars().count() > NOTE) {
        let message = format!("a note may have {NOTE} characters");
        return Answer::error(StatusCode::BAD_REQUEST, message).into_response();
    }
    let received = match receive(&shared, request.model_path, request.note).await {
        Ok(received) => received,
        Err(answer) => return answer,
    };
    match received {
        Received::Accepted(id) if request.wait => {
            wait_for(&shared, id).await;
            let answer = entry(&shared, id, StatusCode::OK);
            let status = match answer.body["state"].as_str() {
                Some("refused") => StatusCode::UNPROCESSABLE_ENTITY,
                Some("busy" | "failed") => StatusCode::SERVICE_UNAVAILABLE,
                // The server stops; started again, it grades what waits.
                Some("waiting") => StatusCode::ACCEPTED,
                _ => StatusCode::OK,
            };
            Answer { status, ..answer }.into_response()
        }
        Received::Accepted(id) => entry(&shared, id, StatusCode::ACCEPTED).into_response(),
        Received::Refused(id, refusal) => {
            let status = match refusal.code {
                crate::RefusalCode::Path => StatusCode::BAD_REQUEST,
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            };
            entry(&shared, id, status).into_response()
        }
        Received::SameContent(id) => same_content(id).into_response(),
        Received::Failed => Answer::error(StatusCode::SERVICE_UNAVAILABLE, OURS).into_response(),
    }
}

/// Takes a snapshot of what is submitted and writes it down, also if the client goes away.
///
/// # Errors
/// What to answer instead.
pub(super) async fn receive(
    shared: &Arc<Shared>,
    model_path: String,
    note: Option<String>,
) -> Result<Received, Response> {
    // No line of the ledger is longer for it.
    if model_path.len() > PATH {
        let message = format!("a path may have {PATH} bytes; submit a folder below `output/`");
        return Err(Answer::error(StatusCode::BAD_REQUEST, message).into_response());
    }
    let arrival = Arrival::new(shared).map_err(|reason| turned_away(&reason))?;
    let work = tokio::task::spawn_blocking(move || arrival.submit(&model_path, note));
    work.await.map_err(|error| {
        tracing::error!(%error, "a submission was not handled");
        Answer::error(StatusCode::SERVICE_UNAVAILABLE, OURS).into_response()
    })
}

fn turned_away(reason: &TurnedAway) -> Response {
    let (status, message) = match reason {
        TurnedAway::NotStarted => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the base is being scored and the time has not begun; try again".to_owned(),
        ),
        TurnedAway::Over => {
            (StatusCode::GONE, "the run is over; nothing can be submitted any more".to_owned())
        }
        TurnedAway::TooMany(why) => (StatusCode::TOO_MANY_REQUESTS, why.clone()),
        TurnedAway::Full(most) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{most} submissions wait to be graded; try again when one is done"),
        ),
    };
    let answer = Answer::error(status, message);
    match status {
        StatusCode::SERVICE_UNAVAILABLE => ([("retry-after", "10")], answer).into_response(),
        _ => answer.into_response(),
    }
}

pub(super) fn same_content(id: u64) -> Answer {
    let message = format!("submission {id} has the same content and is still to be graded");
    let mut answer = Answer::error(StatusCode::CONFLICT, message);
    answer.body["submission_id"] = id.into();
    answer
}

/// Waits until a submission is graded, or the server stops.
pub(super) async fn wait_for(shared: &Shared, id: u64) {
    let (mut lines, mut stop) = (shared.lines(), shared.stop_signal());
    loop {
        lines.mark_unchanged();
        let is_waiting = {
            let run = shared.run();
            let submission = run.ledger.state().submissions().get(&id);
            submission.is_some_and(|submission| submission.outcome == Outcome::Waiting)
        };
        if !is_waiting {
            return;
        }
        tokio::select! {
            changed = lines.changed() => if changed.is_err() { return },
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}

fn entry(shared: &Shared, id: u64, status: StatusCode) -> Answer {
    let run = shared.run();
    let state = run.ledger.state();
    let Some(submission) = state.submissions().get(&id) else {
        let made = state.submissions().len();
        let message = format!("there is no submission {id}; {made} were made");
        return Answer::error(StatusCode::NOT_FOUND, message);
    };
    let mut body = answers::entry(state, id, submission);
    let model = submission.model.as_ref().map(|(digest, ..)| *digest);
    let is_scored = submission.scored().is_some() && shared.part() == Part::Dev;
    if let Some(model) = model.filter(|_| is_scored && shared.config.tells_items) {
        match Results::read(&shared.grading.results, Part::Dev, model) {
            Ok(Some((results, _))) => body["items"] = json!(results.items),
            Ok(None) => tracing::warn!(id, "a submission with a score has no results"),
            Err(error) => tracing::error!(id, %error, "results could not be read"),
        }
    }
    Answer { status, body }
}

async fn submissions(State(shared): State<Arc<Shared>>) -> Answer {
    let run = shared.run();
    let state = run.ledger.state();
    let all: Vec<Value> = state
        .submissions()
        .iter()
        .map(|(id, submission)| answers::entry(state, *id, submission))
        .collect();
    Answer::ok(json!({ "submissions": all, "best": answers::best(state) }))
}

async fn submission(State(shared): State<Arc<Shared>>, Path(id): Path<u64>) -> Answer {
    entry(&shared, id, StatusCode::OK)
}

async fn time(State(shared): State<Arc<Shared>>) -> Answer {
    Answer::ok(answers::time(&shared.run()))
}

async fn task(State(shared): State<Arc<Shared>>) -> Answer {
    let spec = &shared.spec;
    Answer::ok(json!({
        "id": spec.id.as_str(),
        "level": spec.level,
        "kind": spec.kind,
        "objective": spec.objective,
        "output": spec.output,
        "metric": spec.metric,
        "direction": spec.direction,
        "turns": spec.limits.turns,
        "turn_tokens": spec.limits.turn_tokens,
        "context": spec.limits.context,
        "sampling": spec.sampling,
        "items": spec.items,
        "protocol": shared.config.protocol,
        "scored_on": shared.part(),
        "description": shared.description,
    }))
}

async fn health(State(shared): State<Arc<Shared>>) -> Answer {
    Answer::ok(json!({ "status": "ok", "task": shared.spec.id.as_str() }))
}

async fn unknown() -> Answer {
    let message = "there is no such route: POST /v1/submit, GET /v1/submissions, \
                   /v1/submissions/{id}, /v1/time, /v1/task, /v1/health";
    Answer::error(StatusCode::NOT_FOUND, message)
}
