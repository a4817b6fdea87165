//! What `posttrain serve` and `posttrain run` have in common: how submissions are taken and graded.

use super::UsageError;
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use posttrain::clock::{Budget, ClockMode};
use posttrain::grade::GRADER;
use posttrain::ledger::{Aggregate, Protocol, SubmissionLimits};
use tasks::units::Span;

#[derive(Debug, Args)]
pub(super) struct GradingArgs {
    /// What submissions are scored on.
    #[arg(long, value_enum, default_value = "sealed")]
    protocol: ProtocolArg,
    /// The agent's time.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(12 * 3600))]
    budget: Span,
    /// Whether grading counts as time of the agent.
    #[arg(long, value_enum, default_value = "paused")]
    clock: ClockArg,
    /// Submissions, at most; 0 is no limit. Default: 200, and none with `--protocol paper`.
    #[arg(long, value_name = "COUNT")]
    submissions: Option<u64>,
    /// Refused submissions, at most.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    refusals: u64,
    /// Time in grading as a share of the budget, at most; 0 is no limit. Default: 0.5, and none with
    /// `--protocol paper`.
    #[arg(long, value_name = "SHARE")]
    grading_share: Option<f64>,
    /// Submissions that may wait to be graded.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    queue: u64,
    /// Time that one grading may take.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(2 * 3600))]
    pub(super) grading_limit: Span,
    /// The device that models are graded on, as the grader calls it.
    #[arg(long, default_value = "cpu")]
    pub(super) device: String,
    /// A file that is locked while a model is graded, the same for all servers that share a device.
    #[arg(long, value_name = "FILE")]
    pub(super) device_lock: Option<Utf8PathBuf>,
    /// How the score of the task follows from those of its items. Default: as the task says, most of which
    /// have the mean.
    #[arg(long, value_enum)]
    aggregate: Option<AggregateArg>,
    /// The grader, which gets a job as JSON on standard input and prints a result: program and
    /// arguments, in which {task}, {part}, {model}, {device} and {scratch} are replaced. Default: `rl eval`,
    /// of the `rl` beside this program, or on the PATH.
    #[arg(last = true, value_name = "GRADER")]
    grader: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProtocolArg {
    /// Dev items during the run, the test items once after it.
    Sealed,
    /// The test items, as in the published benchmark.
    Paper,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ClockArg {
    /// It does, as in the published benchmark.
    Wall,
    /// It does not.
    Paused,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AggregateArg {
    /// It is their mean, which the server computes.
    Mean,
    /// It is what the grader says.
    Reported,
}

impl GradingArgs {
    pub(super) fn protocol(&self) -> Protocol {
        match self.protocol {
            ProtocolArg::Sealed => Protocol::Sealed,
            ProtocolArg::Paper => Protocol::Paper,
        }
    }

    pub(super) fn aggregate(&self) -> Option<Aggregate> {
        self.aggregate.map(|aggregate| match aggregate {
            AggregateArg::Mean => Aggregate::Mean,
            AggregateArg::Reported => Aggregate::Reported,
        })
    }

    pub(super) fn budget(&self) -> Result<Budget> {
        let clock = match self.clock {
            ClockArg::Wall => ClockMode::Wall,
            ClockArg::Paused => ClockMode::Paused,
        };
        Ok(Budget { limit_ms: u64::try_from(self.budget.0.as_millis())?, clock })
    }

    pub(super) fn limits(&self) -> Result<SubmissionLimits> {
        let (submissions, share) = match self.protocol {
            ProtocolArg::Sealed => (200, 0.5),
            ProtocolArg::Paper => (0, 0.0),
        };
        let submissions = self.submissions.unwrap_or(submissions);
        let share = self.grading_share.unwrap_or(share);
        if !(0.0..=100.0).contains(&share) {
            return Err(UsageError("--grading-share is a share, from 0 to 100".to_owned()).into());
        }
        Ok(SubmissionLimits {
            submissions: (submissions > 0).then_some(submissions),
            refusals: self.refusals,
            grading_share: (share > 0.0).then_some(share),
            waiting: self.queue,
        })
    }

    pub(super) fn grader(&self) -> Result<Vec<String>> {
        if !self.grader.is_empty() {
            return Ok(self.grader.clone());
        }
        Ok(grader_of(vec![rl()?]))
    }
}

/// The grader that is `rl`, or answers as it does.
pub(super) fn grader_of(mut program: Vec<String>) -> Vec<String> {
    program.extend(GRADER.map(str::to_owned));
    program
}

/// The program that trains and grades: `rl` beside this program, or else the one on the PATH.
pub(super) fn rl() -> Result<String> {
    let beside = this_program()?.with_file_name("rl");
    Ok(if beside.is_file() { beside.into_string() } else { "rl".to_owned() })
}

/// The path of this program.
pub(super) fn this_program() -> Result<Utf8PathBuf> {
    let program = std::env::current_exe().context("failed to find this program")?;
    program.try_into().context("the path of this program is not UTF-8")
}
