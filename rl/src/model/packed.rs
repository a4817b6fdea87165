//! Sequences laid end to end.

use crate::model::signed;
use tch::{Device, Tensor};

/// The tokens of several sequences, one behind the other and without padding: N in all. Each
/// attends to itself alone.
#[derive(Debug)]
pub struct Packed {
    pub(super) ids: Tensor,       // [N]
    pub(super) positions: Tensor, // [N], from 0 in each sequence
    pub(super) lengths: Vec<i64>,
}

impl Packed {
    /// Lays out `sequences`; empty ones take no place.
    pub fn new<'a>(sequences: impl IntoIterator<Item = &'a [i64]>, device: Device) -> Self {
        let (mut ids, mut positions, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for sequence in sequences.into_iter().filter(|sequence| !sequence.is_empty()) {
            let length = signed(sequence.len());
            ids.extend_from_slice(sequence);
            positions.extend(0..length);
            lengths.push(length);
        }
        let tensor = |values: &[i64]| Tensor::from_slice(values).to_device(device);
        Self { ids: tensor(&ids), positions: tensor(&positions), lengths }
    }
}
