//! One set of labels from several votes.

use super::labels::{GENERAL, Label, LabelTree, TaskLabels};
use std::collections::BTreeMap;

/// The labels that most votes have: first the hard ones, then of each its soft ones among the votes
/// that have it. Where nothing has more than half, the most frequent one is taken, and of equally
/// frequent ones the first of the tree. The general label stays only where no other is kept. Without a
/// vote there is no label.
///
/// # Examples
/// ```rust
/// use agents::knowledge::{LabelTree, TaskLabels, majority};
///
/// let tree = LabelTree::parse("labels.toml", "[[label]]\nhard = \"A\"\nsoft = [\"x\", \"y\"]\n")?;
/// let vote = |labels: &[&str]| labels.iter().map(|l| l.parse()).collect::<Result<TaskLabels, _>>();
/// let votes = [vote(&["A/x"])?, vote(&["A/x", "A/y"])?, vote(&["A/y", "A/x"])?];
/// assert_eq!(majority(&votes, &tree).to_string(), "A: x, y");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn majority(votes: &[TaskLabels], tree: &LabelTree) -> TaskLabels {
    let order: Vec<&str> = tree.hard().iter().map(|hard| hard.name.as_str()).collect();
    let hard = most(votes.iter().map(|vote| vote.hard().collect()).collect(), &order);
    let is_special = hard.iter().any(|hard| *hard != GENERAL);
    let mut labels = TaskLabels::default();
    for hard in hard.into_iter().filter(|hard| !is_special || *hard != GENERAL) {
        labels.insert_hard(hard);
        let order: Vec<&str> = tree.soft(hard).iter().map(String::as_str).collect();
        let having = votes.iter().filter_map(|vote| vote.soft(hard));
        let soft = having.map(|soft| soft.iter().map(String::as_str).collect()).collect();
        for soft in most(soft, &order) {
            labels.insert(Label { hard: hard.to_owned(), soft: soft.to_owned() });
        }
    }
    labels
}

/// The names that more than half of the votes have, else the most frequent one.
fn most<'a>(votes: Vec<Vec<&'a str>>, order: &[&str]) -> Vec<&'a str> {
    let all = votes.len();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in votes.into_iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let kept: Vec<&str> =
        counts.iter().filter(|(_, count)| 2 * **count > all).map(|(name, _)| *name).collect();
    if !kept.is_empty() {
        return kept;
    }
    let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(usize::MAX);
    let first = counts.into_iter().min_by(|a, b| {
        b.1.cmp(&a.1).then_with(|| place(a.0).cmp(&place(b.0))).then_with(|| a.0.cmp(b.0))
    });
    first.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::fixture::TREE;
    use proptest::prelude::*;

    fn tree() -> LabelTree {
        LabelTree::parse("labels.toml", TREE).unwrap()
    }

    fn vote(labels: &[&str]) -> TaskLabels {
        labels.iter().map(|label| label.parse().unwrap()).collect()
    }

    #[test]
    fn more_than_half_decide_hard_labels_then_soft_ones() {
        let graph = "Graph Learning/Node Classification";
        let links = "Graph Learning/Link Prediction";
        let general = "General Machine Learning/Classification";
        for (votes, expected) in [
            (vec![vec![graph]; 5], "Graph Learning: Node Classification"),
            // Three of five for the field; of these three, two for links.
            (
                vec![vec![graph], vec![links], vec![links], vec![general], vec![general]],
                "Graph Learning: Link Prediction",
            ),
            // The general label only where nothing else fits.
            (
                vec![vec![graph, general], vec![graph, general], vec![graph, general]],
                "Graph Learning: Node Classification",
            ),
            // Nothing has more than half: the most frequent, then the first of the tree.
            (
                vec![vec![graph], vec![general], vec![general, graph], vec![]],
                "Graph Learning: Node Classification",
            ),
            (vec![vec![links], vec![graph]], "Graph Learning: Node Classification"),
            (vec![], ""),
        ] {
            let votes: Vec<TaskLabels> = votes.iter().map(|labels| vote(labels)).collect();
            assert_eq!(majority(&votes, &tree()).to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn order_of_votes_does_not_matter(picks in prop::collection::vec(0..4_usize, 1..6), shift in 0..6_usize) {
            let all = [
                vec!["Graph Learning/Node Classification"],
                vec!["Graph Learning/Link Prediction", "General Machine Learning/Regression"],
                vec!["General Machine Learning/Regression"],
                vec!["General Machine Learning/Classification", "Graph Learning/own words"],
            ];
            let votes: Vec<TaskLabels> = picks.iter().map(|pick| vote(&all[*pick])).collect();
            let mut turned = votes.clone();
            turned.rotate_left(shift % votes.len());
            let labels = majority(&votes, &tree());
            prop_assert_eq!(&labels, &majority(&turned, &tree()));
            prop_assert!(!labels.is_empty());
        }
    }
}
