//! The inference engine on libtorch: continuous batching with a KV cache.

mod passes;
mod room;
mod scoring;

use super::capacity::Capacity;
use super::error::EngineError;
use super::kept::KeptRows;
use super::scheduler::{CacheRequest, CacheScheduler};
use super::turn::{Finished, RowId, TurnDetails, TurnEnd, TurnExtras, TurnOptions};
use crate::generate::sample::{self, Draw, SampledToken, Sampling};
use crate::model::{CpuLinear, KvCache, Qwen3, signed};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use tasks::units::ByteSize;
use tch::{Tensor, no_grad_guard};

/// The most tokens of one prefill pass, padding included.
pub(crate) const PREFILL_TOKENS: usize = 8192;
/// The most pairs of a query and a key position of one prefill pass; the attention mask has an
/// element for each pair and query head of a group. Longer prompts are prefilled in chunks.
pub(crate) const PREFILL_PAIRS: usize = PREFILL_TOKENS * 8192;

#[derive(Debug)]
struct Current {
    sampling: Sampling,
    rng: ChaCha8Rng,
    max_tokens: usize,
    /// The tokens that end the turn.
    ending: Vec<i64>,
    extras: TurnExtras,
    ids: Vec<i64>,
    log_probs: Vec<f32>,
}

#[derive(Debug)]
struct EngineSequence {
    ticket: u64,
    /// Its row in the cache, if it has one.
    place: Option<usize>,
    /// Tokens that were cached before a preemption and are not cached again yet.
    lost: usize,
    /// Tokens whose keys and values are cached.
    cached: usize,
    /// The next tokens, whose keys and values are not cached yet.
    pending: Vec<i64>,
    /// Everything the row was given or sampled, in order.
    context: Vec<i64>,
    current: Option<Current>,
    /// About the current turn, or the last one.
    details: TurnDetails,
}

/// Statistics of an engine's KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CacheUse {
    /// The number of preemptions.
    pub preemptions: u64,
    /// Tokens that were prefilled again after a preemption.
    pub recomputed_tokens: u64,
    /// The largest size of the cache, in bytes.
    pub peak_bytes: u64,
}

impl CacheUse {
    /// Adds the statistics of another cache: sums, and the larger of both sizes.
    pub fn add(&mut self, other: &Self) {
        self.preemptions += other.preemptions;
        self.recomputed_tokens += other.recomputed_tokens;
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
    }
}

/// What the model for generation has copies of.
#[derive(Debug, Clone, Copy)]
struct Copies {
    /// Whether of matrices with adapters, merged.
    merge_adapters: bool,
    /// The library that copies are packed for.
    cpu_linear: CpuLinear,
}

impl Copies {
    /// None, for an engine without a place.
    const NONE: Self = Self { merge_adapters: false, cpu_linear: CpuLinear::Mkl };

    fn of(self, model: &Qwen3) -> Qwen3 {
        model.for_generation(self.merge_adapters, self.cpu_linear)
    }
}

/// Generates for many sequences at once (continuous batching).
#[derive(Debug)]
pub struct Engine {
    /// The model for generation.
    model: Qwen3,
    copies: Copies,
    cache: KvCache,
    scheduler: CacheScheduler,
    rows: Vec<Option<EngineSequence>>,
    /// Whether the rows of sequences that end are kept for later prompts.
    keeps_prefixes: bool,
    kept: KeptRows,
    capacity: usize,
    tickets: u64,
    generated: u64,
    cache_use: CacheUse,
}

impl Engine {
    /// An engine for `rows` conversations of at most `capacity` tokens, all of which have room in
    /// its cache. The capacity is lowered to the model's longest sequence.
    pub fn new(model: &Qwen3, rows: usize, capacity: usize) -> Self {
        let capacity = limited(model, capacity);
        let tokens = rows.max(1).saturating_mul(capacity + 1);
        let all = Copies { merge_adapters: true, cpu_linear: CpuLinear::default() };
        let copies = if rows > 0 { all } else { Copies::NONE };
        Self::with_scheduler(model, rows, CacheScheduler { tokens, capacity }, copies)
    }

