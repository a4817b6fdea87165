//! `posttrain serve`.

use super::grading::{GradingArgs, this_program};
use super::model_folder;
use super::{UsageError, exit, output};
use anyhow::Result;
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use posttrain::serve::{GradingServer, ServeConfig, ServeError};
use std::net::SocketAddr;
use web::token::{BadToken, Token};

/// Characters of a token, at least.
const TOKEN: usize = 16;

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The suite, with its sealed half.
    suite: Utf8PathBuf,
    /// The task.
    task: String,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, value_name = "DIR", value_parser = model_folder::parser())]
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
    /// What an agent is told of a submission that was graded.
    #[arg(long, value_enum, default_value = "score")]
    feedback: FeedbackArg,
    /// End after the final scores.
    #[arg(long)]
    until_final: bool,
    #[command(flatten)]
    grading: GradingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FeedbackArg {
    /// The score.
    Score,
    /// Also the score and the tags of each dev item, by its name. What the items say stays sealed.
    Items,
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
        let grading = &self.grading;
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
            protocol: grading.protocol(),
            aggregate: grading.aggregate(),
            tells_items: self.feedback == FeedbackArg::Items,
            budget: grading.budget()?,
            limits: grading.limits()?,
            grader: grading.grader()?,
            grading_limit: grading.grading_limit.0,
            device: grading.device.clone(),
            device_lock: grading.device_lock.clone(),
            launcher: this_program()?,
            until_final: self.until_final,
            code: None,
            uses: None,
        })
    }
}

/// The error of a server that did not open: a mistake of the caller where it is about the flags and not
/// about the host.
pub(super) fn of_the_flags(error: ServeError) -> anyhow::Error {
    match error {
        ServeError::OtherRun(_) | ServeError::OtherBase | ServeError::Exposed(_) => {
            UsageError(error.to_string()).into()
        }
        error => error.into(),
    }
}

pub(super) fn serve(args: &ServeArgs) -> Result<u8> {
    let server = GradingServer::open(args.config()?).map_err(of_the_flags)?;
    output::line(&format!("serving {} at http://{}", args.task, server.address()))?;
    server.run()?;
    Ok(exit::SUCCESS)
}
