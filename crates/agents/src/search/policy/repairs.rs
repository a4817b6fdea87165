//! Series of repairs: which buggy script is repaired next.

use crate::run::node::{Node, NodeId, Operator};
use crate::search::tree::Tree;

/// How long a script is repaired: it, its repair, the repair of that, and so on.
///
/// A series ends when a repair works, when the player refuses one, or at these limits. A repair
/// that is being worked on is waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RepairLimits {
    /// Most repairs in a row.
    pub(super) depth: u32,
    /// Wall time of all runs of the series, the first one included, in seconds. A series that
    /// has used it up is not gone on with.
    pub(super) seconds: f64,
}

impl RepairLimits {
    /// The first buggy node, in the order of decisions, that is to be repaired.
    pub(super) fn first_open(self, tree: &Tree) -> Option<NodeId> {
        tree.ids().find(|id| self.is_open(tree, *id))
    }

    /// Whether `id` is buggy, was not repaired yet, and is within the limits.
    fn is_open(self, tree: &Tree, id: NodeId) -> bool {
        tree.node(id).is_some_and(Node::is_buggy)
            && tree.children(id).is_empty()
            && tree.debug_depth(id) < self.depth
            && seconds(tree, id) < self.seconds
    }
}

/// Wall time of the runs of a series of repairs up to `end`, in seconds.
fn seconds(tree: &Tree, end: NodeId) -> f64 {
    let before = |id: &NodeId| match tree.decision(*id).operator {
        Operator::Debug => tree.parent(*id),
        _ => None,
    };
    std::iter::successors(Some(end), before)
        .filter_map(|id| tree.node(id)?.run.as_ref())
        .map(|run| run.wall)
        .sum()
}
