//! Errors of requests, in the form that OpenAI's clients parse.

use super::respond::page;
use axum::http::StatusCode;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Seconds after which a client may try again.
const PATIENCE: &str = "1";

/// The error of a request, with its HTTP status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    /// The parameter that is invalid.
    param: Option<String>,
    message: String,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, code: None, param: None, message: message.into() }
    }

    /// The body is not a valid request.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// The value of a parameter is invalid.
    pub(super) fn invalid(param: &str, message: impl Into<String>) -> Self {
        Self { param: Some(param.to_owned()), ..Self::malformed(message) }
    }

    /// A parameter, or its value, is not supported.
    pub(super) fn unsupported(param: &str, message: impl Into<String>) -> Self {
        Self { code: Some("unsupported_parameter"), ..Self::invalid(param, message) }
    }

    /// The model has no chat template, so that it has no form for messages.
    pub(super) fn no_template() -> Self {
        let message = "the model has no chat template, as is usual for base models; send a prompt \
                       to `/v1/completions`, or put the `chat_template.jinja` that it is to use \
                       into the model's folder and start the server again";
        Self { code: Some("no_chat_template"), ..Self::malformed(message) }
    }

    /// The prompt leaves no room for a token in the context.
    pub(super) fn too_long(param: &str, tokens: usize, capacity: usize) -> Self {
        let message = format!(
            "the prompt has {tokens} tokens; the server's context holds {capacity}, of which at \
             least one is for the answer; shorten the prompt, or start the server with a larger \
             `--max-model-len`"
        );
        Self { code: Some("context_length_exceeded"), ..Self::invalid(param, message) }
    }

    /// The requested model is not the served one.
    pub(super) fn model(requested: &str, served: &str) -> Self {
        let message = format!("there is no model `{requested}` here; the one served is `{served}`");
        Self {
            code: Some("model_not_found"),
            param: Some("model".into()),
            ..Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
        }
    }

    /// No such route, or not with this method.
    pub(super) fn route(status: StatusCode, message: impl Into<String>) -> Self {
        Self::new(status, "invalid_request_error", message)
    }

    /// The key is missing or wrong.
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

    /// The queue has no room for so many more choices.
    pub(super) fn busy(requested: usize, most: usize) -> Self {
        let message = format!(
            "the server runs or queues at most {most} choices and has no room for {requested} \
             more; try again later"
        );
        Self {
            code: Some("rate_limit_exceeded"),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", message)
        }
    }

    /// The generator has ended.
    pub(super) fn stopped() -> Self {
        let message = "the server no longer generates; its log says why";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", message)
    }

    /// An error of the server, not of the request.
    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", message)
    }

    /// The body of the response.
    pub(super) fn to_json(&self) -> Value {
        let Self { kind, code, param, message, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
    }
}

impl IntoResponse for ApiError {
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
