//! Two arms on the same tasks with the same seeds.

use super::cell::{Cell, CellMeasure};
use crate::statistics::{bootstrap, bootstrap_crossed, mean, sign_flip};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

/// The cells of an arm, by task and seed.
pub type Cells = BTreeMap<(String, u64), Cell>;

/// A number of each cell, by task and seed.
pub type Values = BTreeMap<(String, u64), f64>;

/// A mean over tasks and seeds, with its error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// Cells that it is of.
    pub cells: usize,
    /// Tasks that have one.
    pub tasks: usize,
    /// Seeds that have one.
    pub seeds: usize,
    /// The mean over the cells.
    pub mean: f64,
    /// Its standard error, from a bootstrap over tasks and seeds.
    pub error: f64,
    /// The 95 % interval of that bootstrap.
    pub interval: (f64, f64),
}

/// One arm less another, over the tasks and seeds that both have grades on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairEstimate {
    /// The first arm.
    pub arm: String,
    /// The arm that is taken away.
    pub base: String,
    /// What is compared.
    pub measure: CellMeasure,
    /// The mean difference over tasks and seeds.
    pub difference: Estimate,
    /// Tasks on which the first is better, by the mean over seeds.
    pub won: usize,
    /// Tasks on which the second is better.
    pub lost: usize,
    /// Two-sided, by flipping the signs of tasks.
    pub p: f64,
    /// The difference of each seed alone.
    pub by_seed: Vec<SeedDifference>,
}

/// The difference of one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedDifference {
    /// The seed.
    pub seed: u64,
    /// Tasks that it is of.
    pub tasks: usize,
    /// The mean over them.
    pub mean: f64,
    /// Its 95 % interval, from a bootstrap over tasks.
    pub interval: (f64, f64),
}

/// The draws of every interval: the same for all arms, so that equal results have equal errors.
fn draws(purpose: &str) -> Stream {
    Stream::root(0).child("ablation").child(purpose)
}

/// One number of each cell that has it.
pub fn values(cells: &Cells, measure: CellMeasure) -> Values {
    cells.iter().filter_map(|(key, cell)| Some((key.clone(), cell.value(measure)?))).collect()
}

impl Estimate {
    /// The mean of `values`; `None` without any.
    pub fn of(values: &Values) -> Option<Self> {
        let tasks: BTreeSet<&String> = values.keys().map(|(task, _)| task).collect();
        let seeds: BTreeSet<u64> = values.keys().map(|(_, seed)| *seed).collect();
        let row = |task: &&String| {
            seeds.iter().map(|seed| values.get(&((*task).clone(), *seed)).copied()).collect()
        };
        let table: Vec<Vec<Option<f64>>> = tasks.iter().map(row).collect();
        let found = bootstrap_crossed(&table, draws("tasks and seeds"))?;
        Some(Self {
            cells: values.len(),
            tasks: tasks.len(),
            seeds: seeds.len(),
            mean: mean(values.values().copied()),
            error: found.error,
            interval: found.interval,
        })
    }
}

/// The differences of the cells that both have.
pub fn differences(arm: &Values, base: &Values) -> Values {
    let both = arm.iter().filter_map(|(key, value)| Some((key.clone(), value - base.get(key)?)));
    both.collect()
}

impl PairEstimate {
    /// `arm` less `base`; `None` if they have no cell in common.
    pub fn of(
        (arm, of_arm): (&str, &Values),
        (base, of_base): (&str, &Values),
        measure: CellMeasure,
    ) -> Option<Self> {
        let cells = differences(of_arm, of_base);
        let difference = Estimate::of(&cells)?;
        let mut by_task: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        let mut by_seed: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for ((task, seed), value) in &cells {
            by_task.entry(task).or_default().push(*value);
            by_seed.entry(*seed).or_default().push(*value);
        }
        let of_tasks: Vec<f64> =
            by_task.values().map(|values| mean(values.iter().copied())).collect();
        let seed = |(seed, values): (u64, Vec<f64>)| {
            Some(SeedDifference {
                seed,
                tasks: values.len(),
                mean: mean(values.iter().copied()),
                interval: bootstrap(&values, draws("tasks"))?.interval,
            })
        };
        Some(Self {
            arm: arm.to_owned(),
            base: base.to_owned(),
            measure,
            difference,
            won: of_tasks.iter().filter(|value| **value > 0.0).count(),
            lost: of_tasks.iter().filter(|value| **value < 0.0).count(),
            p: sign_flip(&of_tasks, draws("signs")),
            by_seed: by_seed.into_iter().filter_map(seed).collect(),
        })
    }
}
