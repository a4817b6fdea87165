//! Closing a connection so that the peer can still read the response.
//!
//! A kernel that closes a connection with unread bytes resets it, and the reset may overtake the
//! response: a client that sent too much would never learn so. So what still arrives is read and
//! discarded for a short time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Time for the peer to close the connection too.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection. When dropped, it is shut down for writing at once, and closed when the peer has
/// closed it too, or after a second.
#[derive(Debug)]
pub(crate) struct Lingering {
    /// `None` after the drop.
    stream: Option<TcpStream>,
    /// A permit per connection that lingers; those beyond are closed at once.
    places: Arc<Semaphore>,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream, places: Arc<Semaphore>) -> Self {
        Self { stream: Some(stream), places }
    }

    fn poll<T>(
        &mut self,
        work: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.stream {
            Some(stream) => work(Pin::new(stream)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(|stream| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(|stream| stream.poll_write_vectored(context, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(|stream| stream.poll_shutdown(context))
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else { return };
        // The last connections may go with the runtime itself.
        if let (Ok(runtime), Ok(place)) =
            (tokio::runtime::Handle::try_current(), Arc::clone(&self.places).try_acquire_owned())
        {
            runtime.spawn(async move {
                let _ = timeout(PATIENCE, end(stream)).await;
                drop(place);
            });
        }
    }
}

/// Shuts down for writing and reads to the end.
async fn end(mut stream: TcpStream) -> io::Result<()> {
    std::future::poll_fn(|context| Pin::new(&mut stream).poll_shutdown(context)).await?;
    let mut thrown_away = [0; 4 * 1024];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut thrown_away) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
