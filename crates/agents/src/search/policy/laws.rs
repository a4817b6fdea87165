//! What holds for every policy, whatever becomes of its decisions.

use super::fixture::{decide, text};
use super::{Drafts, Evolution, Greedy, Mcts, MlMaster, Policy, Progress};
use crate::automind::AutoMindPolicy;
use crate::run::node::{Decision, NodeId, Operator};
use crate::search::tree::Tree;
use crate::search::tree::fixture::{Became, add};
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Instant;
use tasks::metrics::Direction;

/// All policies with the most repairs in a row that they make. Small ones, so that their limits
/// are met, and those of the papers.
fn policies() -> Vec<(Box<dyn Policy>, u32)> {
    let mcts = Mcts { children: 2, debug_depth: 2, ..Mcts::default() };
    let evolution = Evolution {
        generations: 8,
        individuals: 2,
        islands: 2,
        capacity: 3,
        debug_depth: 2,
        ..Evolution::default()
    };
    let ml_master = MlMaster {
        drafts: 2,
        improves: 2,
        failures: 2,
        back_up_depth: 1,
        debug_depth: 2,
        ..MlMaster::default()
    };
    vec![
        (Box::new(Drafts {}), 0),
        (Box::new(Greedy { drafts: 2, debug_depth: 2, ..Greedy::default() }), 2),
        (Box::new(Greedy::AIRA), 20),
        (Box::new(mcts), 2),
        (Box::new(Mcts::default()), 20),
        (Box::new(evolution), 2),
        (Box::new(Evolution::default()), 10),
        (Box::new(ml_master), 2),
        (Box::new(MlMaster::default()), 20),
        (Box::new(AutoMindPolicy { drafts: 2, debug_depth: 2, ..AutoMindPolicy::default() }), 2),
    ]
}

fn metric() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => prop::sample::select(vec![-1.0, 0.0, 0.1, 0.5, 0.500_05, 0.7, 1.0]),
        2 => -1.0..1.0,
        1 => prop::sample::select(vec![f64::MAX, f64::MIN, f64::MIN_POSITIVE]),
    ]
}

/// What becomes of a decision, once it is complete.
fn became() -> impl Strategy<Value = Became> {
    prop_oneof![
        4 => metric().prop_map(Became::Good),
        4 => Just(Became::Buggy),
        1 => Just(Became::Refused),
    ]
}

fn direction() -> impl Strategy<Value = Direction> {
    prop::sample::select(vec![Direction::HigherIsBetter, Direction::LowerIsBetter])
}

/// A search: decisions in their order, and what became of those that are complete.
#[derive(Debug, Clone)]
struct PastSearch {
    direction: Direction,
    steps: Vec<(Decision, Became)>,
}

impl PastSearch {
    /// The tree after the first `steps`, of which the last `pending` are being worked on.
    fn tree(&self, steps: usize, pending: usize) -> Tree {
        let mut tree = Tree::new(self.direction);
        for (step, (decision, became)) in self.steps[..steps].iter().enumerate() {
            let worked_on = step + pending >= steps;
            add(&mut tree, decision.clone(), if worked_on { Became::Pending } else { *became });
        }
        tree
    }
}

