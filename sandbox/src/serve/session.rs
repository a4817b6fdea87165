//! One client's session: the episode that it plays, whichever way its messages come.
//!
//! A session is played over a WebSocket, over requests of MCP, or over both at once. One message at
//! a time has its episode; others wait for it.

use super::episode_counts::ClientId;
use super::metrics::Refusal;
use super::protocol::{Code, ProtocolError, ServerReply};
use super::served_episode::ServedEpisode;
use super::server::ServerState;
use super::task_choice::{ChosenTask, Reset};
use super::tools::{Call, ToolFault, tool_answer};
use crate::env::{CloseReason, EpisodeFault, RecordError};
use jail::exec::Fault;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

/// What a message may wait for another of its session at least. Between two looks at how long nothing
/// was heard, a session is free at once.
const TURN: Duration = Duration::from_secs(1);

/// What a client gets for a message.
pub(super) type Reply = Result<ServerReply, ProtocolError>;

/// Turns true when nobody waits for the answer any more. A channel without a sender never does.
pub(super) type Gone = watch::Receiver<bool>;

/// A session that has a place.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    shared: Arc<ServerState>,
    client: ClientId,
    stage: Arc<tokio::sync::Mutex<Stage>>,
    presence: Mutex<Presence>,
    /// Says why, when the session ends although it has a socket.
    pub(super) over: watch::Sender<Option<CloseReason>>,
    _seat: OwnedSemaphorePermit,
}

/// Where a session stands.
#[derive(Debug)]
enum Stage {
    /// No episode has begun.
    Before,
    /// The first call of a tool begins an episode on this task.
    Planned(Box<ChosenTask>),
    /// An episode in progress, or at its end.
    Episode(Box<ServedEpisode>),
    /// An episode whose script was killed because its client was gone.
    Cut(Box<ServedEpisode>),
    /// The episode ended before its end.
    Ended(CloseReason),
}

/// Signs of life of a client.
#[derive(Debug)]
struct Presence {
    /// When it was heard last.
    heard: Instant,
    /// Whether it has a WebSocket.
    socket: bool,
    /// Whether it asked for the session's end while it had one.
    closing: bool,
}

/// Returns when nobody waits for the answer any more; never, if that cannot be known.
async fn is_gone(gone: &mut Gone) {
    let known = gone.wait_for(|gone| *gone).await.is_ok();
    if !known {
        std::future::pending::<()>().await;
    }
}

/// Ends an episode, which may wait for the disk.
async fn abandon(episode: ServedEpisode, ending: CloseReason) {
    if let Err(error) = spawn_blocking(move || episode.abandon(ending)).await {
        tracing::error!(%error, "an episode was not ended");
    }
}

