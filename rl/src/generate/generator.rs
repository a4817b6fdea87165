//! The interface between rollouts or servers and an inference engine: turns of token ids.
//!
//! A request holds all tokens of its conversation; whether the past is still in a KV cache is the
//! generator's business. Nothing here knows text, tasks or rewards.

use crate::generate::Publication;
use crate::generate::engine::{
    CacheUse, Capacity, Engine, EngineError, RowId, TurnDetails, TurnEnd, TurnExtras, TurnOptions,
};
use crate::model::Qwen3;
use crate::run::watchdog::{Heartbeat, Phase};
use std::collections::BTreeMap;

/// A conversation, by a number of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(pub u64);

/// A turn that has ended, with its tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The conversation that it belongs to.
    pub conversation: ConversationId,
    /// The sampled ids, the closing one included.
    pub ids: Vec<i64>,
    /// Their log-probabilities, in nats, under the distribution that the request's temperature
    /// and min-p leave.
    pub log_probs: Vec<f32>,
    /// Why the turn ended.
    pub ending: TurnEnd,
    /// The version of the weights that sampled it.
    pub version: u64,
}

/// Samples turns of many conversations at once. The native engine is one; a remote engine is
/// another one, with requests over the network.
pub trait Generator {
    /// Makes room for `conversations` conversations of a rollout or a server, and returns how many
    /// of them may be open at a time, at least one.
    ///
    /// # Errors
    /// [`EngineError::Cache`] if the memory is too small for a single one.
    fn begin(&mut self, conversations: usize) -> Result<usize, EngineError>;

    /// Ends what [`Self::begin`] began: forgets all conversations, gives the memory back and
    /// returns how the KV cache was used.
    ///
    /// # Errors
    /// [`EngineError::Server`] if turns may have been sampled with other weights than those that
    /// were published.
    fn finish(&mut self) -> Result<CacheUse, EngineError>;

    /// The most tokens of one conversation.
    fn capacity(&self) -> usize;

    /// Starts a turn after `ids`, all tokens of the conversation so far. A new id opens a
    /// conversation.
    ///
    /// # Errors
    /// [`EngineError`] if there is no place, a turn is under way, or the ids or settings are
    /// unusable.
    fn start(
        &mut self,
        conversation: ConversationId,
        ids: &[i64],
        turn: TurnOptions,
    ) -> Result<(), EngineError>;

    /// Goes on with all turns and returns those that ended. Waits for about a token's time, not
    /// for an end. Reports to `heartbeat` what it is doing.
    ///
    /// # Errors
    /// [`EngineError::NotFinite`] if the weights are broken.
    fn poll(&mut self, heartbeat: &Heartbeat) -> Result<Vec<Generated>, EngineError>;

    /// What a turn under way has sampled so far: ids and their log-probabilities. Nothing once it
    /// has ended.
    ///
    /// # Errors
    /// [`EngineError::Gone`] if the conversation is not open.
    fn partial_turn(&self, conversation: ConversationId) -> Result<(&[i64], &[f32]), EngineError>;

    /// Closes a conversation, cancels its turn if one is under way, and returns all tokens that
    /// the model has really seen or sampled.
    ///
    /// # Errors
    /// [`EngineError::Gone`] if the conversation is not open.
    fn end(&mut self, conversation: ConversationId) -> Result<Vec<i64>, EngineError>;

    /// From now on samples with these weights, which the learner has published.
    ///
    /// # Errors
    /// [`EngineError`] if they cannot be taken over, or are not the learner's.
    fn publish(&mut self, publication: &Publication) -> Result<(), EngineError>;

    /// The version of the weights that sample now; 0 before any was published.
    fn version(&self) -> u64;
}

/// The most tokens of a turn after `ids`, of a generator that holds `context` tokens of a
/// conversation: for generators that send a conversation elsewhere as a whole.
///
/// # Errors
/// [`EngineError`] if there is nothing to start from, no room for an answer, or the sampling
/// parameters are out of their ranges.
pub(crate) fn turn_room(
    ids: &[i64],
    turn: &TurnOptions,
    context: usize,
) -> Result<usize, EngineError> {
    turn.sampling.check()?;
    if ids.is_empty() || turn.max_tokens == 0 {
        return Err(EngineError::Empty);
    }
    if ids.len() >= context {
        return Err(EngineError::TooLong { tokens: ids.len(), capacity: context - 1 });
    }
    Ok(turn.max_tokens.min(context - ids.len()))
}

