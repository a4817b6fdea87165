//! All sessions: their ids, their places, and the end of those that were left.

use super::episode_counts::ClientId;
use super::protocol::{Code, ProtocolError};
use super::server::ServerState;
use super::session::Session;
use crate::env::CloseReason;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tasks::stream::unguessable;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// Time to wait for a free place before a client is refused: one that begins anew may be here before
/// its last session is put away.
const SEAT: Duration = Duration::from_secs(1);

/// The sessions in progress.
#[derive(Debug)]
pub(super) struct Sessions {
    /// A permit per session.
    seats: Arc<Semaphore>,
    most: usize,
    open: Mutex<OpenSessions>,
}

#[derive(Debug, Default)]
struct OpenSessions {
    by_id: HashMap<String, Arc<Session>>,
    /// Whether the server is shutting down.
    closed: bool,
}

/// What a request to end a session led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// It has ended.
    Closed,
    /// It ends when its WebSocket is closed.
    Closing,
}

fn unknown(id: &str) -> ProtocolError {
    let message = format!("there is no session `{id}`; it has ended, or never began");
    ProtocolError::new(Code::SessionError, message)
}

impl Sessions {
    pub(super) fn new(most: usize) -> Self {
        let seats = Arc::new(Semaphore::new(most));
        Self { seats, most, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.most.saturating_sub(self.seats.available_permits())
    }

    /// How many there may be.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// A place, if one is free at once.
    pub(super) fn free_seat(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.seats).try_acquire_owned().ok()
    }

    /// A place, if one is free within a second.
    ///
    /// # Errors
    /// [`Code::CapacityReached`].
    pub(super) async fn seat(&self) -> Result<OwnedSemaphorePermit, ProtocolError> {
        let Ok(Ok(seat)) = timeout(SEAT, Arc::clone(&self.seats).acquire_owned()).await else {
            let most = self.most;
            let message =
                format!("all {most} places are taken; try again when a session has ended");
            return Err(ProtocolError::new(Code::CapacityReached, message).retryable());
        };
        Ok(seat)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`Code::SessionError`] if the server is shutting down, or no id can be drawn.
    pub(super) fn begin(
        &self,
        shared: &Arc<ServerState>,
        client: ClientId,
        socket: bool,
        seat: OwnedSemaphorePermit,
    ) -> Result<Arc<Session>, ProtocolError> {
        let id = unguessable().map_err(|error| {
            tracing::error!(%error, "no id could be drawn");
            ProtocolError::new(Code::SessionError, "the server cannot draw an id for the session")
        })?;
        let session = Session::new(id.clone(), Arc::clone(shared), client, socket, seat);
        let session = Arc::new(session);
        let mut open = self.open();
        if open.closed {
            let message = "the server is shutting down";
            return Err(ProtocolError::new(Code::SessionError, message).retryable());
        }
        open.by_id.insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// The session of that id.
    ///
    /// # Errors
    /// [`Code::SessionError`].
    pub(super) fn get(&self, id: &str) -> Result<Arc<Session>, ProtocolError> {
        self.open().by_id.get(id).cloned().ok_or_else(|| unknown(id))
    }

    /// The session of that id, for a WebSocket, of which it may have one.
    ///
    /// # Errors
    /// [`Code::SessionError`].
    pub(super) fn attach(&self, id: &str) -> Result<Arc<Session>, ProtocolError> {
        let session = self.get(id)?;
        if session.attach() {
            return Ok(session);
        }
        let message =
            format!("the session `{id}` already has an attached WebSocket; close that first");
        Err(ProtocolError::new(Code::SessionError, message))
    }

    /// Takes a session's WebSocket away. A session that began with it ends with it; another waits for
    /// requests, or for another WebSocket, unless its end was asked for.
    pub(super) async fn leave(&self, session: &Session, owned: bool, ending: CloseReason) {
        let asked = session.detach();
        let over = session.over.borrow().is_some() || self.open().closed;
        if owned || asked || over {
            self.end(session, ending).await;
        } else {
            session.end_cut(ending).await;
        }
    }

    /// Ends a session.
    pub(super) async fn end(&self, session: &Session, ending: CloseReason) {
        self.open().by_id.remove(&session.id);
        session.end(ending).await;
    }

    /// Ends the session of that id as its client asks, at once or when its WebSocket is gone.
    ///
    /// # Errors
    /// [`Code::SessionError`].
    pub(super) async fn close(&self, id: &str) -> Result<SessionEnd, ProtocolError> {
        let session = self.get(id)?;
        if !session.ask_to_close() {
            return Ok(SessionEnd::Closing);
        }
        self.end(&session, CloseReason::Left).await;
        Ok(SessionEnd::Closed)
    }

    /// Ends what clients have left, as the limits say; never returns.
    pub(super) async fn sweep(&self, every: Duration) {
        loop {
            sleep(every).await;
            let sessions: Vec<_> = self.open().by_id.values().cloned().collect();
            for session in sessions {
                if !session.is_forsaken().await {
                    continue;
                }
                if session.has_socket() {
                    session.over.send_replace(Some(CloseReason::Idle));
                } else {
                    self.end(&session, CloseReason::Idle).await;
                }
            }
        }
    }

    /// Lets no session begin any more, and waits until all have ended. Those with a WebSocket end
    /// by themselves.
    pub(super) async fn drain(&self) {
        let sessions: Vec<_> = {
            let mut open = self.open();
            open.closed = true;
            open.by_id.values().filter(|session| !session.has_socket()).cloned().collect()
        };
        for session in sessions {
            self.end(&session, CloseReason::Drained).await;
        }
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        let _ = self.seats.acquire_many(all).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_long_and_differ() {
        let (one, other) = (unguessable().unwrap(), unguessable().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
