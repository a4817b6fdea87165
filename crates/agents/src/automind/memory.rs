//! What prompts tell of earlier nodes: the plan and the result of every draft, the last good nodes,
//! the best one; no code.

use crate::run::node::{Bug, Node, NodeState, Operator};
use crate::search::tree::Tree;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Good nodes that are no drafts.
const LAST: usize = 10;
/// Characters of a plan.
const PLAN: usize = 1_200;
/// Characters in all. Where there is more, the oldest are left out, but the best stays.
const MOST: usize = 12_000;

/// The memory of a search, the oldest entry first; empty if there is nothing to tell.
pub(super) fn memory(tree: &Tree) -> String {
    let best = tree.best().map(|node| node.id);
    let is_draft = |node: &&Node| node.decision.operator == Operator::Draft;
    let mut shown: BTreeSet<_> = tree.nodes().filter(is_draft).map(|node| node.id).collect();
    let others = tree.good().rev().filter(|node| node.decision.operator != Operator::Draft);
    shown.extend(others.take(LAST).map(|node| node.id));
    shown.extend(best);
    let mut left = MOST;
    let mut texts = Vec::new();
    let mut left_out = 0;
    if let Some(node) = best.and_then(|id| tree.node(id)) {
        left = left.saturating_sub(entry(node, true).chars().count());
    }
    for id in shown.into_iter().rev() {
        let Some(node) = tree.node(id) else { continue };
        let is_best = Some(id) == best;
        let text = entry(node, is_best);
        let size = text.chars().count();
        if is_best {
            texts.push(text);
        } else if size <= left {
            left -= size;
            texts.push(text);
        } else {
            left_out += 1;
            left = 0;
        }
    }
    if left_out > 0 {
        texts.push(format!("({left_out} older ones are left out.)\n"));
    }
    texts.reverse();
    texts.concat()
}

fn entry(node: &Node, is_best: bool) -> String {
    let kind = node.decision.operator.name();
    let best = if is_best { ", the best so far" } else { "" };
    let mut text = format!("- Solution {} ({kind}{best}). Plan: {}\n", node.id, short(&node.plan));
    let result = match (&node.state, &node.judged) {
        (NodeState::Refused { reason }, _) => format!("it failed, there is no script: {reason}"),
        (NodeState::Buggy(bug), Some(judged)) => {
            format!("it failed, {}: {}", bug_in_words(bug), judged.summary)
        }
        (NodeState::Buggy(bug), None) => format!("it failed, {}", bug_in_words(bug)),
        (NodeState::Good, Some(judged)) => judged.summary.clone(),
        (NodeState::Good, None) => "it works".to_owned(),
    };
    let _ = writeln!(text, "  Result: {}", short(&result));
    if let Some(metric) = node.metric.filter(|_| node.is_good()) {
        let _ = writeln!(text, "  Validation: {metric}");
    }
    text
}

/// In one line and not too long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= PLAN {
        return line;
    }
    let head: String = line.chars().take(PLAN).collect();
    format!("{head} …")
}

/// What is wrong with a script.
pub(super) fn bug_in_words(bug: &Bug) -> String {
    match bug {
        Bug::NotFinished => "the script did not finish".to_owned(),
        Bug::NoMetric => "it reports no validation score".to_owned(),
        Bug::NoSubmission => "it left no submission".to_owned(),
        Bug::InvalidSubmission => "its submission is not valid".to_owned(),
        Bug::Judged => "it has a bug".to_owned(),
        Bug::Disputed => "it reports another validation score than it printed".to_owned(),
        Bug::Overfitting => "it overfits".to_owned(),
        Bug::StepFailed { step } => format!("it was given up at step {step}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::node::{Decision, NodeId};
    use crate::search::tree::fixture::{Became, add};
    use tasks::metrics::Direction;

    #[test]
    fn drafts_stay_and_of_other_good_nodes_the_last_and_the_best() {
        let mut tree = Tree::new(Direction::HigherIsBetter);
        for became in [Became::Good(0.5), Became::Buggy, Became::Refused] {
            add(&mut tree, Decision::draft(), became);
        }
        add(&mut tree, Decision::improve(NodeId(0)), Became::Good(0.9));
        for _ in 0..12 {
            add(&mut tree, Decision::improve(NodeId(0)), Became::Good(0.6));
            add(&mut tree, Decision::improve(NodeId(0)), Became::Buggy);
        }
        let text = memory(&tree);
        assert_eq!(text.matches("- Solution").count(), 3 + 10 + 1, "{text}");
        assert!(text.contains("- Solution 3 (improve, the best so far)"), "{text}");
        assert!(text.contains("- Solution 1 (draft)") && text.contains("it failed"), "{text}");
        assert_eq!(memory(&Tree::new(Direction::HigherIsBetter)), "");
    }
}
