//! `posttrain ft`: FT-Agent on a task of a suite with raw data.

use super::client::ServerArgs;
use super::ft_agent::{FtAgentArgs, FtPlace, Served, tell, told};
use super::{UsageError, exit, model_folder};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use worlds::Suite;

#[derive(Debug, Args)]
pub(super) struct FtArgs {
    /// The suite; its public half and its raw data are read.
    suite: Utf8PathBuf,
    /// The task.
    task: String,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, value_name = "DIR", value_parser = model_folder::parser())]
    base: Utf8PathBuf,
    /// The output folder of the server, where models are put.
    #[arg(long, value_name = "DIR")]
    output: Utf8PathBuf,
    /// The folder of the run; a run that is there goes on.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    #[command(flatten)]
    agent: FtAgentArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Set once the process is interrupted or asked to terminate.
pub(super) fn watch_signals() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .context("failed to watch for signals")?;
    }
    Ok(interrupted)
}

pub(super) fn ft(args: &FtArgs) -> Result<u8> {
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    let task = suite.task(&args.task)?;
    let pool = suite.pool().ok_or_else(|| {
        UsageError(format!("`{}` has no raw data; make a suite `ftdojo`", args.suite))
    })?;
    let trainer = args.agent.trainer(&args.base)?;
    let mut arena = Served { server: &args.server, output: &args.output, base: &trainer.base };
    let place = FtPlace { task: &task, pool: &pool, trainer: &trainer, out: &args.out };
    let interrupted = watch_signals()?;
    match told(args.agent.run(&place, &mut arena, &interrupted))? {
        Some(state) => {
            tell(&state)?;
            Ok(exit::SUCCESS)
        }
        None => Ok(exit::INTERRUPTED),
    }
}
