//! Why a request gets no answer, in the shape that OpenAI's clients understand.

use super::respond::page;
use axum::http::StatusCode;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Seconds after which a client may try again.
const PATIENCE: &str = "1";

/// A request that gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    /// The parameter that is to blame.
    param: Option<String>,
    message: String,
}

impl Refusal {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, code: None, param: None, message: message.into() }
    }

    /// The request makes no sense as a whole.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// A parameter makes no sense.
    pub(super) fn invalid(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::malformed(message) }
    }

    /// A parameter asks for something that is not done here.
    pub(super) fn unsupported(param: &str, message: impl Into<String>) -> Self {
        Self { code: Some("unsupported_parameter"), ..Self::invalid(param, message) }
    }

    /// The prompt does not fit.
    pub(super) fn too_long(param: &str, tokens: usize, capacity: usize) -> Self {
        let message = format!(
            "the prompt has {tokens} tokens; the server's context holds {capacity}, of which at \
             least one is for the answer; shorten the prompt, or have the server started with a \
             larger `--max-model-len`"
        );
        Self { code: Some("context_length_exceeded"), ..Self::invalid(param, message) }
    }

    /// Another model is asked for.
    pub(super) fn model(asked: &str, served: &str) -> Self {
        let message = format!("there is no model `{asked}` here; the one served is `{served}`");
        Self {
            code: Some("model_not_found"),
            param: Some("model".into()),
            ..Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
        }
    }

    /// There is nothing under this address, or not by this method.
    pub(super) fn route(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, "invalid_request_error", message)
    }

    /// The key was not shown.
    pub(super) fn key() -> Self {
        let message = "show the server's key, as `Authorization: Bearer KEY`";
        Self {
            code: Some("invalid_api_key"),
            ..Self::new(StatusCode::UNAUTHORIZED, "authentication_error", message)
        }
    }

    /// The request comes from a web page.
    pub(super) fn page() -> Self {
        let message = "pages in a browser are not served";
        Self::new(StatusCode::FORBIDDEN, "permission_error", message)
    }

    /// All places are taken.
    pub(super) fn busy(asked: usize, places: usize) -> Self {
        let message = format!(
            "the server has {places} answers in work or waiting, and no place for {asked} more; \
             try again later"
        );
        Self {
            code: Some("rate_limit_exceeded"),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", message)
        }
    }

    /// Nothing is generated any more.
    pub(super) fn stopped() -> Self {
        let message = "the server no longer generates; its log says why";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message)
    }

    /// Something of ours broke.
    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
    }

    /// For the client.
    pub(super) fn to_json(&self) -> Value {
        let Self { kind, code, param, message, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, page(&self.to_json())).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(RETRY_AFTER, PATIENCE.parse().expect("a number is a header"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, "Bearer".parse().expect("a word is a header"));
            }
            _ => (),
        }
        response
    }
}
