//! The command `sandbox grade`: scores submissions to a task or a competition.

use super::failure::UsageError;
use super::{Jail, mlebench, open_task, output, report};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use tasks::collect::{CollectError, read_file};
use tasks::grade::GradeError;
use tasks::submission::{MOST_BYTES, Part};
use tasks::task::Opening;
use tasks::units::ByteSize;

/// Arguments of `sandbox grade`.
#[derive(Debug, Args)]
pub(super) struct GradeArgs {
    /// The task's folder: one of ours, a prepared competition of MLE-bench, or a released bundle.
    #[arg(required_unless_present_any = ["competition", "submissions"], requires = "submission")]
    task: Option<Utf8PathBuf>,
    /// The submission, a CSV file.
    submission: Option<Utf8PathBuf>,
    /// Print the grade as JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Size of the largest submission that is read. With `--competition` and `--submissions` it
    /// follows from the size of the answers instead.
    #[arg(long, value_name = "SIZE", default_value_t = ByteSize::new(MOST_BYTES))]
    #[arg(conflicts_with_all = ["competition", "submissions"])]
    submission_limit: ByteSize,
    #[command(flatten)]
    jail: Jail,
    #[command(flatten)]
    mlebench: mlebench::MlebenchArgs,
    /// Take the metric of a competition of MLE-Dojo from this checkout of it.
    #[arg(long, value_name = "DIR")]
    mledojo: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &GradeArgs) -> Result<u8> {
    if let Some(code) = mlebench::run(&args.mlebench, args.json)? {
        return Ok(code);
    }
    let (Some(task), Some(submission)) = (&args.task, &args.submission) else {
        return Err(UsageError::new("there is nothing to grade").into());
    };
    let opening =
        Opening { checkout: args.mlebench.checkout().cloned(), mledojo: args.mledojo.clone() };
    let (task, graders) = open_task(task, &opening, args.jail.options(1, false))?;
    let grader = graders.open(&task).context("the task itself cannot be graded")?;
    let grade = match read_file(submission, args.submission_limit.bytes()) {
        Ok(bytes) => grader.grade(&bytes, Part::All),
        Err(error @ CollectError::Unreadable { .. }) => {
            return Err(UsageError::at("failed to read the submission")(error).into());
        }
        Err(refusal) => Err(GradeError::Refused(refusal.to_string())),
    };
    let code = report::code(&grade)?;
    if args.json {
        output::json(&report::to_json(&task, &*grader, &grade))?;
    } else {
        output::line(&report::to_text(&*grader, &grade))?;
    }
    Ok(code)
}