/// The engine of this process as a [`Generator`]. It samples with the very tensors that are
/// trained, so publishing moves nothing but adapters that are merged.
#[derive(Debug)]
pub struct NativeGenerator<'m> {
    model: &'m Qwen3,
    room: Capacity,
    engine: Engine,
    conversations: BTreeMap<ConversationId, Open>,
    of_row: BTreeMap<RowId, ConversationId>,
    version: u64,
    keeps_prefixes: bool,
}

/// A conversation that has a row.
#[derive(Debug)]
struct Open {
    row: RowId,
    /// What the row's context is, but for a turn under way.
    seen: Vec<i64>,
}

impl<'m> NativeGenerator<'m> {
    /// A generator with the weights of `model`, as version 0. It takes no memory before
    /// [`Generator::begin`].
    pub fn new(model: &'m Qwen3, room: Capacity) -> Self {
        Self {
            model,
            room,
            engine: empty(model, room),
            conversations: BTreeMap::new(),
            of_row: BTreeMap::new(),
            version: 0,
            keeps_prefixes: false,
        }
    }

    /// Keeps the rows of conversations that end, for later ones that begin alike
    /// ([`Engine::keep_prefixes`]). For weights that do not change.
    #[must_use]
    pub fn keeping_prefixes(self) -> Self {
        Self { keeps_prefixes: true, ..self }
    }

    /// As [`Generator::start`] for a new conversation, with what a request to a server asks for.
    ///
    /// # Errors
    /// [`EngineError`] if there is no place, or the ids or settings are unusable.
    pub fn start_request(
        &mut self,
        conversation: ConversationId,
        ids: &[i64],
        turn: TurnOptions,
        extras: TurnExtras,
    ) -> Result<(), EngineError> {
        let row = self.engine.admit_with(ids, turn, extras)?;
        self.conversations.insert(conversation, Open { row, seen: ids.to_vec() });
        self.of_row.insert(row, conversation);
        Ok(())
    }

    /// What is known of a conversation's current turn besides its tokens, or of its last one.
    ///
    /// # Errors
    /// [`EngineError::Gone`] if the conversation is not open.
    pub fn details(&self, conversation: ConversationId) -> Result<&TurnDetails, EngineError> {
        self.engine.details(self.row(conversation)?)
    }

    fn row(&self, conversation: ConversationId) -> Result<RowId, EngineError> {
        self.conversations.get(&conversation).map(|open| open.row).ok_or(EngineError::Gone)
    }
}

/// An engine without a place, which takes no memory.
fn empty(model: &Qwen3, room: Capacity) -> Engine {
    Engine::new(model, 0, room.context)
}

