//! One agent on one benchmark.

use super::human_rank::BoardStanding;
use super::measure::{Measure, MeasureEstimate, draws, estimate};
use super::outcome::{BenchOutcome, BenchRun, GradedRun};
use super::summary::BenchField;
use crate::statistics::mean;
use sandbox::env::Feedback;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One agent's results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContenderSummary {
    /// Scaffold and model.
    pub agent: String,
    /// What it was told of its score.
    pub feedback: Feedback,
    /// The seeds of its runs, ascending.
    pub seeds: Vec<u64>,
    /// Competitions with at least one grade.
    pub played: usize,
    /// Pairs of a competition and a seed without a grade, faults among them.
    pub missing: usize,
    /// Runs lost to faults of ours.
    pub faults: usize,
    /// By [`Measure::ALL`]; `None` if nothing was graded.
    pub estimates: Option<[MeasureEstimate; 6]>,
    /// Mean over the graded runs on competitions with leaderboards.
    pub human_rank: Option<BoardStanding>,
    /// What a run took.
    pub costs: RunCosts,
    /// Graded runs in which another node was better by the test score than the one submitted,
    /// and graded runs of which that is known.
    pub worse_choices: (usize, usize),
    /// The runs, by competition and seed.
    #[serde(skip)]
    pub runs: BTreeMap<(String, u64), BenchRun>,
}

/// Means over the graded runs of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct RunCosts {
    /// Nodes or turns.
    pub steps: f64,
    /// Hours from start to end, scripts and waiting for the model included.
    pub hours: f64,
    /// Hours in scripts.
    pub script_hours: f64,
    /// Hours of waiting for the model.
    pub player_hours: f64,
    /// Tokens read and written.
    pub tokens: f64,
    /// US dollars; `None` if that of a run is not known.
    pub cost: Option<f64>,
    /// US dollars of all runs, faults included; `None` if that of a run is not known.
    pub total_cost: Option<f64>,
}

impl ContenderSummary {
    pub(super) fn from_runs(
        agent: String,
        feedback: Feedback,
        runs: BTreeMap<(String, u64), BenchRun>,
        field: &BenchField,
        pad_missing: bool,
    ) -> Self {
        let seeds: BTreeSet<u64> = runs.keys().map(|(_, seed)| *seed).collect();
        let graded: Vec<(&BenchRun, &GradedRun)> =
            runs.values().filter_map(|run| Some((run, grade(run)?))).collect();
        let played: BTreeSet<&str> =
            graded.iter().map(|(run, _)| run.competition.as_str()).collect();
        let hits = |measure: Measure| {
            let hit = |id: &String, seed: u64| {
                let run = runs.get(&(id.clone(), seed)).and_then(grade);
                let nothing = pad_missing.then_some(false);
                run.map(|run| measure.holds(run)).or(nothing)
            };
            let row = |seed: &u64| field.competitions.iter().map(|id| hit(id, *seed)).collect();
            seeds.iter().map(row).collect::<Vec<Vec<Option<bool>>>>()
        };
        let all = Measure::ALL.map(|measure| estimate(&hits(measure), draws("competitions")));
        let estimates = match all {
            [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f)] if !graded.is_empty() => {
                Some([a, b, c, d, e, f])
            }
            _ => None,
        };
        let standings: Vec<BoardStanding> =
            graded.iter().filter_map(|(_, grade)| grade.human_rank).collect();
        let gaps: Vec<f64> = graded.iter().filter_map(|(run, _)| run.selection_gap).collect();
        Self {
            agent,
            feedback,
            played: played.len(),
            missing: field.competitions.len() * seeds.len() - graded.len(),
            faults: runs.len() - graded.len(),
            estimates,
            human_rank: BoardStanding::mean(&standings),
            costs: RunCosts::from_runs(&graded, runs.values()),
            worse_choices: (gaps.iter().filter(|gap| **gap > 0.0).count(), gaps.len()),
            seeds: seeds.into_iter().collect(),
            runs,
        }
    }

    /// One of its percentages; `None` if nothing was graded.
    pub fn estimate(&self, measure: Measure) -> Option<&MeasureEstimate> {
        Some(&self.estimates.as_ref()?[measure as usize])
    }

    /// Its name in a table, with the feedback where that is not the default of benchmarks.
    pub fn label(&self) -> String {
        match self.feedback {
            Feedback::Validate => self.agent.clone(),
            feedback => format!("{} ({})", self.agent, feedback.name()),
        }
    }

    /// The runs on one competition, by seed.
    pub fn runs_on(&self, competition: &str) -> Vec<&BenchRun> {
        let (first, last) = ((competition.to_owned(), 0), (competition.to_owned(), u64::MAX));
        self.runs.range(first..=last).map(|(_, run)| run).collect()
    }

    /// How far it came on a task after `steps` steps, or at the end: the mean over seeds.
    pub(super) fn way_on(&self, task: &str, steps: Option<usize>) -> Option<f64> {
        let runs = self.runs_on(task).into_iter();
        let ways: Vec<f64> = runs
            .filter_map(|run| run.way.as_ref())
            .map(|way| steps.map_or_else(|| way.last(), |steps| way.after(steps)))
            .collect();
        (!ways.is_empty()).then(|| mean(ways.into_iter()))
    }

    /// The steps of its longest run.
    pub(super) fn longest(&self) -> usize {
        let ways = self.runs.values().filter_map(|run| run.way.as_ref());
        ways.map(|way| way.by_step.len()).max().unwrap_or(0)
    }

    /// The share of the graded runs on a competition that count, in [0, 1]; `None` without any.
    pub(super) fn share(&self, competition: &str, measure: Measure) -> Option<f64> {
        let hits: Vec<f64> = self
            .runs_on(competition)
            .into_iter()
            .filter_map(|run| Some(f64::from(u8::from(measure.holds(grade(run)?)))))
            .collect();
        (!hits.is_empty()).then(|| mean(hits.into_iter()))
    }
}

/// The grade of a run that has one.
pub(crate) fn grade(run: &BenchRun) -> Option<&GradedRun> {
    match &run.outcome {
        BenchOutcome::Graded(graded) => Some(graded),
        BenchOutcome::Fault { .. } => None,
    }
}

impl RunCosts {
    fn from_runs<'a>(
        graded: &[(&BenchRun, &GradedRun)],
        all: impl Iterator<Item = &'a BenchRun>,
    ) -> Self {
        let of =
            |number: &dyn Fn(&BenchRun) -> f64| mean(graded.iter().map(|(run, _)| number(run)));
        let hours = |seconds: f64| seconds / 3600.0;
        let costs: Option<Vec<f64>> = graded.iter().map(|(run, _)| run.cost).collect();
        Self {
            steps: of(&|run| run.steps as f64),
            hours: hours(of(&|run| run.seconds.wall)),
            script_hours: hours(of(&|run| run.seconds.script)),
            player_hours: hours(of(&|run| run.seconds.player)),
            tokens: of(&|run| (run.tokens.read + run.tokens.written) as f64),
            cost: costs.map(|costs| mean(costs.into_iter())),
            total_cost: all.map(|run| run.cost).sum(),
        }
    }
}
