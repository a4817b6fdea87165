//! The paper's figure 5: rows per task.

use super::paper;
use crate::numeric::intervals::Quantiles;
use serde::{Deserialize, Serialize};
use tasks::task::RowCounts;

/// Where the bins of the histogram begin; the last is open.
const EDGES: [usize; 10] = [0, 50, 80, 120, 151, 201, 300, 400, 600, 1000];

/// Tasks with a number of rows in a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// The least number of rows.
    pub from: usize,
    /// The greatest; none in the last bin.
    pub to: Option<usize>,
    /// Tasks with so many training rows.
    pub train: usize,
    /// Tasks with so many test rows.
    pub test: usize,
}

/// How large tasks are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Histogram of tasks by their number of rows.
    pub bins: Vec<Bin>,
    /// Quantiles of the number of training rows; `None` without tasks.
    pub train: Option<Quantiles>,
    /// Quantiles of the number of test rows; `None` without tasks.
    pub test: Option<Quantiles>,
    /// Tasks whose training rows are as many as the paper's samples are meant to be.
    pub in_range: usize,
    /// Tasks whose training rows are as many as the samples of most of the paper's tasks.
    pub usual: usize,
}

impl Sizes {
    /// Histogram and quantiles of the rows of all tasks.
    pub fn of(rows: &[RowCounts]) -> Self {
        let bin = |at: usize, from: usize| {
            let to = EDGES.get(at + 1).map(|next| next - 1);
            let holds = |rows: usize| rows >= from && to.is_none_or(|to| rows <= to);
            let count = |size: fn(&RowCounts) -> usize| {
                rows.iter().filter(|rows| holds(size(rows))).count()
            };
            Bin { from, to, train: count(|rows| rows.train), test: count(|rows| rows.test) }
        };
        let within = |(low, high): (usize, usize)| {
            rows.iter().filter(|rows| (low..=high).contains(&rows.train)).count()
        };
        Self {
            bins: EDGES.into_iter().enumerate().map(|(at, from)| bin(at, from)).collect(),
            train: Quantiles::of(rows.iter().map(|rows| rows.train as f64).collect()),
            test: Quantiles::of(rows.iter().map(|rows| rows.test as f64).collect()),
            in_range: within(paper::SIZES),
            usual: within(paper::USUAL_SIZES),
        }
    }
}

impl Bin {
    /// The range in words.
    pub fn label(&self) -> String {
        match self.to {
            Some(to) => format!("{}–{to}", self.from),
            None => format!("from {}", self.from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_in_one_bin() {
        let rows: Vec<RowCounts> = [0, 49, 50, 120, 150, 151, 200, 201, 999, 1000, 70_000]
            .map(|train| RowCounts { train, test: 400 })
            .into();
        let sizes = Sizes::of(&rows);
        assert_eq!(sizes.bins.iter().map(|bin| bin.train).sum::<usize>(), rows.len());
        assert_eq!(sizes.bins.iter().find(|bin| bin.from == 400).unwrap().test, rows.len());
        assert_eq!((sizes.in_range, sizes.usual), (5, 2));
        assert_eq!(sizes.bins.last().unwrap().label(), "from 1000");
    }
}