    /// The same with at most the given cache, if there is one, and no more of it than all rows
    /// need.
    ///
    /// # Errors
    /// [`EngineError::Cache`] if a single conversation could outgrow it.
    pub fn with_capacity(model: &Qwen3, capacity: Capacity) -> Result<Self, EngineError> {
        let Capacity { rows, context, cache, merge_adapters, cpu_linear } = capacity;
        let capacity = limited(model, context);
        let most = rows.max(1).saturating_mul(capacity + 1);
        let tokens = match cache {
            None => most,
            Some(given) => {
                let token = KvCache::token_bytes(model.config(), model.kind());
                let tokens = usize::try_from(given.bytes()).unwrap_or(usize::MAX) / token;
                if tokens <= capacity {
                    let least = ByteSize::new((capacity as u64 + 1).saturating_mul(token as u64));
                    return Err(EngineError::Cache { given, capacity, least });
                }
                tokens.min(most)
            }
        };
        let scheduler = CacheScheduler { tokens, capacity };
        Ok(Self::with_scheduler(model, rows, scheduler, Copies { merge_adapters, cpu_linear }))
    }

    fn with_scheduler(
        model: &Qwen3,
        rows: usize,
        scheduler: CacheScheduler,
        copies: Copies,
    ) -> Self {
        let _guard = no_grad_guard();
        Self {
            model: copies.of(model),
            copies,
            cache: KvCache::new(model.config(), 0, 0, model.kind(), model.device()),
            scheduler,
            rows: (0..rows).map(|_| None).collect(),
            keeps_prefixes: false,
            kept: KeptRows::default(),
            capacity: scheduler.capacity,
            tickets: 0,
            generated: 0,
            cache_use: CacheUse::default(),
        }
    }

    /// From now on keeps the rows of sequences that end, as long as no other sequence needs their
    /// places, and prefills only what a new sequence does not share with one of them. For weights
    /// that do not change.
    pub fn keep_prefixes(&mut self) {
        self.keeps_prefixes = true;
    }

    /// Goes on with the weights of `model`, of the same shape, as they are now. What is cached was
    /// computed with the former ones; rows that were kept for later prompts are forgotten.
    pub fn take_weights(&mut self, model: &Qwen3) {
        self.kept = KeptRows::default();
        self.model = self.copies.of(model);
    }

    /// Starts a conversation and its first turn.
    ///
    /// # Errors
    /// [`EngineError`] if there is no place, or the ids or settings are unusable.
    pub fn admit(&mut self, ids: &[i64], turn: TurnOptions) -> Result<RowId, EngineError> {
        self.admit_with(ids, turn, TurnExtras::default())
    }

    /// As [`Self::admit`], with what a request to a server asks for.
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub fn admit_with(
        &mut self,
        ids: &[i64],
        turn: TurnOptions,
        extras: TurnExtras,
    ) -> Result<RowId, EngineError> {
        let slot =
            self.rows.iter().position(Option::is_none).ok_or(EngineError::Full(self.rows.len()))?;
        self.tickets += 1;
        let id = RowId { slot, ticket: self.tickets };
        self.rows[slot] = Some(EngineSequence {
            ticket: id.ticket,
            place: None,
            lost: 0,
            cached: 0,
            pending: Vec::new(),
            context: Vec::new(),
            current: None,
            details: TurnDetails::default(),
        });
        self.extend_with(id, ids, turn, extras).inspect_err(|_| self.rows[slot] = None)?;
        Ok(id)
    }

    /// Appends the environment's tokens to a waiting row and starts its next turn.
    ///
    /// # Errors
    /// [`EngineError`] if the row is gone, busy or full, or the ids or settings are unusable. The
    /// row is then as it was.
    pub fn extend(&mut self, id: RowId, ids: &[i64], turn: TurnOptions) -> Result<(), EngineError> {
        self.extend_with(id, ids, turn, TurnExtras::default())
    }

