//! Turns from the server's own engines: conversations travel whole, results come in the background.

use super::client::TinkerClient;
use super::connection::Connection;
use super::error::TinkerError;
use super::wire::{STOPPED, SampleResponse, floats, tokens};
use crate::generate::engine::{CacheUse, EngineError, TurnEnd, TurnOptions};
use crate::generate::sample::Sampling;
use crate::generate::{
    ConversationId, Generated, Generator, Publication, PublishedWeights, turn_room,
};
use crate::run::watchdog::{Heartbeat, Phase};
use prost::Message as _;
use rand::RngExt as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::task::AbortHandle;

/// How long [`Generator::poll`] waits for a turn.
const WAIT: Duration = Duration::from_millis(20);

/// Generates turns on a server, with weights that its learner has published.
#[derive(Debug)]
pub struct TinkerGenerator {
    client: TinkerClient,
    /// The most conversations at a time.
    rows: usize,
    /// Those of the rollout that is under way.
    places: usize,
    /// The most tokens of one conversation.
    context: usize,
    /// The tokens that end a turn.
    stops: Vec<i64>,
    /// The weights, by their name on the server.
    weights: Option<String>,
    version: u64,
    conversations: BTreeMap<ConversationId, Open>,
    turns: u64,
    answers: (Sender<Answer>, Receiver<Answer>),
}

/// A conversation that is open.
#[derive(Debug)]
struct Open {
    /// What the model has seen and sampled, but for a turn under way.
    ids: Vec<i64>,
    turn: Option<Turn>,
}

/// A turn under way.
#[derive(Debug)]
struct Turn {
    number: u64,
    options: TurnOptions,
    version: u64,
    request: AbortHandle,
}

/// The result of a request.
#[derive(Debug)]
struct Answer {
    conversation: ConversationId,
    turn: u64,
    result: Result<Sampled, TinkerError>,
}

#[derive(Debug)]
struct Sampled {
    ids: Vec<i64>,
    log_probs: Vec<f32>,
    stopped: bool,
}

impl TinkerGenerator {
    /// A generator of at most `rows` conversations at a time, each of at most `context` tokens, in
    /// the session of a learner. `stops` end a turn.
    pub fn new(client: &TinkerClient, rows: usize, context: usize, stops: Vec<i64>) -> Self {
        Self {
            client: client.clone(),
            rows,
            places: 0,
            context,
            stops,
            weights: None,
            version: 0,
            conversations: BTreeMap::new(),
            turns: 0,
            answers: channel(),
        }
    }

    /// What was sampled, as a turn, if the request is still wanted.
    fn finished(&mut self, answer: Answer) -> Result<Option<Generated>, EngineError> {
        let Answer { conversation, turn: number, result } = answer;
        let Some(open) = self.conversations.get_mut(&conversation) else { return Ok(None) };
        // The conversation was closed and opened again since.
        let Some(turn) = open.turn.take_if(|turn| turn.number == number) else { return Ok(None) };
        let Sampled { ids, log_probs, stopped } = result.map_err(remote)?;
        let ends = ids.last().is_some_and(|id| self.stops.contains(id));
        let ending = if stopped || ends {
            TurnEnd::EndOfTurn
        } else if ids.len() >= turn.options.max_tokens {
            TurnEnd::TurnLength
        } else {
            TurnEnd::ContextFull
        };
        if ending == TurnEnd::EndOfTurn && !ends {
            let why = format!("a turn ended with the token {:?}, which ends none", ids.last());
            return Err(remote(self.client.connection().unusable("asample", &why)));
        }
        open.ids.extend_from_slice(&ids);
        Ok(Some(Generated { conversation, ids, log_probs, ending, version: turn.version }))
    }
}

fn remote(error: TinkerError) -> EngineError {
    EngineError::Remote(Box::new(error))
}

impl Generator for TinkerGenerator {
    fn begin(&mut self, conversations: usize) -> Result<usize, EngineError> {
        self.finish()?;
        self.places = self.rows.clamp(1, conversations.max(1));
        Ok(self.places)
    }

    fn finish(&mut self) -> Result<CacheUse, EngineError> {
        for open in std::mem::take(&mut self.conversations).into_values() {
            if let Some(turn) = open.turn {
                turn.request.abort();
            }
        }
        self.places = 0;
        Ok(CacheUse::default())
    }

    fn capacity(&self) -> usize {
        self.context
    }

