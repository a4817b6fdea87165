//! What an evaluation on a benchmark leaves in its folder.
//!
//! ```text
//! <out>/runs.json           every run that is over
//! <out>/conditions.json     the benchmark, scaffold, limits, machine and packages
//! <out>/leaderboard.html    agents side by side
//! <out>/runs/…/tree.html    the page of each run, which the leaderboard links to
//! <out>/mlebench/           grading reports in the form of mle-bench
//! ```

use super::conditions::{BenchConditions, CONDITIONS};
use super::mlebench_files::{self, MlebenchFilesError};
use super::outcome::BenchRun;
use super::paper::{PaperBeside, PaperRow};
use super::suite::BenchName;
use super::summary::{BenchField, BenchTable, BenchTableError};
use crate::report::{LeaderboardPage, LeaderboardTable, RunPages};
use camino::Utf8Path;
use std::io;
use tasks::files;

/// Why results were not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The runs are no table.
    #[error(transparent)]
    Table(#[from] BenchTableError),
    /// The files of mle-bench could not be written.
    #[error(transparent)]
    Mlebench(#[from] MlebenchFilesError),
    /// A file could not be written.
    #[error("failed to write the evaluation")]
    Io(#[from] io::Error),
}

/// Rows of the paper, each with the name of an agent of ours and the differences.
pub type PaperRows = Vec<(PaperRow, String, Vec<PaperBeside>)>;

/// The page of `tables`, each with the rows of the paper that stand beside it, and with links to the
/// pages of runs.
pub fn leaderboard(
    field: &BenchField,
    tables: Vec<(BenchTable, PaperRows)>,
    run_pages: &RunPages,
    conditions: Vec<(String, String)>,
) -> LeaderboardPage {
    let table = |(table, paper)| LeaderboardTable { table, run_pages: run_pages.clone(), paper };
    LeaderboardPage {
        title: format!("Leaderboard of {}", field.name),
        conditions,
        tables: tables.into_iter().map(table).collect(),
    }
}

/// Writes `runs` and what follows from them into `out`; returns the table, or `None` without runs.
///
/// # Errors
/// [`OutputError`].
pub fn write(
    out: &Utf8Path,
    field: &BenchField,
    runs: &[BenchRun],
    conditions: &BenchConditions,
) -> Result<Option<BenchTable>, OutputError> {
    files::write_json(&out.join("runs.json"), &runs)?;
    files::write_json(&out.join(CONDITIONS), conditions)?;
    if runs.is_empty() {
        return Ok(None);
    }
    let table = BenchTable::from_runs(field, runs, false)?;
    let mut pages = RunPages::default();
    pages.find(runs, out, out);
    let page = leaderboard(field, vec![(table.clone(), Vec::new())], &pages, conditions.lines());
    files::write_atomic(&out.join("leaderboard.html"), page.html().as_bytes())?;
    if field.name == BenchName::MlebenchLite.to_string() {
        mlebench_files::write(out, &table)?;
    }
    Ok(Some(table))
}