    fn extend_with(
        &mut self,
        id: RowId,
        ids: &[i64],
        turn: TurnOptions,
        extras: TurnExtras,
    ) -> Result<(), EngineError> {
        turn.sampling.check()?;
        let (capacity, vocab_size) = (self.capacity, self.model.config().vocab_size);
        let mut ending = extras.stop_ids.clone();
        if !turn.ignore_eos {
            ending.extend_from_slice(&self.model.config().eos_token_ids);
        }
        let row = self.row(id)?;
        if row.current.is_some() {
            return Err(EngineError::Busy);
        }
        if ids.is_empty() || turn.max_tokens == 0 {
            return Err(EngineError::Empty);
        }
        let tokens = row.context.len() + ids.len();
        if tokens >= capacity {
            return Err(EngineError::TooLong { tokens, capacity });
        }
        if let Some(&id) = ids.iter().find(|id| !(0..vocab_size).contains(id)) {
            return Err(EngineError::Id { id, vocab_size });
        }
        row.pending.extend_from_slice(ids);
        row.context.extend_from_slice(ids);
        row.current = Some(Current {
            sampling: turn.sampling,
            rng: turn.stream.rng(),
            max_tokens: turn.max_tokens,
            ending,
            extras,
            ids: Vec::new(),
            log_probs: Vec::new(),
        });
        row.details = TurnDetails::default();
        Ok(())
    }

