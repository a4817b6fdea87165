//! What `AutoMind` tries next: drafts, repairs, then improvements of the best node or of the best of
//! a draft's tree (algorithm 1 of the paper; the last case as in its release).

use crate::run::node::{Decision, Node, NodeId};
use crate::search::policy::{Greedy, Policy, Progress, setting};
use crate::search::tree::Tree;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Drafts first; then, with `debug_probability`, a repair of a buggy leaf; without a good node
/// another draft; else an improvement: with `greedy_probability` of the best node of all, else of
/// one that `explore` draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AutoMindPolicy {
    /// Whose rule chooses. Default: that of `AutoMind`.
    #[serde(skip_serializing_if = "PolicyRule::is_automind")]
    pub rule: PolicyRule,
    /// Drafts before anything else, at least 1. Default: 5.
    #[serde(deserialize_with = "setting::at_least_one")]
    pub drafts: usize,
    /// Probability that a buggy leaf is repaired, if there is one. Default: 1.
    #[serde(deserialize_with = "setting::share")]
    pub debug_probability: f64,
    /// Most repairs in a row. Default: 20.
    pub debug_depth: u32,
    /// Probability that the best node of all is improved. Default: 0.8.
    #[serde(deserialize_with = "setting::share")]
    pub greedy_probability: f64,
    /// What is improved otherwise. Default: the best of a draft's tree.
    pub explore: Explore,
}

impl Default for AutoMindPolicy {
    fn default() -> Self {
        Self {
            rule: PolicyRule::AutoMind,
            drafts: 5,
            debug_probability: 1.0,
            debug_depth: 20,
            greedy_probability: 0.8,
            explore: Explore::Subtree,
        }
    }
}

/// Whose rule chooses what is tried next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyRule {
    /// That of `AutoMind`.
    #[default]
    #[serde(rename = "automind")]
    AutoMind,
    /// AIDE's [`Greedy`], with these `drafts`, `debug_probability` and `debug_depth`: it improves
    /// the best node alone. Plans, scripts and judgements stay those of `AutoMind`, so that the two
    /// rules can be compared with all else equal.
    Aide,
}

impl PolicyRule {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
    fn is_automind(&self) -> bool {
        *self == Self::AutoMind
    }
}

/// What is improved where not the best node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Explore {
    /// One of the best nodes of each draft's tree, at random, as the paper's release does.
    Subtree,
    /// Any good node, at random, as the paper's listing does.
    Any,
}

impl AutoMindPolicy {
    /// Buggy leaves that may still be repaired.
    fn repairable(&self, tree: &Tree) -> Vec<NodeId> {
        let leaf = |id: &NodeId| tree.children(*id).is_empty();
        let buggy = |id: &NodeId| tree.node(*id).is_some_and(Node::is_buggy);
        let shallow = |id: &NodeId| tree.debug_depth(*id) < self.debug_depth;
        tree.ids().filter(leaf).filter(buggy).filter(shallow).collect()
    }
}

/// The best good node of each draft's tree that has one, by draft.
fn best_of_subtrees(tree: &Tree) -> Vec<NodeId> {
    let mut roots: Vec<NodeId> = Vec::with_capacity(tree.len());
    for id in tree.ids() {
        // A parent stands before its child.
        roots.push(tree.parent(id).map_or(id, |parent| roots[parent.index()]));
    }
    let best = |root: &NodeId| {
        let good = tree.good().filter(|node| roots[node.id.index()] == *root);
        let better = |best: &Node, node: &Node| tree.gain(node.id) > tree.gain(best.id);
        good.reduce(|best, node| if better(best, node) { node } else { best })
    };
    tree.roots().iter().filter_map(best).map(|node| node.id).collect()
}

