//! Sequences laid end to end.

use super::prefix_tree::PrefixTree;
use crate::model::signed;
use tch::{Device, Tensor};

/// The tokens of several sequences, one behind the other and without padding: N in all. Each
/// attends to itself alone, and to what it shares with others where they begin alike.
#[derive(Debug)]
pub struct Packed {
    pub(super) ids: Tensor,       // [N]
    pub(super) positions: Tensor, // [N], from 0 in each sequence
    pub(super) pieces: Vec<Piece>,
}

/// Tokens that lie together and continue those of other pieces.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) length: i64,
    /// The pieces that come before it in its sequences, first to last.
    pub(super) before: Vec<usize>,
}

impl Packed {
    /// Lays out `sequences`, nothing of which is shared; empty ones take no place.
    pub fn new<'a>(sequences: impl IntoIterator<Item = &'a [i64]>, device: Device) -> Self {
        let sequences: Vec<&[i64]> = sequences.into_iter().collect();
        Self::of_tree(&PrefixTree::apart(&sequences), device)
    }

    /// Lays out the nodes of a tree.
    pub fn of_tree(tree: &PrefixTree<'_>, device: Device) -> Self {
        let (mut ids, mut positions, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
        for node in tree.nodes() {
            let (start, length) = (signed(node.position), signed(node.ids.len()));
            ids.extend_from_slice(node.ids);
            positions.extend(start..start + length);
            pieces.push(Piece { length, before: node.before.clone() });
        }
        let tensor = |values: &[i64]| Tensor::from_slice(values).to_device(device);
        Self { ids: tensor(&ids), positions: tensor(&positions), pieces }
    }
}
