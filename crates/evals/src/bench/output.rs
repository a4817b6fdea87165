//! What an evaluation on a benchmark leaves in its folder.
//!
//! ```text
//! <out>/runs.json           every run that is over
//! <out>/leaderboard.html    agents side by side
//! <out>/mlebench/           grading reports in the form of mle-bench
//! ```

use super::mlebench_files::{self, MlebenchFilesError};
use super::outcome::BenchRun;
use super::suite::BenchName;
use super::summary::{BenchField, BenchTable, BenchTableError};
use crate::report::{LeaderboardPage, LeaderboardTable};
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

/// Writes `runs` and what follows from them into `out`; returns the table, or `None` without runs.
///
/// # Errors
/// [`OutputError`].
pub fn write(
    out: &Utf8Path,
    field: &BenchField,
    runs: &[BenchRun],
) -> Result<Option<BenchTable>, OutputError> {
    files::write_json(&out.join("runs.json"), &runs)?;
    if runs.is_empty() {
        return Ok(None);
    }
    let table = BenchTable::from_runs(field, runs, false)?;
    let page = LeaderboardPage {
        title: format!("Leaderboard of {}", field.name),
        conditions: Vec::new(),
        tables: vec![LeaderboardTable {
            table: table.clone(),
            run_page: |_| None,
            paper: Vec::new(),
        }],
    };
    files::write_atomic(&out.join("leaderboard.html"), page.html().as_bytes())?;
    if field.name == BenchName::MlebenchLite.to_string() {
        mlebench_files::write(out, &table)?;
    }
    Ok(Some(table))
}
