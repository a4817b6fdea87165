//! `posttrain report`.

use super::{UsageError, exit, output};
use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;
use posttrain::report::{ReportError, find_runs, write};

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Folders of `posttrain run`, or folders with such folders in them.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<Utf8PathBuf>,
    /// Where the page and the tables over all runs go. Default: `report` in the folder, if one is named.
    #[arg(long, value_name = "DIR")]
    out: Option<Utf8PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    let out = match (&args.out, args.runs.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [folder]) => folder.join("report"),
        (None, _) => {
            let what = "several folders are named: say with --out where their page goes";
            return Err(UsageError(what.to_owned()).into());
        }
    };
    let usage = |error: ReportError| match error {
        ReportError::NoRun(_) | ReportError::Twice(_) => UsageError(error.to_string()).into(),
        error => anyhow::Error::from(error),
    };
    let runs = find_runs(&args.runs).map_err(usage)?;
    let written = write(&runs, &out).map_err(usage)?;
    if args.json {
        output::json(&written)?;
        return Ok(exit::SUCCESS);
    }
    for run in &written.runs {
        let metrics = &run.metrics;
        let ledger = metrics.ledger.as_ref();
        let number =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
        let failed = metrics.failure.as_ref().map(|found| format!(", {}", found.failure));
        let chain: Vec<&str> = metrics.route_chain.iter().map(|route| route.name()).collect();
        let way = if chain.is_empty() { "none".to_owned() } else { chain.join(" → ") };
        output::line(&format!(
            "{:24}  {:11}  best {} (improvement {}), {} submissions, {way}{}",
            run.id,
            metrics.state.name(),
            number(ledger.map(|metrics| metrics.best)),
            number(ledger.and_then(|metrics| metrics.improvement)),
            run.iterations.len(),
            failed.unwrap_or_default()
        ))?;
    }
    output::line(&format!("page  {}", written.page))?;
    Ok(exit::SUCCESS)
}
