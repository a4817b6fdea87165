//! One episode's connection to a server: messages out, answers in, and what it means if none comes.

use super::answer::{Answer, Begun, ErrorAnswer, RemoteStep, StepAnswer};
use super::error::RemoteError;
use super::fleet::Lease;
use sandbox::env::Action;
use serde_json::{Value, json};
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tasks::task::TaskId;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::handshake::HandshakeError;
use tungstenite::http::HeaderValue;
use tungstenite::http::header::AUTHORIZATION;
use tungstenite::{Message, WebSocket};

/// Until a connection stands, and until its server has greeted.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for a server to accept a message.
const SEND: Duration = Duration::from_secs(30);
/// Time between two looks at whether an answer is still wanted.
const LOOK: Duration = Duration::from_millis(500);
/// Time for an episode to begin.
const BEGIN: Duration = Duration::from_mins(1);
/// Beyond the time by which a server promises an answer: grading is not in it.
const LATE: Duration = Duration::from_mins(1);
/// Pause before a call is repeated for which no slot was free. The server has waited already.
const BUSY: Duration = Duration::from_millis(100);

/// A session on a server, for one episode.
#[derive(Debug)]
pub(super) struct Connection {
    socket: WebSocket<TcpStream>,
    lease: Lease,
    /// Time by which the server answers a step.
    answer_limit: Duration,
}

/// Why a message has no answer that an episode can go on with.
#[derive(Debug)]
pub(super) enum Broken {
    /// The episode is gone, and may be played again elsewhere: why.
    Lost(String),
    /// The episode is gone, and its server is well: why.
    Ended(String),
    /// The server has no room now.
    Full,
    /// Playing elsewhere would be no better.
    Refused(RemoteError),
}

fn lost(why: impl std::fmt::Display) -> Broken {
    Broken::Lost(why.to_string())
}

impl Connection {
    /// Opens a session on the server of `lease`.
    pub(super) fn open(lease: Lease) -> Result<Self, Broken> {
        let url = format!("ws://{}/ws", lease.address.authority());
        let mut request = url.into_client_request().map_err(lost)?;
        if let Some(token) = &lease.address.token {
            let value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(lost)?;
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let stream = TcpStream::connect_timeout(&lease.at, CONNECT).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        stream.set_write_timeout(Some(SEND)).map_err(lost)?;
        stream.set_read_timeout(Some(CONNECT)).map_err(lost)?;
        let socket = match tungstenite::client(request, stream) {
            Ok((socket, _)) => socket,
            Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                let server = lease.server();
                return Err(match answer.status().as_u16() {
                    503 => Broken::Full,
                    401 => Broken::Refused(RemoteError::Refused {
                        server,
                        message: "the token is missing or wrong; give it as \
                                  `http://agent:TOKEN@host` or in SANDBOX_TOKEN"
                            .to_owned(),
                    }),
                    status => lost(format!("it answers with the HTTP status {status}")),
                });
            }
            Err(HandshakeError::Failure(error)) => return Err(lost(error)),
            Err(HandshakeError::Interrupted(_)) => {
                return Err(lost(format!("no greeting within {} s", CONNECT.as_secs())));
            }
        };
        socket.get_ref().set_read_timeout(Some(LOOK)).map_err(lost)?;
        Ok(Self { socket, lease, answer_limit: BEGIN })
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Begins an episode on `task`.
    pub(super) fn begin(&mut self, task: &TaskId) -> Result<Begun, Broken> {
        let answer = self.ask(&json!({"type": "reset", "data": {"task": task}}), BEGIN)?;
        let metadata = Value::Object(answer.observation.metadata);
        let begun: Begun =
            serde_json::from_value(metadata).map_err(|error| self.foreign(&error))?;
        self.answer_limit = begun.answer_limit.0;
        Ok(begun)
    }

    /// Carries out an action. A call for which no slot was free is repeated until `deadline`, as a
    /// script on this machine waits for its slot.
    pub(super) fn step(
        &mut self,
        action: &Action,
        deadline: Instant,
    ) -> Result<RemoteStep, Broken> {
        let message = json!({"type": "step", "data": {"type": "action", "action": action}});
        loop {
            let answer = self.ask(&message, self.answer_limit + LATE)?;
            match &answer.observation.error {
                None => return RemoteStep::try_from(answer).map_err(|error| self.foreign(&error)),
                Some(error) if error.error_type == "timeout" && Instant::now() < deadline => {
                    std::thread::sleep(BUSY);
                }
                Some(error) => {
                    return Err(Broken::Refused(RemoteError::Environment {
                        server: self.lease.server(),
                        message: error.message.clone(),
                    }));
                }
            }
        }
    }

    /// An answer that cannot be read.
    fn foreign(&self, error: &dyn std::fmt::Display) -> Broken {
        Broken::Refused(RemoteError::Protocol {
            server: self.lease.server(),
            why: error.to_string(),
        })
    }

    /// Sends a message and waits for the answer to it.
    fn ask(&mut self, message: &Value, patience: Duration) -> Result<StepAnswer, Broken> {
        self.socket.send(Message::text(message.to_string())).map_err(lost)?;
        let deadline = Instant::now() + patience;
        let text = loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => break text,
                Ok(Message::Close(frame)) => {
                    return Err(lost(match frame {
                        Some(frame) if !frame.reason.is_empty() => {
                            format!("it closed the connection: {}", frame.reason)
                        }
                        _ => "it closed the connection".to_owned(),
                    }));
                }
                // Pings are answered by the socket itself.
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                Err(error) => return Err(lost(error)),
            }
            if self.lease.fleet().is_abandoned() {
                return Err(Broken::Refused(RemoteError::Abandoned));
            }
            if Instant::now() >= deadline {
                return Err(lost(format!("no answer within {} s", patience.as_secs())));
            }
        };
        match serde_json::from_str(&text) {
            Ok(Answer::Observation(answer)) => Ok(answer),
            Ok(Answer::Error(error)) => Err(self.refusal(error)),
            Err(error) => Err(self.foreign(&error)),
        }
    }

    fn refusal(&self, error: ErrorAnswer) -> Broken {
        let ErrorAnswer { code, message, retryable } = error;
        let server = self.lease.server();
        match (code.as_str(), retryable) {
            ("CAPACITY_REACHED", true) => Broken::Full,
            (_, true) => Broken::Ended(message),
            ("EXECUTION_ERROR", false) => {
                Broken::Refused(RemoteError::Environment { server, message })
            }
            (_, false) => Broken::Refused(RemoteError::Refused { server, message }),
        }
    }
}

impl Drop for Connection {
    /// Says goodbye, so that the server ends the session at once and kills what runs in it. One that
    /// is gone does not hear it.
    fn drop(&mut self) {
        let _ = self.socket.send(Message::text(json!({"type": "close"}).to_string()));
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }
}
