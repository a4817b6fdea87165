//! The bodies of requests: JSON, of bounded size, in bounded time.

use super::answer::Failure;
use super::server::Shared;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Most bytes of a body.
pub(super) const LARGEST: usize = 4 << 20;
/// Time for it to arrive.
const ARRIVE: Duration = Duration::from_secs(30);

/// A body, parsed.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Failure> {
        let bytes = match timeout(ARRIVE, Bytes::from_request(request, shared)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(rejection)) => {
                let (status, said) = match rejection.status() {
                    status @ StatusCode::PAYLOAD_TOO_LARGE => {
                        (status, format!("a body may have {} MiB", LARGEST >> 20))
                    }
                    status => (status, rejection.body_text()),
                };
                return Err(Failure::new(status, "body", said));
            }
            Err(_) => {
                let said = format!("the body did not arrive within {} s", ARRIVE.as_secs());
                return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "body", said));
            }
        };
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            let said = format!("the body is not what is asked for here: {error}");
            Failure::new(StatusCode::BAD_REQUEST, "body", said)
        })
    }
}
