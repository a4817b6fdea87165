//! AIRA's Monte Carlo tree search.
//!
//! Toledo et al. 2025, arXiv 2507.02554.

use super::gains::GainRange;
use super::repairs::RepairLimits;
use super::{Policy, Progress, setting};
use crate::run::node::{Decision, Node, NodeId, Operator};
use crate::search::tree::Tree;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// From a virtual root down to a leaf, which gets five children; a buggy child is repaired at once.
///
/// The next decision is the first of these that applies:
///
/// 1. A buggy node without a child is repaired, the earliest first, until a repair works or a
///    limit is reached. A repair that the player refused ends the series.
/// 2. An expansion that was begun goes on until its leaf got `children` more: drafts at the root,
///    else improvements.
/// 3. Another expansion begins. The leaf is found from the root by going, as long as the node has
///    a child that was visited, to the one of highest `Q + c * sqrt(ln N / n)`, the earliest of
///    equals. `n` are the visits of the child and `N` those of the node; a node is visited once
///    for each good node at or below it, so the steps of a repair that worked are visited and
///    those of one that did not are passed over. `Q` is the mean gain of these good nodes, after
///    the gains of all good nodes of the tree were put on a scale from 0 to 1 (0.5 if all are
///    equal). A node whose children all stayed buggy is a leaf again.
///
/// Nothing is drawn.
///
/// **Several workers.** A node that is still being worked on takes its place in its expansion and
/// has no visits. While an expansion is not full, free workers add to it.
///
/// **What differs from the code of its authors.** There, where lower is better, `Q` is the negated
/// mean while the scale is that of the raw metrics, so that `Q` leaves [0, 1]; and where all
/// children stayed buggy, one of them is improved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mcts {
    /// The constant `c`, at least 0: how much rarely visited nodes are preferred. Default: 0.25.
    #[serde(deserialize_with = "setting::not_negative")]
    pub exploration: f64,
    /// Children that a leaf gets, at least 1. Default: 5.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub children: usize,
    /// Most repairs in a row. Default: 20.
    pub debug_depth: u32,
    /// Wall time of the runs of one series of repairs, in seconds, above 0. Default: 6 hours.
    #[serde(deserialize_with = "setting::positive")]
    pub debug_seconds: f64,
}

impl Default for Mcts {
    fn default() -> Self {
        Self { exploration: 0.25, children: 5, debug_depth: 20, debug_seconds: 21_600.0 }
    }
}

impl Policy for Mcts {
    fn next(&self, tree: &Tree, _: Progress, _: &mut ChaCha8Rng) -> Option<Decision> {
        let limits = RepairLimits { depth: self.debug_depth, seconds: self.debug_seconds };
        if let Some(buggy) = limits.first_open(tree) {
            return Some(Decision::debug(buggy));
        }
        Some(match self.begun(tree).unwrap_or_else(|| self.select(tree)) {
            Leaf::Root => Decision::draft(),
            Leaf::Node(good) => Decision::improve(good),
        })
    }
}

/// What is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    /// The virtual root, of which drafts are the children.
    Root,
    /// A good node.
    Node(NodeId),
}

impl Mcts {
    /// The leaf of an expansion that is not full: only that of the last decision which is no
    /// repair, because no other is begun before.
    fn begun(&self, tree: &Tree) -> Option<Leaf> {
        let is_repair = |id: &NodeId| tree.decision(*id).operator == Operator::Debug;
        let last = tree.ids().rev().find(|id| !is_repair(id))?;
        let (leaf, children) = match tree.parent(last) {
            None => (Leaf::Root, tree.roots()),
            Some(leaf) if tree.node(leaf).is_some_and(Node::is_good) => {
                (Leaf::Node(leaf), tree.children(leaf))
            }
            // A decision of another policy.
            Some(_) => return None,
        };
        (!children.len().is_multiple_of(self.children)).then_some(leaf)
    }

    /// The leaf to which visits and gains lead.
    fn select(&self, tree: &Tree) -> Leaf {
        let backups = Backups::from_tree(tree);
        let (mut leaf, mut visits) = (Leaf::Root, backups.total);
        let mut children = tree.roots();
        while let Some(child) = backups.preferred(children, visits, self.exploration) {
            leaf = Leaf::Node(child);
            visits = backups.visits[child.index()];
            children = tree.children(child);
        }
        leaf
    }
}

