//! Batched generation: ids in, ids out, one random stream per turn.
//!
//! A row is one conversation. It joins with [`Engine::admit`], generates one turn, and then waits
//! outside the batch, its past still cached, until [`Engine::extend`] brings the environment's
//! answer or [`Engine::release`] frees its place. Rows join and leave at every step (continuous
//! batching: Yu et al. 2022, "Orca", §3), so a conversation that waits for its script holds
//! memory and nobody's time.

use crate::model::{KvCache, Qwen3, Rows};
use crate::sample::{Sampling, SamplingError};
use crate::signed;
use rand_chacha::ChaCha8Rng;
use sandbox::stream::Stream;
use std::collections::BTreeMap;
use tch::{Kind, Tensor, no_grad_guard};

/// The most tokens, padding included, that one prefill looks at.
pub(crate) const PREFILL_TOKENS: usize = 8192;

/// How one turn is to be generated.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// What they are drawn with: one number per token.
    pub stream: Stream,
    /// The longest turn.
    pub max_tokens: usize,
    /// Whether the token that ends a turn is a token like any other.
    pub ignore_eos: bool,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The model said so; the token that says it is the last of the turn.
    EndOfTurn,
    /// The turn reached its limit.
    TurnLength,
    /// The conversation reached the engine's limit.
    ContextFull,
}

/// A finished turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Whose.
    pub row: RowId,
    /// The sampled ids, the closing one included.
    pub ids: Vec<i64>,
    /// Their log-probabilities under `softmax(logits / temperature)`.
    pub log_probs: Vec<f32>,
    /// Why it ended.
    pub ending: Ending,
}

/// A conversation's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    slot: usize,
    ticket: u64,
}

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// All places are taken.
    #[error("all {0} rows are taken; release one first")]
    Full(usize),
    /// The row was released, or is another engine's.
    #[error("there is no such row; it was released")]
    Gone,
    /// The row's turn has not ended.
    #[error("the row is still generating")]
    Busy,
    /// Nothing to read.
    #[error("a turn needs at least one token to start from")]
    Empty,
    /// More tokens than a row holds.
    #[error("the conversation has {tokens} tokens; a row holds {capacity}")]
    TooLong {
        /// How many it would have.
        tokens: usize,
        /// How many fit, one place being kept for the answer.
        capacity: usize,
    },
    /// An id that the model has no embedding for.
    #[error("the id {id} is outside the vocabulary of {vocab_size}")]
    Id {
        /// The id.
        id: i64,
        /// The vocabulary's size.
        vocab_size: i64,
    },
    /// The sampler's settings were refused.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The model's output is not a number.
    #[error("the model's output is not finite; its weights are broken")]
    NotFinite,
}

#[derive(Debug)]
struct Current {
    sampling: Sampling,
    rng: ChaCha8Rng,
    max_tokens: usize,
    ignore_eos: bool,
    ids: Vec<i64>,
    log_probs: Vec<f32>,
}

#[derive(Debug)]
struct Row {
    ticket: u64,
    /// Tokens whose keys and values are cached.
    cached: usize,
    /// Tokens that come next and are not cached yet.
    pending: Vec<i64>,
    /// Everything the row was given or sampled, in order.
    context: Vec<i64>,
    current: Option<Current>,
}

/// Generates for many conversations at once.
#[derive(Debug)]
pub struct Engine<'m> {
    model: &'m Qwen3,
    cache: KvCache,
    rows: Vec<Option<Row>>,
    capacity: usize,
    tickets: u64,
    generated: u64,
}

impl<'m> Engine<'m> {
    /// An engine with places for `rows` conversations of at most `capacity` tokens. The capacity
    /// is lowered to the model's longest sequence.
    pub fn new(model: &'m Qwen3, rows: usize, capacity: usize) -> Self {
        let longest = usize::try_from(model.config().max_position_embeddings).unwrap_or(usize::MAX);
        let capacity = capacity.min(longest);
        let _guard = no_grad_guard();
        let cache = KvCache::new(
            model.config(),
            signed(rows),
            signed(capacity),
            model.kind(),
            model.device(),
        );
        Self {
            model,
            cache,
            rows: (0..rows).map(|_| None).collect(),
            capacity,
            tickets: 0,
            generated: 0,
        }
    }

