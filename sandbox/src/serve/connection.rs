//! A WebSocket, in whole messages.

use super::protocol::ClientRequest;
use crate::env::CloseReason;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use std::time::Duration;
use tokio::time::timeout;

/// Time for a client to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// A connection of a client.
pub(super) struct Connection {
    pub(super) socket: WebSocket,
    /// Time for the client to accept an answer.
    pub(super) send: Duration,
}

/// What a client sent, or that it sends no more.
pub(super) enum Incoming {
    Text(String),
    Binary,
    Gone(CloseReason),
}

impl Incoming {
    /// Why nothing follows it, if it is the last word of a client: OpenEnv's says `close` before
    /// it closes the connection.
    pub(super) fn ending(&self) -> Option<CloseReason> {
        match self {
            Self::Gone(ending) => Some(*ending),
            Self::Text(text) if ClientRequest::parse(text) == Ok(ClientRequest::Close) => {
                Some(CloseReason::Left)
            }
            Self::Text(_) | Self::Binary => None,
        }
    }
}

/// A client did not accept an answer in time.
pub(super) struct SendTimeout;

impl Connection {
    pub(super) async fn next(&mut self) -> Incoming {
        loop {
            match self.socket.recv().await {
                Some(Ok(Message::Text(text))) => return Incoming::Text(text.as_str().to_owned()),
                Some(Ok(Message::Binary(_))) => return Incoming::Binary,
                // Pings are answered below.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) => return Incoming::Gone(CloseReason::Left),
                Some(Err(error)) => {
                    tracing::debug!(%error, "a connection broke");
                    return Incoming::Gone(match error.into_inner().downcast_ref() {
                        Some(tungstenite::Error::Capacity(_)) => CloseReason::TooLarge,
                        _ => CloseReason::Vanished,
                    });
                }
                None => return Incoming::Gone(CloseReason::Vanished),
            }
        }
    }

    pub(super) async fn send(&mut self, text: String) -> Result<(), SendTimeout> {
        match timeout(self.send, self.socket.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(SendTimeout),
        }
    }

    /// Closes the connection as the protocol asks for, if the client still takes part in it.
    pub(super) async fn goodbye(mut self, code: u16, reason: impl Into<Utf8Bytes>) {
        let frame = CloseFrame { code, reason: reason.into() };
        let closing = async {
            if self.socket.send(Message::Close(Some(frame))).await.is_ok() {
                while matches!(self.socket.recv().await, Some(Ok(_))) {}
            }
        };
        // A client that does not answer is cut off.
        let _ = timeout(GOODBYE, closing).await;
    }
}
