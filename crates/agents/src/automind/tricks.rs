//! The life of a trick: drawn, asked about, tried, and perhaps marked as of no use for the run.
//!
//! What was applied is a set of each node, copied from its parent, so that no branch sees what
//! another tried. Which tricks are marked follows from the tree alone.

use super::metric::standard_error;
use super::settings::{MarkTrick, TrickSettings};
use crate::knowledge::TrickUse;
use crate::run::knowledge::{ReadyKnowledge, ReadyTrick};
use crate::run::node::{Node, NodeId};
use crate::search::tree::Tree;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use tasks::metrics::Direction;
use tasks::task::TaskId;

/// Ids of the tricks in the plan of a node.
pub fn applied(tree: &Tree, node: Option<NodeId>) -> BTreeSet<String> {
    let facts = node.and_then(|id| tree.node(id)?.automind.as_ref());
    facts.map(|facts| facts.applied.clone()).unwrap_or_default()
}

/// Ids of tricks that did not help where they were tried: the script with the trick works, and is
/// not better than that of the node which the trick was to improve.
pub fn marked(tree: &Tree, mark: MarkTrick) -> BTreeSet<String> {
    let failed = |node: &Node| {
        let facts = node.automind.as_ref()?;
        let tried = facts.applying.as_ref()?;
        let (own, base) = (tree.gain(node.id)?, tree.gain(tried.base)?);
        let margin = match mark {
            MarkTrick::Any => None,
            MarkTrick::Significant => standard_error(&facts.folds),
        };
        let is_useless = margin.map_or(own <= base, |error| own < base - error);
        is_useless.then(|| tried.trick.clone())
    };
    tree.good().filter_map(failed).collect()
}

/// How the tricks of a run fared: each script that tries one and works, beside the script that it
/// was to improve. Tricks that a model made for this run alone are left out.
pub fn uses(
    tree: &Tree,
    ready: &ReadyKnowledge,
    task: &TaskId,
    direction: Direction,
) -> Vec<TrickUse> {
    let used = |node: &Node| {
        let tried = node.automind.as_ref()?.applying.as_ref()?;
        ready.trick(&tried.trick).filter(|trick| trick.from.is_empty())?;
        Some(TrickUse {
            trick: tried.trick.clone(),
            task: task.to_string(),
            labels: ready.labels.clone(),
            direction,
            parent: tree.node(tried.base)?.metric?,
            child: node.metric?,
        })
    };
    tree.good().filter_map(used).collect()
}

