//! The KV cache: keys and values of tokens that the model has already processed.
//!
//! One dense tensor per layer, with rows as long as the longest sequence needs, so that a row can
//! join or leave at any step without moving another, and adjacent rows are read in place. For more
//! or longer sequences the cache is resized ([`KvCache::resize`]). Beyond the last usable position
//! lies one scratch slot: padding is written there and never read.

use super::config::Qwen3Config;
use crate::model::signed;
use tch::{Device, Kind, Tensor};

/// Which rows of the cache take part in a step.
#[derive(Debug)]
pub enum CacheRows {
    /// Neighbours, read in place.
    Span {
        /// Index of the first row.
        first: i64,
        /// The number of rows.
        count: i64,
    },
    /// Any rows `[B]`, whose past is copied together for the step.
    Listed(Tensor),
}

impl CacheRows {
    /// The indices of the rows, on `device`: `[B]`.
    pub(super) fn index(&self, device: Device) -> Tensor {
        match self {
            Self::Span { first, count } => {
                Tensor::arange_start(*first, first + count, (Kind::Int64, device))
            }
            Self::Listed(index) => index.shallow_clone(),
        }
    }
}

/// Keys and values of rows, one pair of grids per layer.
#[derive(Debug)]
pub struct KvCache {
    keys: Vec<Grid>,
    values: Vec<Grid>,
    rows: i64,
    capacity: i64,
}

/// Keys or values of one layer.
#[derive(Debug)]
struct Grid {
    /// All of its memory, at least as large as the places: `[E]`.
    memory: Tensor,
    /// What is used of it: `[rows, K, capacity + 1, D]`.
    places: Tensor,
}

impl Grid {
    fn new(shape: [i64; 4], kind: Kind, device: Device) -> Self {
        // Zeroed, not merely allocated: what is hidden has weight zero, but 0 * NaN is NaN.
        let memory = Tensor::zeros([shape.iter().product::<i64>()], (kind, device));
        let places = memory.view(shape);
        Self { memory, places }
    }

    /// See [`KvCache::resize`].
    fn resize(&mut self, kept: &[i64], tokens: i64, shape: CacheShape) {
        let [_, heads, _, size] = self.places.size()[..] else { unreachable!("[rows, K, P, D]") };
        let needed = shape.rows * heads * (shape.capacity + 1) * size;
        // Neighbours that stay neighbours are one copy.
        let runs = kept.chunk_by(|a, b| a + 1 == *b);
        let part =
            |run: &[i64]| self.places.narrow(0, run[0], signed(run.len())).narrow(2, 0, tokens);
        let sources: Vec<Tensor> = if needed <= signed(self.memory.numel()) {
            // Copied out first: what is kept would be written over.
            runs.map(|run| part(run).copy()).collect()
        } else {
            let parts = runs.map(part).collect();
            let elements = needed.max(shape.reserve * heads * size);
            self.memory = Tensor::zeros([elements], (self.places.kind(), self.places.device()));
            parts
        };
        // Where memory was used before there are finite numbers, which is all that is asked of it.
        let places =
            self.memory.narrow(0, 0, needed).view([shape.rows, heads, shape.capacity + 1, size]);
        let mut first = 0;
        for source in sources {
            let count = source.size()[0];
            places.narrow(0, first, count).narrow(2, 0, tokens).copy_(&source);
            first += count;
        }
        self.places = places;
    }
}

/// The shape of a cache.
#[derive(Debug, Clone, Copy)]
pub struct CacheShape {
    /// Sequences that fit.
    pub rows: i64,
    /// Tokens of each that fit.
    pub capacity: i64,
    /// Tokens, scratch places included, for which memory is taken at least, so that later shapes
    /// need no more of it. 0 takes what this shape needs.
    pub reserve: i64,
}

impl KvCache {
    /// An empty grid for `rows` sequences of at most `capacity` tokens.
    pub fn new(config: &Qwen3Config, rows: i64, capacity: i64, kind: Kind, device: Device) -> Self {
        let shape = [rows, config.num_key_value_heads, capacity + 1, config.head_dim];
        let grid =
            || (0..config.num_hidden_layers).map(|_| Grid::new(shape, kind, device)).collect();
        Self { keys: grid(), values: grid(), rows, capacity }
    }

    /// Bytes of one token's keys and values, or of one row's scratch place.
    pub fn token_bytes(config: &Qwen3Config, kind: Kind) -> usize {
        let elements = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim;
        usize::try_from(elements).unwrap_or(usize::MAX) * kind.elt_size_in_bytes()
    }

