//! The state of a search: decisions and nodes in the order of decisions.
//!
//! It is a fold over the journal. Everything that a policy asks of it is computed from there.

use crate::run::node::{Decision, Node, NodeId, Operator};
use crate::run::state::RunState;
use tasks::metrics::Direction;

/// Decisions and what became of them, in the order of decisions.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    direction: Direction,
    entries: Vec<TreeEntry>,
    /// Nodes without a parent.
    roots: Vec<NodeId>,
}

#[derive(Debug, Clone, PartialEq)]
struct TreeEntry {
    decision: Decision,
    children: Vec<NodeId>,
    /// Buggy ancestors in a row, itself included if it is a repair.
    debug_depth: u32,
    /// `None` while it is being worked on.
    node: Option<Node>,
}

impl Tree {
    /// The tree of all decisions of a run, with the nodes that are complete.
    pub fn from_state(state: &RunState) -> Self {
        let mut tree = Self::new(state.header.direction);
        for (decision, _) in &state.decided {
            tree.decide(decision.clone());
        }
        for node in state.nodes.values() {
            tree.complete(node.clone());
        }
        tree
    }

    /// A search that has not begun, on a task whose scores improve in `direction`.
    pub fn new(direction: Direction) -> Self {
        Self { direction, entries: Vec::new(), roots: Vec::new() }
    }

    /// Which way the metric improves.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Number of decisions so far: the steps that were taken.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was decided yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a decision; its node is to follow.
    ///
    /// # Panics
    /// If a parent is not in the tree.
    pub fn decide(&mut self, decision: Decision) -> NodeId {
        let id = NodeId(u32::try_from(self.entries.len()).expect("fewer than 2^32 nodes"));
        let first = decision.parents.first().copied();
        for parent in &decision.parents {
            self.entries[parent.index()].children.push(id);
        }
        let debug_depth = match (decision.operator, first) {
            (Operator::Debug, Some(parent)) => self.debug_depth(parent) + 1,
            _ => 0,
        };
        if first.is_none() {
            self.roots.push(id);
        }
        self.entries.push(TreeEntry { decision, children: Vec::new(), debug_depth, node: None });
        id
    }

    /// Adds what became of a decision.
    ///
    /// # Panics
    /// If the decision is not in the tree, or has its node.
    pub fn complete(&mut self, node: Node) {
        let entry = &mut self.entries[node.id.index()];
        assert!(entry.node.is_none(), "node {} is complete", node.id);
        entry.node = Some(node);
    }

    /// All ids, in the order of decisions.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.entries.len()).expect("fewer than 2^32 nodes")).map(NodeId)
    }

    /// What was decided for node `id`.
    pub fn decision(&self, id: NodeId) -> &Decision {
        &self.entries[id.index()].decision
    }

    /// Node `id`; `None` while it is being worked on.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.entries[id.index()].node.as_ref()
    }

    /// Complete nodes, in the order of decisions.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.entries.iter().filter_map(|entry| entry.node.as_ref())
    }

    /// Good nodes, in the order of decisions.
    pub fn good(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.nodes().filter(|node| node.is_good())
    }

    /// Drafts, in the order of decisions, those that are being worked on included.
    pub fn roots(&self) -> &[NodeId] {
        &self.roots
    }

    /// Decisions that name `id` as a parent, in their order.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        &self.entries[id.index()].children
    }

    /// The first parent of `id`.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.decision(id).parents.first().copied()
    }

    /// How many repairs in a row led to `id`: 0 for a node that is no repair.
    pub fn debug_depth(&self, id: NodeId) -> u32 {
        self.entries[id.index()].debug_depth
    }

    /// The metric of a good node so that larger is better; `None` for any other.
    pub fn gain(&self, id: NodeId) -> Option<f64> {
        let node = self.node(id).filter(|node| node.is_good())?;
        node.metric.map(|metric| self.direction.gain(metric))
    }

    /// The good node with the best metric, the earliest of equals.
    pub fn best(&self) -> Option<&Node> {
        self.good().reduce(|best, node| match (best.metric, node.metric) {
            (Some(a), Some(b)) if self.direction.better(b, a) => node,
            _ => best,
        })
    }

    /// The node whose submission counts: the best, else the last with a valid submission.
    pub fn chosen(&self) -> Option<&Node> {
        self.best().or_else(|| self.nodes().rev().find(|node| node.is_valid()))
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    //! Trees in short form.

    use super::*;
    use crate::run::node::{BlobHash, Bug, NodeState};

    /// What became of a decision, in short.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum Became {
        /// Good, with this metric.
        Good(f64),
        /// Buggy.
        Buggy,
        /// Without a script.
        Refused,
        /// Being worked on.
        Pending,
    }

    /// Adds a decision and what became of it.
    pub(crate) fn add(tree: &mut Tree, decision: Decision, became: Became) -> NodeId {
        let id = tree.decide(decision.clone());
        let (state, metric) = match became {
            Became::Pending => return id,
            Became::Good(metric) => (NodeState::Good, Some(metric)),
            Became::Buggy => (NodeState::Buggy(Bug::NotFinished), None),
            Became::Refused => (NodeState::Refused { reason: String::new() }, None),
        };
        tree.complete(Node {
            id,
            decision,
            plan: String::new(),
            code: None,
            output: None,
            run: None,
            metric,
            judged: None,
            submission: metric.map(|_| BlobHash(String::new())),
            invalid: None,
            state,
            ended_at: 0.0,
            automind: None,
        });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::{Became, add};
    use super::*;

    #[test]
    fn best_is_the_earliest_of_equals_in_either_direction() {
        for (direction, expected) in [(Direction::LowerIsBetter, 1), (Direction::HigherIsBetter, 0)]
        {
            let mut tree = Tree::new(direction);
            for metric in [0.9, 0.2, 0.2, 0.9] {
                add(&mut tree, Decision::draft(), Became::Good(metric));
            }
            assert_eq!(tree.best().map(|node| node.id), Some(NodeId(expected)));
        }
    }

    #[test]
    fn debug_depth_counts_repairs_in_a_row() {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        let draft = add(&mut tree, Decision::draft(), Became::Buggy);
        let first = add(&mut tree, Decision::debug(draft), Became::Buggy);
        let second = add(&mut tree, Decision::debug(first), Became::Good(1.0));
        let better = add(&mut tree, Decision::improve(second), Became::Buggy);
        let depths = [draft, first, second, better].map(|id| tree.debug_depth(id));
        assert_eq!(depths, [0, 1, 2, 0]);
        assert_eq!(tree.children(draft), [first]);
        assert_eq!(tree.roots(), [draft]);
    }

    #[test]
    fn without_a_good_node_the_last_valid_submission_is_chosen() {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        add(&mut tree, Decision::draft(), Became::Buggy);
        assert!(tree.chosen().is_none());
        let good = add(&mut tree, Decision::draft(), Became::Good(0.1));
        add(&mut tree, Decision::draft(), Became::Refused);
        add(&mut tree, Decision::draft(), Became::Pending);
        assert_eq!(tree.chosen().map(|node| node.id), Some(good));
    }
}
