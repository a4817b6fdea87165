//! `posttrain serve`.

use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use posttrain::clock::{Budget, ClockMode};
use posttrain::grade::GRADER;
use posttrain::ledger::{Aggregate, Protocol, SubmissionLimits};
use posttrain::serve::{GradingServer, ServeConfig, ServeError};
use std::net::SocketAddr;
use tasks::units::Span;
use web::token::{BadToken, Token};

/// Characters of a token, at least.
const TOKEN: usize = 16;

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The suite, with its sealed half.
    suite: Utf8PathBuf,
    /// The task.
    task: String,
    /// The base model, a folder in Hugging Face's form.
    #[arg(long, value_name = "DIR")]
    base: Utf8PathBuf,
    /// The agent's output folder.
    #[arg(long, value_name = "DIR")]
    output: Utf8PathBuf,
    /// Another name under which the agent knows that folder, such as its path in a box; may be given
    /// more than once.
    #[arg(long = "output-alias", value_name = "DIR")]
    aliases: Vec<Utf8PathBuf>,
    /// A folder for `scores.json` and `run_meta.json`, which the server writes and never reads. The agent
    /// may read it, and must not be able to write to it.
    #[arg(long, value_name = "DIR")]
    views: Option<Utf8PathBuf>,
    /// The folder of ledger, snapshots and results. No agent may see it.
    #[arg(long, value_name = "DIR")]
    sealed: Utf8PathBuf,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5000")]
    listen: SocketAddr,
    /// What agents must show, at least 16 characters. Better given in the environment, where other
    /// users of this machine do not see it.
    #[arg(long, env = "GRADING_TOKEN", hide_env_values = true, value_parser = token)]
    token: Option<Token>,
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
    grading_limit: Span,
    /// The device that models are graded on, as the grader calls it.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// A file that is locked while a model is graded, the same for all servers that share a device.
    #[arg(long, value_name = "FILE")]
    device_lock: Option<Utf8PathBuf>,
    /// How the score of the task follows from those of its items.
    #[arg(long, value_enum, default_value = "mean")]
    aggregate: AggregateArg,
    /// End after the final scores.
    #[arg(long)]
    until_final: bool,
    /// The grader, which gets a job as JSON on standard input and prints a result: program and
    /// arguments, in which {task}, {part}, {model}, {device} and {scratch} are replaced. Default: `rl eval`.
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

fn token(secret: &str) -> std::result::Result<Token, BadToken> {
    Token::new(secret, TOKEN)
}

impl ServeArgs {
    fn config(&self) -> Result<ServeConfig> {
        let token = self.token.clone().ok_or_else(|| {
            UsageError(
                "agents must show a token: set GRADING_TOKEN, such as to the output of `openssl rand \
                 -hex 16`"
                    .to_owned(),
            )
        })?;
        let (protocol, submissions, share) = match self.protocol {
            ProtocolArg::Sealed => (Protocol::Sealed, 200, 0.5),
            ProtocolArg::Paper => (Protocol::Paper, 0, 0.0),
        };
        let submissions = self.submissions.unwrap_or(submissions);
        let share = self.grading_share.unwrap_or(share);
        if !(0.0..=100.0).contains(&share) {
            return Err(UsageError("--grading-share is a share, from 0 to 100".to_owned()).into());
        }
        let program = std::env::current_exe().context("failed to find this program")?;
        let grader = if self.grader.is_empty() {
            GRADER.map(str::to_owned).to_vec()
        } else {
            self.grader.clone()
        };
        Ok(ServeConfig {
            listen: self.listen,
            token,
            sealed: self.sealed.clone(),
            suite: self.suite.clone(),
            task: self.task.clone(),
            base: self.base.clone(),
            output: self.output.clone(),
            aliases: self.aliases.clone(),
            views: self.views.clone(),
            protocol,
            aggregate: match self.aggregate {
                AggregateArg::Mean => Aggregate::Mean,
                AggregateArg::Reported => Aggregate::Reported,
            },
            budget: Budget {
                limit_ms: u64::try_from(self.budget.0.as_millis())?,
                clock: match self.clock {
                    ClockArg::Wall => ClockMode::Wall,
                    ClockArg::Paused => ClockMode::Paused,
                },
            },
            limits: SubmissionLimits {
                submissions: (submissions > 0).then_some(submissions),
                refusals: self.refusals,
                grading_share: (share > 0.0).then_some(share),
                waiting: self.queue,
            },
            grader,
            grading_limit: self.grading_limit.0,
            device: self.device.clone(),
            device_lock: self.device_lock.clone(),
            launcher: program.try_into().context("the path of this program is not UTF-8")?,
            until_final: self.until_final,
        })
    }
}

pub(super) fn serve(args: &ServeArgs) -> Result<u8> {
    let server = GradingServer::open(args.config()?).map_err(|error| match error {
        // These are about the flags and not about the host.
        ServeError::OtherRun(_) | ServeError::OtherBase | ServeError::Exposed(_) => {
            anyhow::Error::new(UsageError(error.to_string()))
        }
        error => error.into(),
    })?;
    output::line(&format!("serving {} at http://{}", args.task, server.address()))?;
    server.run()?;
    Ok(exit::SUCCESS)
}