impl Generator for NativeGenerator<'_> {
    fn begin(&mut self, conversations: usize) -> Result<usize, EngineError> {
        let rows = self.room.rows.clamp(1, conversations.max(1));
        self.finish()?;
        self.engine = Engine::with_capacity(self.model, Capacity { rows, ..self.room })?;
        if self.keeps_prefixes {
            self.engine.keep_prefixes();
        }
        Ok(rows)
    }

    fn finish(&mut self) -> Result<CacheUse, EngineError> {
        let used = self.engine.cache_use();
        self.engine = empty(self.model, self.room);
        self.conversations.clear();
        self.of_row.clear();
        Ok(used)
    }

    fn capacity(&self) -> usize {
        self.engine.capacity()
    }

    fn start(
        &mut self,
        conversation: ConversationId,
        ids: &[i64],
        turn: TurnOptions,
    ) -> Result<(), EngineError> {
        if let Some(open) = self.conversations.get_mut(&conversation) {
            if let Some(new) = ids.strip_prefix(open.seen.as_slice()) {
                self.engine.extend(open.row, new, turn)?;
                open.seen.extend_from_slice(new);
                return Ok(());
            }
            // Not what it was: all of it is read again.
            self.end(conversation)?;
        }
        self.start_request(conversation, ids, turn, TurnExtras::default())
    }

    fn poll(&mut self, heartbeat: &Heartbeat) -> Result<Vec<Generated>, EngineError> {
        heartbeat.enter(Phase::Prefill);
        let mut finished = self.engine.read()?;
        heartbeat.enter(Phase::Decode);
        finished.extend(self.engine.decode()?);
        let mut turns = Vec::with_capacity(finished.len());
        for turn in finished {
            let conversation = *self.of_row.get(&turn.row).ok_or(EngineError::Gone)?;
            if let Some(open) = self.conversations.get_mut(&conversation) {
                open.seen.extend_from_slice(&turn.ids);
            }
            let (ids, log_probs, ending) = (turn.ids, turn.log_probs, turn.ending);
            let version = self.version;
            turns.push(Generated { conversation, ids, log_probs, ending, version });
        }
        Ok(turns)
    }

    fn partial_turn(&self, conversation: ConversationId) -> Result<(&[i64], &[f32]), EngineError> {
        self.engine.partial_turn(self.row(conversation)?)
    }

    fn end(&mut self, conversation: ConversationId) -> Result<Vec<i64>, EngineError> {
        let open = self.conversations.remove(&conversation).ok_or(EngineError::Gone)?;
        self.of_row.remove(&open.row);
        self.engine.release(open.row)
    }

    fn publish(&mut self, publication: &Publication) -> Result<(), EngineError> {
        self.engine.take_weights(self.model);
        self.version = publication.version;
        Ok(())
    }

    fn version(&self) -> u64 {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::sample::Sampling;
    use crate::model::{CpuLinear, Qwen3Config};
    use tasks::stream::Stream;
    use tch::{Device, Kind};

    const ROOM: Capacity = Capacity {
        rows: 2,
        context: 60,
        cache: None,
        merge_adapters: true,
        cpu_linear: CpuLinear::Auto,
    };

    fn turn(seed: u64) -> TurnOptions {
        let (sampling, stream) = (Sampling::default(), Stream::root(seed));
        TurnOptions { sampling, stream, max_tokens: 5, ignore_eos: true }
    }

    fn wait(generator: &mut dyn Generator) -> Generated {
        loop {
            if let Some(turn) = generator.poll(&Heartbeat::default()).unwrap().pop() {
                return turn;
            }
        }
    }

    #[test]
    fn continued_conversation_equals_a_fresh_prefill() {
        let config = Qwen3Config::tiny(40, 1, 2);
        let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
        let mut generator = NativeGenerator::new(&model, ROOM);
        assert_eq!(generator.begin(9).unwrap(), 2);
        generator.start(ConversationId(7), &[3, 4], turn(0)).unwrap();
        let first = wait(&mut generator);
        assert_eq!((first.conversation, first.version, first.ids.len()), (ConversationId(7), 0, 5));
        assert!(generator.partial_turn(ConversationId(7)).unwrap().0.is_empty());

        let ids = [&[3, 4], first.ids.as_slice(), &[9]].concat();
        generator.publish(&Publication::shared(3)).unwrap();
        generator.start(ConversationId(7), &ids, turn(1)).unwrap();
        let second = wait(&mut generator);
        assert_eq!((second.version, generator.version()), (3, 3));
        let seen = [ids.as_slice(), &second.ids].concat();
        assert_eq!(generator.end(ConversationId(7)).unwrap(), seen);
        assert!(matches!(generator.end(ConversationId(7)), Err(EngineError::Gone)));

        // The same request, with no past in the cache, and with another one there.
        generator.start(ConversationId(8), &ids, turn(1)).unwrap();
        assert_eq!(wait(&mut generator).ids, second.ids);
        generator.start(ConversationId(8), &[5], turn(2)).unwrap();
        let other = wait(&mut generator);
        assert_eq!(generator.end(ConversationId(8)).unwrap(), [&[5], &*other.ids].concat());
        assert_eq!(generator.finish().unwrap().preemptions, 0);
        assert!(generator.start(ConversationId(9), &[5], turn(2)).is_err(), "no room was made");
    }
}
