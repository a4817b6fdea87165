//! The server: accepting connections, limits on sessions, and an orderly shutdown.

use super::config::{ServeConfig, ServeError};
use super::episode_counts::{BegunEpisodes, ClientId};
use super::protocol::{Code, ProtocolError, Reset};
use super::{pages, session};
use crate::env::{Label, RecordQuota, TaskSuite};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, WWW_AUTHENTICATE};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tasks::stream::Stream;
use tasks::task::{Task, TaskId};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use web::listener::{Peer, accept};
use web::signals::Signals;
use web::token::is_from_a_page;

/// Connections that are not yet sessions, at a time; more wait to be accepted.
const CONNECTIONS: usize = 256;
/// Clients at a time that are refused with a message of OpenEnv's protocol when all sessions are in
/// use; more are refused with an HTTP status.
const REFUSALS: usize = 64;
/// Time to wait for a free session before a client is refused.
const SEAT: Duration = Duration::from_secs(1);
/// Beyond what a step may take, time for all sessions to end when the server does.
const DRAIN: Duration = Duration::from_secs(10);

/// What all sessions share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) config: ServeConfig,
    pub(super) suite: TaskSuite,
    /// A permit per session.
    seats: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    /// A permit per run in flight.
    pub(super) places: Arc<Semaphore>,
    /// Number of episodes begun so far.
    begun: AtomicU64,
    /// Episodes begun by each client.
    pub(super) counts: BegunEpisodes,
    /// What records may take.
    pub(super) quota: RecordQuota,
    /// Turns true when the server is to end.
    pub(super) stopping: watch::Receiver<bool>,
}

impl ServerState {
    /// The task that a client asks for, and what its episode is called.
    pub(super) fn choose(&self, reset: &Reset) -> Result<(Task, Label, String), ProtocolError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let tasks = self.suite.tasks();
        let nth = |number: u64| {
            let at = number % tasks.len().max(1) as u64;
            usize::try_from(at).ok().and_then(|at| tasks.get(at))
        };
        let task = match (&reset.task, reset.seed) {
            (Some(name), _) => TaskId::new(name).ok().and_then(|id| self.suite.task(&id)),
            (None, Some(seed)) => nth(Stream::root(seed).child("task").seed()),
            (None, None) => nth(number),
        };
        let Some(task) = task else {
            let name = reset.task.as_deref().unwrap_or_default();
            let first = tasks.first().map_or("", |task| task.id().as_str());
            let known = format!("there are {}, `{first}` the first of them", tasks.len());
            let message = format!("there is no task `{name}`; {known}");
            return Err(ProtocolError::new(Code::ValidationError, message));
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = format!("{}-{}-{number}", since.as_millis(), std::process::id());
        let episode = reset.episode_id.clone().unwrap_or_else(|| format!("{}/{file}", task.id()));
        Ok((task.clone(), Label { episode, seed: reset.seed }, file))
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
            seats: Arc::new(Semaphore::new(config.limits.episodes)),
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
        let mut connections = JoinSet::new();
        tokio::select! {
            () = accept(listener, &router, CONNECTIONS, &shared.stopping, &mut connections) => {}
            () = signals.next() => {}
        }
        tracing::info!("shutting down: steps in flight are finished");
        // Sessions may all be gone already.
        let _ = stop.send(true);
        let limits = shared.config.limits;
        let all = u32::try_from(limits.episodes).unwrap_or(u32::MAX);
        tokio::select! {
            ended = timeout(limits.answer.0 + DRAIN, shared.seats.acquire_many(all)) => {
                if ended.is_err() {
                    tracing::warn!("some sessions did not end in time");
                }
            }
            () = signals.next() => tracing::warn!("ended at once, as was asked"),
        }
        Ok(())
    }
}

fn router(shared: &Arc<ServerState>) -> Router {
    let guarded = Router::new()
        .route("/ws", get(session))
        .route("/metadata", get(pages::metadata))
        .route("/schema", get(pages::schema))
        .route("/openapi.json", get(pages::openapi))
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

/// Makes a session of a connection, if there is a place.
async fn session(
    State(shared): State<Arc<ServerState>>,
    Extension(Peer(address)): Extension<Peer>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let client = ClientId::at(address);
    let size = shared.config.limits.message.length();
    let upgrade = upgrade.max_message_size(size).max_frame_size(size);
    if let Ok(seat) = Arc::clone(&shared.seats).try_acquire_owned() {
        return upgrade.on_upgrade(move |socket| session::play(socket, shared, client, seat));
    }
    let Ok(permit) = Arc::clone(&shared.refusals).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "all places are taken").into_response();
    };
    upgrade.on_upgrade(move |socket| async move {
        // A client that begins anew may be here before its last session is put away.
        match timeout(SEAT, Arc::clone(&shared.seats).acquire_owned()).await {
            Ok(Ok(seat)) => {
                drop(permit);
                session::play(socket, shared, client, seat).await;
            }
            _ => session::refuse(socket, shared, permit).await,
        }
    })
}