/// What good nodes backed up to their ancestors.
#[derive(Debug)]
struct Backups {
    /// Good nodes at or below a node, by its index.
    visits: Vec<u32>,
    /// Sum of their gains on the scale from 0 to 1.
    gains: Vec<f64>,
    /// Good nodes of the tree: the visits of the virtual root.
    total: u32,
}

impl Backups {
    fn from_tree(tree: &Tree) -> Self {
        let range = GainRange::from_gains(tree.ids().filter_map(|id| tree.gain(id)));
        let share = |id: NodeId| Some(range?.share(tree.gain(id)?));
        let mut backups =
            Self { visits: vec![0; tree.len()], gains: vec![0.0; tree.len()], total: 0 };
        // Parents come before their children, so each subtree is complete when its root is met.
        for id in tree.ids().rev() {
            if let Some(share) = share(id) {
                backups.visits[id.index()] += 1;
                backups.gains[id.index()] += share;
            }
            let (visits, gain) = (backups.visits[id.index()], backups.gains[id.index()]);
            if let Some(parent) = tree.parent(id) {
                backups.visits[parent.index()] += visits;
                backups.gains[parent.index()] += gain;
            } else {
                backups.total += visits;
            }
        }
        backups
    }

    /// The child to go on to, of those with visits; their parent has `visits`.
    fn preferred(&self, children: &[NodeId], visits: u32, exploration: f64) -> Option<NodeId> {
        let bound = |id: NodeId| {
            let own = f64::from(self.visits[id.index()]);
            self.gains[id.index()] / own + exploration * (f64::from(visits).ln() / own).sqrt()
        };
        let visited = children.iter().filter(|id| self.visits[id.index()] > 0);
        visited
            .map(|id| (*id, bound(*id)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{add_buggy, complete, next, play};
    use super::*;
    use crate::search::tree::fixture::Became::{self, Buggy, Good, Pending, Refused};
    use crate::search::tree::fixture::add;
    use tasks::metrics::Direction::{HigherIsBetter, LowerIsBetter};

    /// Two children a leaf, so that trees stay small.
    fn pairs() -> Mcts {
        Mcts { children: 2, ..Mcts::default() }
    }

    fn drafts(became: &[Became]) -> Tree {
        let mut tree = Tree::new(HigherIsBetter);
        for became in became {
            add(&mut tree, Decision::draft(), *became);
        }
        tree
    }

    #[test]
    fn a_leaf_gets_five_children_and_visits_and_gains_lead_to_the_next() {
        let policy = Mcts::default();
        let (mut tree, decisions) = play(
            &policy,
            HigherIsBetter,
            &[Good(0.5), Buggy, Buggy, Good(0.7), Good(0.6), Refused, Good(0.4)],
        );
        // Five drafts, 0 1 4 5 6; the second is repaired at once, twice.
        let expected = ["draft", "draft", "debug 1", "debug 2", "draft", "draft", "draft"];
        assert_eq!(decisions, expected);
        // On the scale from .4 to .7: draft 0 has 1/3, draft 1 by its repairs 1, draft 4 2/3,
        // draft 6 0; each was visited once. The way goes 1, 2, 3.
        for metric in [0.7, 0.5, 0.5, 0.5, 0.4] {
            assert_eq!(next(&policy, &tree), "improve 3");
            add(&mut tree, Decision::improve(NodeId(3)), Good(metric));
        }
        // N = 9, ln N = 2.197. Draft 1: n = 6, Q = (1 + 1 + 3/3 + 0) / 6 = .5,
        // .5 + .25 * sqrt(2.197 / 6) = .651. Once visited: .25 * sqrt(2.197) = .371 more:
        // draft 0 .704, draft 4 1.037, draft 6 .371.
        assert_eq!(next(&policy, &tree), "improve 4");
    }

    #[test]
    fn lower_metrics_are_followed_where_lower_is_better() {
        let (tree, decisions) =
            play(&pairs(), LowerIsBetter, &[Good(0.2), Good(0.9), Good(0.3), Good(1.0)]);
        // N = 2: draft 0 has 1 + .25 * sqrt(ln 2) = 1.208, draft 1 .208.
        assert_eq!(decisions, ["draft", "draft", "improve 0", "improve 0"]);
        // On the scale from 1.0 to .2: 1, .125, .875, 0. N = 4: draft 0 has n = 3, Q = .625,
        // .625 + .25 * sqrt(1.386 / 3) = .795; draft 1 .125 + .25 * 1.177 = .419.
        // Below draft 0: .875 against 0, visited once each.
        assert_eq!(next(&pairs(), &tree), "improve 2");
    }

    #[test]
    fn a_node_whose_children_stay_buggy_is_a_leaf_again() {
        let policy = Mcts { debug_depth: 1, ..pairs() };
        let (tree, decisions) = play(
            &policy,
            HigherIsBetter,
            &[
                Good(0.5),
                Buggy,
                Buggy, // Draft 1 stays buggy.
                Buggy,
                Buggy, // Improvement 3 stays buggy.
                Buggy,
                Refused, // The repair of improvement 5 is refused.
                Good(0.1),
                Good(0.9),
            ],
        );
        let expected = "draft, draft, debug 1, improve 0, debug 3, improve 0, debug 5, improve 0, \
            improve 0";
        assert_eq!(decisions.join(", "), expected);
        // Only 7 and 8 were visited.
        assert_eq!(next(&policy, &tree), "improve 8");
    }

    #[test]
    fn without_a_good_draft_the_root_is_a_leaf_again() {
        let policy = Mcts { debug_depth: 0, ..pairs() };
        let (_, decisions) = play(&policy, HigherIsBetter, &[Buggy, Refused, Buggy, Good(1.0)]);
        assert_eq!(decisions, ["draft"; 4]);
        // With a repair left, it comes first.
        assert_eq!(next(&pairs(), &drafts(&[Buggy, Refused])), "debug 0");
    }

    #[test]
    fn the_earliest_of_equals_is_preferred() {
        let (tree, decisions) = play(&pairs(), HigherIsBetter, &[Good(0.3); 4]);
        assert_eq!(decisions, ["draft", "draft", "improve 0", "improve 0"]);
        // All gains are equal: Q = .5. Draft 0: n = 3, bonus .25 * sqrt(1.386 / 3) = .170; draft 1:
        // n = 1, bonus .294.
        assert_eq!(next(&pairs(), &tree), "improve 1");
    }

    #[test]
    fn a_larger_constant_prefers_what_was_rarely_visited() {
        let mut tree = drafts(&[Good(0.9), Good(0.1)]);
        for _ in 0..2 {
            add(&mut tree, Decision::improve(NodeId(0)), Good(0.9));
        }
        // N = 4. Draft 0: n = 3, Q = 1, 1 + c * .680. Draft 1: n = 1, Q = 0, c * 1.177.
        // They are equal at c = 2.01.
        let with = |exploration| Mcts { exploration, ..pairs() };
        assert_eq!(next(&with(0.0), &tree), "improve 2");
        assert_eq!(next(&with(2.0), &tree), "improve 2");
        assert_eq!(next(&with(2.02), &tree), "improve 1");
    }

    #[test]
    fn a_series_of_repairs_ends_at_its_depth_and_at_its_time() {
        let mut tree = drafts(&[Buggy]);
        for depth in 0..20 {
            assert_eq!(next(&Mcts::default(), &tree), format!("debug {depth}"));
            add(&mut tree, Decision::debug(NodeId(depth)), Buggy);
        }
        assert_eq!(next(&Mcts::default(), &tree), "draft");

        for (hours, expected) in [(1.99, "debug 1"), (2.0, "draft")] {
            let mut tree = Tree::new(HigherIsBetter);
            add_buggy(&mut tree, Decision::draft(), 4.0);
            assert_eq!(next(&Mcts::default(), &tree), "debug 0");
            add_buggy(&mut tree, Decision::debug(NodeId(0)), hours);
            assert_eq!(next(&Mcts::default(), &tree), expected);
        }
    }

    #[test]
    fn workers_fill_an_expansion_before_another_begins() {
        let policy = Mcts::default();
        let mut tree = drafts(&[Pending; 3]);
        assert_eq!(next(&policy, &tree), "draft");
        // A repair comes first.
        complete(&mut tree, 1, Buggy);
        assert_eq!(next(&policy, &tree), "debug 1");
        add(&mut tree, Decision::debug(NodeId(1)), Pending);
        assert_eq!(next(&policy, &tree), "draft");
        add(&mut tree, Decision::draft(), Pending);
        add(&mut tree, Decision::draft(), Pending);
        // Five drafts are there. Without a visited one the root is a leaf again.
        assert_eq!(next(&policy, &tree), "draft");
        complete(&mut tree, 2, Good(0.1));
        assert_eq!(next(&policy, &tree), "improve 2");
        add(&mut tree, Decision::improve(NodeId(2)), Pending);
        // The expansion of 2 goes on although 0 is better: it was begun.
        complete(&mut tree, 0, Good(0.9));
        assert_eq!(next(&policy, &tree), "improve 2");
    }
}
