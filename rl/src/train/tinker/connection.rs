//! Requests and their results. A result is a *future*: a request is answered by its number, and the
//! result is asked for until it is there.

use super::error::TinkerError;
use crate::remote::{Server, ServerError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// For the answer to a request, which is quick: it is only queued.
const REQUEST: Duration = Duration::from_mins(2);
/// For one question for a result. The server itself answers after 5 minutes that there is none yet.
const QUESTION: Duration = Duration::from_secs(330);
/// Between two questions that were answered by "not yet".
const PAUSE: Duration = Duration::from_millis(100);
/// How often in a row a request fails before it is given up.
const MOST_FAILURES: u32 = 5;
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Requests to one server. Clones share the connections.
#[derive(Debug, Clone)]
pub struct Connection {
    server: Server,
    patience: Duration,
}

/// The answer to a request: the number of its result.
#[derive(Debug, Deserialize)]
pub(super) struct Promise {
    pub(super) request_id: String,
}

impl Connection {
    /// Requests to `server` whose results take at most `patience`.
    pub fn new(server: Server, patience: Duration) -> Self {
        Self { server, patience }
    }

    /// The server's address.
    pub(super) fn server(&self) -> String {
        self.server.to_string()
    }

    /// Asks once and reads JSON.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        what: &'static str,
    ) -> Result<T, TinkerError> {
        let answer = self.server.get(&path(what), REQUEST).await;
        answer.map_err(|error| self.refusal(what, error))
    }

    /// Posts once and reads JSON. For requests that would do harm twice.
    pub(super) async fn once<T: DeserializeOwned>(
        &self,
        what: &'static str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, TinkerError> {
        let answer = self.server.post(&path(what), body, REQUEST).await;
        answer.map_err(|error| self.refusal(what, error))
    }

    /// Posts until there is an answer, and returns the number of the result. For requests that do
    /// nothing twice, or have a number by which the server knows them again.
    pub(super) async fn promise(
        &self,
        what: &'static str,
        content_type: &str,
        body: &[u8],
    ) -> Result<Promise, TinkerError> {
        let mut failures = 0;
        let bytes = loop {
            match self.server.send(&path(what), content_type, body.to_vec(), REQUEST).await {
                Ok(bytes) => break bytes,
                Err(error) => self.failed(what, error, &mut failures).await?,
            }
        };
        serde_json::from_slice(&bytes).map_err(|error| self.unusable(what, &error))
    }

    /// Waits for the result of the request with this number.
    pub(super) async fn result(
        &self,
        what: &'static str,
        promise: &Promise,
    ) -> Result<Vec<u8>, TinkerError> {
        let began = Instant::now();
        let body = json!({"request_id": promise.request_id});
        let mut failures = 0;
        loop {
            let left = self.patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                let (server, waited) = (self.server(), self.patience);
                return Err(TinkerError::Late { server, what, waited });
            }
            match self.server.tell("api/v1/retrieve_future", &body, QUESTION.min(left)).await {
                Ok(bytes) if is_pending(&bytes) => failures = 0,
                Ok(bytes) => return Ok(bytes),
                // Neither is a failure: the result is not there yet.
                Err(ServerError::Late { .. } | ServerError::Status { status: 408, .. }) => {
                    failures = 0;
                }
                Err(error) => self.failed(what, error, &mut failures).await?,
            }
            sleep(PAUSE).await;
        }
    }

    /// The same, of a result in JSON.
    pub(super) async fn json_result<T: DeserializeOwned>(
        &self,
        what: &'static str,
        promise: &Promise,
    ) -> Result<T, TinkerError> {
        let bytes = self.result(what, promise).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.unusable(what, &error))
    }

    /// Deletes what has this path, once.
    pub(super) async fn delete(&self, path: &str) -> Result<(), TinkerError> {
        Ok(self.server.delete(path, REQUEST).await?)
    }

    pub(super) fn unusable(&self, what: &'static str, why: &impl std::fmt::Display) -> TinkerError {
        TinkerError::Result { server: self.server(), what, why: why.to_string() }
    }

    /// Waits a little after a failure that may pass.
    ///
    /// # Errors
    /// The failure, if it is of another kind, or one too many.
    async fn failed(
        &self,
        what: &'static str,
        error: ServerError,
        failures: &mut u32,
    ) -> Result<(), TinkerError> {
        let may_pass = match &error {
            ServerError::Connection { .. } | ServerError::Late { .. } => true,
            ServerError::Status { status, .. } => matches!(status, 425 | 429 | 500..=599),
            _ => false,
        };
        *failures += 1;
        if !may_pass || *failures >= MOST_FAILURES {
            return Err(self.refusal(what, error));
        }
        tracing::debug!(what, %error, failures = *failures, "trying again");
        sleep(FIRST_PAUSE * 2_u32.pow(*failures - 1)).await;
        Ok(())
    }

    /// What a refusal means.
    fn refusal(&self, what: &'static str, error: ServerError) -> TinkerError {
        let server = self.server();
        match error {
            ServerError::Status { status: 404, message, .. } => {
                TinkerError::Lost { server, what, message: detail(message) }
            }
            ServerError::Status { status: 400, message, .. } => {
                TinkerError::Failed { server, what, message: detail(message) }
            }
            other => other.into(),
        }
    }
}

fn path(what: &str) -> String {
    format!("api/v1/{what}")
}

/// Whether a result says that there is none yet, as some servers do with status 200.
fn is_pending(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Typed {
        r#type: String,
    }
    bytes.starts_with(b"{")
        && serde_json::from_slice(bytes).is_ok_and(|Typed { r#type }| r#type == "try_again")
}

/// The server's words, out of `{"detail": "..."}`.
fn detail(message: String) -> String {
    #[derive(Deserialize)]
    struct Detail {
        detail: String,
    }
    serde_json::from_str(&message).map_or(message, |Detail { detail }| detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_to_try_again_is_no_result() {
        assert!(is_pending(br#"{"type": "try_again", "request_id": "1"}"#));
        for result in [&br#"{"type": "load_weights"}"#[..], br#"{"metrics": null}"#, b"{", b"\n"] {
            assert!(!is_pending(result));
        }
    }

    #[test]
    fn words_of_the_server_are_taken_out_of_its_json() {
        assert_eq!(detail(r#"{"detail": "Future not found"}"#.to_owned()), "Future not found");
        assert_eq!(detail("<html>".to_owned()), "<html>");
    }
}
