//! OpenEnv's task API: which tasks there are, without a session.
//!
//! A task is an object that a reset takes as it is: `{"task": NAME, "split": SPLIT, "index": PLACE}`.
//! [`get`] and [`range`] also give its page (`description`). Nothing here reveals more of a task
//! than an episode on it does.

use super::body::{BadBody, Body};
use super::protocol::ProtocolError;
use super::server::ServerState;
use super::task_choice::{parse_split, split_name};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use tasks::task::{Split, Task};
use tokio::task::spawn_blocking;

/// The name of the environment.
const NAME: &str = "sandbox";

type Shared = State<Arc<ServerState>>;

/// Why a request has no answer.
struct TaskError {
    status: StatusCode,
    message: String,
}

/// What a request is answered with.
type Answer = Result<Value, TaskError>;

fn respond(answer: Answer) -> Response {
    let (status, body) = match answer {
        Ok(body) => (StatusCode::OK, body),
        Err(TaskError { status, message }) => (status, json!({"detail": message})),
    };
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn invalid(message: impl Into<String>) -> TaskError {
    TaskError { status: StatusCode::BAD_REQUEST, message: message.into() }
}

impl From<ProtocolError> for TaskError {
    fn from(error: ProtocolError) -> Self {
        invalid(error.message)
    }
}

#[derive(Deserialize)]
struct OfSplit {
    split: String,
}

#[derive(Deserialize)]
struct OfTask {
    split: String,
    index: i64,
}

#[derive(Deserialize)]
struct OfRange {
    split: String,
    start: Option<i64>,
    stop: Option<i64>,
}

/// The body of a request about the environment `name`.
fn read<T: DeserializeOwned>(name: &str, body: Result<Bytes, BadBody>) -> Result<T, TaskError> {
    check(name)?;
    let body = body.map_err(|BadBody { status, message }| TaskError { status, message })?;
    serde_json::from_slice(&body).map_err(|error| TaskError {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        message: format!("invalid request: {error}"),
    })
}

fn check(name: &str) -> Result<(), TaskError> {
    if name.eq_ignore_ascii_case(NAME) {
        return Ok(());
    }
    let message = format!("there is no environment `{name}`; there is `{NAME}`");
    Err(TaskError { status: StatusCode::NOT_FOUND, message })
}

impl ServerState {
    /// The tasks of the split of that name, which may be none.
    fn tasks_of(&self, name: &str) -> Result<(Split, Vec<&Task>), TaskError> {
        let split = parse_split(name)?;
        Ok((split, self.suite.split(split).unwrap_or_default()))
    }
}

fn row(split: Split, index: usize, task: &Task) -> Value {
    json!({"task": task.id(), "split": split_name(split), "index": index})
}

fn page(split: Split, index: usize, task: &Task) -> Answer {
    let description = task.description().map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "a task cannot be described");
        let message = format!("the description of the task `{}` cannot be read", task.id());
        TaskError { status: StatusCode::INTERNAL_SERVER_ERROR, message }
    })?;
    let mut row = row(split, index, task);
    row["description"] = description.into();
    Ok(row)
}

/// Answers `GET /list_environments`.
pub(super) async fn environments() -> Response {
    respond(Ok(json!([NAME])))
}

/// Answers `GET /{env}/splits` with the splits that have tasks.
pub(super) async fn splits(State(shared): Shared, Path(name): Path<String>) -> Response {
    let found = [(Split::Train, "train"), (Split::Val, "validation")]
        .into_iter()
        .filter(|(split, _)| shared.suite.split(*split).is_ok())
        .map(|(split, kind)| json!({"name": split_name(split), "type": kind}));
    respond(check(&name).map(|()| found.collect()))
}

/// Answers `POST /{env}/tasks` with all tasks of a split.
pub(super) async fn list(
    State(shared): Shared,
    Path(name): Path<String>,
    Body(body): Body,
) -> Response {
    respond(read(&name, body).and_then(|OfSplit { split }| {
        let (split, tasks) = shared.tasks_of(&split)?;
        let tasks: Vec<_> =
            tasks.into_iter().enumerate().map(|(index, task)| row(split, index, task)).collect();
        Ok(json!({"tasks": tasks, "env_name": NAME}))
    }))
}

/// Answers `POST /{env}/num_tasks` with the number of tasks of a split.
pub(super) async fn count(
    State(shared): Shared,
    Path(name): Path<String>,
    Body(body): Body,
) -> Response {
    respond(
        read(&name, body).and_then(|OfSplit { split }| {
            Ok(json!({"num_tasks": shared.tasks_of(&split)?.1.len()}))
        }),
    )
}

/// Answers `POST /{env}/task` with one task and its page.
pub(super) async fn get(
    State(shared): Shared,
    Path(name): Path<String>,
    Body(body): Body,
) -> Response {
    respond(read(&name, body).and_then(|OfTask { split, index }| {
        let (split, tasks) = shared.tasks_of(&split)?;
        let found = usize::try_from(index).ok().and_then(|at| Some((at, *tasks.get(at)?)));
        let Some((at, task)) = found else {
            let count = tasks.len();
            let message =
                format!("there is no task at the index {index}; there are {count}, counted from 0");
            return Err(invalid(message));
        };
        Ok(json!({"task": page(split, at, task)?}))
    }))
}

/// Answers `POST /{env}/task_range` with tasks and their pages: from `start`, which is 0 if it is left
/// out, up to but not including `stop`, which is the number of tasks. Negative ones count from the
/// end, as in a slice of Python.
pub(super) async fn range(
    State(shared): Shared,
    Path(name): Path<String>,
    Body(body): Body,
) -> Response {
    let pages = move || {
        let OfRange { split, start, stop } = read(&name, body)?;
        let (split, tasks) = shared.tasks_of(&split)?;
        let (start, stop) = slice(start, stop, tasks.len());
        let pages: Result<Vec<_>, _> =
            (start..stop).map(|index| page(split, index, tasks[index])).collect();
        Ok(json!({"tasks": pages?}))
    };
    // Thousands of pages are read from the disk.
    let answer = spawn_blocking(pages).await;
    respond(answer.unwrap_or_else(|error| {
        tracing::error!(%error, "tasks were not listed");
        let message = "the environment failed: the tasks cannot be read".to_owned();
        Err(TaskError { status: StatusCode::INTERNAL_SERVER_ERROR, message })
    }))
}

/// The bounds of a slice of Python over `count` items.
fn slice(start: Option<i64>, stop: Option<i64>, count: usize) -> (usize, usize) {
    let bound = |at: i64| {
        let from = if at < 0 { count } else { 0 };
        let at = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        if from > 0 { from.saturating_sub(at) } else { at.min(count) }
    };
    (start.map_or(0, bound), stop.map_or(count, bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_slices_of_python() {
        for (start, stop, expected) in [
            (None, None, (0, 5)),
            (Some(1), Some(3), (1, 3)),
            (Some(-2), None, (3, 5)),
            (None, Some(-2), (0, 3)),
            (Some(7), Some(9), (5, 5)),
            (Some(-9), Some(9), (0, 5)),
            (Some(i64::MIN), Some(i64::MAX), (0, 5)),
        ] {
            assert_eq!(slice(start, stop, 5), expected, "{start:?} {stop:?}");
        }
        assert_eq!(slice(Some(-1), None, 0), (0, 0));
    }

    #[test]
    fn environments_have_one_name_in_any_case() {
        assert!(check("Sandbox").is_ok());
        assert_eq!(check("other").unwrap_err().status, StatusCode::NOT_FOUND);
    }
}
