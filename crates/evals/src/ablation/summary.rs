//! Arms side by side, and every two of them.

use super::arms::{ArmRuns, Arms};
use super::cell::{Cell, CellMeasure, NotGraded};
use super::coding::{HardScripts, OnePassBand, hard_scripts, hard_shares, one_pass_bands};
use super::facts::{RunFacts, ScriptFacts};
use super::pair::{Cells, Estimate, PairEstimate, Values, values};
use crate::bench::outcome::{BenchOutcome, BenchRun};
use crate::statistics::mean;
use serde::Serialize;
use std::collections::BTreeMap;

/// The runs of an arm that is played, each with what its journal says.
pub type ArmRunsPlayed = Vec<(BenchRun, RunFacts)>;

/// An ablation, summarised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ablation {
    /// The benchmark.
    pub bench: String,
    /// Who answered.
    pub model: String,
    /// The arm that the others are compared with.
    pub base: String,
    /// Questions after which runs are cut; `None` where they are compared as they ended.
    pub calls: Option<u64>,
    /// The chance that the player breaks a line, where that is known.
    pub slip: Option<f64>,
    /// In the order of the arms.
    pub arms: Vec<ArmSummary>,
    /// Every two arms: first those with the base, by measure.
    pub pairs: Vec<PairEstimate>,
    /// The same of the good scripts among those for hard plans.
    pub hard_pairs: Vec<PairEstimate>,
}

/// What an arm came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmSummary {
    /// Its name.
    pub name: String,
    /// The arm whose runs it takes, with the steps after which they are cut.
    pub of: Option<(String, usize)>,
    /// Runs with a grade.
    pub runs: usize,
    /// Runs that were lost to faults of ours.
    pub faults: usize,
    /// The measures that it has, each over tasks and seeds.
    pub estimates: BTreeMap<CellMeasure, Estimate>,
    /// Means over its runs.
    pub costs: CellCosts,
    /// Scripts that were written anew in one pass, by lines; only where `slip` is known.
    pub one_pass: Vec<OnePassBand>,
    /// Scripts for hard plans.
    pub hard: Option<HardScripts>,
    /// Its cells, by task and seed.
    pub cells: Vec<CellOf>,
}

/// A cell with its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellOf {
    /// The task.
    pub task: String,
    /// The seed.
    pub seed: u64,
    /// What the run came to.
    #[serde(flatten)]
    pub cell: Cell,
}

/// What a run took, in the mean.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct CellCosts {
    /// Steps.
    pub steps: f64,
    /// Questions to the player.
    pub calls: f64,
    /// Tokens read and written.
    pub tokens: f64,
    /// Seconds in scripts.
    pub script_seconds: f64,
    /// Seconds from start to end.
    pub seconds: f64,
}

/// What is the same for all arms.
#[derive(Debug, Clone, PartialEq)]
pub struct AblationFrame {
    /// The benchmark.
    pub bench: String,
    /// Who answered.
    pub model: String,
    /// Questions after which runs are cut.
    pub calls: Option<u64>,
    /// The chance that the player breaks a line, where that is known.
    pub slip: Option<f64>,
}

impl CellCosts {
    fn of(cells: &Cells) -> Self {
        let of = |number: fn(&Cell) -> f64| mean(cells.values().map(number));
        Self {
            steps: of(|cell| cell.steps as f64),
            calls: of(|cell| cell.calls as f64),
            tokens: of(|cell| cell.tokens as f64),
            script_seconds: of(|cell| cell.script_seconds),
            seconds: of(|cell| cell.seconds),
        }
    }
}

/// The arm of a summary before it is compared.
struct Counted<'a> {
    summary: ArmSummary,
    cells: Cells,
    hard: Values,
    name: &'a str,
}

