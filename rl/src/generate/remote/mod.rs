//! Inference engines on other machines as one [`Generator`]: vLLM or SGLang, on any number of
//! servers.
//!
//! Each turn is one request with all tokens of its conversation. A conversation stays with one
//! server, whose prefix cache has its past. A server that fails is left alone until it has got the
//! published weights anew and agrees with the learner on a known prompt; its turns are sampled
//! again elsewhere, with the same seeds. So no token is ever trained with a log-probability of
//! unknown weights.

mod client;
mod replica;
mod settings;
mod sglang;
mod turn;
mod vllm;

pub use settings::{EngineApi, EngineSettings};

use super::engine::{CacheUse, EngineError, TurnOptions};
use super::generator::{ConversationId, Generated, Generator, turn_room};
use super::publication::Publication;
use crate::model::Qwen3Config;
use crate::remote::{Server, ServerError};
use crate::run::watchdog::{Heartbeat, Phase};
use client::Client;
use llm::ApiKey;
use replica::{Replica, ReplicaState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;
use turn::{RemoteTurn, SampledTurn};

/// How long [`Generator::poll`] waits for news. What environments answer is looked at in between.
const POLL: Duration = Duration::from_millis(1);

/// Engines on other machines.
#[derive(Debug)]
pub struct RemoteGenerator {
    replicas: Vec<Replica>,
    vocab_size: i64,
    stop_ids: Vec<i64>,
    /// Most conversations at a time.
    most: usize,
    context: usize,
    patience: Duration,
    publication: Arc<Publication>,
    conversations: BTreeMap<ConversationId, Open>,
    /// Counts turns, so that news of one that was given up is told from that of the next.
    turns: u64,
    /// Turns that were sampled again, since the rollout began.
    repeated: u64,
    /// Since when turns wait and no server is ready.
    waiting: Option<Instant>,
    news: Receiver<News>,
    teller: Sender<News>,
    /// Dropped last: connections and tasks live in it.
    runtime: tokio::runtime::Runtime,
}

/// A conversation.
#[derive(Debug)]
struct Open {
    /// All its tokens but those of a turn under way.
    seen: Vec<i64>,
    /// The server that it stays with.
    replica: Option<usize>,
    turn: Option<Pending>,
}

/// A turn under way.
#[derive(Debug)]
struct Pending {
    number: u64,
    turn: Arc<RemoteTurn>,
    /// The request; `None` while no server is ready.
    task: Option<AbortHandle>,
}

impl Open {
    /// Whether its turn waits for a server.
    fn waits(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.task.is_none())
    }
}

