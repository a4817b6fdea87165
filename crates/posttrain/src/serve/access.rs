//! Who is let in, and how much they may send.

use super::answers::Answer;
use super::shared::Shared;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use web::token::is_from_a_page;

/// Bytes of a request's body.
const BODY: usize = 64 << 10;
/// Time for a body to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// Whoever shows the token of the run.
    Token,
    /// Everybody: the listener is in a network that nobody has but the agent, so that reaching it says
    /// what a token would. There is no request to rewrite, and none that two parsers could read
    /// differently.
    Door,
}

/// Refuses requests without the token, and requests from web pages.
pub(super) async fn admit(
    State((shared, guard)): State<(Arc<Shared>, Guard)>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    if is_from_a_page(&headers) {
        return Answer::error(StatusCode::FORBIDDEN, "pages in a browser are not served")
            .into_response();
    }
    if guard == Guard::Door || shared.config.token.is_in(&headers) {
        return next.run(request).await;
    }
    let how = [(WWW_AUTHENTICATE, "Bearer")];
    let message =
        "show the token of the run, which is in GRADING_TOKEN, as `Authorization: Bearer TOKEN`";
    (how, Answer::error(StatusCode::UNAUTHORIZED, message)).into_response()
}

/// Reads the body of a request as JSON.
///
/// # Errors
/// What to answer instead.
pub(super) async fn read_json<T: DeserializeOwned>(request: Request) -> Result<T, Answer> {
    let is_json = request.headers().get(CONTENT_TYPE).is_none_or(|kind| {
        kind.to_str().is_ok_and(|kind| kind.to_ascii_lowercase().contains("json"))
    });
    if !is_json {
        let message = "send JSON, as `Content-Type: application/json`";
        return Err(Answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let bytes = read_body(request).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("the body is not what is expected here: {error}");
        Answer::error(StatusCode::BAD_REQUEST, message)
    })
}

async fn read_body(request: Request) -> Result<Bytes, Answer> {
    match timeout(PATIENCE, to_bytes(request.into_body(), BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            let message = format!("a body may have {BODY} bytes; submit the path of a model");
            Err(Answer::error(StatusCode::PAYLOAD_TOO_LARGE, message))
        }
        Err(_) => {
            let message = format!("the body did not arrive within {} s", PATIENCE.as_secs());
            Err(Answer::error(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}
