//! What the trials of a corpus came to, for people and as JSON.

use crate::numeric::intervals::Quantiles;
use crate::spec::mix::Cell;
use crate::verify::Refusal;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tasks::task::TaskDir;
use tasks::thresholds::Milestone;

/// The version of [`Trials`] that this build writes.
const TRIALS_VERSION: u32 = 1;

/// Best tiers by name, the lowest first.
const TIERS: [&str; 5] = ["none", "median", "bronze", "silver", "gold"];

/// A reference script's valid submission.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Attempt {
    /// Wall time of the script, in seconds.
    pub seconds: f64,
    /// Its processor time, in seconds, which is what the budget bounds.
    pub processor: f64,
    /// Value of the task's metric.
    pub score: f64,
    /// The best tier reached, if any.
    pub tier: Option<Milestone>,
}

/// How the trials of one task ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// The evaluator agrees, and the script submits in time.
    Passed(Attempt),
    /// The task is not fit for use.
    Refused {
        /// Reason code of the refusal, as [`Refusal::code`] returns it.
        code: &'static str,
        /// The reason in full.
        text: String,
    },
    /// The sandbox failed, which says nothing of the task.
    Lost(String),
}

impl Ending {
    /// The ending of a refused task.
    pub fn refused(refusal: &Refusal) -> Self {
        Self::Refused { code: refusal.code(), text: refusal.to_string() }
    }
}

/// Counts and times of some tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Number of tasks that were tried.
    pub tasks: usize,
    /// Valid submissions in time.
    pub valid: usize,
    /// Median and 95th percentile of the scripts' wall time, in seconds.
    pub seconds: (f64, f64),
    /// The same of their processor time.
    pub processor: (f64, f64),
    /// Valid submissions by the best tier that they reach: none, median, bronze, silver, gold.
    pub tiers: [usize; 5],
}

/// What trying a corpus came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trials {
    /// Version of this form.
    pub version: u32,
    /// What a script may take on a task, in seconds.
    pub budget: f64,
    /// Tasks that were not reached before the run was interrupted.
    pub unreached: usize,
    /// Counts and times over all tasks.
    pub whole: Tally,
    /// By kind of task.
    pub cells: BTreeMap<String, Tally>,
    /// How the trials ended, by name of the task.
    pub tasks: BTreeMap<String, Ending>,
}

impl Trials {
    pub(super) fn new(endings: &[(&TaskDir, Ending)], unreached: usize, budget: Duration) -> Self {
        let mut cells: BTreeMap<String, Vec<&Ending>> = BTreeMap::new();
        for (task, ending) in endings {
            let manifest = task.manifest();
            let cell = Cell { modality: manifest.modality, formulation: manifest.formulation };
            cells.entry(cell.to_string()).or_default().push(ending);
        }
        let all: Vec<&Ending> = endings.iter().map(|(_, ending)| ending).collect();
        Self {
            version: TRIALS_VERSION,
            budget: budget.as_secs_f64(),
            unreached,
            whole: Tally::of(&all),
            cells: cells.iter().map(|(cell, all)| (cell.clone(), Tally::of(all))).collect(),
            tasks: endings
                .iter()
                .map(|(task, ending)| (task.id().to_string(), ending.clone()))
                .collect(),
        }
    }

    /// Whether every task was tried and passed.
    pub fn clean(&self) -> bool {
        self.unreached == 0 && self.tasks.values().all(|ending| matches!(ending, Ending::Passed(_)))
    }
}

impl Tally {
    fn of(endings: &[&Ending]) -> Self {
        let (mut seconds, mut processor) = (Vec::new(), Vec::new());
        let mut tally = Self { tasks: endings.len(), ..Self::default() };
        for ending in endings {
            let Ending::Passed(attempt) = ending else { continue };
            seconds.push(attempt.seconds);
            processor.push(attempt.processor);
            tally.valid += 1;
            tally.tiers[rank(attempt.tier)] += 1;
        }
        tally.seconds = middle_and_late(seconds);
        tally.processor = middle_and_late(processor);
        tally
    }
}

/// The median and the 95th percentile; zeros without values.
fn middle_and_late(values: Vec<f64>) -> (f64, f64) {
    Quantiles::of(values).map_or((0.0, 0.0), |found| (found.median, found.q95))
}

/// The place of a tier in [`TIERS`].
fn rank(tier: Option<Milestone>) -> usize {
    tier.and_then(|tier| TIERS.iter().position(|name| *name == tier.name())).unwrap_or(0)
}

impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (task, ending) in &self.tasks {
            match ending {
                Ending::Passed(_) => {}
                Ending::Refused { code, text } => writeln!(f, "{task}: {code}: {text}")?,
                Ending::Lost(text) => writeln!(f, "{task}: lost to a fault of ours: {text}")?,
            }
        }
        write!(f, "{:<26} tasks valid  p50 s  p95 s cpu p50 cpu p95", "reference scripts")?;
        TIERS.iter().try_for_each(|tier| write!(f, " {tier:>7}"))?;
        writeln!(f)?;
        for (cell, tally) in &self.cells {
            line(f, cell, tally)?;
        }
        line(f, "all", &self.whole)?;
        let passed = self.tasks.values().filter(|e| matches!(e, Ending::Passed(_))).count();
        write!(f, "{passed} of {} tasks pass their trial", self.tasks.len())?;
        if self.unreached > 0 {
            write!(f, "; {} were not reached", self.unreached)?;
        }
        Ok(())
    }
}

/// One line of the table.
fn line(f: &mut fmt::Formatter<'_>, name: &str, tally: &Tally) -> fmt::Result {
    let Tally { tasks, valid, seconds, processor, tiers } = tally;
    write!(f, "{name:<26} {tasks:>5} {valid:>5} {:>6.2} {:>6.2}", seconds.0, seconds.1)?;
    write!(f, " {:>7.2} {:>7.2}", processor.0, processor.1)?;
    let share = |count: &usize| 100.0 * *count as f64 / (*valid).max(1) as f64;
    tiers.iter().try_for_each(|count| write!(f, " {:>6.1}%", share(count)))?;
    writeln!(f)
}
