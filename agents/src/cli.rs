//! The command line of `agents`.

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand};
use llm::MicroUsd;

/// Runs agents that search, on tasks and on benchmarks.
#[derive(Debug, Parser)]
#[command(
    name = "agents",
    version,
    after_help = "\
Exit codes: 0 done; 1 failed; 2 wrong usage; 3 something was not played, such as a competition \
without data, or a run that waits for its model; 130 interrupted. The same command goes on where \
it was."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one search on one task, or go on with it.
    #[command(after_help = "\
Examples:
  without a model, a player that draws and changes scripts:
    agents run --scaffold aide --model script:mutator --task corpus/TASK --out run
  a chat model, for at most a dollar:
    agents run --scaffold aide --model openai:NAME --task corpus/TASK --out run \
--budget-usd 1 --prices prices.toml
  a served policy (`rl serve`), listed in models.toml:
    agents run --scaffold aide --models models.toml --model local:NAME --task corpus/TASK --out run
docs/EVALUATION.md explains scaffolds, models and journals.")]
    Run(Box<RunArgs>),
}

/// Arguments of `agents run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scaffold, or a preset of one: a name or a TOML file.
    #[arg(long, value_name = "NAME")]
    pub(crate) scaffold: String,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The task's folder: one of ours, a prepared competition of MLE-bench, or a released bundle.
    #[arg(long, value_name = "DIR")]
    pub(crate) task: Utf8PathBuf,
    /// The folder of the run.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Utf8PathBuf,
    /// The seed of every draw.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Set one setting of the scaffold, such as `steps=20` or `search.operators.judge=true`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
}

/// Flags on the model that answers.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Who answers: `ENDPOINT:NAME`, such as `openai:NAME` or `anthropic:NAME`; or without a model
    /// `script:mutator`, `script:sample`, `script:FILE`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// Endpoints of models [default: `openai` and `anthropic`].
    #[arg(long, value_name = "FILE")]
    pub(crate) models: Option<Utf8PathBuf>,
    /// Prices of models.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<Utf8PathBuf>,
    /// Most money to spend in US dollars, over all starts.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget_usd: Option<MicroUsd>,
    /// Take every answer from a recording, and ask no model.
    #[arg(long, value_name = "FILE", conflicts_with = "budget_usd")]
    pub(crate) replay: Option<Utf8PathBuf>,
}