/// Checks that `decision` may be taken on `tree`.
fn check(tree: &Tree, decision: &Decision, depth: u32) -> Result<(), TestCaseError> {
    let wanted = match decision.operator {
        Operator::Draft => 0,
        Operator::Improve | Operator::Debug => 1,
        Operator::Crossover => 2,
    };
    prop_assert_eq!(decision.parents.len(), wanted);
    for (place, parent) in decision.parents.iter().enumerate() {
        let node = tree.node(*parent);
        prop_assert!(node.is_some(), "{} is being worked on: {}", parent, text(decision));
        let fits = node.is_some_and(|node| match decision.operator {
            Operator::Debug => node.is_buggy(),
            _ => node.is_good(),
        });
        prop_assert!(fits, "{} is {:?}: {}", parent, node, text(decision));
        prop_assert!(!decision.parents[..place].contains(parent), "{}", text(decision));
    }
    if decision.operator == Operator::Debug {
        prop_assert!(tree.debug_depth(decision.parents[0]) < depth);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With any number of workers, decisions name parents that are fit for them, and depend on
    /// nothing but the tree: a search that goes on from a prefix of its journal goes on as it did.
    #[test]
    fn decisions_fit_and_are_a_function_of_the_tree(
        direction in direction(),
        became in vec(became(), 1..50),
        workers in 1usize..7,
        share in 0.0..=1.0,
    ) {
        let progress = Progress { steps: share, time: 0.0 };
        for (policy, depth) in policies() {
            let mut past = PastSearch { direction, steps: Vec::new() };
            for (step, became) in became.iter().enumerate() {
                let tree = past.tree(step, step.min(workers - 1));
                let Some(decision) = decide(&*policy, &tree, progress) else { break };
                check(&tree, &decision, depth)?;
                prop_assert_eq!(decide(&*policy, &tree, progress), Some(decision.clone()));
                past.steps.push((decision, *became));
            }
            for step in 0..past.steps.len() {
                let tree = past.tree(step, step.min(workers - 1));
                let again = decide(&*policy, &tree, progress);
                prop_assert_eq!(again.as_ref(), Some(&past.steps[step].0));
            }
        }
    }

    /// A policy also goes on from a tree that it would not have made.
    #[test]
    fn decisions_fit_whatever_the_tree(
        direction in direction(),
        nodes in vec((0usize..4, any::<u32>(), any::<u32>(), became(), any::<bool>()), 0..40),
    ) {
        let mut tree = Tree::new(direction);
        for (operator, one, other, became, pending) in nodes {
            let parent = |chosen: u32| NodeId(chosen % u32::try_from(tree.len()).unwrap());
            let decision = match operator {
                _ if tree.is_empty() => Decision::draft(),
                0 => Decision::draft(),
                1 => Decision::improve(parent(one)),
                2 => Decision::debug(parent(one)),
                _ if parent(one) == parent(other) => Decision::improve(parent(one)),
                _ => Decision::crossover(parent(one), parent(other)),
            };
            add(&mut tree, decision, if pending { Became::Pending } else { became });
        }
        for (policy, depth) in policies() {
            let progress = Progress { steps: 0.0, time: 0.5 };
            if let Some(decision) = decide(&*policy, &tree, progress) {
                check(&tree, &decision, depth)?;
            }
        }
    }
}

/// Prints how long searches of 500 and 10,000 steps take:
/// `cargo nextest run -p agents --release --run-ignored only --no-capture duration_of_decisions`.
#[test]
#[ignore = "measures time"]
fn duration_of_decisions() {
    let forever = Evolution { generations: usize::MAX, ..Evolution::default() };
    let policies: [(&str, &dyn Policy); 4] = [
        ("aira-greedy", &Greedy::AIRA),
        ("aira-mcts", &Mcts::default()),
        ("aira-evo", &forever),
        ("ml-master", &MlMaster::default()),
    ];
    for (name, policy) in policies {
        for steps in [500, 10_000] {
            let mut tree = Tree::new(Direction::HigherIsBetter);
            let begin = Instant::now();
            for step in 0..steps {
                let share = f64::from(step) / f64::from(steps);
                let progress = Progress { steps: share, time: 0.0 };
                let decision = decide(policy, &tree, progress).unwrap();
                // A third of the scripts is buggy; metrics rise slowly and vary.
                let became = match step * 7 % 11 {
                    0..4 => Became::Buggy,
                    rest => Became::Good(f64::from(rest) + share),
                };
                add(&mut tree, decision, became);
            }
            println!("{name}, {steps} steps: {:.3} s", begin.elapsed().as_secs_f64());
        }
    }
}
