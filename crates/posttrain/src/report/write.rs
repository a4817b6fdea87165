//! Finding runs, and writing what they say.

use super::files::ReportError;
use super::groups::{Group, groups};
use super::run::RunReport;
use super::{page, results, summary};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use std::collections::BTreeSet;
use tasks::files::{write_atomic, write_json};

/// The folder of a run's own report.
const FOLDER: &str = "report";

/// A report that was written.
#[derive(Debug, Serialize)]
pub struct Written {
    /// The runs, by name.
    pub runs: Vec<RunReport>,
    /// The same, those that differ in their seed alone together.
    pub groups: Vec<Group>,
    /// The page.
    pub page: Utf8PathBuf,
}

/// The runs in folders: each is a run, or has runs in it.
///
/// # Errors
/// [`ReportError::NoRun`] for a folder without one.
pub fn find_runs(folders: &[Utf8PathBuf]) -> Result<Vec<Utf8PathBuf>, ReportError> {
    let is_run = |folder: &Utf8Path| folder.join("run.toml").is_file();
    let mut all = Vec::new();
    for folder in folders {
        if is_run(folder) {
            all.push(fs::canonicalize(folder)?.try_into().map_err(std::io::Error::other)?);
            continue;
        }
        let mut inside = Vec::new();
        if folder.is_dir() {
            for entry in folder.canonicalize_utf8()?.read_dir_utf8()? {
                let entry = entry?;
                inside.extend(is_run(entry.path()).then(|| entry.path().to_owned()));
            }
        }
        if inside.is_empty() {
            return Err(ReportError::NoRun(folder.clone()));
        }
        inside.sort();
        all.append(&mut inside);
    }
    Ok(all)
}

/// Reads the runs in `folders` and writes what they say: of each into its own folder, of all into `out`.
///
/// # Errors
/// [`ReportError`].
pub fn write(folders: &[Utf8PathBuf], out: &Utf8Path) -> Result<Written, ReportError> {
    let runs: Vec<RunReport> =
        folders.iter().map(|folder| RunReport::read(folder)).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    if let Some(twice) = runs.iter().find(|run| !names.insert(&run.id)) {
        return Err(ReportError::Twice(twice.id.clone()));
    }
    for run in &runs {
        let own = run.folder.join(FOLDER);
        fs::create_dir_all(&own)?;
        write_json(&own.join("metrics.json"), &run.metrics)?;
        write_atomic(&own.join("summary.md"), summary::markdown(run).as_bytes())?;
        let lines = summary::lines(run).map_err(std::io::Error::other)?;
        write_atomic(&own.join("summary.jsonl"), lines.as_bytes())?;
    }
    fs::create_dir_all(out)?;
    let groups = groups(&runs);
    let page = out.join("index.html");
    write_atomic(&page, page::html(&runs, &groups).as_bytes())?;
    write_atomic(&out.join("results.csv"), results::csv(&runs)?.as_bytes())?;
    let written = Written { runs, groups, page };
    write_json(&out.join("report.json"), &written)?;
    Ok(written)
}