    /// Ends a conversation, finished or not, frees its place and returns all its tokens: what the
    /// model has really seen.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn release(&mut self, id: RowId) -> Result<Vec<i64>, EngineError> {
        let context = self.row(id)?.context.clone();
        self.retire(id.slot);
        Ok(context)
    }

    /// The tokens that a row has sampled in its current turn: ids and their log-probabilities in
    /// nats; both empty once the turn has ended.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn partial_turn(&self, id: RowId) -> Result<(&[i64], &[f32]), EngineError> {
        let turn =
            self.sequence(id)?.current.as_ref().map(|current| (&*current.ids, &*current.log_probs));
        Ok(turn.unwrap_or_default())
    }

    /// What is known of a row's current turn besides its tokens, or of its last one.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn details(&self, id: RowId) -> Result<&TurnDetails, EngineError> {
        Ok(&self.sequence(id)?.details)
    }

    /// Whether a row is generating; else it waits for an observation.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn is_generating(&self, id: RowId) -> Result<bool, EngineError> {
        Ok(self.sequence(id)?.current.is_some())
    }

    /// Whether no row is generating.
    pub fn is_idle(&self) -> bool {
        !self.rows.iter().flatten().any(|row| row.current.is_some())
    }

    /// The most tokens that a row holds.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many tokens were sampled so far.
    pub fn generated(&self) -> u64 {
        self.generated
    }

    /// The statistics of the KV cache so far.
    pub fn cache_use(&self) -> CacheUse {
        self.cache_use
    }

    /// Samples one token for every generating row that is resident in the cache (two for a row that
    /// was just prefilled), for at least one row, and returns the turns that ended.
    ///
    /// # Errors
    /// [`EngineError::NotFinite`].
    pub fn step(&mut self) -> Result<Vec<Finished>, EngineError> {
        let mut finished = self.read()?;
        finished.extend(self.decode()?);
        Ok(finished)
    }

    /// The first half of a step: prefills new tokens of rows, which samples the first token of
    /// their turns, and returns the turns that ended with it.
    ///
    /// # Errors
    /// [`EngineError::NotFinite`].
    pub fn read(&mut self) -> Result<Vec<Finished>, EngineError> {
        let _guard = no_grad_guard();
        let mut finished = Vec::new();
        self.make_room();
        self.prefill(&mut finished)?;
        Ok(finished)
    }

    /// The second half, right after [`Self::read`]: samples one token for every row that has read
    /// everything, and returns the turns that ended.
    ///
    /// # Errors
    /// [`EngineError::NotFinite`].
    pub fn decode(&mut self) -> Result<Vec<Finished>, EngineError> {
        let _guard = no_grad_guard();
        let mut finished = Vec::new();
        let mut ready = self.generating(|row| row.pending.len() == 1);
        if !ready.is_empty() {
            ready.sort_by_key(|&slot| self.at(slot).place);
            let logits = self.forward_logits(&ready, 1);
            self.draw(&logits, &ready, &mut finished)?;
        }
        Ok(finished)
    }

    fn row(&mut self, id: RowId) -> Result<&mut EngineSequence, EngineError> {
        match self.rows.get_mut(id.slot) {
            Some(Some(row)) if row.ticket == id.ticket => Ok(row),
            _ => Err(EngineError::Gone),
        }
    }

    fn sequence(&self, id: RowId) -> Result<&EngineSequence, EngineError> {
        let row = self.rows.get(id.slot).and_then(Option::as_ref);
        row.filter(|row| row.ticket == id.ticket).ok_or(EngineError::Gone)
    }

    fn at(&self, slot: usize) -> &EngineSequence {
        self.rows[slot].as_ref().expect("only taken slots are listed")
    }

    /// Slots of generating rows that have room in the cache and for which `wanted` holds, in order.
    fn generating(&self, wanted: impl Fn(&EngineSequence) -> bool) -> Vec<usize> {
        let wanted =
            |row: &EngineSequence| row.current.is_some() && row.place.is_some() && wanted(row);
        (0..self.rows.len()).filter(|&slot| self.rows[slot].as_ref().is_some_and(&wanted)).collect()
    }

    /// Draws the next token of each of `slots` from its row of `logits` `[N, V]`, which the logit
    /// processors of their turns change.
    fn draw(
        &mut self,
        logits: &Tensor,
        slots: &[usize],
        finished: &mut Vec<Finished>,
    ) -> Result<(), EngineError> {
        for (index, &slot) in slots.iter().enumerate() {
            let row = self.rows[slot].as_mut().expect("only taken slots are listed");
            if row.has_processors() {
                row.process(&mut logits.get(signed(index)));
            }
        }
        let mut next = |&slot: &usize| {
            let row = self.rows[slot].as_mut().expect("only taken slots are listed");
            let current = row.current.as_mut().expect("only generating rows draw");
            let draw = current.sampling.next(&mut current.rng);
            Draw { top: current.extras.top, ..draw }
        };
        let draws: Vec<Draw> = slots.iter().map(&mut next).collect();
        for (&slot, drawn) in slots.iter().zip(sample::draw(logits, &draws)) {
            self.push_token(slot, drawn, finished)?;
        }
        Ok(())
    }

    /// Appends a sampled token to a row's turn, and ends the turn where it must end.
    fn push_token(
        &mut self,
        slot: usize,
        SampledToken { choice: id, log_prob, top }: SampledToken,
        finished: &mut Vec<Finished>,
    ) -> Result<(), EngineError> {
        let capacity = self.capacity;
        let row = self.rows[slot].as_mut().expect("only taken slots are listed");
        let current = row.current.as_mut().expect("only generating rows draw");
        if !log_prob.is_finite() {
            return Err(EngineError::NotFinite);
        }
        current.ids.push(id);
        current.log_probs.push(log_prob);
        if current.extras.top > 0 {
            row.details.top.push(top);
        }
        row.pending.push(id);
        row.context.push(id);
        self.generated += 1;
        if let Err(error) = current.extras.processors.accept(id) {
            row.details.failure.get_or_insert(error.to_string());
        }
        let ending = if current.ending.contains(&id) || row.details.failure.is_some() {
            TurnEnd::EndOfTurn
        } else if current.ids.len() >= current.max_tokens {
            TurnEnd::TurnLength
        } else if row.context.len() >= capacity {
            TurnEnd::ContextFull
        } else {
            return Ok(());
        };
        let Current { ids, log_probs, .. } = row.current.take().expect("just used");
        finished.push(Finished { row: RowId { slot, ticket: row.ticket }, ids, log_probs, ending });
        Ok(())
    }
}

impl EngineSequence {
    fn has_processors(&self) -> bool {
        self.current.as_ref().is_some_and(|current| !current.extras.processors.are_neutral())
    }

    /// Applies the turn's logit processors to the next token's logits: `[V]`.
    fn process(&mut self, logits: &mut Tensor) {
        let Some(current) = &mut self.current else { return };
        let (prompt, turn) = self.context.split_at(self.context.len() - current.ids.len());
        let applied = current.extras.processors.apply(logits, prompt, turn, &current.ending);
        self.details.failure = applied.err().map(|error| error.to_string());
    }

    /// What the row in `slot` requests of the cache: room for its tokens and for those that the next
    /// step may add.
    fn request(&self, slot: usize) -> CacheRequest {
        let generating = self.current.is_some();
        let tokens = if generating { self.context.len() + 1 } else { self.cached };
        CacheRequest {
            slot,
            ticket: self.ticket,
            tokens,
            generating,
            resident: self.place.is_some(),
        }
    }
}

/// The most tokens that a row of this model can hold: `capacity`, or fewer.
fn limited(model: &Qwen3, capacity: usize) -> usize {
    let longest = usize::try_from(model.config().max_position_embeddings).unwrap_or(usize::MAX);
    capacity.min(longest)
}
