//! The difficulty of a task as a number from 1 to 5.

use super::solver::Solver;
use crate::metrics::Direction;
use crate::task::Baselines;
use crate::thresholds::{Milestone, Thresholds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How hard a task is.
///
/// | level | by solvers: the first line that holds | by the ladder: way from median to bronze |
/// | --- | --- | --- |
/// | 1 | a first look (or less) reaches bronze | below 0.05 |
/// | 2 | the careful engineer reaches bronze | below 0.12 |
/// | 3 | the specialist or the network reaches bronze | below 0.22 |
/// | 4 | none reaches bronze, one of them reaches the median | below 0.35 |
/// | 5 | none reaches the median | from 0.35 on |
///
/// The way is the share of the score from R0 to the ceiling that lies between what a line on plain
/// readings reaches (R1, the median) and what a forest on an engineer's readings does (R2, bronze):
/// the more has to be found for a medal, the harder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Level(u8);

/// What a level follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelSource {
    /// Solvers have rated the task.
    Solvers,
    /// The task's own ladder.
    Ladder,
}

impl LevelSource {
    /// The name as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solvers => "solvers",
            Self::Ladder => "ladder",
        }
    }
}

/// A level and what it follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLevel {
    /// The level.
    pub level: Level,
    /// What it follows from.
    pub source: LevelSource,
}

/// The solvers without which nothing is said of a task.
const NEEDED: [Solver; 3] = [Solver::Glance, Solver::Engineer, Solver::Specialist];

/// Upper ends of the ladder's bands, of levels 1 to 4.
const BANDS: [f64; 4] = [0.05, 0.12, 0.22, 0.35];

impl Level {
    /// All levels, the easiest first.
    pub const ALL: [Self; 5] = [Self(1), Self(2), Self(3), Self(4), Self(5)];

    /// The number, from 1 to 5.
    pub fn number(self) -> u8 {
        self.0
    }

    /// From the best milestone that each solver reaches; `None` unless a first look, the engineer
    /// and the specialist have all tried.
    ///
    /// # Examples
    /// ```rust
    /// use std::collections::BTreeMap;
    /// use tasks::rating::{Level, Solver};
    /// use tasks::thresholds::Milestone;
    ///
    /// let mut reached = BTreeMap::from([(Solver::Glance, None), (Solver::Engineer, None)]);
    /// assert_eq!(Level::from_solvers(&reached), None);
    /// reached.insert(Solver::Specialist, Some(Milestone::Silver));
    /// assert_eq!(Level::from_solvers(&reached).map(Level::number), Some(3));
    /// ```
    pub fn from_solvers(reached: &BTreeMap<Solver, Option<Milestone>>) -> Option<Self> {
        if NEEDED.iter().any(|solver| !reached.contains_key(solver)) {
            return None;
        }
        let weakest = |least: Milestone| {
            let reaching = reached.iter().filter(|(_, best)| **best >= Some(least));
            reaching.map(|(solver, _)| *solver).min()
        };
        Some(match weakest(Milestone::Bronze) {
            Some(Solver::Constant | Solver::Exploiter | Solver::Glance) => Self(1),
            Some(Solver::Engineer) => Self(2),
            Some(Solver::Specialist | Solver::Network) => Self(3),
            None if weakest(Milestone::Median).is_some() => Self(4),
            None => Self(5),
        })
    }

    /// From the task's ladder alone, and what lies between its median and its bronze threshold: an
    /// estimate for tasks that no solver has rated.
    pub fn from_ladder(
        baselines: &Baselines,
        thresholds: &Thresholds,
        direction: Direction,
    ) -> Self {
        let way = |score| baselines.way(score, direction);
        let gap = way(thresholds.bronze_threshold) - way(thresholds.median_threshold);
        let above = BANDS.iter().filter(|end| gap >= **end).count();
        Self::ALL[above]
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        level.0
    }
}

impl TryFrom<u8> for Level {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|level| level.0 == number);
        found.ok_or_else(|| format!("a level is a number from 1 to 5, not {number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Manifest;

    const REACHED: [Option<Milestone>; 5] = [
        None,
        Some(Milestone::Median),
        Some(Milestone::Bronze),
        Some(Milestone::Silver),
        Some(Milestone::Gold),
    ];

    #[test]
    fn no_better_milestone_makes_a_task_harder() {
        let solvers = [Solver::Constant, Solver::Glance, Solver::Engineer, Solver::Specialist];
        // All combinations of milestones, as numbers in base 5.
        for code in 0..5_usize.pow(4) {
            let place = |at: usize| code / 5_usize.pow(u32::try_from(at).unwrap()) % 5;
            let reached = |up: Option<usize>| {
                let best = |at: usize| REACHED[(place(at) + usize::from(up == Some(at))).min(4)];
                let all = solvers.iter().enumerate().map(|(at, solver)| (*solver, best(at)));
                Level::from_solvers(&all.collect()).unwrap()
            };
            for up in 0..4 {
                assert!(reached(Some(up)) <= reached(None), "{code}, {up}");
            }
        }
    }

    #[test]
    fn each_level_is_the_weakest_solver_with_a_medal() {
        let level = |milestones: [usize; 4]| {
            let solvers = [Solver::Glance, Solver::Engineer, Solver::Specialist, Solver::Network];
            let reached = solvers.into_iter().zip(milestones.map(|at| REACHED[at]));
            Level::from_solvers(&reached.collect()).unwrap().number()
        };
        assert_eq!(level([2, 2, 3, 4]), 1);
        assert_eq!(level([1, 2, 4, 4]), 2);
        assert_eq!(level([0, 1, 2, 0]), 3);
        assert_eq!(level([0, 0, 0, 2]), 3);
        assert_eq!(level([0, 0, 1, 0]), 4);
        assert_eq!(level([0, 0, 0, 0]), 5);
    }

    #[test]
    fn ladder_makes_tasks_harder_the_further_bronze_is_above_the_median() {
        let level = |bronze: f64| {
            let text = support::manifest::manifest("t1", 400, [0.9, 0.8, 0.7, 0.6]);
            let mut manifest: Manifest = serde_json::from_str(&text).unwrap();
            manifest.baselines.ladder = [0.5, 0.6, 0.6, 0.9];
            manifest.baselines.ceiling = 1.0;
            let thresholds = Thresholds {
                median_threshold: 0.6,
                bronze_threshold: bronze,
                ..manifest.thresholds
            };
            Level::from_ladder(&manifest.baselines, &thresholds, manifest.direction()).number()
        };
        let levels = [0.61, 0.65, 0.69, 0.75, 0.85].map(level);
        assert_eq!(levels, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn only_numbers_from_1_to_5_are_levels() {
        assert_eq!(serde_json::to_string(&Level::ALL[2]).unwrap(), "3");
        assert_eq!(serde_json::from_str::<Level>("5").unwrap(), Level::ALL[4]);
        assert!(serde_json::from_str::<Level>("0").is_err());
        assert!(serde_json::from_str::<Level>("6").is_err());
    }
}
