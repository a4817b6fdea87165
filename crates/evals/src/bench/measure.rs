//! What is counted of a benchmark, and the percentages of one agent with their errors.

use super::outcome::GradedRun;
use crate::statistics::{BootstrapError, Z, bootstrap, mean, standard_error};
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;
use tasks::thresholds::Milestone;

/// What is counted. Medals are counted exclusively: a gold medal is no silver medal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// A submission that the grader took.
    Valid,
    /// A score strictly better than the median of the leaderboard.
    AboveMedian,
    /// A bronze medal.
    Bronze,
    /// A silver medal.
    Silver,
    /// A gold medal.
    Gold,
    /// Any of the three.
    AnyMedal,
}

impl Measure {
    /// In the order of the paper's tables.
    pub const ALL: [Self; 6] =
        [Self::Valid, Self::AboveMedian, Self::Bronze, Self::Silver, Self::Gold, Self::AnyMedal];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::AboveMedian => "above median",
            Self::Bronze => "bronze",
            Self::Silver => "silver",
            Self::Gold => "gold",
            Self::AnyMedal => "any medal",
        }
    }

    /// Whether a run counts.
    pub fn holds(self, run: &GradedRun) -> bool {
        match self {
            Self::Valid => run.valid(),
            Self::AboveMedian => run.above_median,
            Self::Bronze => run.medal == Some(Milestone::Bronze),
            Self::Silver => run.medal == Some(Milestone::Silver),
            Self::Gold => run.medal == Some(Milestone::Gold),
            Self::AnyMedal => run.medal.is_some(),
        }
    }
}

/// One percentage of one agent, in \[0, 100\].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasureEstimate {
    /// The mean over seeds of the share of the competitions that have a grade with that seed.
    pub mean: f64,
    /// The standard error over seeds (ddof 1); 0 with one seed, as mle-bench writes it.
    pub seed_error: f64,
    /// `mean ± 1.96 seed_error`, not cut to \[0, 100\].
    pub seed_interval: (f64, f64),
    /// The standard error over competitions, from a cluster bootstrap: the larger uncertainty
    /// where competitions are few.
    pub task_error: f64,
    /// The 95 % interval of that bootstrap.
    pub task_interval: (f64, f64),
    /// The mean over seeds of the share of all competitions, those without a grade counted as
    /// nothing.
    pub of_field: f64,
}

/// `hits[seed][competition]`, `None` without a grade. `None` is returned if there is no grade.
pub(super) fn estimate(hits: &[Vec<Option<bool>>], stream: Stream) -> Option<MeasureEstimate> {
    let share = |of: &mut dyn Iterator<Item = Option<bool>>| {
        let known: Vec<f64> = of.flatten().map(|hit| 100.0 * f64::from(u8::from(hit))).collect();
        (!known.is_empty()).then(|| mean(known.into_iter()))
    };
    let of_seeds: Vec<f64> =
        hits.iter().filter_map(|row| share(&mut row.iter().copied())).collect();
    let competitions = hits.first()?.len();
    let of_tasks: Vec<f64> = (0..competitions)
        .filter_map(|column| share(&mut hits.iter().map(|row| row[column])))
        .collect();
    let BootstrapError { error: task_error, interval: task_interval } =
        bootstrap(&of_tasks, stream)?;
    let (center, seed_error) = (mean(of_seeds.iter().copied()), standard_error(&of_seeds));
    let won = hits.iter().flatten().filter(|hit| **hit == Some(true)).count();
    Some(MeasureEstimate {
        mean: center,
        seed_error,
        seed_interval: (center - Z * seed_error, center + Z * seed_error),
        task_error,
        task_interval,
        of_field: 100.0 * won as f64 / (hits.len() * competitions) as f64,
    })
}

/// The draws of every table: the same for all agents, so that equal results have equal errors.
pub(super) fn draws(purpose: &str) -> Stream {
    Stream::root(0).child("benchmark").child(purpose)
}
