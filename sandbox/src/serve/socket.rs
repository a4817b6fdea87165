//! A session over a WebSocket: its messages, one after the other.

use super::connection::{Connection, Incoming};
use super::episode_counts::ClientId;
use super::mcp::{self, Caller};
use super::metrics::Refusal;
use super::protocol::{self, ClientRequest, Code, ProtocolError, ServerReply, StepCall};
use super::server::ServerState;
use super::session::{Gone, Session};
use super::tools::{ListForm, tools};
use crate::env::CloseReason;
use axum::Extension;
use axum::extract::ws::{WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;
use web::listener::Peer;

/// Messages in a row that cannot be followed, after which a client is given up.
const MISTAKES: usize = 32;
/// Time for a client that found no place to read that.
const REFUSAL: Duration = Duration::from_secs(5);

/// What is sent back.
type ReplyText = Result<String, ProtocolError>;

/// Answers `GET /ws`: opens a session if there is a place, or takes the one that `session_id` in the
/// query names.
pub(super) async fn connect(
    State(shared): State<Arc<ServerState>>,
    Extension(Peer(address)): Extension<Peer>,
    RawQuery(query): RawQuery,
    upgrade: WebSocketUpgrade,
) -> Response {
    let client = ClientId::at(address);
    let size = shared.config.limits.message.length();
    let upgrade = upgrade.max_message_size(size).max_frame_size(size);
    let query = query.unwrap_or_default();
    let requested = query.split('&').find_map(|pair| pair.strip_prefix("session_id="));
    if let Some(id) = requested.filter(|id| !id.is_empty()) {
        let id = id.to_owned();
        return upgrade.on_upgrade(move |socket| attach(socket, shared, id));
    }
    let seat = shared.sessions.free_seat();
    if seat.is_some() {
        return upgrade.on_upgrade(move |socket| begin(socket, shared, client, seat, None));
    }
    let Ok(permit) = Arc::clone(&shared.refusals).try_acquire_owned() else {
        shared.metrics.refuse(Refusal::Full);
        // In seconds: episodes take at least as long.
        let later = [(RETRY_AFTER, "1")];
        return (StatusCode::SERVICE_UNAVAILABLE, later, "all places are taken").into_response();
    };
    upgrade.on_upgrade(move |socket| begin(socket, shared, client, None, Some(permit)))
}

/// Serves a session that has a place already.
async fn attach(socket: WebSocket, shared: Arc<ServerState>, id: String) {
    match shared.sessions.attach(&id) {
        Ok(session) => play(socket, session, false).await,
        Err(error) => {
            // With too many to be refused, the connection is closed without a word.
            if let Ok(permit) = Arc::clone(&shared.refusals).try_acquire_owned() {
                refuse(socket, shared, error, Some(permit)).await;
            }
        }
    }
}

/// Opens a session and serves it. Without a seat, waits a little for one.
async fn begin(
    socket: WebSocket,
    shared: Arc<ServerState>,
    client: ClientId,
    seat: Option<OwnedSemaphorePermit>,
    permit: Option<OwnedSemaphorePermit>,
) {
    let seat = match (shared.check_open(), seat) {
        (Err(draining), _) => Err(draining),
        (Ok(()), Some(seat)) => Ok(seat),
        (Ok(()), None) => {
            shared.sessions.seat().await.inspect_err(|_| shared.metrics.refuse(Refusal::Full))
        }
    };
    match seat.and_then(|seat| shared.sessions.begin(&shared, client, true, seat)) {
        Ok(session) => {
            drop(permit);
            play(socket, session, true).await;
        }
        Err(error) => refuse(socket, shared, error, permit).await,
    }
}

/// Tells a client that there is no session for it, when it asks for something.
async fn refuse(
    socket: WebSocket,
    shared: Arc<ServerState>,
    error: ProtocolError,
    _permit: Option<OwnedSemaphorePermit>,
) {
    let mut link = Connection { socket, send: shared.config.limits.send.0 };
    if link.send(error.to_json()).await.is_ok() {
        // Clients read after they have sent something, and not if the connection is closed then.
        let _ = timeout(REFUSAL, link.next()).await;
    }
    match error.code {
        _ if shared.is_draining() => {
            link.goodbye(close_code::AWAY, "the server is shutting down").await;
        }
        Code::CapacityReached => link.goodbye(close_code::AGAIN, "all places are taken").await,
        _ => link.goodbye(close_code::POLICY, "there is no such session").await,
    }
}

/// Serves a client until it leaves or has to go. The session ends with the connection if it is
/// `owned` by it.
async fn play(socket: WebSocket, session: Arc<Session>, owned: bool) {
    let shared = Arc::clone(session.shared());
    let link = Connection { socket, send: shared.config.limits.send.0 };
    let mut client = SocketClient { session, link, early: None, mistakes: 0 };
    let ending = client.follow().await;
    let SocketClient { session, link, .. } = client;
    shared.sessions.leave(&session, owned, ending).await;
    // The session keeps its place until its client has been told: a server waits for that.
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

struct SocketClient {
    session: Arc<Session>,
    link: Connection,
    /// A message that came while a step was in flight. More are not read before their turn.
    early: Option<Incoming>,
    mistakes: usize,
}

impl SocketClient {
    /// Answers message after message; returns why there is no more.
    async fn follow(&mut self) -> CloseReason {
        let mut stopping = self.session.shared().stopping.clone();
        let mut over = self.session.over.subscribe();
        loop {
            let incoming = match self.early.take() {
                _ if *stopping.borrow() => return CloseReason::Drained,
                Some(early) => early,
                None => tokio::select! {
                    _ = stopping.wait_for(|stop| *stop) => return CloseReason::Drained,
                    _ = over.wait_for(Option::is_some) => return CloseReason::Idle,
                    incoming = self.link.next() => incoming,
                },
            };
            self.session.touch();
            let answer = match incoming {
                Incoming::Gone(ending) => return ending,
                Incoming::Binary => {
                    Err(ProtocolError::new(Code::InvalidJson, "invalid JSON: send it as text"))
                }
                Incoming::Text(text) => match ClientRequest::parse(&text) {
                    Err(mistake) => Err(mistake),
                    Ok(ClientRequest::Close) => return CloseReason::Left,
                    Ok(request) => self.ask(request).await,
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

    /// Has a request answered. The connection is kept alive meanwhile: a client that gets no answer
    /// to its pings gives up long before a step has to be over. Lets go of the request if the client
    /// is gone before that; that shows as long as it has not sent more than it had an answer to.
    async fn ask(&mut self, request: ClientRequest) -> ReplyText {
        let (leave, gone) = watch::channel(false);
        let answer = answer(Arc::clone(&self.session), request, gone);
        tokio::pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                incoming = self.link.next(), if self.early.is_none() => {
                    if incoming.ending().is_some() {
                        leave.send_replace(true);
                    }
                    self.early = Some(incoming);
                }
            }
        }
    }
}

async fn answer(session: Arc<Session>, request: ClientRequest, gone: Gone) -> ReplyText {
    let reply = match request {
        ClientRequest::Reset(reset) => session.reset(reset).await?,
        ClientRequest::Step(StepCall::ListTools) => {
            let mode = session.shared().config.episode.mode;
            let observation = json!({"tools": tools(mode, ListForm::OpenEnv)});
            ServerReply { observation, reward: None, done: session.is_done().await }
        }
        ClientRequest::Step(StepCall::Call(call)) => session.call(call, gone).await?,
        ClientRequest::State => return Ok(protocol::state(&session.state().await)),
        ClientRequest::Mcp(message) => {
            let response = mcp::respond(message, Caller::Socket { session, gone }).await;
            return Ok(protocol::mcp(&response));
        }
        ClientRequest::Close => {
            return Err(ProtocolError::new(Code::SessionError, "the session is over"));
        }
    };
    Ok(reply.to_json())
}
