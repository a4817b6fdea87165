//! The server: accepting connections, limits on sessions, and an orderly shutdown.

use super::config::{ServeConfig, ServeError};
use super::episode_counts::BegunEpisodes;
use super::metrics::{Refusal, ServeMetrics, metrics};
use super::protocol::{Code, ProtocolError};
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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
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

/// Time between two looks at whether the last episode has ended.
const LAST_EPISODE: Duration = Duration::from_millis(50);
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
    /// How many runs there may be in flight.
    pub(super) slots: usize,
    /// Number of tasks chosen so far.
    pub(super) begun: AtomicU64,
    /// Episodes begun by each client.
    pub(super) counts: BegunEpisodes,
    /// What records may take.
    pub(super) quota: RecordQuota,
    /// What is counted.
    pub(super) metrics: ServeMetrics,
    /// Whether no episode begins any more. Those in progress may go on for the drain limit.
    draining: AtomicBool,
    /// Turns true when the server is to end.
    pub(super) stopping: watch::Receiver<bool>,
}

impl ServerState {
    /// Whether the server is shutting down.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Refuses to begin anything once the server is shutting down.
    ///
    /// # Errors
    /// [`Code::CapacityReached`].
    pub(super) fn check_open(&self) -> Result<(), ProtocolError> {
        if !self.is_draining() {
            return Ok(());
        }
        self.metrics.refuse(Refusal::Draining);
        let message = "the server is shutting down and begins no more episodes; play on another";
        Err(ProtocolError::new(Code::CapacityReached, message).retryable())
    }

    /// Begins no more episodes, and waits until those in progress have ended, for the drain limit at
    /// most.
    async fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        let (open, limit) = (self.metrics.episodes_open(), self.config.limits.drain);
        tracing::info!(open, %limit, "shutting down: no more episodes begin");
        let ended = async {
            while self.metrics.episodes_open() > 0 {
                sleep(LAST_EPISODE).await;
            }
            // The last answer is still to be sent, and a `close` may be on its way.
            sleep(LAST_EPISODE).await;
        };
        if !limit.0.is_zero() && timeout(limit.0, ended).await.is_err() {
            let open = self.metrics.episodes_open();
            tracing::warn!(open, "episodes did not end within the drain limit");
        }
    }
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
            slots: slots.max(1),
            metrics: ServeMetrics::new(suite.tasks().len(), config.limits.episodes, slots.max(1)),
            draining: AtomicBool::new(false),
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

    /// Serves until the process is interrupted or asked to terminate. Then no episode begins any
    /// more; those in progress may go on for the drain limit; the steps in flight are finished,
    /// every episode that is left is ended, and it returns. A second such signal ends it at once.
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
        let drained = async {
            signals.next().await;
            tokio::select! {
                () = shared.drain() => true,
                () = signals.next() => false,
            }
        };
        let in_order = tokio::select! {
            // Neither of these two ever ends. Both go on while the server is drained: it is asked
            // for its health, and episodes in progress need their clients.
            () = accept(listener, &router, most, &shared.stopping, &mut connections) => true,
            () = shared.sessions.sweep(look.clamp(LOOK.0, LOOK.1)) => true,
            in_order = drained => in_order,
        };
        if !in_order {
            tracing::warn!("ended at once, as was asked");
            return Ok(());
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
        .route("/metrics", get(metrics))
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
            shared.metrics.refuse(Refusal::Token);
            let how = [(WWW_AUTHENTICATE, "Bearer, Basic realm=\"sandbox\"")];
            let reason = "show the server's token, as `Authorization: Bearer TOKEN` or in the \
                          URL, as `http://agent:TOKEN@host`";
            (StatusCode::UNAUTHORIZED, how, reason).into_response()
        }
        _ => next.run(request).await,
    }
}