    /// Starts a conversation and its first turn.
    ///
    /// # Errors
    /// [`EngineError`] if there is no place, or the ids or settings are unusable.
    pub fn admit(&mut self, ids: &[i64], turn: Turn) -> Result<RowId, EngineError> {
        let slot =
            self.rows.iter().position(Option::is_none).ok_or(EngineError::Full(self.rows.len()))?;
        self.tickets += 1;
        let id = RowId { slot, ticket: self.tickets };
        self.rows[slot] = Some(Row {
            ticket: id.ticket,
            cached: 0,
            pending: Vec::new(),
            context: Vec::new(),
            current: None,
        });
        self.extend(id, ids, turn).inspect_err(|_| self.rows[slot] = None)?;
        Ok(id)
    }

    /// Appends the environment's tokens to a waiting row and starts its next turn.
    ///
    /// # Errors
    /// [`EngineError`] if the row is gone, busy or full, or the ids or settings are unusable. The
    /// row is then as it was.
    pub fn extend(&mut self, id: RowId, ids: &[i64], turn: Turn) -> Result<(), EngineError> {
        turn.sampling.check()?;
        let (capacity, vocab_size) = (self.capacity, self.model.config().vocab_size);
        let row = self.row(id)?;
        if row.current.is_some() {
            return Err(EngineError::Busy);
        }
        if ids.is_empty() || turn.max_tokens == 0 {
            return Err(EngineError::Empty);
        }
        let tokens = row.cached + row.pending.len() + ids.len();
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
            ignore_eos: turn.ignore_eos,
            ids: Vec::new(),
            log_probs: Vec::new(),
        });
        Ok(())
    }

    /// Ends a conversation, finished or not, frees its place and returns all its tokens: what the
    /// model has really seen.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn release(&mut self, id: RowId) -> Result<Vec<i64>, EngineError> {
        let row = self.row(id)?;
        let context = std::mem::take(&mut row.context);
        self.rows[id.slot] = None;
        Ok(context)
    }

    /// What a generating row has said of its turn so far: ids and their log-probabilities.
    /// Nothing, once the turn has ended.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn said(&self, id: RowId) -> Result<(&[i64], &[f32]), EngineError> {
        let row = self.rows.get(id.slot).and_then(Option::as_ref);
        let row = row.filter(|row| row.ticket == id.ticket).ok_or(EngineError::Gone)?;
        let said = row.current.as_ref().map(|current| (&*current.ids, &*current.log_probs));
        Ok(said.unwrap_or_default())
    }

    /// Whether no row is generating.
    pub fn is_idle(&self) -> bool {
        !self.rows.iter().flatten().any(|row| row.current.is_some())
    }

    /// How many tokens a row holds at most.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many tokens were sampled so far.
    pub fn generated(&self) -> u64 {
        self.generated
    }

    /// Reads what rows were given, samples the first token of their turns, and returns the turns
    /// that ended with it. [`Self::step`] begins with this.
    ///
    /// # Errors
    /// [`EngineError::NotFinite`].
    pub fn read(&mut self) -> Result<Vec<Finished>, EngineError> {
        let _guard = no_grad_guard();
        let mut finished = Vec::new();
        self.prefill(&mut finished)?;
        Ok(finished)
    }

    /// Samples one token for every generating row (two for a row that has just read its prompt)
    /// and returns the turns that ended.
    ///
    /// # Errors
    /// [`EngineError::NotFinite`].
    pub fn step(&mut self) -> Result<Vec<Finished>, EngineError> {
        let _guard = no_grad_guard();
        let mut finished = self.read()?;
        let ready = self.generating(|row| row.pending.len() == 1);
        if !ready.is_empty() {
            let log_probs = self.advance(&ready)?;
            for (index, &slot) in ready.iter().enumerate() {
                self.choose(slot, log_probs.row(index), &mut finished)?;
            }
        }
        Ok(finished)
    }

    fn row(&mut self, id: RowId) -> Result<&mut Row, EngineError> {
        match self.rows.get_mut(id.slot) {
            Some(Some(row)) if row.ticket == id.ticket => Ok(row),
            _ => Err(EngineError::Gone),
        }
    }

    fn at(&self, slot: usize) -> &Row {
        self.rows[slot].as_ref().expect("only taken slots are listed")
    }

    /// Slots of generating rows for which `wanted` holds, in order.
    fn generating(&self, wanted: impl Fn(&Row) -> bool) -> Vec<usize> {
        let wanted = |row: &Row| row.current.is_some() && wanted(row);
        (0..self.rows.len()).filter(|&slot| self.rows[slot].as_ref().is_some_and(&wanted)).collect()
    }

    /// Reads all pending prompts, longest first so that padding is small. Fresh rows with the
    /// same prompt, the samples of one group, read it once and copy the result.
    fn prefill(&mut self, finished: &mut Vec<Finished>) -> Result<(), EngineError> {
        let mut waiting = self.generating(|row| row.pending.len() > 1);
        waiting.sort_by_key(|&slot| (std::cmp::Reverse(self.at(slot).pending.len()), slot));
        let mut leaders: BTreeMap<&[i64], usize> = BTreeMap::new();
        let mut followers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut readers = Vec::new();
        for &slot in &waiting {
            let row = self.at(slot);
            let leader =
                if row.cached == 0 { *leaders.entry(&row.pending).or_insert(slot) } else { slot };
            if leader == slot {
                readers.push(slot);
            } else {
                followers.entry(leader).or_default().push(slot);
            }
        }
        while !readers.is_empty() {
            let width = self.at(readers[0]).pending.len();
            let batch: Vec<usize> =
                readers.drain(..readers.len().min((PREFILL_TOKENS / width).max(1))).collect();
            let log_probs = self.advance(&batch)?;
            for (index, leader) in batch.into_iter().enumerate() {
                for &slot in followers.get(&leader).into_iter().flatten() {
                    let tokens = self.at(leader).cached;
                    self.cache.copy_prefix(signed(leader), signed(slot), signed(tokens));
                    let row = self.rows[slot].as_mut().expect("a follower is taken");
                    row.cached = tokens;
                    row.pending.clear();
                    self.choose(slot, log_probs.row(index), finished)?;
                }
                self.choose(leader, log_probs.row(index), finished)?;
            }
        }
        Ok(())
    }

    /// Feeds the pending tokens of `slots` and returns the next token's log-probabilities, one
    /// row per slot.
    fn advance(&mut self, slots: &[usize]) -> Result<LogProbs, EngineError> {
        let (first, last) =
            (*slots.iter().min().expect("not empty"), *slots.iter().max().expect("not empty"));
        let width = slots.iter().map(|&slot| self.at(slot).pending.len()).max().unwrap_or(1);
        // Cached rows are read in place where they are neighbours, or nearly: idle ones between
        // them ride along as padding, which is cheaper than copying everybody's past.
        let ordered = slots.is_sorted();
        let span = last - first + 1;
        let in_place = ordered && (span == slots.len() || (width == 1 && span <= 2 * slots.len()));
        let places: Vec<Option<usize>> = if in_place {
            let taken = |slot: usize| slots.binary_search(&slot).is_ok().then_some(slot);
            (first..=last).map(taken).collect()
        } else {
            slots.iter().copied().map(Some).collect()
        };

        let (mut ids, mut positions) = (Vec::new(), Vec::new()); // [B, T] each
        let (mut ends, mut scales) = (Vec::new(), Vec::new()); // [N] each
        let mut reach = 0;
        for (place, slot) in places.iter().enumerate() {
            let (pending, cached): (&[i64], usize) = match slot {
                Some(slot) => (&self.at(*slot).pending, self.at(*slot).cached),
                None => (&[], 0),
            };
            let padding = width - pending.len();
            ids.extend_from_slice(pending);
            ids.extend(std::iter::repeat_n(0, padding));
            positions.extend((cached..cached + pending.len()).map(signed));
            positions.extend(std::iter::repeat_n(self.cache.capacity(), padding));
            if let Some(slot) = slot {
                ends.push(signed(place * width + pending.len() - 1));
                let current =
                    self.at(*slot).current.as_ref().expect("only generating rows advance");
                scales.push(current.sampling.scale());
            }
            reach = reach.max(cached + pending.len());
        }
        let device = self.model.device();
        let shape = [signed(places.len()), signed(width)];
        let tensor = |values: &[i64]| Tensor::from_slice(values).to_device(device);
        let rows = if in_place {
            Rows::Span { first: signed(first), count: signed(span) }
        } else {
            Rows::Listed(tensor(&slots.iter().map(|&slot| signed(slot)).collect::<Vec<_>>()))
        };
        let hidden = self.model.forward_cached(
            &tensor(&ids).view(shape),
            &tensor(&positions).view(shape),
            &rows,
            signed(reach),
            &mut self.cache,
        );
        let hidden =
            hidden.view([-1, self.model.config().hidden_size]).index_select(0, &tensor(&ends));
        let mut logits = self.model.logits(&hidden); // [N, V]
        if scales.iter().any(|scale| scale.total_cmp(&1.0).is_ne()) {
            let scales = Tensor::from_slice(&scales).to_kind(Kind::Float).to_device(device);
            logits /= scales.unsqueeze(1);
        }
        let log_probs = logits.log_softmax(-1, Kind::Float);
        let mut values = vec![0.0; log_probs.numel()];
        log_probs
            .f_copy_data(&mut values, log_probs.numel())
            .map_err(|_| EngineError::NotFinite)?;
        for &slot in slots {
            let row = self.rows[slot].as_mut().expect("only taken slots are listed");
            row.cached += row.pending.len();
            row.pending.clear();
        }
        let width = usize::try_from(self.model.config().vocab_size).unwrap_or(1);
        Ok(LogProbs { values, width })
    }

    /// Draws a row's next token and ends its turn where it must end.
    fn choose(
        &mut self,
        slot: usize,
        log_probs: &[f32],
        finished: &mut Vec<Finished>,
    ) -> Result<(), EngineError> {
        let (model, capacity) = (self.model, self.capacity);
        let row = self.rows[slot].as_mut().expect("only taken slots are listed");
        let current = row.current.as_mut().expect("only generating rows choose");
        let choice = current.sampling.draw(log_probs, &mut current.rng);
        let log_prob = current.sampling.log_prob(log_probs, choice);
        if !log_prob.is_finite() {
            return Err(EngineError::NotFinite);
        }
        let id = signed(choice);
        current.ids.push(id);
        current.log_probs.push(log_prob);
        row.pending.push(id);
        row.context.push(id);
        self.generated += 1;
        let ending = if !current.ignore_eos && model.config().eos_token_ids.contains(&id) {
            Ending::EndOfTurn
        } else if current.ids.len() >= current.max_tokens {
            Ending::TurnLength
        } else if row.cached + row.pending.len() >= capacity {
            Ending::ContextFull
        } else {
            return Ok(());
        };
        let Current { ids, log_probs, .. } = row.current.take().expect("just used");
        finished.push(Finished { row: RowId { slot, ticket: row.ticket }, ids, log_probs, ending });
        Ok(())
    }
}

/// Log-probabilities `[N, V]` on the host.
#[derive(Debug)]
struct LogProbs {
    values: Vec<f32>,
    width: usize,
}

impl LogProbs {
    fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..(index + 1) * self.width]
    }
}