impl Policy for AutoMindPolicy {
    fn next(&self, tree: &Tree, progress: Progress, draws: &mut ChaCha8Rng) -> Option<Decision> {
        if self.rule == PolicyRule::Aide {
            let Self { drafts, debug_probability, debug_depth, .. } = *self;
            return Greedy { drafts, debug_probability, debug_depth }.next(tree, progress, draws);
        }
        if tree.roots().len() < self.drafts {
            return Some(Decision::draft());
        }
        if draws.random::<f64>() < self.debug_probability
            && let Some(&buggy) = self.repairable(tree).choose(draws)
        {
            return Some(Decision::debug(buggy));
        }
        let Some(best) = tree.best() else { return Some(Decision::draft()) };
        if draws.random::<f64>() < self.greedy_probability {
            return Some(Decision::improve(best.id));
        }
        let open: Vec<NodeId> = match self.explore {
            Explore::Subtree => best_of_subtrees(tree),
            Explore::Any => tree.good().map(|node| node.id).collect(),
        };
        open.choose(draws).map(|&id| Decision::improve(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tree::fixture::{Became, add};
    use std::collections::BTreeMap;
    use tasks::metrics::Direction;
    use tasks::stream::Stream;

    const START: Progress = Progress { steps: 0.0, time: 0.0 };

    fn next(policy: AutoMindPolicy, tree: &Tree, index: u64) -> Decision {
        policy.next(tree, START, &mut Stream::root(0).index(index).rng()).unwrap()
    }

    fn policy() -> AutoMindPolicy {
        AutoMindPolicy { drafts: 3, debug_depth: 2, ..AutoMindPolicy::default() }
    }

    /// Three drafts, good .5, good .7, refused; an improvement of the first, .6.
    fn tree() -> Tree {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        for became in [Became::Good(0.5), Became::Good(0.7), Became::Refused] {
            assert_eq!(next(policy(), &tree, 0), Decision::draft());
            add(&mut tree, Decision::draft(), became);
        }
        add(&mut tree, Decision::improve(NodeId(0)), Became::Good(0.6));
        tree
    }

    /// How often each decision is taken, of `count`.
    fn counts(policy: AutoMindPolicy, tree: &Tree, count: u64) -> BTreeMap<String, u64> {
        (0..count).fold(BTreeMap::new(), |mut counts, index| {
            let Decision { operator, parents } = next(policy, tree, index);
            let parent = parents.first().map(ToString::to_string).unwrap_or_default();
            *counts.entry(format!("{} {parent}", operator.name())).or_insert(0) += 1;
            counts
        })
    }

    /// Pearson's statistic of counts against probabilities.
    fn chi_square(counts: &BTreeMap<String, u64>, expected: &[(&str, f64)], count: u64) -> f64 {
        let seen: u64 = expected.iter().filter_map(|(name, _)| counts.get(*name)).sum();
        assert_eq!(seen, count, "nothing else is decided: {counts:?}");
        let term = |(name, share): &(&str, f64)| {
            let expected = share * count as f64;
            (counts.get(*name).copied().unwrap_or(0) as f64 - expected).powi(2) / expected
        };
        expected.iter().map(term).sum()
    }

    #[test]
    fn drafts_come_first_then_repairs_then_improvements() {
        let mut tree = tree();
        let greedy = AutoMindPolicy { greedy_probability: 1.0, ..policy() };
        assert_eq!(next(greedy, &tree, 0), Decision::improve(NodeId(1)));
        let buggy = add(&mut tree, Decision::improve(NodeId(1)), Became::Buggy);
        assert_eq!(next(greedy, &tree, 0), Decision::debug(buggy));
        let never = AutoMindPolicy { debug_probability: 0.0, ..greedy };
        assert_eq!(next(never, &tree, 0), Decision::improve(NodeId(1)));
    }

    #[test]
    fn with_the_rule_of_aide_every_decision_is_that_of_its_policy() {
        let mut tree = tree();
        for _ in 0..2 {
            add(&mut tree, Decision::improve(NodeId(1)), Became::Buggy);
        }
        let aide = AutoMindPolicy {
            rule: PolicyRule::Aide,
            debug_probability: 0.5,
            greedy_probability: 0.0,
            ..policy()
        };
        let greedy = Greedy { drafts: 3, debug_probability: 0.5, debug_depth: 2 };
        let (mut repairs, count) = (0, 400);
        for index in 0..count {
            let expected = greedy.next(&tree, START, &mut Stream::root(0).index(index).rng());
            let found = next(aide, &tree, index);
            assert_eq!(Some(&found), expected.as_ref());
            repairs += u64::from(found.operator == crate::run::node::Operator::Debug);
        }
        // Binomial(400, 1/2): sd 10.
        assert!((160..240).contains(&repairs), "{repairs}");
        let read = |text: &str| toml::from_str::<AutoMindPolicy>(text).map(|policy| policy.rule);
        assert_eq!(read("rule = \"aide\""), Ok(PolicyRule::Aide));
        assert_eq!(read(""), Ok(PolicyRule::AutoMind));
        assert!(read("rule = \"best\"").is_err());
        assert!(!toml::to_string(&AutoMindPolicy::default()).unwrap().contains("rule"));
    }

    #[test]
    fn without_a_good_node_another_draft_is_made() {
        let mut tree = Tree::new(Direction::LowerIsBetter);
        for _ in 0..3 {
            add(&mut tree, Decision::draft(), Became::Refused);
        }
        assert_eq!(next(policy(), &tree, 0), Decision::draft());
    }

    #[test]
    fn repairs_end_at_their_depth_and_go_on_from_leaves_alone() {
        let mut tree = tree();
        let first = add(&mut tree, Decision::improve(NodeId(1)), Became::Buggy);
        let second = add(&mut tree, Decision::debug(first), Became::Buggy);
        for index in 0..50 {
            assert_eq!(next(policy(), &tree, index), Decision::debug(second));
        }
        add(&mut tree, Decision::debug(second), Became::Buggy);
        for index in 0..200 {
            assert_ne!(next(policy(), &tree, index).operator, crate::run::node::Operator::Debug);
        }
    }

    #[test]
    fn improvements_have_their_frequencies() {
        // Node 1 is the best of all; nodes 3 and 1 are the best of the trees of drafts 0 and 1.
        let found = counts(policy(), &tree(), 10_000);
        let expected = [("improve 1", 0.9), ("improve 3", 0.1)];
        let statistic = chi_square(&found, &expected, 10_000);
        // The 99.9 % quantile for one degree of freedom.
        assert!(statistic < 10.83, "{statistic} {found:?}");
        let any = AutoMindPolicy { explore: Explore::Any, ..policy() };
        let found = counts(any, &tree(), 10_000);
        let third = 0.2 / 3.0;
        let expected = [("improve 0", third), ("improve 1", 0.8 + third), ("improve 3", third)];
        let statistic = chi_square(&found, &expected, 10_000);
        // For two.
        assert!(statistic < 13.82, "{statistic} {found:?}");
    }

    #[test]
    fn repairs_have_their_frequency_and_every_leaf_its_share() {
        let mut tree = tree();
        for _ in 0..2 {
            add(&mut tree, Decision::improve(NodeId(1)), Became::Buggy);
        }
        let half = AutoMindPolicy { debug_probability: 0.5, greedy_probability: 1.0, ..policy() };
        let found = counts(half, &tree, 10_000);
        let expected = [("debug 4", 0.25), ("debug 5", 0.25), ("improve 1", 0.5)];
        let statistic = chi_square(&found, &expected, 10_000);
        assert!(statistic < 13.82, "{statistic} {found:?}");
    }

    #[test]
    fn lowest_metric_is_best_where_lower_is_better() {
        let mut tree = Tree::new(Direction::LowerIsBetter);
        for metric in [0.5, 0.7, 0.5] {
            add(&mut tree, Decision::draft(), Became::Good(metric));
        }
        assert_eq!(best_of_subtrees(&tree), [NodeId(0), NodeId(1), NodeId(2)]);
        let greedy = AutoMindPolicy { greedy_probability: 1.0, ..policy() };
        assert_eq!(next(greedy, &tree, 0), Decision::improve(NodeId(0)));
    }
}