impl Pending {
    fn cancel(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// What a task tells.
#[derive(Debug)]
enum News {
    Turn {
        conversation: ConversationId,
        number: u64,
        replica: usize,
        result: Result<SampledTurn, ServerError>,
    },
    /// A server was given the published weights.
    Loaded { replica: usize, result: Result<String, ServerError> },
}

impl RemoteGenerator {
    /// A generator over the servers of `settings`, for a model of this shape: at most `most`
    /// conversations at a time over all servers, of at most `context` tokens. It asks for nothing
    /// before weights are published. `key` is sent to all servers.
    ///
    /// # Errors
    /// [`EngineError::Server`] if an address is none.
    pub fn new(
        settings: &EngineSettings,
        config: &Qwen3Config,
        (most, context): (usize, usize),
        key: Option<&ApiKey>,
    ) -> Result<Self, EngineError> {
        let (api, timeout) = (settings.api, Duration::from_secs(settings.timeout_seconds));
        let replica = |address: &String| {
            let server = Server::new(address, key)?;
            Ok(Replica::new(Client { server, api, timeout, context }))
        };
        let replicas = settings.servers.iter().map(replica).collect::<Result<_, ServerError>>()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("engines")
            .enable_all()
            .build()
            .map_err(EngineError::Thread)?;
        let (teller, news) = channel();
        Ok(Self {
            replicas,
            vocab_size: config.vocab_size,
            stop_ids: config.eos_token_ids.clone(),
            most,
            context,
            patience: Duration::from_secs(settings.patience_seconds),
            publication: Arc::new(Publication::shared(0)),
            conversations: BTreeMap::new(),
            turns: 0,
            repeated: 0,
            waiting: None,
            news,
            teller,
            runtime,
        })
    }

    /// Gives the published weights to servers that have not got them and are due. News of it
    /// comes.
    fn load_where_due(&mut self) {
        for (index, replica) in self.replicas.iter_mut().enumerate() {
            if replica.state.begins_try() {
                let (client, publication) = (replica.client.clone(), self.publication.clone());
                let teller = self.teller.clone();
                self.runtime.spawn(async move {
                    let result = client.load(&publication).await;
                    // The generator may have gone.
                    let _ = teller.send(News::Loaded { replica: index, result });
                });
            }
        }
    }

    /// The server for a conversation: its own if that is ready, else the one with the fewest.
    fn choose(&self, own: Option<usize>) -> Option<usize> {
        let is_ready = |index: &usize| self.replicas[*index].model().is_some();
        own.filter(is_ready).or_else(|| {
            let ready = (0..self.replicas.len()).filter(is_ready);
            ready.min_by_key(|index| self.replicas[*index].open)
        })
    }

    /// Sends the turn of a conversation to a server, if one is ready.
    fn send(&mut self, conversation: ConversationId) {
        let Some(open) = self.conversations.get(&conversation) else { return };
        let (own, chosen) = (open.replica, self.choose(open.replica));
        let Some(open) = self.conversations.get_mut(&conversation) else { return };
        let (Some(pending), Some(chosen)) = (&mut open.turn, chosen) else { return };
        if own != Some(chosen) {
            if let Some(own) = own {
                self.replicas[own].open -= 1;
            }
            self.replicas[chosen].open += 1;
            open.replica = Some(chosen);
        }
        let replica = &self.replicas[chosen];
        let model = replica.model().unwrap_or_default().to_owned();
        let (client, turn) = (replica.client.clone(), pending.turn.clone());
        let (teller, number) = (self.teller.clone(), pending.number);
        let task = self.runtime.spawn(async move {
            let result = client.generate(&model, &turn).await;
            let _ = teller.send(News::Turn { conversation, number, replica: chosen, result });
        });
        pending.task = Some(task.abort_handle());
    }

    /// Sends all turns that wait for a server.
    fn send_waiting(&mut self) {
        let all = self.conversations.iter();
        let waiting: Vec<ConversationId> =
            all.filter(|(_, open)| open.waits()).map(|(id, _)| *id).collect();
        for conversation in waiting {
            self.send(conversation);
        }
    }

    /// A server has failed: its turns are taken from it, and it gets the weights anew.
    fn lose(&mut self, lost: usize, why: String) {
        let replica = &mut self.replicas[lost];
        if replica.model().is_none() {
            return;
        }
        let server = &replica.client.server;
        tracing::warn!(%server, why, "a server is lost; its turns are sampled again elsewhere");
        replica.state = ReplicaState::lost(why);
        for open in self.conversations.values_mut().filter(|open| open.replica == Some(lost)) {
            if let Some(pending) = &mut open.turn {
                pending.cancel();
                pending.task = None;
                self.repeated += 1;
            }
        }
    }

    /// Takes in what a task tells; returns the turn that it completes, if any.
    fn hear(&mut self, news: News) -> Result<Option<Generated>, EngineError> {
        match news {
            News::Loaded { replica, result } => {
                let result = result.map_err(|error| error.to_string());
                if let Err(why) = &result {
                    let version = self.publication.version;
                    tracing::warn!(
                        why,
                        version,
                        "a server cannot take the weights over; it is tried again"
                    );
                }
                self.replicas[replica].state.tried(result);
                Ok(None)
            }
            News::Turn { conversation, number, replica, result } => {
                let open = self.conversations.get_mut(&conversation);
                let is_current = |open: &&mut Open| {
                    open.turn.as_ref().is_some_and(|pending| pending.number == number)
                        && open.replica == Some(replica)
                };
                let Some(open) = open.filter(is_current) else { return Ok(None) };
                let Some(pending) = &open.turn else { return Ok(None) };
                let turn = pending.turn.clone();
                let checked = result.and_then(|sampled| {
                    let ending = sampled.ending(&turn, self.vocab_size).map_err(|what| {
                        self.replicas[replica].client.server.unusable("generate", &what)
                    })?;
                    Ok((sampled, ending))
                });
                match checked {
                    Ok((sampled, ending)) => {
                        open.turn = None;
                        open.seen.extend_from_slice(&sampled.ids);
                        let SampledTurn { ids, log_probs, .. } = sampled;
                        let version = turn.version;
                        Ok(Some(Generated { conversation, ids, log_probs, ending, version }))
                    }
                    // The request itself is refused, which no other server would do otherwise.
                    Err(error) if matches!(error.status(), Some(400 | 401 | 403 | 413 | 422)) => {
                        Err(error.into())
                    }
                    Err(error) => {
                        self.lose(replica, error.to_string());
                        Ok(None)
                    }
                }
            }
        }
    }

    /// Ends the wait for a server once it has taken too long.
    fn check_patience(&mut self) -> Result<(), EngineError> {
        if !self.conversations.values().any(Open::waits) {
            self.waiting = None;
            return Ok(());
        }
        let since = *self.waiting.get_or_insert_with(Instant::now);
        if since.elapsed() < self.patience { Ok(()) } else { Err(self.no_server()) }
    }

    /// The error that no server can generate, with the reason of each.
    fn no_server(&self) -> EngineError {
        let reason = |replica: &Replica| match &replica.state {
            ReplicaState::Ready { .. } => None,
            ReplicaState::Lost { why, .. } => Some(why.clone()),
        };
        EngineError::NoServer(self.replicas.iter().filter_map(reason).collect())
    }

    /// Waits until every server has got the published weights, or has failed to.
    fn wait_for_loads(&mut self) -> Result<(), EngineError> {
        let is_loading =
            |replica: &Replica| matches!(replica.state, ReplicaState::Lost { next: None, .. });
        while self.replicas.iter().any(is_loading) {
            let Ok(news) = self.news.recv() else { break };
            self.hear(news)?;
        }
        Ok(())
    }
}

impl Generator for RemoteGenerator {
    fn begin(&mut self, conversations: usize) -> Result<usize, EngineError> {
        self.forget_all();
        self.load_where_due();
        self.wait_for_loads()?;
        Ok(self.most.clamp(1, conversations.max(1)))
    }

    fn finish(&mut self) -> Result<CacheUse, EngineError> {
        self.forget_all();
        if self.repeated > 0 {
            tracing::warn!(turns = self.repeated, "turns were sampled again on other servers");
            self.repeated = 0;
        }
        // One that was started anew between two turns has answered with other weights.
        for index in 0..self.replicas.len() {
            let replica = &self.replicas[index];
            if replica.model().is_none() {
                continue;
            }
            match self.runtime.block_on(replica.client.confirm(&self.publication)) {
                Ok(()) => (),
                Err(error @ ServerError::Answer { .. }) => return Err(error.into()),
                // It is gone now; until then it had answered.
                Err(error) => self.lose(index, error.to_string()),
            }
        }
        Ok(CacheUse::default())
    }

    fn capacity(&self) -> usize {
        self.context
    }

    fn start(
        &mut self,
        conversation: ConversationId,
        ids: &[i64],
        options: TurnOptions,
    ) -> Result<(), EngineError> {
        let max_tokens = turn_room(ids, &options, self.context)?;
        let open = self.conversations.get(&conversation);
        if open.is_some_and(|open| open.turn.is_some()) {
            return Err(EngineError::Busy);
        }
        if open.is_none() && self.conversations.len() >= self.most {
            return Err(EngineError::Full(self.most));
        }
        self.turns += 1;
        let turn = RemoteTurn {
            ids: ids.to_vec(),
            sampling: options.sampling,
            seed: options.stream.seed() >> 1,
            max_tokens,
            fills_context: ids.len() + max_tokens == self.context,
            stop_ids: if options.ignore_eos { Vec::new() } else { self.stop_ids.clone() },
            version: self.publication.version,
        };
        let pending = Pending { number: self.turns, turn: Arc::new(turn), task: None };
        let open = self.conversations.entry(conversation).or_insert_with(|| Open {
            seen: Vec::new(),
            replica: None,
            turn: None,
        });
        open.seen = ids.to_vec();
        open.turn = Some(pending);
        self.send(conversation);
        Ok(())
    }

    fn poll(&mut self, heartbeat: &Heartbeat) -> Result<Vec<Generated>, EngineError> {
        heartbeat.enter(Phase::Decode);
        let mut ended = Vec::new();
        let mut next = self.news.recv_timeout(POLL);
        while let Ok(news) = next {
            ended.extend(self.hear(news)?);
            next = self.news.try_recv().map_err(|_| RecvTimeoutError::Timeout);
        }
        self.load_where_due();
        self.send_waiting();
        self.check_patience()?;
        Ok(ended)
    }

    fn partial_turn(&self, conversation: ConversationId) -> Result<(&[i64], &[f32]), EngineError> {
        // A turn arrives whole: what of it was sampled so far is on the server.
        self.conversations.get(&conversation).map(|_| (&[][..], &[][..])).ok_or(EngineError::Gone)
    }

    fn end(&mut self, conversation: ConversationId) -> Result<Vec<i64>, EngineError> {
        let open = self.conversations.remove(&conversation).ok_or(EngineError::Gone)?;
        self.close(&open);
        Ok(open.seen)
    }

    fn publish(&mut self, publication: &Publication) -> Result<(), EngineError> {
        // Or a server might get the old weights after the new ones.
        self.wait_for_loads()?;
        self.publication = Arc::new(publication.clone());
        for replica in &mut self.replicas {
            replica.state = ReplicaState::lost("it has old weights".to_owned());
        }
        self.load_where_due();
        // A server that cannot take them over is tried again while turns are sampled.
        self.wait_for_loads()
    }

    fn version(&self) -> u64 {
        self.publication.version
    }
}

impl RemoteGenerator {
    /// Gives up what a conversation holds.
    fn close(&mut self, open: &Open) {
        if let Some(pending) = &open.turn {
            // The connection is closed, and with it the server's work on the turn ends.
            pending.cancel();
        }
        if let Some(replica) = open.replica {
            self.replicas[replica].open -= 1;
        }
    }

    fn forget_all(&mut self) {
        for open in std::mem::take(&mut self.conversations).into_values() {
            self.close(&open);
        }
        self.waiting = None;
    }
}
