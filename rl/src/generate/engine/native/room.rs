//! Places in the KV cache: which sequence gets one, and which rows are kept for later prompts.

use super::{Engine, EngineSequence};
use crate::generate::engine::kept::KeptRow;
use crate::generate::engine::scheduler::CacheRequest;
use crate::model::{CacheShape, signed};
use std::collections::{BTreeMap, BTreeSet};

impl Engine {
    /// Sees to it that every generating row that is to go on has a place in the cache, long enough
    /// for what this step adds to it.
    pub(super) fn make_room(&mut self) {
        let request =
            |(slot, row): (usize, &Option<EngineSequence>)| Some(row.as_ref()?.request(slot));
        let requests: Vec<CacheRequest> =
            self.rows.iter().enumerate().filter_map(request).collect();
        let length = self.cache_length();
        let fits = |request: &CacheRequest| {
            !request.generating || (request.resident && request.tokens <= length)
        };
        if requests.iter().all(fits) {
            return;
        }
        let inside = self.scheduler.admit(&requests);
        for request in requests.iter().filter(|request| request.resident) {
            if !inside.iter().any(|kept| kept.slot == request.slot) {
                self.preempt(request.slot);
            }
        }
        let new = || inside.iter().filter(|request| !request.resident).map(|request| request.slot);
        for slot in new() {
            self.take_over(slot);
        }
        self.fit_cache(&inside, requests.len());
        for slot in new() {
            self.seat(slot);
        }
    }

    /// Keeps the row of a sequence that ends, if the engine keeps rows.
    pub(super) fn retire(&mut self, slot: usize) {
        let Some(row) = self.rows[slot].take() else { return };
        if let Some(place) = row.place.filter(|_| self.keeps_prefixes) {
            let mut ids = row.context;
            ids.truncate(row.cached);
            self.kept.keep(KeptRow { place, ids });
        }
    }

    fn cache_length(&self) -> usize {
        usize::try_from(self.cache.capacity()).unwrap_or(0)
    }

    fn cache_rows(&self) -> usize {
        usize::try_from(self.cache.rows()).unwrap_or(0)
    }

    /// Drops the keys and values of a row; all its tokens are to be prefilled again.
    fn preempt(&mut self, slot: usize) {
        let row = self.rows[slot].as_mut().expect("only taken slots give way");
        self.cache_use.preemptions += 1;
        row.place = None;
        row.lost += std::mem::take(&mut row.cached);
        row.pending.clone_from(&row.context);
    }

    /// Gives a new sequence the kept row that it goes on from, if there is one.
    fn take_over(&mut self, slot: usize) {
        let usable = self.uses_prefixes(slot);
        let row = self.rows[slot].as_ref().expect("only taken slots request room");
        if let Some(prefix) = usable.then(|| self.kept.take(&row.context)).flatten() {
            self.place(slot, prefix.place, prefix.tokens);
        }
    }

    /// Gives a new sequence a free place, or that of a kept row, with a copy of the longest prefix
    /// that is cached.
    fn seat(&mut self, slot: usize) {
        let usable = self.uses_prefixes(slot);
        let row = self.rows[slot].as_ref().expect("only taken slots request room");
        if row.place.is_some() {
            return;
        }
        let source = usable.then(|| self.kept.source(&row.context)).flatten();
        let place = self.free_place().or_else(|| self.kept.give_up());
        let place = place.expect("the cache has a row for every sequence that is admitted");
        if let Some(prefix) = source.filter(|prefix| prefix.place != place) {
            let (from, to) = (signed(prefix.place), signed(place));
            self.cache.copy_prefix(from, to, signed(prefix.tokens));
        }
        self.place(slot, place, source.map_or(0, |prefix| prefix.tokens));
    }

    /// Whether a sequence may start from a cached prefix. Tokens that are to be scored must be fed.
    fn uses_prefixes(&self, slot: usize) -> bool {
        let row = self.at(slot);
        let scores = row.current.as_ref().is_some_and(|current| current.extras.score_prompt);
        !scores || !row.details.prompt.is_empty()
    }