    fn start(
        &mut self,
        conversation: ConversationId,
        ids: &[i64],
        turn: TurnOptions,
    ) -> Result<(), EngineError> {
        let room = turn_room(ids, &turn, self.context)?;
        match self.conversations.get(&conversation) {
            Some(Open { turn: Some(_), .. }) => return Err(EngineError::Busy),
            None if self.conversations.len() >= self.places => {
                return Err(EngineError::Full(self.places));
            }
            _ => (),
        }
        let Some(weights) = &self.weights else {
            return Err(remote(TinkerError::Unsupported("no weights were published yet")));
        };
        let body = request(weights, conversation, ids, &turn, room, &self.stops).map_err(remote)?;
        self.turns += 1;
        let (number, sender) = (self.turns, self.answers.0.clone());
        let connection = self.client.connection().clone();
        let request = self.client.handle().spawn(async move {
            let result = sample(&connection, &body, room).await;
            // The generator may have gone.
            let _ = sender.send(Answer { conversation, turn: number, result });
        });
        let turn =
            Turn { number, options: turn, version: self.version, request: request.abort_handle() };
        self.conversations.insert(conversation, Open { ids: ids.to_vec(), turn: Some(turn) });
        Ok(())
    }

    fn poll(&mut self, heartbeat: &Heartbeat) -> Result<Vec<Generated>, EngineError> {
        heartbeat.enter(Phase::Decode);
        let answers = &self.answers.1;
        let found: Vec<Answer> =
            answers.recv_timeout(WAIT).into_iter().chain(answers.try_iter()).collect();
        let mut turns = Vec::with_capacity(found.len());
        for answer in found {
            turns.extend(self.finished(answer)?);
        }
        Ok(turns)
    }

    fn partial_turn(&self, conversation: ConversationId) -> Result<(&[i64], &[f32]), EngineError> {
        // A turn comes as a whole.
        self.conversations.get(&conversation).map(|_| (&[][..], &[][..])).ok_or(EngineError::Gone)
    }

    fn end(&mut self, conversation: ConversationId) -> Result<Vec<i64>, EngineError> {
        let open = self.conversations.remove(&conversation).ok_or(EngineError::Gone)?;
        if let Some(turn) = open.turn {
            turn.request.abort();
        }
        Ok(open.ids)
    }

    fn publish(&mut self, publication: &Publication) -> Result<(), EngineError> {
        let PublishedWeights::Named(name) = &publication.weights else {
            let what = "the server samples with weights of its own learner alone";
            return Err(remote(TinkerError::Unsupported(what)));
        };
        self.weights = Some(name.clone());
        self.version = publication.version;
        Ok(())
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Drop for TinkerGenerator {
    fn drop(&mut self) {
        // Never fails: it closes what is open.
        let _ = self.finish();
    }
}

/// A request for one turn.
fn request(
    weights: &str,
    conversation: ConversationId,
    ids: &[i64],
    turn: &TurnOptions,
    room: usize,
    stops: &[i64],
) -> Result<Vec<u8>, TinkerError> {
    let Sampling { temperature, top_p, top_k, min_p } = turn.sampling;
    if min_p > 0.0 {
        return Err(TinkerError::Unsupported("the server samples without min-p"));
    }
    if turn.ignore_eos {
        return Err(TinkerError::Unsupported("the server ends turns at their closing token"));
    }
    let top_k = if top_k == 0 { Value::from(-1) } else { top_k.into() };
    // Servers take seeds of 31 bits.
    let seed = turn.stream.rng().random::<u32>() >> 1;
    let body = json!({
        "sampling_session_id": weights,
        // Not the request's own number: by it the server finds the engine that has the
        // conversation's past in its cache.
        "seq_id": conversation.0,
        "num_samples": 1,
        "prompt": {"chunks": [{"type": "encoded_text", "tokens": ids}]},
        "sampling_params": {
            "max_tokens": room, "seed": seed, "stop": stops,
            "temperature": temperature, "top_p": top_p, "top_k": top_k,
        },
    });
    Ok(body.to_string().into_bytes())
}

/// Asks for a turn of at most `most` tokens. A request that is sent twice samples twice, and one
/// result is used.
async fn sample(connection: &Connection, body: &[u8], most: usize) -> Result<Sampled, TinkerError> {
    let what = "asample";
    let promise = connection.promise(what, "application/json", body).await?;
    let bytes = connection.result(what, &promise).await?;
    let response = SampleResponse::decode(bytes.as_slice())
        .map_err(|error| connection.unusable(what, &error))?;
    let unusable = |why: &str| connection.unusable(what, &why);
    let [sequence] = response.sequences.as_slice() else {
        return Err(unusable("it is not one sample"));
    };
    let ids = tokens(&sequence.tokens).ok_or_else(|| unusable("its tokens are cut off"))?;
    let log_probs = sequence.logprobs.as_deref().and_then(floats);
    let log_probs = log_probs.ok_or_else(|| unusable("it has no log-probabilities"))?;
    if log_probs.len() != ids.len() || ids.is_empty() || ids.len() > most {
        let (found, scores) = (ids.len(), log_probs.len());
        let why = format!("{found} tokens of at most {most}, and {scores} log-probabilities");
        return Err(connection.unusable(what, &why));
    }
    if log_probs.iter().any(|value| !value.is_finite()) {
        return Err(unusable("a log-probability is not finite"));
    }
    Ok(Sampled { ids, log_probs, stopped: sequence.stop_reason == STOPPED })
}