    /// How many sequences fit.
    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// How many tokens of each fit. This is also the index of the scratch place.
    pub fn capacity(&self) -> i64 {
        self.capacity
    }

    /// The memory of all keys and values, in bytes.
    pub fn bytes(&self) -> usize {
        let grids = self.keys.iter().chain(&self.values).map(|grid| &grid.memory);
        grids.map(|memory| memory.numel() * memory.kind().elt_size_in_bytes()).sum()
    }

    /// Another shape, in which the rows `kept` come first, in this order, with their first
    /// `tokens` tokens; all others are forgotten. No more than one layer's keys or values are held
    /// twice meanwhile, and none where the memory is large enough already.
    pub fn resize(&mut self, kept: &[i64], tokens: i64, shape: CacheShape) {
        for grid in self.keys.iter_mut().chain(&mut self.values) {
            grid.resize(kept, tokens, shape);
        }
        (self.rows, self.capacity) = (shape.rows, shape.capacity);
    }

    /// Stores `[B, T, K, D]` at `positions [B, T]` of the rows at `index [B]`.
    pub(super) fn write(
        &mut self,
        layer: usize,
        index: &Tensor,
        positions: &Tensor,
        keys: &Tensor,
        values: &Tensor,
    ) {
        // Two index tensors with a whole axis between them: the result is [B, T, K, D].
        let place = [Some(index.unsqueeze(1)), None, Some(positions.shallow_clone())];
        let _ = self.keys[layer].places.index_put_(&place, keys, false);
        let _ = self.values[layer].places.index_put_(&place, values, false);
    }

    /// Keys and values `[B, K, reach, D]` of `rows`.
    pub(super) fn read(&self, layer: usize, rows: &CacheRows, reach: i64) -> (Tensor, Tensor) {
        let part = |grid: &Grid| {
            let places = grid.places.narrow(2, 0, reach);
            match rows {
                CacheRows::Span { first, count } => places.narrow(0, *first, *count),
                CacheRows::Listed(index) => places.index_select(0, index),
            }
        };
        (part(&self.keys[layer]), part(&self.values[layer]))
    }

    /// Copies the first `tokens` of one row into another: how samples of one prompt share the
    /// work of reading it.
    pub fn copy_prefix(&mut self, from: i64, to: i64, tokens: i64) {
        for Grid { places, .. } in self.keys.iter_mut().chain(&mut self.values) {
            let source = places.get(from).narrow(1, 0, tokens);
            places.get(to).narrow(1, 0, tokens).copy_(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every number of a row's first `tokens` in all grids.
    fn numbers(cache: &KvCache, row: i64, tokens: i64) -> Vec<f32> {
        let grids = cache.keys.iter().chain(&cache.values);
        let part = |grid: &Grid| {
            let row = grid.places.get(row).narrow(1, 0, tokens).contiguous();
            Vec::<f32>::try_from(row.view([-1])).unwrap()
        };
        grids.flat_map(part).collect()
    }

    proptest! {
        /// Rows keep their numbers through any change of shape, whether there is memory for later
        /// shapes from the start or each shape takes what it needs.
        #[test]
        fn rows_keep_what_they_hold(
            shapes in prop::collection::vec((1_i64..5, 1_i64..9, any::<u8>()), 1..6),
            reserve in prop_oneof![Just(0), Just(20), Just(60)],
        ) {
            let config = Qwen3Config::tiny(40, 1, 2);
            let mut cache = KvCache::new(&config, 0, 0, Kind::Float, Device::Cpu);
            let mut most = 0;
            for (rows, capacity, choice) in shapes {
                let tokens = capacity.min(cache.capacity());
                let kept: Vec<i64> =
                    (0..cache.rows()).filter(|row| choice >> row & 1 == 1).take(usize::try_from(rows).unwrap()).collect();
                let before: Vec<Vec<f32>> = kept.iter().map(|row| numbers(&cache, *row, tokens)).collect();
                cache.resize(&kept, tokens, CacheShape { rows, capacity, reserve });
                for (row, before) in before.into_iter().enumerate() {
                    prop_assert_eq!(before, numbers(&cache, signed(row), tokens));
                }
                most = most.max(rows * (capacity + 1)).max(reserve);
                let token = KvCache::token_bytes(&config, Kind::Float);
                prop_assert_eq!(cache.bytes(), usize::try_from(most).unwrap() * token);
                for grid in cache.keys.iter_mut().chain(&mut cache.values) {
                    let _ = grid.places.uniform_(-1.0, 1.0);
                }
            }
        }
    }
}
