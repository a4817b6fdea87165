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

/// The grid: one pair of `[rows, K, capacity + 1, D]` per layer.
#[derive(Debug)]
pub struct KvCache {
    keys: Vec<Tensor>,
    values: Vec<Tensor>,
    rows: i64,
    capacity: i64,
}

impl KvCache {
    /// An empty grid for `rows` sequences of at most `capacity` tokens.
    pub fn new(config: &Qwen3Config, rows: i64, capacity: i64, kind: Kind, device: Device) -> Self {
        let shape = [rows, config.num_key_value_heads, capacity + 1, config.head_dim];
        // Zeroed, not merely allocated: what is hidden has weight zero, but 0 * NaN is NaN.
        let grid = || {
            (0..config.num_hidden_layers).map(|_| Tensor::zeros(shape, (kind, device))).collect()
        };
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

    /// The size of all keys and values, in bytes.
    pub fn bytes(&self) -> usize {
        let sizes = self.keys.iter().chain(&self.values);
        sizes.map(|grid| grid.numel() * grid.kind().elt_size_in_bytes()).sum()
    }

    /// Another shape, in which the rows `kept` come first, in this order, with their first
    /// `tokens` tokens; all others are forgotten. The old grid goes as the new one comes, so that
    /// no more than one layer's keys or values are held twice.
    pub fn resize(&mut self, kept: &[i64], tokens: i64, rows: i64, capacity: i64) {
        for grid in self.keys.iter_mut().chain(&mut self.values) {
            let [_, heads, _, size] = grid.size()[..] else { unreachable!("[rows, K, P, D]") };
            let fresh =
                Tensor::zeros([rows, heads, capacity + 1, size], (grid.kind(), grid.device()));
            let mut first = 0;
            // Neighbours that stay neighbours are one copy.
            for run in kept.chunk_by(|a, b| a + 1 == *b) {
                let count = signed(run.len());
                let source = grid.narrow(0, run[0], count).narrow(2, 0, tokens);
                fresh.narrow(0, first, count).narrow(2, 0, tokens).copy_(&source);
                first += count;
            }
            *grid = fresh;
        }
        (self.rows, self.capacity) = (rows, capacity);
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
        let _ = self.keys[layer].index_put_(&place, keys, false);
        let _ = self.values[layer].index_put_(&place, values, false);
    }

    /// Keys and values `[B, K, reach, D]` of `rows`.
    pub(super) fn read(&self, layer: usize, rows: &CacheRows, reach: i64) -> (Tensor, Tensor) {
        let part = |grid: &Tensor| match rows {
            CacheRows::Span { first, count } => grid.narrow(0, *first, *count).narrow(2, 0, reach),
            CacheRows::Listed(index) => grid.narrow(2, 0, reach).index_select(0, index),
        };
        (part(&self.keys[layer]), part(&self.values[layer]))
    }

    /// Copies the first `tokens` of one row into another: how samples of one prompt share the
    /// work of reading it.
    pub fn copy_prefix(&mut self, from: i64, to: i64, tokens: i64) {
        for grid in self.keys.iter_mut().chain(&mut self.values) {
            let source = grid.get(from).narrow(1, 0, tokens);
            grid.get(to).narrow(1, 0, tokens).copy_(&source);
        }
    }
}
