//! One client: its messages, one after the other, and the episode that it plays.

use super::episode_counts::ClientId;
use super::protocol::{
    ClientRequest, Code, ProtocolError, Reset, ServerReply, StepCall, ToolFault, state,
    tool_answer, tools,
};
use super::served_episode::ServedEpisode;
use super::server::ServerState;
use crate::env::{CloseReason, EpisodeFault, RecordError};
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use jail::exec::Fault;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

/// Messages in a row that cannot be followed, after which a client is given up.
const MISTAKES: usize = 32;
/// Time for a client to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
/// Time for a client that found no place to read that.
const REFUSAL: Duration = Duration::from_secs(5);

/// Tells a client that there is no place, when it asks for one.
pub(super) async fn refuse(
    socket: WebSocket,
    shared: Arc<ServerState>,
    _permit: OwnedSemaphorePermit,
) {
    let mut link = Connection { socket, send: shared.config.limits.send.0 };
    let places = shared.config.limits.episodes;
    let message = format!("all {places} places are taken; try again when a session has ended");
    let refusal = ProtocolError::new(Code::CapacityReached, message).to_json();
    if link.send(refusal).await.is_ok() {
        // Clients read after they have sent something, and not if the connection is closed then.
        let _ = timeout(REFUSAL, link.next()).await;
    }
    link.goodbye(close_code::AGAIN, "all places are taken").await;
}

/// Serves a client until it leaves or has to go.
pub(super) async fn play(
    socket: WebSocket,
    shared: Arc<ServerState>,
    client: ClientId,
    _seat: OwnedSemaphorePermit,
) {
    let link = Connection { socket, send: shared.config.limits.send.0 };
    let mut session =
        ClientSession { shared, client, link, early: None, player: None, mistakes: 0 };
    let ending = session.follow().await;
    let ClientSession { link, player, shared, .. } = session;
    if let Some(player) = player {
        abandon(player, ending).await;
    }
    match ending {
        CloseReason::Drained => link.goodbye(close_code::AWAY, "the server is shutting down").await,
        CloseReason::Idle => link.goodbye(close_code::POLICY, "no message for too long").await,
        CloseReason::TooLarge => {
            let limit = shared.config.limits.message;
            let reason = format!("a message may have {limit} (`--message-limit`)");
            link.goodbye(close_code::SIZE, reason).await;
        }
        CloseReason::Vanished => link.goodbye(close_code::POLICY, "the session is over").await,
        _ => link.goodbye(close_code::NORMAL, "").await,
    }
}

/// Ends an episode, which may wait for the disk.
async fn abandon(player: ServedEpisode, ending: CloseReason) {
    if let Err(error) = spawn_blocking(move || player.abandon(ending)).await {
        tracing::error!(%error, "an episode was not ended");
    }
}

struct ClientSession {
    shared: Arc<ServerState>,
    client: ClientId,
    link: Connection,
    /// A message that came while a step was in flight. More are not read before their turn.
    early: Option<Incoming>,
    player: Option<ServedEpisode>,
    mistakes: usize,
}

/// What is sent back.
type ReplyText = Result<String, ProtocolError>;

