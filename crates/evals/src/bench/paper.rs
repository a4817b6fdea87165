//! The results that the `SandMLE` paper prints, to be laid beside ours.
//!
//! Tables 1, 2 and 4 and figure 7 are of MLE-bench-lite, 22 competitions; table 3 is of 62
//! competitions of MLE-Dojo that the paper does not list. All are of one run per competition, so
//! that every percentage is a whole number of competitions.

use super::contender::ContenderSummary;
use super::measure::Measure;
use super::summary::BenchTable;
use serde::{Deserialize, Serialize};

const ROWS: &str = include_str!("paper.csv");

/// A row of a table of the paper, or a point of its figure 7. Percentages are in \[0, 100\]; what
/// the paper does not print is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRow {
    /// Where it stands: `table 1` to `table 4`, `figure 7`.
    pub table: String,
    /// Name of the scaffold, as ours.
    pub scaffold: String,
    /// Name of the model.
    pub model: String,
    /// How it was trained: `base`, `Seed-SFT`, `SandMLE`, `SFT-SandMLE`, or as the table says.
    pub training: String,
    /// Turns of an episode, where they vary.
    pub turns: Option<u32>,
    /// Valid submissions.
    pub valid: Option<f64>,
    /// Scores strictly better than the median.
    pub above_median: Option<f64>,
    /// Bronze medals.
    pub bronze: Option<f64>,
    /// Silver medals.
    pub silver: Option<f64>,
    /// Gold medals.
    pub gold: Option<f64>,
    /// Any medal.
    pub any_medal: Option<f64>,
    /// `HumanRank`.
    pub human_rank: Option<f64>,
    /// What is doubtful about the row; empty if nothing is.
    pub note: String,
}

/// One figure of ours beside one of the paper, in competitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PaperBeside {
    /// What is counted.
    pub measure: Measure,
    /// Of the paper's one run.
    pub theirs: f64,
    /// Of ours, a mean over seeds; competitions without a grade count as nothing.
    pub ours: f64,
    /// Ours minus theirs.
    pub difference: f64,
}

/// Why a row cannot stand beside ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BesideError {
    /// Another benchmark, or part of one.
    #[error(
        "{row} of the paper is of {theirs} competitions, ours of {ours}; compare with a row of the same benchmark"
    )]
    Competitions {
        /// Where the row stands.
        row: String,
        /// The paper's number of competitions.
        theirs: usize,
        /// Ours.
        ours: usize,
    },
    /// Nothing of ours.
    #[error("`{agent}` has no graded run; nothing can be laid beside the paper")]
    NothingPlayed {
        /// Name of the agent.
        agent: String,
    },
}

/// All rows, in the order of the paper.
///
/// # Panics
/// Never; a test reads all of them.
pub fn rows() -> Vec<PaperRow> {
    csv::Reader::from_reader(ROWS.as_bytes())
        .into_deserialize()
        .collect::<Result<_, _>>()
        .expect("the table that is built in can be read")
}

impl PaperRow {
    /// The number of competitions that it is of.
    pub fn competitions(&self) -> usize {
        if self.table == "table 3" { 62 } else { 22 }
    }

    /// One of its percentages.
    pub fn percentage(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Valid => self.valid,
            Measure::AboveMedian => self.above_median,
            Measure::Bronze => self.bronze,
            Measure::Silver => self.silver,
            Measure::Gold => self.gold,
            Measure::AnyMedal => self.any_medal,
        }
    }

    /// The number of competitions behind one of its percentages.
    pub fn count(&self, measure: Measure) -> Option<f64> {
        let share = self.percentage(measure)? / 100.0;
        Some((share * self.competitions() as f64).round())
    }

    /// What it is of, in a line.
    pub fn label(&self) -> String {
        let turns = self.turns.map_or_else(String::new, |turns| format!(", {turns} turns"));
        format!("{}: {} {}, {}{turns}", self.table, self.model, self.training, self.scaffold)
    }
}

/// Ours beside a row of the paper, for each measure that the row has.
///
/// # Errors
/// [`BesideError`].
pub fn beside(
    row: &PaperRow,
    table: &BenchTable,
    ours: &ContenderSummary,
) -> Result<Vec<PaperBeside>, BesideError> {
    let all = table.field.competitions.len();
    if all != row.competitions() {
        let (row, theirs) = (row.table.clone(), row.competitions());
        return Err(BesideError::Competitions { row, theirs, ours: all });
    }
    let entry = |measure| {
        let theirs = row.count(measure)?;
        let ours = ours.estimate(measure)?.of_field / 100.0 * all as f64;
        Some(PaperBeside { measure, theirs, ours, difference: ours - theirs })
    };
    let entries: Vec<PaperBeside> = Measure::ALL.into_iter().filter_map(entry).collect();
    if ours.estimates.is_none() {
        return Err(BesideError::NothingPlayed { agent: ours.agent.clone() });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::outcome::tests::run;
    use crate::bench::summary::BenchField;
    use tasks::thresholds::Milestone;

    #[test]
    fn every_percentage_of_the_paper_is_a_number_of_competitions() {
        let rows = rows();
        let of = |table: &str| rows.iter().filter(|row| row.table == table).count();
        let counts = ["table 1", "table 2", "table 3", "table 4", "figure 7"].map(of);
        assert_eq!((counts, rows.len()), ([15, 12, 13, 6, 5], 51));
        for row in rows.iter().filter(|row| row.table != "figure 7") {
            for measure in Measure::ALL {
                let Some(printed) = row.percentage(measure) else { continue };
                let exact = 100.0 * row.count(measure).unwrap() / row.competitions() as f64;
                assert!((printed - exact).abs() < 0.06, "{}: {printed}", row.label());
            }
        }
    }

    #[test]
    fn medals_of_the_paper_add_up_but_for_the_misprint() {
        for row in rows().iter().filter(|row| row.gold.is_some()) {
            let count = |measure| row.count(measure).unwrap();
            let medals = [Measure::Bronze, Measure::Silver, Measure::Gold].map(count);
            let adds_up = medals.iter().sum::<f64>() == count(Measure::AnyMedal);
            assert_eq!(adds_up, !row.note.contains("misprint"), "{}", row.label());
        }
    }

    #[test]
    fn difference_to_the_paper_is_in_competitions() {
        let field = BenchField::lite();
        let medal = |at: usize| (at < 7).then_some(Milestone::Gold);
        let runs = field.competitions.iter().enumerate();
        let runs: Vec<_> = runs.map(|(at, id)| run("react/ours", id, 0, medal(at))).collect();
        let table = BenchTable::from_runs(&field, &runs, false).unwrap();
        let rows = rows();
        let row = rows.iter().find(|row| row.model == "Claude-4.5-Sonnet").unwrap();
        let found = beside(row, &table, &table.rows[0]).unwrap();
        let differences: Vec<f64> = found.iter().map(|entry| entry.difference.round()).collect();
        // Theirs: 21 valid, 7 above the median, 0, 1 and 6 medals, 7 of any.
        assert_eq!(differences, [1.0, 0.0, 0.0, -1.0, 1.0, 0.0]);
        let dojo = rows.iter().find(|row| row.table == "table 3").unwrap();
        let error = beside(dojo, &table, &table.rows[0]).unwrap_err().to_string();
        assert!(error.contains("of 62 competitions, ours of 22"), "{error}");
    }
}