/// The trick that an improvement of `parent` tries; `None` for an improvement without one.
///
/// Candidates are tricks that are not applied up to `parent` and go with those that are. One of
/// those that are not marked is drawn; if all are marked, a coin decides between one of them and
/// none.
pub fn draw<'a>(
    ready: &'a [ReadyTrick],
    tree: &Tree,
    parent: NodeId,
    settings: &TrickSettings,
    draws: &mut ChaCha8Rng,
) -> Option<&'a ReadyTrick> {
    if draws.random::<f64>() >= settings.probability {
        return None;
    }
    let (applied, marked) = (applied(tree, Some(parent)), marked(tree, settings.mark));
    let is_excluded = |trick: &ReadyTrick| {
        let excludes = |id: &String| {
            let other = ready.iter().find(|other| other.id == *id);
            trick.excludes.contains(id)
                || other.is_some_and(|other| other.excludes.contains(&trick.id))
        };
        applied.iter().any(excludes)
    };
    let candidates: Vec<&ReadyTrick> =
        ready.iter().filter(|trick| !applied.contains(&trick.id) && !is_excluded(trick)).collect();
    let fresh: Vec<&ReadyTrick> =
        candidates.iter().copied().filter(|trick| !marked.contains(&trick.id)).collect();
    if let Some(trick) = fresh.choose(draws) {
        return Some(trick);
    }
    if draws.random_bool(0.5) { candidates.choose(draws).copied() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Stage;
    use crate::run::node::Decision;
    use crate::run::node_facts::{AutoMindFacts, TriedTrick};
    use crate::search::tree::fixture::{Became, add};
    use tasks::stream::Stream;

    fn trick(id: &str, excludes: &[&str]) -> ReadyTrick {
        ReadyTrick {
            id: id.to_owned(),
            title: String::new(),
            stage: Stage::Features,
            text: String::new(),
            excludes: excludes.iter().map(|id| (*id).to_owned()).collect(),
            snippet: None,
            from: Vec::new(),
        }
    }

    /// Adds a node whose plan has `applied` and tries the last of them on `base`.
    fn tried(
        tree: &mut Tree,
        decision: Decision,
        became: Became,
        applied: &[&str],
        base: Option<NodeId>,
        folds: &[f64],
    ) -> NodeId {
        let mut copy = tree.clone();
        let id = add(&mut copy, decision.clone(), became);
        let mut node = copy.node(id).unwrap().clone();
        let mut facts = AutoMindFacts::new(applied.iter().map(|id| (*id).to_owned()).collect());
        facts.applying =
            base.map(|base| TriedTrick { trick: (*applied.last().unwrap()).to_owned(), base });
        facts.folds = folds.to_vec();
        node.automind = Some(Box::new(facts));
        tree.decide(decision);
        tree.complete(node);
        id
    }

    fn drawn(ready: &[ReadyTrick], tree: &Tree, parent: NodeId) -> (BTreeSet<String>, usize) {
        let settings = TrickSettings { probability: 1.0, ..TrickSettings::default() };
        let (mut seen, mut none) = (BTreeSet::new(), 0);
        for index in 0..400 {
            let mut draws = Stream::root(0).index(index).rng();
            match draw(ready, tree, parent, &settings, &mut draws) {
                Some(trick) => drop(seen.insert(trick.id.clone())),
                None => none += 1,
            }
        }
        (seen, none)
    }

    fn set(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn branches_have_sets_of_their_own() {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        let draft = tried(&mut tree, Decision::draft(), Became::Good(0.5), &[], None, &[]);
        let one =
            tried(&mut tree, Decision::improve(draft), Became::Good(0.6), &["a"], Some(draft), &[]);
        let two =
            tried(&mut tree, Decision::improve(draft), Became::Good(0.6), &["b"], Some(draft), &[]);
        let below = tried(
            &mut tree,
            Decision::improve(one),
            Became::Good(0.7),
            &["a", "c"],
            Some(one),
            &[],
        );
        let ready = ["a", "b", "c"].map(|id| trick(id, &[]));
        assert_eq!(drawn(&ready, &tree, draft).0, set(&["a", "b", "c"]));
        assert_eq!(drawn(&ready, &tree, two).0, set(&["a", "c"]));
        assert_eq!(drawn(&ready, &tree, below).0, set(&["b"]));
        assert!(marked(&tree, MarkTrick::Any).is_empty());
    }

    #[test]
    fn trick_that_does_not_help_is_marked_also_through_repairs() {
        let mut tree = Tree::new(Direction::LowerIsBetter);
        let draft = tried(&mut tree, Decision::draft(), Became::Good(0.5), &[], None, &[]);
        let buggy =
            tried(&mut tree, Decision::improve(draft), Became::Buggy, &["a"], Some(draft), &[]);
        assert!(marked(&tree, MarkTrick::Any).is_empty(), "it does not work yet");
        tried(&mut tree, Decision::debug(buggy), Became::Good(0.5), &["a"], Some(draft), &[]);
        assert_eq!(marked(&tree, MarkTrick::Any), set(&["a"]));
        tried(&mut tree, Decision::improve(draft), Became::Good(0.4), &["b"], Some(draft), &[]);
        assert_eq!(marked(&tree, MarkTrick::Any), set(&["a"]));
        let ready = ["a", "b"].map(|id| trick(id, &[]));
        // What is marked is drawn only where nothing else is left, and then half of the time.
        assert_eq!(drawn(&ready, &tree, draft), (set(&["b"]), 0));
        let (seen, none) = drawn(&ready[..1], &tree, draft);
        assert_eq!(seen, set(&["a"]));
        assert!((150..250).contains(&none), "{none}");
    }

    #[test]
    fn folds_excuse_a_trick_that_was_unlucky() {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        let draft = tried(&mut tree, Decision::draft(), Became::Good(0.5), &[], None, &[]);
        let spread = [0.3, 0.5, 0.67];
        tried(
            &mut tree,
            Decision::improve(draft),
            Became::Good(0.49),
            &["a"],
            Some(draft),
            &spread,
        );
        assert_eq!(marked(&tree, MarkTrick::Any), set(&["a"]));
        assert!(marked(&tree, MarkTrick::Significant).is_empty());
        tried(&mut tree, Decision::improve(draft), Became::Good(0.3), &["b"], Some(draft), &spread);
        assert_eq!(marked(&tree, MarkTrick::Significant), set(&["b"]));
    }

    #[test]
    fn tricks_that_do_not_go_together_are_not_drawn() {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        let draft = tried(&mut tree, Decision::draft(), Became::Good(0.5), &[], None, &[]);
        let one =
            tried(&mut tree, Decision::improve(draft), Became::Good(0.6), &["a"], Some(draft), &[]);
        let ready = [trick("a", &["b"]), trick("b", &[]), trick("c", &["a"]), trick("d", &[])];
        assert_eq!(drawn(&ready, &tree, one).0, set(&["d"]));
    }
}
