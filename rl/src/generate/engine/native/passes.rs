//! Passes through the model: prompts are prefilled, and single tokens fed.

use super::{Engine, Finished, PREFILL_PAIRS, PREFILL_TOKENS};
use crate::generate::engine::EngineError;
use crate::model::{CacheRows, NewTokens, signed};
use std::collections::BTreeMap;
use tch::Tensor;

/// On a GPU attention reaches over a multiple of so many positions, or to the cache's end. cuDNN
/// plans its work anew for every shape, which takes longer than the step itself, and masks with
/// such rows need no padding of their own.
const REACH: usize = 64;

impl Engine {
    /// Prefills all pending prompts, longest first so that padding is small. A prompt that several
    /// new rows share, as in a group, is prefilled once and its keys and values are copied.
    pub(super) fn prefill(&mut self, finished: &mut Vec<Finished>) -> Result<(), EngineError> {
        self.score_prompts();
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
        let longest = readers.iter().map(|&slot| self.at(slot).context.len()).max().unwrap_or(1);
        let at_once = (PREFILL_PAIRS / longest).clamp(1, PREFILL_TOKENS);
        for &slot in &readers {
            while self.at(slot).pending.len() > at_once {
                let _ = self.forward(&[slot], at_once);
            }
        }
        readers.sort_by_key(|&slot| {
            let row = self.at(slot);
            (std::cmp::Reverse(row.pending.len()), row.place)
        });
        while !readers.is_empty() {
            let width = self.at(readers[0]).pending.len();
            let batch: Vec<usize> =
                readers.drain(..readers.len().min((at_once / width).max(1))).collect();
            let logits = self.forward_logits(&batch, width);
            let (mut told, mut drawers) = (Vec::new(), Vec::new());
            for (index, leader) in batch.into_iter().enumerate() {
                let from = self.at(leader).place.expect("who has read has a place");
                let tokens = self.at(leader).cached;
                for &slot in followers.get(&leader).into_iter().flatten() {
                    let row = self.rows[slot].as_mut().expect("a follower is taken");
                    let to = row.place.expect("a follower has a place");
                    row.cached = tokens;
                    row.pending.clear();
                    self.cache.copy_prefix(signed(from), signed(to), signed(tokens));
                    told.push(signed(index));
                    drawers.push(slot);
                }
                told.push(signed(index));
                drawers.push(leader);
            }
            let told = Tensor::from_slice(&told).to_device(logits.device());
            self.draw(&logits.index_select(0, &told), &drawers, finished)?;
        }
        Ok(())
    }

    /// Feeds the pending tokens of `slots`, at most `width` each, and returns the next token's
    /// logits: `[N, V]`.
    pub(super) fn forward_logits(&mut self, slots: &[usize], width: usize) -> Tensor {
        let hidden = self.forward(slots, width);
        self.model.logits(&hidden)
    }

    /// Feeds the pending tokens of `slots`, at most `width` each, and returns the final hidden state
    /// of the last token of each: `[N, C]`.
    pub(super) fn forward(&mut self, slots: &[usize], width: usize) -> Tensor {
        let (hidden, ends) = self.feed(slots, width);
        hidden.index_select(0, &ends)
    }

    /// Feeds the pending tokens of `slots`, at most `width` each, and returns the final hidden
    /// states of all that was fed, padding included, `[M, C]`, and the index of the last token of
    /// each slot in them, `[N]`.
    pub(super) fn feed(&mut self, slots: &[usize], width: usize) -> (Tensor, Tensor) {
        let place = |slot: usize| self.at(slot).place.expect("who is fed has a place");
        let taken: Vec<usize> = slots.iter().map(|&slot| place(slot)).collect();
        let (first, last) =
            (*taken.iter().min().expect("not empty"), *taken.iter().max().expect("not empty"));
        // Cached rows are read in place where they are neighbours, or nearly: idle ones between
        // them ride along as padding, which is cheaper than copying everybody's past.
        let ordered = taken.is_sorted();
        let span = last - first + 1;
        let in_place = ordered && (span == slots.len() || (width == 1 && span <= 2 * slots.len()));
        let fed: Vec<Option<usize>> = if in_place {
            let at = |place: usize| taken.binary_search(&place).ok().map(|index| slots[index]);
            (first..=last).map(at).collect()
        } else {
            slots.iter().copied().map(Some).collect()
        };

        let (mut ids, mut positions) = (Vec::new(), Vec::new()); // [B, T] each
        let mut ends = Vec::new(); // [N]
        let (mut reach, mut all_begin) = (0, true);
        for (index, slot) in fed.iter().enumerate() {
            let (pending, cached): (&[i64], usize) = match slot {
                Some(slot) => (&self.at(*slot).pending, self.at(*slot).cached),
                None => (&[], 0),
            };
            let pending = &pending[..pending.len().min(width)];
            let padding = width - pending.len();
            ids.extend_from_slice(pending);
            ids.extend(std::iter::repeat_n(0, padding));
            positions.extend((cached..cached + pending.len()).map(signed));
            positions.extend(std::iter::repeat_n(self.cache.capacity(), padding));
            if slot.is_some() {
                ends.push(signed(index * width + pending.len() - 1));
            }
            reach = reach.max(cached + pending.len());
            all_begin &= cached == 0;
        }
        let device = self.model.device();
        if device.is_cuda() {
            let length = usize::try_from(self.cache.capacity()).unwrap_or(reach);
            reach = reach.next_multiple_of(REACH).min(length);
        }
        let shape = [signed(fed.len()), signed(width)];
        let tensor = |values: &[i64]| Tensor::from_slice(values).to_device(device);
        let rows = if in_place {
            CacheRows::Span { first: signed(first), count: signed(span) }
        } else {
            CacheRows::Listed(tensor(&taken.iter().map(|&place| signed(place)).collect::<Vec<_>>()))
        };
        let new = NewTokens {
            ids: &tensor(&ids).view(shape),
            positions: &tensor(&positions).view(shape),
            rows: &rows,
            reach: signed(reach),
            all_begin,
        };
        let hidden = self.model.forward_cached(&new, &mut self.cache);
        for &slot in slots {
            let row = self.rows[slot].as_mut().expect("only taken slots are listed");
            let fed = row.pending.len().min(width);
            row.cached += fed;
            row.pending.drain(..fed);
        }
        (hidden.view([-1, self.model.config().hidden_size]), tensor(&ends))
    }
}
