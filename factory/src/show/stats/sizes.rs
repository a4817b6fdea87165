//! The paper's figure 5: rows per task.

use super::groups::numbers;
use super::paper;
use crate::numeric::intervals::Quantiles;
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

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
    /// Histogram and quantiles of `train_rows` and `test_rows` of a table with a row per task.
    pub(super) fn from_tasks(tasks: &DataFrame) -> Self {
        let [train, test] = ["train_rows", "test_rows"].map(|column| numbers(tasks, column));
        let within = |rows: &[f64], low: usize, high: Option<usize>| {
            let holds =
                |rows: &&f64| **rows >= low as f64 && high.is_none_or(|high| **rows <= high as f64);
            rows.iter().filter(holds).count()
        };
        let bin = |(at, from): (usize, usize)| {
            let to = EDGES.get(at + 1).map(|next| next - 1);
            Bin { from, to, train: within(&train, from, to), test: within(&test, from, to) }
        };
        let ((low, high), (usual_low, usual_high)) = (paper::SIZES, paper::USUAL_SIZES);
        Self {
            bins: EDGES.into_iter().enumerate().map(bin).collect(),
            in_range: within(&train, low, Some(high)),
            usual: within(&train, usual_low, Some(usual_high)),
            train: Quantiles::of(train),
            test: Quantiles::of(test),
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
    use crate::data::table;

    #[test]
    fn every_task_is_in_one_bin() {
        let train = [0.0, 49.0, 50.0, 120.0, 150.0, 151.0, 200.0, 201.0, 999.0, 1000.0, 70_000.0];
        let sizes = Sizes::from_tasks(&table::from_columns(vec![
            table::numbers("train_rows", &train, 0),
            table::numbers("test_rows", &[400.0; 11], 0),
        ]));
        assert_eq!(sizes.bins.iter().map(|bin| bin.train).sum::<usize>(), train.len());
        assert_eq!(sizes.bins.iter().find(|bin| bin.from == 400).unwrap().test, train.len());
        assert_eq!((sizes.in_range, sizes.usual), (5, 2));
        assert_eq!(sizes.bins.last().unwrap().label(), "from 1000");
    }
}
