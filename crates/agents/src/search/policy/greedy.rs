//! The policy of AIDE, and of AIRA's greedy search.
//!
//! Jiang et al. 2025, arXiv 2502.13138; Toledo et al. 2025, arXiv 2507.02554.

use super::{Policy, Progress, setting};
use crate::run::node::{Decision, Node, NodeId};
use crate::search::tree::Tree;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Drafts first; then, with `debug_probability`, a repair of a buggy leaf, else an improvement of
/// the best node.
///
/// A node that is still being worked on is no leaf and not the best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Greedy {
    /// Drafts before anything else, at least 1. AIDE's default: 5.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub drafts: usize,
    /// Probability that a buggy leaf is repaired, if there is one. AIDE's default: 0.5.
    #[serde(deserialize_with = "setting::share")]
    pub debug_probability: f64,
    /// Most repairs in a row. AIDE's default: 3.
    pub debug_depth: u32,
}

impl Default for Greedy {
    fn default() -> Self {
        Self { drafts: 5, debug_probability: 0.5, debug_depth: 3 }
    }
}

impl Greedy {
    /// AIRA's greedy search: every buggy leaf is repaired, up to 20 times in a row.
    pub const AIRA: Self = Self { drafts: 5, debug_probability: 1.0, debug_depth: 20 };

    /// Buggy leaves that may still be repaired. A node is repaired at depth `d` if it is the
    /// result of `d` repairs.
    fn repairable(&self, tree: &Tree) -> Vec<NodeId> {
        let leaf = |id: &NodeId| tree.children(*id).is_empty();
        let buggy = |id: &NodeId| tree.node(*id).is_some_and(Node::is_buggy);
        let shallow = |id: &NodeId| tree.debug_depth(*id) < self.debug_depth;
        tree.ids().filter(leaf).filter(buggy).filter(shallow).collect()
    }
}

impl Policy for Greedy {
    fn next(&self, tree: &Tree, _: Progress, draws: &mut ChaCha8Rng) -> Option<Decision> {
        if tree.roots().len() < self.drafts {
            return Some(Decision::draft());
        }
        if draws.random::<f64>() < self.debug_probability {
            let buggy = self.repairable(tree);
            if !buggy.is_empty() {
                return Some(Decision::debug(buggy[draws.random_range(0..buggy.len())]));
            }
        }
        Some(tree.best().map_or_else(Decision::draft, |best| Decision::improve(best.id)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, START, play};
    use super::*;
    use crate::search::tree::fixture::Became::{Buggy, Good, Pending, Refused};
    use crate::search::tree::fixture::{Became, add};
    use tasks::metrics::Direction;
    use tasks::stream::Stream;

    fn next(policy: Greedy, tree: &Tree, index: u64) -> Decision {
        let mut draws = Stream::root(0).index(index).rng();
        policy.next(tree, START, &mut draws).unwrap()
    }

    /// Five drafts: good .5, buggy, good .7, refused, good .6, of which higher is better.
    fn five() -> Tree {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        let became = [
            Became::Good(0.5),
            Became::Buggy,
            Became::Good(0.7),
            Became::Refused,
            Became::Good(0.6),
        ];
        for became in became {
            assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::draft());
            add(&mut tree, Decision::draft(), became);
        }
        tree
    }

    #[test]
    fn drafts_come_first_then_repairs_then_the_best_is_improved() {
        let mut tree = five();
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::debug(NodeId(1)));
        let never = Greedy { debug_probability: 0.0, ..Greedy::AIRA };
        assert_eq!(next(never, &tree, 0), Decision::improve(NodeId(2)));
        // The repair is buggy too: it is the leaf now. Then it works, and nothing is left to repair.
        add(&mut tree, Decision::debug(NodeId(1)), Became::Buggy);
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::debug(NodeId(5)));
        add(&mut tree, Decision::debug(NodeId(5)), Became::Good(0.9));
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::improve(NodeId(6)));
        add(&mut tree, Decision::improve(NodeId(6)), Became::Good(0.8));
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::improve(NodeId(6)));
    }

    #[test]
    fn repairs_end_at_their_depth() {
        let mut tree = five();
        let mut last = NodeId(1);
        for _ in 0..3 {
            last = add(&mut tree, Decision::debug(last), Became::Buggy);
        }
        let aide = Greedy { debug_probability: 1.0, ..Greedy::default() };
        assert_eq!(next(aide, &tree, 0), Decision::improve(NodeId(2)));
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::debug(last));
    }

    #[test]
    fn without_a_good_node_or_a_repair_another_draft_is_made() {
        let mut tree = Tree::new(Direction::LowerIsBetter);
        for _ in 0..5 {
            add(&mut tree, Decision::draft(), Became::Refused);
        }
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::draft());
    }

    #[test]
    fn half_of_the_steps_repair_and_every_leaf_has_its_share() {
        let mut tree = five();
        add(&mut tree, Decision::draft(), Became::Buggy);
        let counts = (0..4000).fold([0; 3], |mut counts, index| {
            let decision = next(Greedy::default(), &tree, index);
            counts[[
                Decision::debug(NodeId(1)),
                Decision::debug(NodeId(5)),
                Decision::improve(NodeId(2)),
            ]
            .iter()
            .position(|known| *known == decision)
            .unwrap()] += 1;
            counts
        });
        // Binomial(4000, 1/4): sd 27.4.
        assert!(counts[..2].iter().all(|count: &i32| (count - 1000).abs() < 110), "{counts:?}");
    }

    #[test]
    fn the_lowest_metric_is_improved_where_lower_is_better() {
        let policy = Greedy { drafts: 2, ..Greedy::AIRA };
        let became = [Good(-0.5), Good(0.25), Good(-0.5), Good(-0.75), Buggy, Refused];
        let (tree, decisions) = play(&policy, Direction::LowerIsBetter, &became);
        // Node 2 equals node 0, which was first; node 3 is better. The repair of node 4 is refused:
        // node 4 has a child now and is no leaf.
        let expected = "draft, draft, improve 0, improve 0, improve 3, debug 4";
        assert_eq!(decisions.join(", "), expected);
        assert_eq!(fixture::next(&policy, &tree), "improve 3");
    }

    #[test]
    fn a_leaf_may_be_repaired_up_to_its_depth() {
        let policy = Greedy { drafts: 1, debug_probability: 1.0, debug_depth: 2 };
        let became = [Good(0.5), Buggy, Buggy, Buggy, Buggy, Good(0.9)];
        let (tree, decisions) = play(&policy, Direction::HigherIsBetter, &became);
        // Node 3 is the second repair in a row. Node 4, an improvement, begins anew.
        let expected = "draft, improve 0, debug 1, debug 2, improve 0, debug 4";
        assert_eq!(decisions.join(", "), expected);
        assert_eq!(fixture::next(&policy, &tree), "improve 5");
    }

    #[test]
    fn drafts_that_are_worked_on_count() {
        let (tree, decisions) = play(&Greedy::AIRA, Direction::HigherIsBetter, &[Pending; 5]);
        assert_eq!(decisions, ["draft"; 5]);
        // There is nothing to repair or to improve yet.
        assert_eq!(fixture::next(&Greedy::AIRA, &tree), "draft");
    }

    #[test]
    fn a_node_that_is_worked_on_is_neither_repaired_nor_improved() {
        let mut tree = five();
        add(&mut tree, Decision::debug(NodeId(1)), Became::Pending);
        assert_eq!(next(Greedy::AIRA, &tree, 0), Decision::improve(NodeId(2)));
    }
}
