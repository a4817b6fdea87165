//! A session on a server, kept alive in the background.

use super::connection::Connection;
use super::error::TinkerError;
use super::settings::LearnerSettings;
use crate::remote::Server;
use serde::Deserialize;
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::time::sleep;

/// After so long without a sign of life the server unloads a session's models.
pub(super) const SESSION_SECONDS: u64 = 300;
/// Between two signs of life.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A session on a server. Clones share it; it ends when the last one is dropped.
#[derive(Debug, Clone)]
pub struct TinkerClient {
    connection: Connection,
    runtime: Arc<Runtime>,
    session: String,
}

#[derive(Debug, Deserialize)]
struct Session {
    session_id: String,
}

#[derive(Debug, Deserialize)]
struct Capabilities {
    supported_models: Vec<Supported>,
}

#[derive(Debug, Deserialize)]
struct Supported {
    model_name: String,
}

impl TinkerClient {
    /// Opens a session and keeps it alive until the client is dropped.
    ///
    /// # Errors
    /// [`TinkerError`] if the server cannot be reached or opens none.
    pub fn open(settings: &LearnerSettings) -> Result<Self, TinkerError> {
        let server = Server::new(&settings.url, None)?;
        let connection = Connection::new(server, Duration::from_secs(settings.patience_seconds));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("tinker")
            .enable_all()
            .build()
            .map_err(TinkerError::Runtime)?;
        let body = json!({
            "tags": [], "user_metadata": {}, "sdk_version": concat!("rl-", env!("CARGO_PKG_VERSION")),
        });
        let Session { session_id } = runtime.block_on(connection.once("create_session", &body))?;
        runtime.spawn(keep_alive(connection.clone(), session_id.clone()));
        Ok(Self { connection, runtime: Arc::new(runtime), session: session_id })
    }

    /// The name of the model to train: `wanted`, or the only one there is if that is empty.
    ///
    /// # Errors
    /// [`TinkerError::OtherModel`] if the server has no such model.
    pub fn base_model(&self, wanted: &str) -> Result<String, TinkerError> {
        let found = self.wait(self.connection.get::<Capabilities>("get_server_capabilities"))?;
        let names: Vec<String> =
            found.supported_models.into_iter().map(|model| model.model_name).collect();
        match names.as_slice() {
            [only] if wanted.is_empty() => Ok(only.clone()),
            _ if names.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
            _ => Err(TinkerError::OtherModel {
                server: self.connection.server(),
                wanted: wanted.to_owned(),
                known: names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// The session's name on the server.
    pub fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// For requests in the background.
    pub(super) fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Waits for a request. Never from within another one.
    pub(super) fn wait<T>(&self, request: impl Future<Output = T>) -> T {
        self.runtime.block_on(request)
    }
}

/// Tells the server that the session is still wanted. A failure is told by the requests that follow.
async fn keep_alive(connection: Connection, session: String) {
    let body = json!({"session_id": session});
    loop {
        sleep(HEARTBEAT).await;
        if let Err(error) = connection.once::<Value>("session_heartbeat", &body).await {
            tracing::warn!(%error, "the server may end the session");
        }
    }
}
