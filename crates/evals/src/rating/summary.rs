//! What solvers made of the tasks of a corpus, in numbers.

use super::gates::{Gate, gates};
use crate::bench::way::WayEstimate;
use crate::statistics::{bootstrap, mean, quantile, wilson};
use serde::Serialize;
use std::collections::BTreeMap;
use tasks::metrics::Direction;
use tasks::rating::{LevelSource, Rating, Solver, TaskLevel};
use tasks::stream::Stream;
use tasks::task::Modality;
use tasks::thresholds::Milestone;

/// The version of [`RatingSummary`] that this build writes.
pub const SUMMARY_VERSION: u32 = 1;

/// Two scores closer than this are a tie.
const TIE: f64 = 1e-9;

/// The milestones, the easiest first.
pub(super) const MILESTONES: [Milestone; 4] =
    [Milestone::Median, Milestone::Bronze, Milestone::Silver, Milestone::Gold];

/// A task and its ratings by the chosen solvers.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) modality: Modality,
    pub(super) direction: Direction,
    pub(super) groups: Vec<String>,
    pub(super) level: TaskLevel,
    pub(super) ratings: BTreeMap<Solver, Rating>,
}

impl Subject {
    /// 1 if `a` scored better than `b`, one half for a tie; a valid submission beats none. `None`
    /// if one of them has no rating.
    pub(super) fn win(&self, a: Solver, b: Solver) -> Option<f64> {
        let gain = |solver| {
            let score = self.ratings.get(&solver)?.score;
            Some(score.map_or(f64::NEG_INFINITY, |score| self.direction.gain(score)))
        };
        let (a, b) = (gain(a)?, gain(b)?);
        if a == b || (a - b).abs() <= TIE {
            return Some(0.5);
        }
        Some(f64::from(u8::from(a > b)))
    }
}

/// The results of one solver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SolverSummary {
    /// The solver.
    pub solver: Solver,
    /// Tasks that it has a rating on.
    pub tasks: usize,
    /// Valid submissions among them.
    pub valid: usize,
    /// Tasks on which it fell back to the sample submission or to a weaker method.
    pub fell_back: usize,
    /// Tasks on which it reaches each milestone or a better one: median, bronze, silver, gold.
    pub milestones: [usize; 4],
    /// 95 % interval (Wilson) of the share of tasks with any medal, in [0, 1].
    pub medal_interval: (f64, f64),
    /// Mean share of the way from R0 to the ceiling, in [0, 1], and its 95 % interval from a
    /// bootstrap over tasks; `None` without tasks.
    pub way: Option<(f64, f64, f64)>,
    /// Median processor time of its scripts, in seconds.
    pub processor_seconds: f64,
}

impl SolverSummary {
    /// The share of its tasks on which it wins a medal, in [0, 1].
    pub fn medal_share(&self) -> f64 {
        self.milestones[1] as f64 / self.tasks.max(1) as f64
    }

    /// The mean share of the way, 0 without tasks.
    pub fn mean_way(&self) -> f64 {
        self.way.map_or(0.0, |(mean, _, _)| mean)
    }

    fn new(solver: Solver, subjects: &[&Subject], stream: Stream) -> Self {
        let ratings: Vec<&Rating> =
            subjects.iter().filter_map(|subject| subject.ratings.get(&solver)).collect();
        let reach = |least: Milestone| {
            ratings.iter().filter(|rating| rating.milestone >= Some(least)).count()
        };
        let ways: Vec<f64> = ratings.iter().map(|rating| rating.way).collect();
        let times: Vec<f64> = ratings.iter().map(|rating| rating.processor_seconds).collect();
        let milestones = MILESTONES.map(reach);
        let interval = |found: crate::statistics::BootstrapError| {
            let (low, high) = found.interval;
            (mean(ways.iter().copied()), low, high)
        };
        Self {
            solver,
            tasks: ratings.len(),
            valid: ratings.iter().filter(|rating| rating.score.is_some()).count(),
            fell_back: ratings.iter().filter(|rating| rating.note.is_some()).count(),
            milestones,
            medal_interval: wilson(milestones[1], ratings.len()),
            way: bootstrap(&ways, stream.child(solver.name())).map(interval),
            processor_seconds: quantile(&times, 0.5).unwrap_or_default(),
        }
    }
}

/// How often one solver is above another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The solver that is looked at.
    pub solver: Solver,
    /// The one that it is compared with.
    pub other: Solver,
    /// Tasks that both have a rating on.
    pub tasks: usize,
    /// Share of them on which the first scores better, ties half, in [0, 1].
    pub above: f64,
    /// Mean difference of their ways, with the p value of a sign flip test; `None` without tasks.
    pub difference: Option<WayEstimate>,
}

