//! `results.csv`: a line a run, in the columns of the published benchmark.

use super::files::ReportError;
use super::run::RunReport;
use serde::Serialize;

/// A line; none is an empty cell.
#[derive(Debug, Serialize)]
struct Row<'a> {
    run_id: &'a str,
    timestamp: Option<&'a str>,
    task: &'a str,
    agent: &'a str,
    driver_model: Option<&'a str>,
    base_model: &'a str,
    baseline: Option<f64>,
    best_score: Option<f64>,
    improvement: Option<f64>,
    submissions: usize,
    duration_s: f64,
    success: Option<bool>,
    workspace: String,
}

/// The text of the file. Scores are those that the agent was shown.
pub(super) fn csv(runs: &[RunReport]) -> Result<String, ReportError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for run in runs {
        let ledger = run.metrics.ledger.as_ref();
        let row = Row {
            run_id: &run.id,
            timestamp: run.timestamp.as_deref(),
            task: &run.task,
            agent: &run.agent,
            driver_model: run.driver_model.as_deref(),
            base_model: &run.base_model,
            baseline: ledger.and_then(|metrics| metrics.baseline),
            best_score: ledger.map(|metrics| metrics.best),
            improvement: ledger.and_then(|metrics| metrics.improvement),
            submissions: run.iterations.len(),
            duration_s: run.duration_s,
            success: ledger.map(|metrics| metrics.success),
            workspace: run.folder.join("workspace").into_string(),
        };
        writer.serialize(row).map_err(std::io::Error::other)?;
    }
    let bytes = writer.into_inner().map_err(std::io::Error::other)?;
    Ok(String::from_utf8(bytes).map_err(std::io::Error::other)?)
}