impl ClientSession {
    /// Answers message after message; returns why there is no more.
    async fn follow(&mut self) -> CloseReason {
        let mut stopping = self.shared.stopping.clone();
        let idle = self.shared.config.limits.idle.0;
        loop {
            let deadline = Instant::now() + idle;
            let incoming = match self.early.take() {
                _ if *stopping.borrow() => return CloseReason::Drained,
                Some(early) => early,
                None => tokio::select! {
                    _ = stopping.wait_for(|stop| *stop) => return CloseReason::Drained,
                    incoming = timeout_at(deadline, self.link.next()) => match incoming {
                        Ok(incoming) => incoming,
                        Err(_) => return CloseReason::Idle,
                    },
                },
            };
            let answer = match incoming {
                Incoming::Gone(ending) => return ending,
                Incoming::Binary => {
                    Err(ProtocolError::new(Code::InvalidJson, "invalid JSON: send it as text"))
                }
                Incoming::Text(text) => match ClientRequest::parse(&text) {
                    Err(mistake) => Err(mistake),
                    Ok(ClientRequest::Close) => return CloseReason::Left,
                    Ok(request) => self.answer(request).await,
                },
            };
            if let Some(ending) = self.early.as_ref().and_then(Incoming::ending) {
                return ending;
            }
            self.mistakes = if answer.is_ok() { 0 } else { self.mistakes + 1 };
            let text = answer.unwrap_or_else(|mistake| mistake.to_json());
            if self.link.send(text).await.is_err() || self.mistakes >= MISTAKES {
                return CloseReason::Vanished;
            }
        }
    }

    async fn answer(&mut self, request: ClientRequest) -> ReplyText {
        match request {
            ClientRequest::Reset(reset) => self.reset(reset).await,
            ClientRequest::Step(StepCall::ListTools { .. }) => {
                let observation = json!({"tools": tools(self.shared.config.episode.mode)});
                let done = self.player.as_ref().is_some_and(ServedEpisode::is_over);
                Ok(ServerReply { observation, reward: None, done }.to_json())
            }
            ClientRequest::Step(StepCall::CallTool { tool_name, arguments, .. }) => {
                self.step(tool_name, arguments).await
            }
            ClientRequest::State => Ok(state(&match &self.player {
                Some(player) => player.state(),
                None => json!({"episode_id": null, "step_count": 0}),
            })),
            ClientRequest::Close => {
                Err(ProtocolError::new(Code::SessionError, "the session is over"))
            }
        }
    }

    async fn reset(&mut self, reset: Reset) -> ReplyText {
        let (task, label, file) = self.shared.choose(&reset)?;
        let begun = self.shared.counts.begin(self.client, task.id());
        begun.map_err(|many| ProtocolError::new(Code::CapacityReached, many.to_string()))?;
        if let Some(player) = self.player.take() {
            abandon(player, CloseReason::Reset).await;
        }
        let shared = Arc::clone(&self.shared);
        let id = task.id().clone();
        let begin = spawn_blocking(move || {
            let reservation = shared.quota.reserve()?;
            ServedEpisode::start(&shared, &task, &label, &file, reservation)
        });
        let begun = self.meanwhile(begin, || {}).await;
        if !matches!(begun, Ok(Ok(_))) {
            self.shared.counts.take_back(self.client, &id);
        }
        match begun {
            Ok(Ok((player, observation))) => {
                self.player = Some(player);
                Ok(observation.to_json())
            }
            Ok(Err(EpisodeFault::Record(full @ RecordError::NoRoom { .. }))) => {
                tracing::warn!(%full, "an episode was refused");
                Err(ProtocolError::new(Code::CapacityReached, full.to_string()))
            }
            Ok(Err(fault)) => Err(Self::fault(&fault)),
            Err(error) => Err(Self::fault(&error)),
        }
    }

