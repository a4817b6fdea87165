//! `posttrain audit`.

use super::{exit, output};
use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;
use posttrain::Digest;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The sealed folder of the run. The server may be running.
    sealed: Utf8PathBuf,
    /// The hash of a line that is known from elsewhere: whoever can write to the folder could have made
    /// all of it anew, but not with this hash.
    #[arg(long, value_name = "HASH")]
    head: Option<Digest>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn audit(args: &AuditArgs) -> Result<u8> {
    let report = posttrain::audit::audit(&args.sealed, args.head)?;
    let code = if report.findings.is_empty() { exit::SUCCESS } else { exit::FINDINGS };
    if args.json {
        output::json(&report)?;
        return Ok(code);
    }
    for finding in &report.findings {
        output::line(&finding.to_string())?;
    }
    if let (Some(head), Some(metrics)) = (report.head, &report.metrics) {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
        output::line(&format!("lines       {}, the last one {head}", report.lines))?;
        output::line(&format!(
            "shown       base {}, best {:.4}, improvement {}",
            number(metrics.baseline),
            metrics.best,
            number(metrics.improvement)
        ))?;
        output::line(&format!(
            "test        base {}, best {}, last {}, improvement {}",
            number(metrics.final_base),
            number(metrics.final_best),
            number(metrics.final_last),
            number(metrics.final_improvement)
        ))?;
        if let Some((low, high)) = report.interval {
            output::line(&format!("interval    {low:.4} to {high:.4} (95 %, items in pairs)"))?;
        }
        output::line(&format!(
            "submissions {}, valid share {}",
            metrics.submissions,
            number(metrics.valid_submission_rate)
        ))?;
    }
    let verdict = match (report.findings.len(), report.is_finished) {
        (0, true) => "nothing was changed".to_owned(),
        (0, false) => "nothing was changed; the run is not finished".to_owned(),
        (count, _) => format!("{count} findings"),
    };
    output::line(&verdict)?;
    Ok(code)
}