    /// Gives a sequence a place that holds its first `cached` tokens already.
    fn place(&mut self, slot: usize, place: usize, cached: usize) {
        let row = self.rows[slot].as_mut().expect("only taken slots request room");
        row.place = Some(place);
        row.cached = cached;
        row.pending.drain(..cached);
        let lost = std::mem::take(&mut row.lost);
        if lost == 0 {
            row.details.cached_tokens = cached;
        }
        self.cache_use.recomputed_tokens += lost.saturating_sub(cached) as u64;
    }

    fn free_place(&self) -> Option<usize> {
        let sequences = self.rows.iter().flatten().filter_map(|row| row.place);
        let taken: BTreeSet<usize> =
            sequences.chain(self.kept.recent().map(|row| row.place)).collect();
        (0..self.cache_rows()).find(|place| !taken.contains(place))
    }

    /// A new grid, if the rows that are to be in it do not fit into the present one, or if a larger
    /// one lets more rows be kept. `taken` sequences may come to need room.
    fn fit_cache(&mut self, inside: &[CacheRequest], taken: usize) {
        let (rows, length) = (self.cache_rows(), self.cache_length());
        let is_short = inside.len() > rows || inside.iter().any(|request| request.tokens > length);
        let is_crowded = inside.len() + self.kept.len() > rows
            && inside.iter().any(|request| self.at(request.slot).place.is_none());
        if !is_short && !is_crowded {
            return;
        }
        let (wanted, places) = self.wanted(inside);
        // A GPU's memory is taken at once, as the memory plan counts it: caches of ever larger
        // shapes would leave holes that none of them fits into. A computer's comes as it is used.
        let is_taken = self.model.device().is_cuda();
        // Twice as many at a time, for who comes one by one.
        let most = if self.keeps_prefixes { usize::MAX } else { self.rows.len() };
        let asked = (taken + self.kept.len()).next_power_of_two().min(most);
        let (more, length) = self.scheduler.shape(&wanted, asked, is_taken);
        if !is_short && more <= rows {
            return;
        }
        let reserve = if is_taken { self.scheduler.tokens } else { 0 };
        let shape =
            CacheShape { rows: signed(more), capacity: signed(length), reserve: signed(reserve) };
        self.move_rows(&places, shape);
    }

    /// What the cache is to hold: the sequences `inside`, and of the kept rows the most recently
    /// used ones for which there is room; with the places of all that are in the cache, in order.
    fn wanted(&self, inside: &[CacheRequest]) -> (Vec<CacheRequest>, Vec<usize>) {
        let mut wanted = inside.to_vec();
        let mut places: Vec<usize> =
            inside.iter().filter_map(|request| self.at(request.slot).place).collect();
        for row in self.kept.recent() {
            wanted.push(CacheRequest::kept(row.ids.len()));
            if self.scheduler.holds_all(&wanted, 0) {
                places.push(row.place);
            } else {
                wanted.pop();
            }
        }
        places.sort_unstable();
        (wanted, places)
    }

    /// Another shape of the cache, in which the rows at `places` come first, in this order.
    fn move_rows(&mut self, places: &[usize], shape: CacheShape) {
        let moved: BTreeMap<usize, usize> =
            places.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        self.kept.relocate(&moved);
        let sequences = self.rows.iter().flatten().map(|row| row.cached);
        let tokens = sequences.chain(self.kept.recent().map(|row| row.ids.len())).max();
        let places: Vec<i64> = places.iter().copied().map(signed).collect();
        self.cache.resize(&places, signed(tokens.unwrap_or(0)), shape);
        for row in self.rows.iter_mut().flatten() {
            row.place = row.place.and_then(|place| moved.get(&place).copied());
        }
        self.cache_use.peak_bytes = self.cache_use.peak_bytes.max(self.cache.bytes() as u64);
    }
}