impl Ablation {
    /// Of the runs of the arms that are played, by name. Arms without runs are left out.
    ///
    /// # Errors
    /// [`NotGraded`].
    pub fn from_runs(
        arms: &Arms,
        played: &BTreeMap<String, ArmRunsPlayed>,
        frame: AblationFrame,
    ) -> Result<Self, NotGraded> {
        let AblationFrame { bench, model, calls, slip } = frame;
        let mut counted = Vec::new();
        for arm in &arms.arms {
            let (of, steps) = match &arm.runs {
                ArmRuns::Played(_) => (arm.name.as_str(), None),
                ArmRuns::Cut { of, steps } => (of.as_str(), Some(*steps)),
            };
            let Some(runs) = played.get(of).filter(|runs| !runs.is_empty()) else { continue };
            counted.push(count(&arm.name, of, runs, (calls, steps), slip)?);
        }
        // With the base first, then the later arm less the earlier one.
        let place = |name: &str| counted.iter().position(|arm| arm.name == name);
        let base = place(&arms.base);
        let with_base = base.into_iter().flat_map(|base| {
            (0..counted.len()).filter(move |arm| *arm != base).map(move |arm| (arm, base))
        });
        let others = (0..counted.len())
            .flat_map(|one| (one + 1..counted.len()).map(move |other| (other, one)))
            .filter(|(other, one)| base.is_none_or(|base| base != *other && base != *one));
        let places: Vec<(usize, usize)> = with_base.chain(others).collect();
        let pair = |(one, other): (usize, usize), measure| {
            let of = |at: usize| values(&counted[at].cells, measure);
            let (a, b) = (of(one), of(other));
            PairEstimate::of((counted[one].name, &a), (counted[other].name, &b), measure)
        };
        let pairs = CellMeasure::ALL
            .into_iter()
            .flat_map(|measure| places.iter().map(move |at| (*at, measure)))
            .filter_map(|(at, measure)| pair(at, measure))
            .collect();
        let hard_pair = |&(one, other): &(usize, usize)| {
            let (one, other) = (&counted[one], &counted[other]);
            PairEstimate::of((one.name, &one.hard), (other.name, &other.hard), CellMeasure::Scripts)
        };
        Ok(Self {
            bench,
            model,
            base: arms.base.clone(),
            calls,
            slip,
            pairs,
            hard_pairs: places.iter().filter_map(hard_pair).collect(),
            arms: counted.into_iter().map(|arm| arm.summary).collect(),
        })
    }

    /// The pair of two arms by a measure, if they were compared.
    pub fn pair(&self, arm: &str, base: &str, measure: CellMeasure) -> Option<&PairEstimate> {
        self.pairs
            .iter()
            .find(|pair| pair.arm == arm && pair.base == base && pair.measure == measure)
    }
}

fn count<'a>(
    name: &'a str,
    of: &str,
    runs: &ArmRunsPlayed,
    (calls, steps): (Option<u64>, Option<usize>),
    slip: Option<f64>,
) -> Result<Counted<'a>, NotGraded> {
    let mut cells = Cells::new();
    let mut graded = BTreeMap::new();
    let mut faults = 0;
    for (run, facts) in runs {
        let key = (run.competition.clone(), run.seed);
        match Cell::of(run, facts, calls, steps)? {
            Some(cell) => {
                graded.insert(key.clone(), (facts, cell.steps));
                cells.insert(key, cell);
            }
            None => faults += usize::from(matches!(run.outcome, BenchOutcome::Fault { .. })),
        }
    }
    let scripts: Vec<&ScriptFacts> = graded
        .values()
        .flat_map(|(facts, within)| facts.steps[..*within].iter())
        .filter_map(|step| step.script.as_ref())
        .collect();
    let estimates = CellMeasure::ALL
        .into_iter()
        .filter_map(|measure| Some((measure, Estimate::of(&values(&cells, measure))?)));
    let summary = ArmSummary {
        name: name.to_owned(),
        of: steps.map(|steps| (of.to_owned(), steps)),
        runs: cells.len(),
        faults,
        estimates: estimates.collect(),
        costs: CellCosts::of(&cells),
        one_pass: slip
            .map(|slip| one_pass_bands(scripts.iter().copied(), slip))
            .unwrap_or_default(),
        hard: hard_scripts(scripts.iter().copied()),
        cells: cells
            .iter()
            .map(|((task, seed), cell)| CellOf {
                task: task.clone(),
                seed: *seed,
                cell: cell.clone(),
            })
            .collect(),
    };
    Ok(Counted { summary, hard: hard_shares(&graded), cells, name })
}
