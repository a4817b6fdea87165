//! Searches in short form, for the tests of policies.

use super::{Policy, Progress};
use crate::run::node::{Decision, NodeId, RunFacts};
use crate::search::tree::Tree;
use crate::search::tree::fixture::{Became, add};
use jail::exec::Outcome;
use tasks::metrics::Direction;
use tasks::stream::Stream;

/// Nothing of the budget is used.
pub(super) const START: Progress = Progress { steps: 0.0, time: 0.0 };

/// The next decision, such as `improve 3`; `none` if there is none.
pub(super) fn next(policy: &dyn Policy, tree: &Tree) -> String {
    decide(policy, tree, START).as_ref().map_or_else(|| "none".to_owned(), text)
}

/// The next decision. Chance is that of the step.
pub(super) fn decide(policy: &dyn Policy, tree: &Tree, progress: Progress) -> Option<Decision> {
    policy.next(tree, progress, &mut Stream::root(0).index(tree.len() as u64).rng())
}

/// A decision in words, such as `crossover 1 2`.
pub(super) fn text(decision: &Decision) -> String {
    decision
        .parents
        .iter()
        .fold(decision.operator.name().to_owned(), |text, parent| format!("{text} {parent}"))
}

/// The tree after `policy` decided and this became of its decisions, and the decisions in words.
pub(super) fn play(
    policy: &dyn Policy,
    direction: Direction,
    became: &[Became],
) -> (Tree, Vec<String>) {
    let mut tree = Tree::new(direction);
    let mut decisions = Vec::new();
    for became in became {
        let decision = decide(policy, &tree, START).unwrap();
        decisions.push(text(&decision));
        add(&mut tree, decision, *became);
    }
    (tree, decisions)
}

/// Completes a decision that was being worked on.
pub(super) fn complete(tree: &mut Tree, id: u32, became: Became) {
    let mut copy = Tree::new(tree.direction());
    for id in tree.ids() {
        add(&mut copy, tree.decision(id).clone(), became);
    }
    tree.complete(copy.node(NodeId(id)).unwrap().clone());
}

/// Adds a decision whose script was buggy after so many hours.
pub(super) fn add_buggy(tree: &mut Tree, decision: Decision, hours: f64) -> NodeId {
    let mut copy = tree.clone();
    let id = add(&mut copy, decision.clone(), Became::Buggy);
    let mut node = copy.node(id).unwrap().clone();
    let wall = hours * 3600.0;
    node.run = Some(RunFacts {
        outcome: Outcome::TimedOut,
        wall,
        processor: wall,
        peak_memory: 0,
        cached: false,
    });
    tree.decide(decision);
    tree.complete(node);
    id
}
