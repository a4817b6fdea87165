//! `posttrain audit`.

use super::grading::this_program;
use super::{UsageError, exit, output};
use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use posttrain::Digest;
use posttrain::audit::{Regrade, RegradeError, Regraded};
use tasks::units::Span;

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
    /// Grade the models that were kept again, with this suite, and compare scores and items.
    #[arg(long, value_name = "SUITE")]
    regrade: Option<Utf8PathBuf>,
    /// The device to grade on, as the grader calls it.
    #[arg(long, default_value = "cpu", requires = "regrade")]
    device: String,
    /// Time that one grading may take.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(7200), requires = "regrade")]
    grading_limit: Span,
    /// The grader. Default: the command line that the run had.
    #[arg(last = true, requires = "regrade")]
    grader: Vec<String>,
}

impl AuditArgs {
    fn how(&self, suite: &Utf8Path) -> Result<Regrade> {
        Ok(Regrade {
            suite: suite.to_owned(),
            grader: (!self.grader.is_empty()).then(|| self.grader.clone()),
            limit: self.grading_limit.0,
            device: self.device.clone(),
            launcher: this_program()?,
        })
    }
}

pub(super) fn audit(args: &AuditArgs) -> Result<u8> {
    let mut report = posttrain::audit::audit(&args.sealed, args.head)?;
    if let Some(suite) = &args.regrade {
        match report.regrade(&args.sealed, &args.how(suite)?) {
            Ok(()) => {}
            Err(error @ RegradeError::OtherSuite(_)) => {
                return Err(UsageError(error.to_string()).into());
            }
            Err(error) => return Err(error.into()),
        }
    }
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
    if let Some(Regraded { scores, without_model }) = report.regraded {
        let line =
            format!("regraded    {scores} scores; {without_model} of models that were not kept");
        output::line(&line)?;
    }
    let verdict = match (report.findings.len(), report.is_finished) {
        (0, true) => "nothing was changed".to_owned(),
        (0, false) => "nothing was changed; the run is not finished".to_owned(),
        (count, _) => format!("{count} findings"),
    };
    output::line(&verdict)?;
    Ok(code)
}
