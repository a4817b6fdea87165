//! The server: routes, the clock of holds and silences, and an orderly end.

use super::access::{Access, admit, admit_anybody, sign_in, sign_out};
use super::body::LARGEST;
use super::config::{GuideServeError, GuideServerConfig};
use super::presence::Presence;
use super::{events, of_agents, of_people, page, search, views};
use crate::guide::annotators::Annotators;
use crate::guide::store::Store;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, patch, post, put};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use web::listener::accept;
use web::signals::Signals;

/// Connections at a time; more wait to be accepted. Every open page has a stream.
const CONNECTIONS: usize = 1024;
/// Threads that may wait for the disk at a time.
const BLOCKING: usize = 32;
/// Time between two looks at holds and silences.
const LOOK: Duration = Duration::from_secs(1);
/// Time for the last answers.
const LAST: Duration = Duration::from_secs(5);

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) access: Access,
    pub(super) presence: Arc<Presence>,
    /// Counts changes of the store.
    pub(super) changes: watch::Sender<u64>,
    /// Turns true when the server is to end.
    pub(super) stopping: watch::Receiver<bool>,
}

/// A server that listens and does not yet answer.
#[derive(Debug)]
pub struct GuideServer {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl GuideServer {
    /// Checks the settings, opens the store and takes the address.
    ///
    /// # Errors
    /// [`GuideServeError`].
    pub fn bind(config: &GuideServerConfig) -> Result<Self, GuideServeError> {
        let public = config.check()?;
        let annotators = config.annotators.as_deref().map(Annotators::open).transpose()?;
        let refused = |source| GuideServeError::Listen { address: config.listen, source };
        let listener = std::net::TcpListener::bind(config.listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let store = Arc::new(Store::open(&config.store)?);
        let (stop, stopping) = watch::channel(false);
        let (changes, _) = watch::channel(0_u64);
        let told = changes.clone();
        store.observe(move |_| told.send_modify(|count| *count = count.wrapping_add(1)));
        let access = Access::new(annotators, public, address, config.is_replay);
        let presence = Arc::new(Presence::default());
        let shared = Arc::new(Shared { store, access, presence, changes, stopping });
        Ok(Self { shared, stop, listener, address })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The store that is served.
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// Serves until the process is interrupted or asked to terminate: then streams end, requests in
    /// flight are answered, and it returns. A second such signal ends it at once. Nothing is lost
    /// either way.
    ///
    /// # Errors
    /// [`GuideServeError::Runtime`].
    pub fn run(self) -> Result<(), GuideServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING)
            .thread_name("guide")
            .enable_all()
            .build()
            .map_err(GuideServeError::Runtime)?;
        let result = runtime.block_on(self.serve());
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }

    async fn serve(self) -> Result<(), GuideServeError> {
        let Self { shared, stop, listener, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(GuideServeError::Runtime)?;
        let mut signals = Signals::new().map_err(GuideServeError::Runtime)?;
        let router = router(&shared);
        let mut connections = JoinSet::new();
        tokio::select! {
            // Neither of these two ever ends.
            () = accept(listener, &router, CONNECTIONS, &shared.stopping, &mut connections) => {}
            () = sweep(&shared) => {}
            () = signals.next() => {}
        }
        tracing::info!("shutting down: requests in flight are answered");
        // Streams may all be gone already.
        let _ = stop.send(true);
        let ended = async { while connections.join_next().await.is_some() {} };
        tokio::select! {
            ended = timeout(LAST, ended) => {
                if ended.is_err() {
                    tracing::warn!("some connections did not end in time");
                }
            }
            () = signals.next() => tracing::warn!("ended at once, as was asked"),
        }
        Ok(())
    }
}

/// Ends holds and notes silences, for ever. What is told again has its own.
async fn sweep(shared: &Arc<Shared>) {
    if shared.access.is_replay {
        return std::future::pending().await;
    }
    let mut clock = interval(LOOK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let shared = Arc::clone(shared);
        let swept = tokio::task::spawn_blocking(move || {
            let grace = shared.store.settings.hold_grace.0;
            shared.store.sweep(|name| shared.presence.is_gone(name, grace))
        });
        if let Ok(Err(error)) = swept.await {
            let error = tasks::text::with_causes(&error);
            tracing::warn!(error, "holds and silences could not be noted");
        }
    }
}

fn router(shared: &Arc<Shared>) -> Router {
    let people = Router::new()
        .route("/conversations/{id}", get(views::conversation))
        .route("/conversations/{id}/context/{turn}", get(views::context_of))
        .route("/conversations/{id}/files/{hash}", get(views::file))
        .route("/conversations/{id}/proposals", get(views::proposals))
        .route("/conversations/{id}/search", get(search::search))
        .route("/conversations/{id}/journal", get(search::journal))
        .route("/conversations/{id}/guidance", post(of_people::post))
        .route(
            "/conversations/{id}/guidance/{name}",
            patch(of_people::edit).delete(of_people::retract),
        )
        .route("/conversations/{id}/draft", put(of_people::draft))
        .route("/conversations/{id}/hold", post(of_people::hold).delete(of_people::release))
        .route("/conversations/{id}/verdicts/{turn}", put(of_people::judge))
        .route("/conversations/{id}/marks", post(of_people::mark))
        .route("/me", get(views::me))
        .route("/events", get(events::events));
    let agents = Router::new()
        .route("/conversations", post(of_agents::open).get(views::list))
        .route("/conversations/{id}/turns", post(of_agents::exchange))
        .route("/conversations/{id}/close", post(of_agents::close));
    let known = Router::new()
        .nest("/api/v1", people.merge(agents))
        .fallback(views::unknown)
        .layer(from_fn_with_state(Arc::clone(shared), admit));
    // The page is the same for everybody; what is on it is asked for with a token.
    let anybody = Router::new()
        .route("/", get(page::index))
        .route("/assets/{name}", get(page::asset))
        .route("/api/v1/session", post(sign_in))
        .route("/api/v1/session", delete(sign_out))
        .route("/api/v1/health", get(views::health))
        .layer(from_fn_with_state(Arc::clone(shared), admit_anybody));
    known.merge(anybody).layer(DefaultBodyLimit::max(LARGEST)).with_state(Arc::clone(shared))
}
