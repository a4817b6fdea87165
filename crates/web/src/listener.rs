//! Accepting HTTP connections, within limits, until the server is stopped.

use crate::linger::Lingering;
use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
};
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Closed connections at a time whose peer is given a second to read the last bytes.
const LINGERING: usize = 64;
/// Time to send a request's headers.
const HEADERS: Duration = Duration::from_secs(10);
/// Silence on a connection after which the peer's system is asked whether it is still there; the
/// time between two such questions; how many are not answered by a peer that is gone.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_mins(1), Duration::from_secs(15), 4);
/// Pause after a failed accept, as when descriptors have run out.
const PAUSE: Duration = Duration::from_millis(100);

/// The address that a request comes from: an [`Extension`] of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Accepts connections and answers their requests with `router`; never returns. The listener is
/// closed when the future is dropped.
///
/// At most `most` connections are open at a time, and more wait to be accepted; one that was
/// upgraded to a WebSocket no longer counts. Each connection runs as a task of `connections`.
/// Once `stopping` is true, a connection ends after the request in flight. If a client closes its
/// connection, its request is cancelled: the handler's future is dropped.
pub async fn accept(
    listener: TcpListener,
    router: &Router,
    most: usize,
    stopping: &watch::Receiver<bool>,
    connections: &mut JoinSet<()>,
) {
    let open = Arc::new(Semaphore::new(most));
    let lingering = Arc::new(Semaphore::new(LINGERING));
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&open).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let router = router.clone().layer(Extension(Peer(peer.ip())));
                let (lingering, stopping) = (Arc::clone(&lingering), stopping.clone());
                connections.spawn(async move {
                    serve(stream, router, lingering, stopping).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

/// Sends small answers at once, and has the system find out about a peer that vanished without a
/// word, within two minutes: it answers for a peer whose program is busy, which pings would not.
fn set_up(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (idle, interval, count) = KEEPALIVE;
    set_socket_keepalive(stream, true)?;
    set_tcp_keepidle(stream, idle)?;
    set_tcp_keepintvl(stream, interval)?;
    set_tcp_keepcnt(stream, count)?;
    Ok(())
}

/// Answers the requests of one connection, until it ends or is upgraded.
async fn serve(
    stream: TcpStream,
    router: Router,
    lingering: Arc<Semaphore>,
    mut stopping: watch::Receiver<bool>,
) {
    if let Err(error) = set_up(&stream) {
        tracing::debug!(%error, "a connection could not be set up");
    }
    let mut served = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(
                TokioIo::new(Lingering::new(stream, lingering)),
                TowerToHyperService::new(router),
            )
            .with_upgrades()
    );
    let stop = async {
        // An error means that the sender is gone, and the server with it.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stop => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
