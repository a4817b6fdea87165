//! Answers: JSON, and what went wrong with which status.

use super::server::Shared;
use crate::guide::defuse::for_page;
use crate::guide::error::GuideError;
use crate::guide::guidance::PostedGuidance;
use crate::guide::store::Store;
use crate::guide::wire::{ErrorBody, FORGOTTEN};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// A request that was not followed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) body: ErrorBody,
}

impl Failure {
    pub(super) fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        let body = ErrorBody { code: code.to_owned(), error: error.into(), guidance: None };
        Self { status, body }
    }

    pub(super) fn with(mut self, piece: PostedGuidance) -> Self {
        self.body.guidance = Some(Box::new(piece));
        self
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<GuideError> for Failure {
    fn from(error: GuideError) -> Self {
        let said = tasks::text::with_causes(&error);
        let (status, code) = match &error {
            _ if error.is_full_disk() => (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
            GuideError::Unknown(_) => (StatusCode::NOT_FOUND, FORGOTTEN),
            GuideError::Ahead { .. } => (StatusCode::CONFLICT, FORGOTTEN),
            GuideError::UnknownPiece(_) => (StatusCode::NOT_FOUND, "unknown_piece"),
            GuideError::Taken(_) => (StatusCode::CONFLICT, "taken"),
            GuideError::NotYours(_) => (StatusCode::FORBIDDEN, "not_yours"),
            GuideError::NotQueued(state) => (StatusCode::CONFLICT, state.name()),
            GuideError::Ended => (StatusCode::CONFLICT, "ended"),
            GuideError::QueueFull { .. } => (StatusCode::TOO_MANY_REQUESTS, "queue_full"),
            GuideError::TooLong { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_long"),
            GuideError::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            GuideError::OtherRun(_) => (StatusCode::CONFLICT, "other_run"),
            GuideError::TurnDiffers { .. } => (StatusCode::CONFLICT, "turn_differs"),
            GuideError::Io(_)
            | GuideError::Journal(_)
            | GuideError::Transcript(_)
            | GuideError::Judged(_)
            | GuideError::Contradiction(_) => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        if status.is_server_error() {
            tracing::error!(error = said, "a request failed");
        }
        Self::new(status, code, said)
    }
}

/// Has the store do something, on a thread that may block.
pub(super) async fn in_store<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Store) -> Result<T, GuideError> + Send + 'static,
) -> Result<T, Failure> {
    let store = Arc::clone(&shared.store);
    match tokio::task::spawn_blocking(move || work(&store)).await {
        Ok(result) => Ok(result?),
        Err(error) => {
            tracing::error!(%error, "a request failed");
            Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "the server has failed"))
        }
    }
}

/// JSON for people: every text in it is safe to show.
pub(super) fn shown(value: &impl Serialize) -> Result<Value, Failure> {
    let value = serde_json::to_value(value).map_err(|error| {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", error.to_string())
    })?;
    Ok(shown_value(value))
}

/// The same of JSON that is there already.
pub(super) fn shown_value(value: Value) -> Value {
    match value {
        Value::String(text) => match for_page(&text) {
            std::borrow::Cow::Borrowed(_) => Value::String(text),
            std::borrow::Cow::Owned(shown) => Value::String(shown),
        },
        Value::Array(values) => Value::Array(values.into_iter().map(shown_value).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(key, value)| (key, shown_value(value))).collect(),
        ),
        other => other,
    }
}
