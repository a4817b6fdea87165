//! Who is let in, and how much they may send.

use super::denial::Denial;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use std::time::Duration;
use tokio::time::timeout;
use web::token::{Token, is_from_a_page};

/// Bytes of a request's body: a long conversation with pictures.
const BODY: usize = 8 << 20;
/// Time for a body to arrive.
const PATIENCE: Duration = Duration::from_mins(1);
/// The header that clients of Anthropic's protocol show their key in.
const KEY: &str = "x-api-key";

/// Refuses requests without the token, from web pages, and those that take the gateway for a proxy.
pub(super) fn check(token: &Token, request: &Request) -> Result<(), Denial> {
    let headers = request.headers();
    if is_from_a_page(headers) {
        let message = "pages in a browser are not served";
        return Err(Denial::new(StatusCode::FORBIDDEN, "host", message));
    }
    if request.uri().authority().is_some() {
        let message = "the gateway is no proxy and reaches no host that a request names; ask for \
                       /v1/chat/completions or /v1/messages at its own address";
        return Err(Denial::new(StatusCode::FORBIDDEN, "host", message));
    }
    let key = headers.get(KEY).and_then(|value| value.to_str().ok());
    let is_shown = token.is_in(headers)
        || key.and_then(|key| Token::new(key, 1).ok()).is_some_and(|shown| shown == *token);
    if is_shown {
        return Ok(());
    }
    let message = "show the token of the run, which is in OPENAI_API_KEY and ANTHROPIC_API_KEY, as \
                   `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`";
    Err(Denial::new(StatusCode::UNAUTHORIZED, "token", message))
}

/// Reads the body of a request.
pub(super) async fn read_body(request: Request) -> Result<Bytes, Denial> {
    match timeout(PATIENCE, to_bytes(request.into_body(), BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            let message = format!("a request may have {BODY} bytes; send a shorter conversation");
            Err(Denial::new(StatusCode::PAYLOAD_TOO_LARGE, "size", message))
        }
        Err(_) => {
            let message = format!("the body did not arrive within {} s", PATIENCE.as_secs());
            Err(Denial::new(StatusCode::REQUEST_TIMEOUT, "size", message))
        }
    }
}