/// What solvers made of a corpus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RatingSummary {
    /// Version of the format, [`SUMMARY_VERSION`].
    pub version: u32,
    /// Number of tasks that were chosen.
    pub tasks: usize,
    /// Results of each solver, weakest first.
    pub solvers: Vec<SolverSummary>,
    /// The same by group: modality, split, and what the caller adds.
    pub groups: BTreeMap<String, Vec<SolverSummary>>,
    /// Every two solvers, on all tasks.
    pub pairs: Vec<Pair>,
    /// The same on tasks of pictures, sounds and texts.
    pub media_pairs: Vec<Pair>,
    /// Tasks by level, 1 to 5, of those that solvers have rated.
    pub levels: [usize; 5],
    /// Tasks by level, of those that they have not: from their ladders.
    pub ladder_levels: [usize; 5],
    /// What a good corpus is expected to hold.
    pub gates: Vec<Gate>,
}

impl RatingSummary {
    pub(super) fn new(solvers: &[Solver], subjects: &[Subject], stream: Stream) -> Self {
        let all: Vec<&Subject> = subjects.iter().collect();
        let of = |subjects: &[&Subject], name: &str| -> Vec<SolverSummary> {
            let stream = stream.child("ways").child(name);
            solvers.iter().map(|&solver| SolverSummary::new(solver, subjects, stream)).collect()
        };
        let mut groups: BTreeMap<String, Vec<&Subject>> = BTreeMap::new();
        for subject in subjects {
            for group in &subject.groups {
                groups.entry(group.clone()).or_default().push(subject);
            }
        }
        let media: Vec<&Subject> = subjects.iter().filter(|one| is_media(one.modality)).collect();
        let count = |source| {
            let mut counts = [0; 5];
            for level in subjects.iter().map(|one| one.level).filter(|one| one.source == source) {
                counts[usize::from(level.level.number()) - 1] += 1;
            }
            counts
        };
        let mut summary = Self {
            version: SUMMARY_VERSION,
            tasks: subjects.len(),
            solvers: of(&all, "all"),
            groups: groups.iter().map(|(name, some)| (name.clone(), of(some, name))).collect(),
            pairs: pairs(solvers, &all, stream.child("pairs")),
            media_pairs: pairs(solvers, &media, stream.child("media pairs")),
            levels: count(LevelSource::Solvers),
            ladder_levels: count(LevelSource::Ladder),
            gates: Vec::new(),
        };
        summary.gates = gates(&summary);
        summary
    }

    /// The results of a solver, if it was chosen.
    pub fn solver(&self, solver: Solver) -> Option<&SolverSummary> {
        self.solvers.iter().find(|one| one.solver == solver)
    }
}

/// Whether a network may have an advantage: pictures, sounds, texts, alone or beside a table.
fn is_media(modality: Modality) -> bool {
    match modality {
        Modality::Image | Modality::Text | Modality::Audio | Modality::Multimodal => true,
        Modality::Tabular | Modality::TimeSeries | Modality::Graph => false,
    }
}

