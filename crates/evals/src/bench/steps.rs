//! What would have counted had runs ended earlier: percentages by number of steps.

use super::contender::ContenderSummary;
use super::outcome::StepGrade;
use crate::statistics::mean;
use std::fmt;

/// Numbers of steps that a table shows.
const SHOWN: [usize; 13] = [1, 2, 5, 10, 15, 20, 30, 40, 50, 100, 200, 300, 500];

/// Percentages of an agent's graded runs had each ended after some number of steps. The agent was
/// told of more steps, so that they are not quite those of shorter runs.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTable {
    /// Runs that it is a mean of.
    pub runs: usize,
    /// One row for each number of steps, up to the longest run.
    pub rows: Vec<StepRow>,
}

/// Percentages after a number of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRow {
    /// The number of steps.
    pub steps: usize,
    /// Runs with a valid submission.
    pub valid: f64,
    /// Runs with one above the median.
    pub above_median: f64,
    /// Runs with one that wins a medal.
    pub any_medal: f64,
    /// Mean hours that it took to get there.
    pub hours: f64,
}

impl StepTable {
    /// Of the runs whose steps were graded; `None` without any.
    pub fn of(row: &ContenderSummary) -> Option<Self> {
        let runs: Vec<&[StepGrade]> = row
            .runs
            .values()
            .map(|run| run.by_step.as_slice())
            .filter(|steps| !steps.is_empty())
            .collect();
        let longest = runs.iter().map(|steps| steps.len()).max()?;
        let numbers = SHOWN.into_iter().filter(|steps| *steps < longest).chain([longest]);
        let rows = numbers.map(|steps| {
            // A run that ended before stays where it was.
            let at = |run: &&[StepGrade]| run[steps.min(run.len()) - 1].clone();
            let share = |holds: fn(&StepGrade) -> bool| {
                100.0 * mean(runs.iter().map(|run| f64::from(u8::from(holds(&at(run))))))
            };
            StepRow {
                steps,
                valid: share(|step| step.score.is_some()),
                above_median: share(|step| step.above_median),
                any_medal: share(|step| step.medal.is_some()),
                hours: mean(runs.iter().map(|run| at(run).seconds / 3600.0)),
            }
        });
        Some(Self { runs: runs.len(), rows: rows.collect() })
    }
}

impl fmt::Display for StepTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>7} {:>8} {:>13} {:>10} {:>9}",
            "steps", "valid", "above_median", "any_medal", "hours"
        )?;
        for StepRow { steps, valid, above_median, any_medal, hours } in &self.rows {
            writeln!(
                f,
                "{steps:>7} {valid:>8.1} {above_median:>13.1} {any_medal:>10.1} {hours:>9.3}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::run;
    use super::super::summary::{BenchField, BenchTable};
    use super::*;
    use tasks::thresholds::Milestone;

    fn step(score: Option<f64>, medal: Option<Milestone>) -> StepGrade {
        StepGrade { seconds: 3600.0, score, medal, above_median: medal.is_some() }
    }

    #[test]
    fn run_that_ended_before_stays_where_it_was() {
        let field = BenchField { name: "f".to_owned(), competitions: vec!["a".into(), "b".into()] };
        let (mut short, mut long) = (run("agent", "a", 0, None), run("agent", "b", 0, None));
        assert_eq!(table(&field, &[short.clone(), long.clone()]), None);
        short.by_step = vec![step(Some(1.0), None)];
        long.by_step =
            vec![step(None, None), step(None, None), step(Some(1.0), Some(Milestone::Gold))];
        let found = table(&field, &[short, long]).unwrap();
        let valid: Vec<(usize, f64, f64)> =
            found.rows.iter().map(|row| (row.steps, row.valid, row.any_medal)).collect();
        assert_eq!(valid, [(1, 50.0, 0.0), (2, 50.0, 0.0), (3, 100.0, 50.0)]);
        assert_eq!((found.runs, found.rows[0].hours), (2, 1.0));
    }

    fn table(field: &BenchField, runs: &[super::super::outcome::BenchRun]) -> Option<StepTable> {
        StepTable::of(&BenchTable::from_runs(field, runs, false).unwrap().rows[0])
    }
}
