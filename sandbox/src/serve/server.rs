//! The server: accepting connections, limits on sessions, and an orderly shutdown.

use super::config::{ServeConfig, ServeError};
use super::episode_counts::BegunEpisodes;
use super::sessions::Sessions;
use super::{mcp_http, pages, socket, task_api};
use crate::env::{RecordQuota, TaskSuite};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, WWW_AUTHENTICATE};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use web::listener::accept;
use web::signals::Signals;
use web::token::is_from_a_page;

/// Connections at a time without a `WebSocket`, beside one for each session, which clients of MCP
/// keep open; more wait to be accepted.
const CONNECTIONS: usize = 256;
/// Clients at a time that are refused with a message of OpenEnv's protocol when all sessions are in
/// use; more are refused with an HTTP status.
const REFUSALS: usize = 64;
/// How many times within a limit on silence it is looked for.
const LOOKS: u32 = 10;
/// The shortest and the longest time between two looks.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(10));
/// Beyond what a step may take, time for all sessions to end when the server does.
const DRAIN: Duration = Duration::from_secs(10);

/// Time for the last answers of requests to be sent.
const LAST: Duration = Duration::from_secs(1);

/// What all sessions share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) config: ServeConfig,
    pub(super) suite: TaskSuite,
    pub(super) sessions: Sessions,
    /// A permit per client that is being refused.
    pub(super) refusals: Arc<Semaphore>,
    /// A permit per run in flight.
    pub(super) places: Arc<Semaphore>,
    /// Number of tasks chosen so far.
    pub(super) begun: AtomicU64,
    /// Episodes begun by each client.
    pub(super) counts: BegunEpisodes,
    /// What records may take.
    pub(super) quota: RecordQuota,
    /// Turns true when the server is to end.
    pub(super) stopping: watch::Receiver<bool>,
}

/// A server that listens and does not yet answer.
#[derive(Debug)]
pub struct EpisodeServer {
    shared: ServerState,
    stop: watch::Sender<bool>,
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl EpisodeServer {
    /// Checks the settings and takes the address. `slots` is how many runs the sandbox takes at a
    /// time.
    ///
    /// # Errors
    /// A [`ServeError`].
    pub fn bind(config: ServeConfig, suite: TaskSuite, slots: usize) -> Result<Self, ServeError> {
        config.check()?;
        config.check_tasks(suite.tasks())?;
        fs_err::create_dir_all(&config.records).map_err(ServeError::Records)?;
        let (each, all) = (config.limits.record, config.limits.records);
        let quota = RecordQuota::open(&config.records, each, all).map_err(ServeError::Records)?;
        let refused = |source| ServeError::Listen { address: config.listen, source };
        let listener = std::net::TcpListener::bind(config.listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (stop, stopping) = watch::channel(false);
        let shared = ServerState {
            sessions: Sessions::new(config.limits.episodes),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            places: Arc::new(Semaphore::new(slots.max(1))),
            begun: AtomicU64::new(0),
            counts: BegunEpisodes::new(config.limits.episodes_per_task),
            quota,
            config,
            suite,
            stopping,
        };
        Ok(Self { shared, stop, listener, address })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process is interrupted or asked to terminate; then finishes the steps in
    /// flight, ends every episode and returns. A second such signal ends it at once.
    ///
    /// # Errors
    /// [`ServeError::Runtime`].
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            // One step at most per session, and what ends episodes.
            .max_blocking_threads(self.shared.config.limits.episodes + 8)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(ServeError::Runtime)?;
        let result = runtime.block_on(self.serve());
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }

    async fn serve(self) -> Result<(), ServeError> {
        let Self { shared, stop, listener, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(ServeError::Runtime)?;
        let mut signals = Signals::new().map_err(ServeError::Runtime)?;
        let shared = Arc::new(shared);
        let router = router(&shared);
        let limits = shared.config.limits;
        let most = CONNECTIONS + limits.episodes;
        let look = limits.idle.0.min(limits.session.0) / LOOKS;
        let mut connections = JoinSet::new();
        tokio::select! {
            () = accept(listener, &router, most, &shared.stopping, &mut connections) => {}
            () = shared.sessions.sweep(look.clamp(LOOK.0, LOOK.1)) => {}
            () = signals.next() => {}
        }
        tracing::info!("shutting down: steps in flight are finished");
        // Sessions may all be gone already.
        let _ = stop.send(true);
        tokio::select! {
            ended = timeout(limits.answer.0 + DRAIN, shared.sessions.drain()) => {
                if ended.is_err() {
                    tracing::warn!("some sessions did not end in time");
                }
            }
            () = signals.next() => {
                tracing::warn!("ended at once, as was asked");
                return Ok(());
            }
        }
        // The last answers may still be on their way.
        let _ = timeout(LAST, async { while connections.join_next().await.is_some() {} }).await;
        Ok(())
    }
}

fn router(shared: &Arc<ServerState>) -> Router {
    let guarded = Router::new()
        .route("/ws", get(socket::connect))
        .route("/mcp", post(mcp_http::post).delete(mcp_http::delete))
        .route("/list_environments", get(task_api::environments))
        .route("/{env}/splits", get(task_api::splits))
        .route("/{env}/tasks", post(task_api::list))
        .route("/{env}/num_tasks", post(task_api::count))
        .route("/{env}/task", post(task_api::get))
        .route("/{env}/task_range", post(task_api::range))
        .route("/metadata", get(pages::metadata))
        .route("/schema", get(pages::schema))
        .route("/openapi.json", get(pages::openapi))
        .fallback(pages::unknown)
        .layer(DefaultBodyLimit::max(shared.config.limits.message.length()))
        .layer(middleware::from_fn_with_state(Arc::clone(shared), admit));
    guarded.route("/health", get(pages::health)).with_state(Arc::clone(shared))
}

/// Refuses requests without the token, and requests from web pages.
async fn admit(
    State(shared): State<Arc<ServerState>>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    if is_from_a_page(&headers) {
        let reason = "pages in a browser are not served";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    match &shared.config.token {
        Some(token) if !token.is_in(&headers) => {
            let how = [(WWW_AUTHENTICATE, "Bearer, Basic realm=\"sandbox\"")];
            let reason = "show the server's token, as `Authorization: Bearer TOKEN` or in the \
                          URL, as `http://agent:TOKEN@host`";
            (StatusCode::UNAUTHORIZED, how, reason).into_response()
        }
        _ => next.run(request).await,
    }
}
