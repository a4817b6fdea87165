//! How much an engine holds.

use crate::model::CpuLinear;
use tasks::units::ByteSize;

/// How much an engine holds, and what it may take for speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Conversations at a time.
    pub rows: usize,
    /// Tokens of one conversation.
    pub context: usize,
    /// Memory for keys and values; none for as much as all rows can come to need.
    pub cache: Option<ByteSize>,
    /// Whether matrices with adapters are copied with the adapters merged in: fewer products a
    /// token, for the memory of the copies.
    pub merge_adapters: bool,
    /// The library of linear layers in f32 on a CPU. oneDNN takes the memory of copies.
    pub cpu_linear: CpuLinear,
}

impl Capacity {
    /// Room for `rows` conversations of `context` tokens, adapters merged.
    pub fn new(rows: usize, context: usize) -> Self {
        let cpu_linear = CpuLinear::default();
        Self { rows, context, cache: None, merge_adapters: true, cpu_linear }
    }
}