    async fn step(
        &mut self,
        tool: String,
        arguments: serde_json::Map<String, serde_json::Value>,
    ) -> ReplyText {
        let mut player = match self.player.take() {
            Some(player) if !player.is_over() => player,
            other => {
                let message = match other {
                    Some(_) => "the episode is over; reset to begin another",
                    None => "there is no episode; reset to begin one",
                };
                self.player = other;
                return Err(ProtocolError::new(Code::ExecutionError, message));
            }
        };
        let places = (tool == "python").then(|| Arc::clone(&self.shared.places));
        let patience = self.shared.config.patience();
        let name = tool.clone();
        let cancel = player.cancel();
        let (gone, mut is_gone) = oneshot::channel();
        let work = async move {
            let place = match places {
                None => None,
                Some(places) => tokio::select! {
                    place = timeout(patience, places.acquire_owned()) => match place {
                        Ok(place) => place.ok(),
                        Err(_) => return Ok((player, None)),
                    },
                    // No request waits for a free slot any more.
                    Ok(()) = &mut is_gone => return Ok((player, None)),
                },
            };
            let call = spawn_blocking(move || {
                let answer = player.call(&tool, &arguments);
                drop(place);
                (player, Some(answer))
            });
            call.await
        };
        let leave = move || {
            cancel.cancel();
            // No request may be waiting for a free slot.
            let _ = gone.send(());
        };
        match self.meanwhile(work, leave).await {
            Ok((player, Some(Ok(observation)))) => {
                self.player = Some(player);
                Ok(observation.to_json())
            }
            Ok((player, None)) => {
                self.player = Some(player);
                Ok(busy(&name, patience))
            }
            // Its client is gone, and the episode ends for that reason.
            Ok((player, Some(Err(EpisodeFault::Execution(Fault::Cancelled))))) => {
                self.player = Some(player);
                Err(ProtocolError::new(Code::SessionError, "the session is over"))
            }
            Ok((player, Some(Err(fault)))) => {
                abandon(player, CloseReason::Fault).await;
                Err(Self::fault(&fault))
            }
            Err(error) => Err(Self::fault(&error)),
        }
    }

    /// Waits for `work`. The connection is kept alive meanwhile: a client that gets no answer to
    /// its pings gives up long before a step has to be over. Calls `leave` once if the client is
    /// gone before that; that shows as long as it has not sent more than it had an answer to.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>, leave: impl FnOnce()) -> T {
        tokio::pin!(work);
        let mut leave = Some(leave);
        loop {
            tokio::select! {
                result = &mut work => return result,
                incoming = self.link.next(), if self.early.is_none() => {
                    if incoming.ending().is_some() && let Some(leave) = leave.take() {
                        leave();
                    }
                    self.early = Some(incoming);
                }
            }
        }
    }

    /// The message to a client about a fault. It leaves out the cause, which may reveal answers.
    fn fault(fault: &(dyn std::error::Error + 'static)) -> ProtocolError {
        tracing::error!(fault, "an episode failed");
        let message = "the environment failed, which is no fault of the agent; this episode has \
                       no reward and should be dropped; reset to begin another";
        ProtocolError::new(Code::ExecutionError, message)
    }
}

/// No place to run was to be had in time.
fn busy(tool: &str, patience: Duration) -> String {
    let message = format!(
        "no place to run was free within {} s; the turn does not count, call again",
        patience.as_secs()
    );
    let fault = Some((ToolFault::Timeout, message.as_str()));
    let observation = tool_answer(tool, "", fault, &json!({"busy": true}));
    ServerReply { observation, reward: Some(0.0), done: false }.to_json()
}

/// A connection, in whole messages.
struct Connection {
    socket: WebSocket,
    /// Time for the client to accept an answer.
    send: Duration,
}

enum Incoming {
    Text(String),
    Binary,
    Gone(CloseReason),
}

impl Incoming {
    /// Why nothing follows it, if it is the last word of a client: OpenEnv's says `close` before
    /// it closes the connection.
    fn ending(&self) -> Option<CloseReason> {
        match self {
            Self::Gone(ending) => Some(*ending),
            Self::Text(text) if ClientRequest::parse(text) == Ok(ClientRequest::Close) => {
                Some(CloseReason::Left)
            }
            Self::Text(_) | Self::Binary => None,
        }
    }
}

struct SendTimeout;

impl Connection {
    async fn next(&mut self) -> Incoming {
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

    async fn send(&mut self, text: String) -> Result<(), SendTimeout> {
        match timeout(self.send, self.socket.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(SendTimeout),
        }
    }

    /// Closes the connection as the protocol asks for, if the client still takes part in it.
    async fn goodbye(mut self, code: u16, reason: impl Into<Utf8Bytes>) {
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
