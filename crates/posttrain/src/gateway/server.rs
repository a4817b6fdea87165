//! The gateway as a server of its own thread, beside the grading server.

use super::book::Book;
use super::models::OfferedModels;
use super::moment::{RunClock, RunMoment};
use super::routes::router;
use super::settings::{GatewayError, GatewaySettings};
use super::shared::Shared;
use super::{LINES, RECORDING};
use camino::Utf8Path;
use llm::{Recording, WireProtocol};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use web::listener::accept;
use web::token::Token;

/// Connections of agents at a time; more wait to be accepted.
const CONNECTIONS: usize = 32;
/// Lines that are written at a time, or wait to be.
const BLOCKING: usize = 16;
/// Time for the last answers to be sent.
const LAST: Duration = Duration::from_secs(2);

/// A gateway that listens and does not yet answer.
#[derive(Debug)]
pub struct ChatGateway {
    shared: Arc<Shared>,
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl ChatGateway {
    /// Opens the file in the folder `sealed`, whose lock the caller holds, and takes a free port of this
    /// machine. Who asks must show `token`. If the file has lines, the counts go on from them.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub fn open(
        models: OfferedModels,
        settings: &GatewaySettings,
        sealed: &Utf8Path,
        token: Token,
        now: impl Fn() -> RunMoment + Send + Sync + 'static,
    ) -> Result<Self, GatewayError> {
        let recording = sealed.join(RECORDING);
        let recording = settings
            .is_recorded
            .then(|| Recording::open(&recording).map_err(GatewayError::recording(&recording)))
            .transpose()?;
        let book = Book::open(&sealed.join(LINES), settings.caps, RunClock::new(now))?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let is_capped = settings.caps.is_any();
        let shared = Arc::new(Shared::new(token, models, is_capped, book, recording));
        Ok(Self { shared, listener, address })
    }

    /// The address on this machine.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The first model: as agents name it, and the protocol that it is spoken to in.
    pub fn first_model(&self) -> (&str, WireProtocol) {
        let first = &self.shared.models.all()[0];
        (&first.id, first.protocol)
    }

    /// The models, as agents name them.
    pub fn models(&self) -> Vec<String> {
        self.shared.models.all().iter().map(|model| model.id.clone()).collect()
    }

    /// Answers from now on, on a thread of its own, until the handle is stopped or dropped.
    ///
    /// # Errors
    /// [`GatewayError::Io`] if there is no thread.
    pub fn start(self) -> Result<GatewayHandle, GatewayError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING)
            .thread_name("gateway")
            .enable_all()
            .build()?;
        let (doors, arriving) = unbounded_channel();
        let stop = watch::Sender::new(false);
        let stopped = stop.subscribe();
        let Self { shared, listener, .. } = self;
        let thread = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            runtime.block_on(serve(shared, listener, arriving, stopped));
            // Requests in flight are given up; their lines say so when the file is opened again.
            runtime.shutdown_timeout(Duration::from_secs(1));
        })?;
        Ok(GatewayHandle { doors, stop, thread: Some(thread) })
    }
}

/// A gateway that answers.
#[derive(Debug)]
pub struct GatewayHandle {
    doors: UnboundedSender<std::net::TcpListener>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl GatewayHandle {
    /// Serves on one more listener, such as one in the network of a box. The token is asked for there
    /// too.
    pub fn open_door(&self, listener: std::net::TcpListener) {
        // A gateway that has stopped serves nobody.
        let _ = self.doors.send(listener);
    }

    /// Stops it, and waits until it has.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the gateway to chat models panicked");
        }
    }
}

impl Drop for GatewayHandle {
    fn drop(&mut self) {
        self.end();
    }
}

async fn serve(
    shared: Arc<Shared>,
    listener: std::net::TcpListener,
    mut doors: UnboundedReceiver<std::net::TcpListener>,
    stopping: watch::Receiver<bool>,
) {
    // One task for each listener, which ends with its connections.
    let mut listeners = JoinSet::new();
    let open = |listeners: &mut JoinSet<()>, listener: std::net::TcpListener| {
        let listener =
            listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener));
        match listener {
            Ok(listener) => {
                listeners.spawn(listen(listener, Arc::clone(&shared), stopping.clone()));
            }
            Err(error) => tracing::error!(%error, "a door to the gateway could not be opened"),
        }
    };
    open(&mut listeners, listener);
    let mut stopped = stopping.clone();
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            door = doors.recv() => match door {
                Some(door) => open(&mut listeners, door),
                None => break,
            }
        }
    }
    while listeners.join_next().await.is_some() {}
}

/// Answers on one listener until the gateway stops, and then what is in flight for a moment.
async fn listen(listener: TcpListener, shared: Arc<Shared>, stopping: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut stopped = stopping.clone();
    let router = router(&shared);
    tokio::select! {
        () = accept(listener, &router, CONNECTIONS, &stopping, &mut connections) => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
    let _ = timeout(LAST, async { while connections.join_next().await.is_some() {} }).await;
}
