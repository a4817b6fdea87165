//! Runs that differ in their seed alone, and what they come to together.

use super::files::RunState;
use super::run::RunReport;
use crate::agents::Mode;
use crate::ledger::Protocol;
use evals::statistics::{bootstrap_crossed, mean};
use serde::Serialize;
use std::collections::BTreeMap;
use tasks::stream::Stream;

/// Runs of one agent on one task, in one mode, from one base, under one protocol.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The task.
    pub task: String,
    /// The agent, with the chat model that it asks.
    pub agent: String,
    /// The base model's folder.
    pub base_model: String,
    /// The mode.
    pub mode: Mode,
    /// What submissions are scored on; scores of two protocols are never in one group.
    pub protocol: Protocol,
    /// The names of its runs, by seed.
    pub runs: Vec<String>,
    /// How many of them are finished; the numbers below are of those.
    pub finished: usize,
    /// Mean final score of the base.
    pub base: Option<f64>,
    /// Mean final score of the best submission.
    pub best: Option<f64>,
    /// Mean final improvement.
    pub improvement: Option<f64>,
    /// Its 95 % interval: over items, and over seeds where there are several.
    pub interval: Option<(f64, f64)>,
}

impl Group {
    /// Whether the numbers are of one seed.
    pub fn is_one_seed(&self) -> bool {
        self.finished == 1
    }
}

/// The groups of some runs, by task, agent, mode.
pub fn groups(runs: &[RunReport]) -> Vec<Group> {
    let mut all: BTreeMap<(&str, String, &str, Mode, bool), Vec<&RunReport>> = BTreeMap::new();
    for run in runs {
        let is_paper = run.compliance.protocol == Protocol::Paper;
        let key = (&*run.task, agent(run), &*run.base_model, run.compliance.mode, is_paper);
        all.entry(key).or_default().push(run);
    }
    all.into_values().map(|runs| group(&runs)).collect()
}

/// An agent with the chat model that it asks.
pub(super) fn agent(run: &RunReport) -> String {
    match &run.driver_model {
        Some(model) => format!("{} ({model})", run.agent),
        None => run.agent.clone(),
    }
}

fn group(runs: &[&RunReport]) -> Group {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| run.seed);
    let first = runs[0];
    let finished: Vec<&RunReport> =
        runs.iter().copied().filter(|run| run.metrics.state == RunState::Finished).collect();
    let over = |value: fn(&crate::audit::metrics::Metrics) -> Option<f64>| {
        let values: Option<Vec<f64>> =
            finished.iter().map(|run| run.metrics.ledger.as_ref().and_then(value)).collect();
        values.filter(|all| !all.is_empty()).map(|all| mean(all.into_iter()))
    };
    let interval = match finished.as_slice() {
        [] => None,
        [one] => one.metrics.interval,
        several => {
            let cells: Option<Vec<Vec<Option<f64>>>> = several
                .iter()
                .map(|run| Some(run.gains.as_ref()?.iter().copied().map(Some).collect()))
                .collect();
            let stream = Stream::root(0).child("posttrain").child("report").child(&first.task);
            cells.and_then(|cells| bootstrap_crossed(&cells, stream)).map(|found| found.interval)
        }
    };
    Group {
        task: first.task.clone(),
        agent: agent(first),
        base_model: first.base_model.clone(),
        mode: first.compliance.mode,
        protocol: first.compliance.protocol,
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        finished: finished.len(),
        base: over(|metrics| metrics.final_base),
        best: over(|metrics| metrics.final_best),
        improvement: over(|metrics| metrics.final_improvement),
        interval,
    }
}
