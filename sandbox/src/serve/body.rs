//! The bodies of HTTP requests.

use super::server::ServerState;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::time::timeout;

/// The body of a request, which may be as large as a message, and has to arrive in the time that a
/// client has to accept one.
pub(super) struct Body(pub(super) Result<Bytes, BadBody>);

/// Why a body was not read.
pub(super) struct BadBody {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl FromRequest<Arc<ServerState>> for Body {
    type Rejection = Infallible;

    async fn from_request(
        request: Request,
        shared: &Arc<ServerState>,
    ) -> Result<Self, Self::Rejection> {
        let limits = &shared.config.limits;
        let read = timeout(limits.send.0, Bytes::from_request(request, shared)).await;
        Ok(Self(match read {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(rejection)) => Err(match rejection.status() {
                status @ StatusCode::PAYLOAD_TOO_LARGE => BadBody {
                    status,
                    message: format!("a message may have {} (`--message-limit`)", limits.message),
                },
                status => BadBody { status, message: rejection.body_text() },
            }),
            Err(_) => Err(BadBody {
                status: StatusCode::REQUEST_TIMEOUT,
                message: format!("the message did not arrive within {}", limits.send),
            }),
        }))
    }
}