/// The message to a client about a fault. It leaves out the cause, which may reveal answers.
fn fault(fault: &(dyn std::error::Error + 'static)) -> ProtocolError {
    tracing::error!(fault, "an episode failed");
    let message = "the environment failed, which is no fault of the agent; this episode has \
                   no reward and should be dropped; reset to begin another";
    ProtocolError::new(Code::ExecutionError, message)
}

/// The answer to a call whose client is gone, or of which it is not known.
fn cut() -> ProtocolError {
    ProtocolError::new(Code::SessionError, "the session is over")
}

/// No place to run was to be had in time.
fn busy(tool: &str, patience: Duration) -> ServerReply {
    let message = format!(
        "no place to run was free within {} s; the turn does not count, call again",
        patience.as_secs()
    );
    let fault = Some((ToolFault::Timeout, message.as_str()));
    let observation = tool_answer(tool, "", fault, &json!({"busy": true}));
    ServerReply { observation, reward: Some(0.0), done: false }
}

impl Stage {
    /// The episode, if it is in progress.
    fn playing(&self) -> Option<&ServedEpisode> {
        match self {
            Self::Episode(episode) if !episode.is_over() => Some(episode),
            _ => None,
        }
    }

    /// Ends what is in progress.
    async fn end(&mut self, ending: CloseReason) {
        match std::mem::replace(self, Self::Ended(ending)) {
            Self::Episode(episode) | Self::Cut(episode) => abandon(*episode, ending).await,
            Self::Before | Self::Planned(_) | Self::Ended(_) => {}
        }
    }
}

impl Session {
    /// A session in a place of its own.
    pub(super) fn new(
        id: String,
        shared: Arc<ServerState>,
        client: ClientId,
        socket: bool,
        seat: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            id,
            shared,
            client,
            stage: Arc::new(tokio::sync::Mutex::new(Stage::Before)),
            presence: Mutex::new(Presence { heard: Instant::now(), socket, closing: false }),
            over: watch::Sender::new(None),
            _seat: seat,
        }
    }

    pub(super) fn shared(&self) -> &Arc<ServerState> {
        &self.shared
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that its client was heard.
    pub(super) fn touch(&self) {
        self.presence().heard = Instant::now();
    }

    /// Gives it a WebSocket; `false` if it has one, or is about to end.
    pub(super) fn attach(&self) -> bool {
        let mut presence = self.presence();
        let free = !presence.socket && !presence.closing;
        if free {
            presence.heard = Instant::now();
            presence.socket = true;
        }
        free
    }

    /// Takes its WebSocket away; returns whether its end was asked for meanwhile.
    pub(super) fn detach(&self) -> bool {
        let mut presence = self.presence();
        presence.heard = Instant::now();
        presence.socket = false;
        presence.closing
    }

    /// Asks for its end; `false` if that has to wait until its WebSocket is gone.
    pub(super) fn ask_to_close(&self) -> bool {
        let mut presence = self.presence();
        presence.closing = true;
        !presence.socket
    }

    /// Whether it has a WebSocket.
    pub(super) fn has_socket(&self) -> bool {
        self.presence().socket
    }

    /// Lets the first call of a tool begin an episode on `chosen`.
    pub(super) async fn plan(&self, chosen: ChosenTask) {
        *self.stage.lock().await = Stage::Planned(Box::new(chosen));
    }

    /// Begins an episode. One in progress ends without a grade.
    pub(super) async fn reset(self: &Arc<Self>, reset: Reset) -> Reply {
        let session = Arc::clone(self);
        self.detached(async move {
            let chosen = session.shared.choose(&reset)?;
            let mut stage = session.stage_by(session.deadline()).await?;
            session.begin(&mut stage, chosen).await
        })
        .await
    }

    /// Carries out a call of a tool, which takes a turn of the episode. Its script is killed when
    /// `gone` turns true.
    pub(super) async fn call(self: &Arc<Self>, call: Call, gone: Gone) -> Reply {
        let session = Arc::clone(self);
        self.detached(async move { session.carry_out(call, gone).await }).await
    }

    /// The answer to `state`.
    pub(super) async fn state(&self) -> Value {
        match &*self.stage.lock().await {
            Stage::Episode(episode) => episode.state(),
            _ => json!({"episode_id": null, "step_count": 0}),
        }
    }

    /// Whether its episode has been played to the end.
    pub(super) async fn is_done(&self) -> bool {
        matches!(&*self.stage.lock().await, Stage::Episode(episode) if episode.is_over())
    }

    /// Ends what is in progress, after the call in flight.
    pub(super) async fn end(&self, ending: CloseReason) {
        self.stage.lock().await.end(ending).await;
    }

    /// Ends an episode whose script was killed; any other goes on.
    pub(super) async fn end_cut(&self, ending: CloseReason) {
        let mut stage = self.stage.lock().await;
        if matches!(*stage, Stage::Cut(_)) {
            stage.end(ending).await;
        }
    }

    /// Ends the episode if nothing was heard for the idle limit, or its wall time has been over for
    /// as long. Returns whether the session ought to
    /// end as well: it has no WebSocket, or nothing was heard for the session limit.
    pub(super) async fn is_forsaken(&self) -> bool {
        // With a call in flight its client is waiting, and not silent.
        let Ok(mut stage) = self.stage.try_lock() else { return false };
        let (silence, socket) = {
            let presence = self.presence();
            (presence.heard.elapsed(), presence.socket)
        };
        let limits = &self.shared.config.limits;
        let grace = limits.idle.0;
        let ending = match stage.playing() {
            Some(_) if silence >= grace => Some(CloseReason::Idle),
            Some(episode) if episode.is_overdue(grace) => Some(CloseReason::Overdue),
            _ => None,
        };
        if let Some(ending) = ending {
            stage.end(ending).await;
        }
        let limit = if socket { limits.session.0 } else { limits.idle.0 };
        stage.playing().is_none() && silence >= limit
    }

    /// When a call has waited long enough.
    fn deadline(&self) -> Instant {
        Instant::now() + self.shared.config.patience()
    }

    /// The stage, once no other message has it.
    async fn stage_by(&self, deadline: Instant) -> Result<OwnedMutexGuard<Stage>, ProtocolError> {
        let deadline = deadline.max(Instant::now() + TURN);
        let stage = timeout_at(deadline, Arc::clone(&self.stage).lock_owned()).await;
        stage.map_err(|_| {
            let message = "another call of this session is in flight; wait for its answer";
            ProtocolError::new(Code::ExecutionError, message)
        })
    }

    /// Does `work` in a task of its own: it goes on, and the episode goes back to its session, also
    /// if the request that asked for it is dropped.
    async fn detached(&self, work: impl Future<Output = Reply> + Send + 'static) -> Reply {
        self.touch();
        let reply = tokio::spawn(work).await;
        self.touch();
        reply.unwrap_or_else(|error| Err(fault(&error)))
    }

    async fn begin(&self, stage: &mut Stage, chosen: ChosenTask) -> Reply {
        self.shared.check_open()?;
        let id = chosen.task.id().clone();
        self.shared.counts.begin(self.client, &id).map_err(|many| {
            self.shared.metrics.refuse(Refusal::EpisodesPerTask);
            ProtocolError::new(Code::CapacityReached, many.to_string())
        })?;
        stage.end(CloseReason::Reset).await;
        let shared = Arc::clone(&self.shared);
        let begun = spawn_blocking(move || {
            let reservation = shared.quota.reserve()?;
            ServedEpisode::start(&shared, &chosen, reservation)
        })
        .await;
        if !matches!(begun, Ok(Ok(_))) {
            self.shared.counts.take_back(self.client, &id);
        }
        match begun {
            Ok(Ok((episode, reply))) => {
                *stage = Stage::Episode(Box::new(episode));
                Ok(reply)
            }
            Ok(Err(EpisodeFault::Record(full @ RecordError::NoRoom { .. }))) => {
                tracing::warn!(%full, "an episode was refused");
                self.shared.metrics.refuse(Refusal::Records);
                Err(ProtocolError::new(Code::CapacityReached, full.to_string()).retryable())
            }
            Ok(Err(error)) => Err(fault(&error)),
            Err(error) => Err(fault(&error)),
        }
    }

    /// Takes the episode in progress from its stage.
    fn take(&self, stage: &mut Stage) -> Result<Box<ServedEpisode>, ProtocolError> {
        match std::mem::replace(stage, Stage::Before) {
            Stage::Episode(episode) if !episode.is_over() => Ok(episode),
            other => {
                let is_idle = matches!(other, Stage::Ended(CloseReason::Idle));
                let message = match other {
                    Stage::Episode(_) => "the episode is over; reset to begin another".to_owned(),
                    Stage::Ended(CloseReason::Idle) => format!(
                        "the episode was ended after {} without a message (`--idle-limit`); reset \
                         to begin another",
                        self.shared.config.limits.idle
                    ),
                    Stage::Ended(CloseReason::Overdue) => "the episode was ended long after its wall \
                                                           time (`--episode-limit`); reset to begin \
                                                           another"
                        .to_owned(),
                    _ => "there is no episode; reset to begin one".to_owned(),
                };
                *stage = other;
                let error = ProtocolError::new(Code::ExecutionError, message);
                Err(if is_idle { error.retryable() } else { error })
            }
        }
    }

    /// A place to run for a call that needs one; or what to answer if there is none in time.
    async fn place(
        &self,
        call: &Call,
        deadline: Instant,
        gone: &mut Gone,
    ) -> Result<Option<OwnedSemaphorePermit>, Reply> {
        if !call.is_script() {
            return Ok(None);
        }
        let (began, metrics) = (Instant::now(), &self.shared.metrics);
        let places = Arc::clone(&self.shared.places);
        tokio::select! {
            place = timeout_at(deadline, places.acquire_owned()) => if let Ok(place) = place {
                metrics.count_wait(began.elapsed());
                Ok(place.ok())
            } else {
                metrics.refuse(Refusal::Busy);
                Err(Ok(busy(call.name(), self.shared.config.patience())))
            },
            // No request waits for a free slot any more.
            () = is_gone(gone) => Err(Err(cut())),
        }
    }

    async fn carry_out(&self, call: Call, mut gone: Gone) -> Reply {
        let deadline = self.deadline();
        let mut stage = self.stage_by(deadline).await?;
        if let Stage::Planned(chosen) = &*stage {
            let chosen = chosen.as_ref().clone();
            self.begin(&mut stage, chosen).await?;
        }
        let mut episode = self.take(&mut stage)?;
        let place = match self.place(&call, deadline, &mut gone).await {
            Ok(place) => place,
            Err(reply) => {
                *stage = Stage::Episode(episode);
                return reply;
            }
        };
        let cancel = episode.cancel();
        let shared = Arc::clone(&self.shared);
        let mut work = spawn_blocking(move || {
            let reply = episode.call(&call, &shared.metrics);
            drop(place);
            (episode, reply)
        });
        let done = tokio::select! {
            done = &mut work => done,
            () = is_gone(&mut gone) => {
                cancel.cancel();
                work.await
            }
        };
        match done {
            Ok((episode, Ok(reply))) => {
                *stage = Stage::Episode(episode);
                Ok(reply)
            }
            // Its client is gone, and the episode ends for that reason.
            Ok((episode, Err(EpisodeFault::Execution(Fault::Cancelled)))) => {
                *stage = Stage::Cut(episode);
                Err(cut())
            }
            Ok((episode, Err(error))) => {
                *stage = Stage::Episode(episode);
                stage.end(CloseReason::Fault).await;
                Err(fault(&error))
            }
            Err(error) => {
                *stage = Stage::Ended(CloseReason::Fault);
                Err(fault(&error))
            }
        }
    }
}