fn pairs(solvers: &[Solver], subjects: &[&Subject], stream: Stream) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for &solver in solvers {
        for &other in solvers.iter().filter(|other| **other != solver) {
            let wins: Vec<f64> =
                subjects.iter().filter_map(|subject| subject.win(solver, other)).collect();
            let differences: Vec<f64> = subjects
                .iter()
                .filter_map(|one| {
                    Some(one.ratings.get(&solver)?.way - one.ratings.get(&other)?.way)
                })
                .collect();
            let stream = stream.child(solver.name()).child(other.name());
            pairs.push(Pair {
                solver,
                other,
                tasks: wins.len(),
                above: mean(wins.iter().copied()),
                difference: WayEstimate::from_tasks(&differences, stream),
            });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::rating::{Level, RATING_VERSION};
    use tasks::task::TaskId;

    /// A task on which solvers reach some scores, 0 to 1, and a medal from 0.5 on.
    fn subject(id: usize, modality: Modality, scores: &[(Solver, Option<f64>)]) -> Subject {
        let rating = |(solver, score): &(Solver, Option<f64>)| {
            let milestone = match score {
                Some(score) if *score >= 0.5 => Some(Milestone::Bronze),
                Some(score) if *score >= 0.2 => Some(Milestone::Median),
                _ => None,
            };
            let rating = Rating {
                version: RATING_VERSION,
                task: TaskId::new(&format!("t{id}")).unwrap(),
                files: String::new(),
                solver: *solver,
                script: String::new(),
                ending: "finished".to_owned(),
                score: *score,
                milestone,
                way: score.unwrap_or(0.0),
                processor_seconds: 2.0,
                refusal: None,
                note: None,
            };
            (*solver, rating)
        };
        let level = TaskLevel { level: Level::ALL[id % 5], source: LevelSource::Solvers };
        Subject {
            modality,
            direction: Direction::HigherIsBetter,
            groups: vec![modality.name().to_owned(), "held-out family".to_owned()],
            level,
            ratings: scores.iter().map(rating).collect(),
        }
    }

    const SOLVERS: [Solver; 6] = Solver::ALL;

    fn summary(rows: &[(Modality, [Option<f64>; 6])]) -> RatingSummary {
        let subjects: Vec<Subject> = rows
            .iter()
            .enumerate()
            .map(|(id, (modality, scores))| {
                let pairs: Vec<_> = SOLVERS.into_iter().zip(*scores).collect();
                subject(id, *modality, &pairs)
            })
            .collect();
        RatingSummary::new(&SOLVERS, &subjects, Stream::root(0))
    }

    fn good() -> Vec<(Modality, [Option<f64>; 6])> {
        let row = |engineer, network| {
            [Some(0.0), Some(0.1), Some(0.2), Some(engineer), Some(engineer + 0.05), Some(network)]
        };
        vec![
            (Modality::Tabular, row(0.6, 0.3)),
            (Modality::Image, row(0.55, 0.7)),
            (Modality::Text, row(0.3, 0.2)),
            (Modality::Audio, row(0.4, 0.1)),
        ]
    }

    #[test]
    fn counts_are_of_tasks_and_the_invalid_lose() {
        let mut rows = good();
        rows[0].1[2] = None;
        let summary = summary(&rows);
        let glance = summary.solver(Solver::Glance).unwrap();
        assert_eq!((glance.tasks, glance.valid, glance.milestones), (4, 3, [3, 0, 0, 0]));
        let engineer = summary.solver(Solver::Engineer).unwrap();
        assert_eq!((engineer.milestones, engineer.medal_share()), ([4, 2, 0, 0], 0.5));
        assert!((engineer.mean_way() - 0.4625).abs() < 1e-12);
        let above = |solver, other| {
            let of = |pair: &&Pair| (pair.solver, pair.other) == (solver, other);
            summary.pairs.iter().find(of).unwrap().above
        };
        // An invalid submission is below any valid one, also the constant's.
        assert_eq!(above(Solver::Constant, Solver::Glance), 0.25);
        assert_eq!(above(Solver::Specialist, Solver::Engineer), 1.0);
        assert_eq!(summary.levels, [1, 1, 1, 1, 0]);
    }

    #[test]
    fn gates_hold_on_a_good_corpus_and_each_can_fail() {
        let held = |rows: &[(Modality, [Option<f64>; 6])]| -> Vec<Option<bool>> {
            summary(rows).gates.iter().map(|gate| gate.holds).collect()
        };
        // The specialist has a medal on two of four tasks, which is not fewer than half.
        assert_eq!(held(&good()), [true, true, true, false, true].map(Some));
        let mut rows = good();
        rows[0].1[4] = Some(0.45);
        rows[0].1[1] = Some(0.9);
        let verdicts = held(&rows);
        assert_eq!(verdicts[1], Some(false), "the exploiter has a medal");
        assert_eq!(verdicts[3], Some(true), "the specialist has one medal of four");
        let mut rows = good();
        for row in &mut rows {
            row.1[3] = Some(0.7);
        }
        assert_eq!(held(&rows)[2], Some(false), "the engineer has all medals");
        assert_eq!(held(&rows)[0], Some(false), "the engineer is above the specialist");
        let mut rows = good();
        for row in &mut rows {
            row.1[5] = Some(0.0);
        }
        assert_eq!(held(&rows)[4], Some(false), "the network is never above");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_rated() {
        let empty = RatingSummary::new(&[Solver::Glance], &[], Stream::root(0));
        assert!(empty.gates.iter().all(|gate| gate.holds.is_none()), "{:?}", empty.gates);
        assert_eq!(empty.solver(Solver::Glance).unwrap().way, None);
        assert!(empty.to_string().contains("0 tasks"));
    }

    #[test]
    fn table_names_every_solver_and_gate() {
        let text = summary(&good()).to_string();
        for solver in SOLVERS {
            assert!(text.matches(solver.name()).count() >= 4, "{solver}\n{text}");
        }
        for part in
            ["any medal, %", "row above column", "level by solvers: 1: 1,", "fails  specialist"]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
