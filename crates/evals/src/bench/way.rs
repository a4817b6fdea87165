//! How far a run came on a task of ours: the share of the way from the constant baseline (R0) to
//! the ceiling, after each step. It is a ruler for searches, finer than medals.

use crate::statistics::{bootstrap, mean, sign_flip};
use agents::search::node::{BlobHash, Node};
use agents::search::tree::Tree;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::metrics::Direction;
use tasks::stream::Stream;
use tasks::task::Baselines;

/// Shares of the way from R0 to the ceiling, in [0, 1]: 0 without a valid submission and for one
/// that is no better than R0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WayShares {
    /// By steps: of the submission that would have been chosen after the first, the second, …
    pub by_step: Vec<f64>,
}

impl WayShares {
    /// From all nodes of a search in their order, and the scores of their submissions on the test
    /// rows; an invalid one has none.
    pub fn from_nodes<'a>(
        nodes: impl Iterator<Item = &'a Node>,
        scores: &BTreeMap<&BlobHash, Option<f64>>,
        baselines: &Baselines,
        direction: Direction,
    ) -> Self {
        let start = direction.gain(baselines.ladder[0]);
        let whole = direction.gain(baselines.ceiling) - start;
        let share = |node: &Node| {
            let score = scores.get(node.submission.as_ref()?).copied().flatten()?;
            Some(((direction.gain(score) - start) / whole).clamp(0.0, 1.0))
        };
        let mut tree = Tree::new(direction);
        let by_step = nodes.map(|node| {
            tree.decide(node.decision.clone());
            tree.complete(node.clone());
            tree.chosen().and_then(share).unwrap_or(0.0)
        });
        Self { by_step: by_step.collect() }
    }

    /// After `steps` steps; a search that ended before stays where it was. 0 before the first.
    pub fn after(&self, steps: usize) -> f64 {
        let reached = self.by_step.get(..steps).unwrap_or(&self.by_step);
        reached.last().copied().unwrap_or(0.0)
    }

    /// At the end.
    pub fn last(&self) -> f64 {
        self.after(self.by_step.len())
    }
}

/// A mean over tasks with its 95 % interval from a bootstrap over tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WayEstimate {
    /// Number of tasks.
    pub tasks: usize,
    /// Mean over tasks of means over seeds.
    pub mean: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// Two-sided, by flipping signs; of a difference.
    pub p: f64,
}

impl WayEstimate {
    /// From one number per task; `None` without any.
    pub fn from_tasks(values: &[f64], stream: Stream) -> Option<Self> {
        Some(Self {
            tasks: values.len(),
            mean: mean(values.iter().copied()),
            interval: bootstrap(values, stream.child("tasks"))?.interval,
            p: sign_flip(values, stream.child("signs")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::search::node::{Bug, Decision, NodeId, NodeState};

    fn node(id: u32, metric: Option<f64>, submission: Option<&str>) -> Node {
        Node {
            id: NodeId(id),
            decision: Decision::draft(),
            plan: String::new(),
            code: None,
            output: None,
            run: None,
            metric,
            judged: None,
            state: if metric.is_some() { NodeState::Good } else { NodeState::Buggy(Bug::NoMetric) },
            submission: submission.map(|text| BlobHash(text.to_owned())),
            invalid: None,
            ended_at: 0.0,
        }
    }

    #[test]
    fn share_is_that_of_the_submission_which_the_search_would_choose() {
        let baselines = Baselines { ladder: [10.0, 8.0, 6.0, 5.0], ceiling: 2.0 };
        let [a, b, c] = ["a", "b", "c"].map(|name| BlobHash(name.to_owned()));
        let scores = BTreeMap::from([(&a, Some(6.0)), (&b, Some(4.0)), (&c, Some(12.0))]);
        let nodes = [
            node(0, None, None),
            // Not good, but valid: better than nothing.
            node(1, None, Some("c")),
            node(2, Some(5.0), Some("a")),
            // A worse validation error, so that its better test error does not count.
            node(3, Some(7.0), Some("b")),
            node(4, Some(4.0), Some("b")),
        ];
        let direction = Direction::LowerIsBetter;
        let shares = WayShares::from_nodes(nodes.iter(), &scores, &baselines, direction);
        assert_eq!(shares.by_step, [0.0, 0.0, 0.5, 0.5, 0.75]);
        assert_eq!((shares.after(0), shares.after(3), shares.after(9)), (0.0, 0.5, 0.75));
        assert_eq!(shares.last(), 0.75);
    }
}
