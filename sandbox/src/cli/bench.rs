//! The command `sandbox bench`: latency and throughput of runs.

use super::{CommonFlags, exit, output};
use anyhow::{Context as _, Result};
use clap::Args;
use jail::bench::{BenchSettings, bench};
use jail::python::PythonEnv;

/// Arguments of `sandbox bench`.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Runs of each script, jailed and in a plain fork.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Runs of each script in a cold interpreter.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    cold_runs: u16,
    #[command(flatten)]
    pub(super) common: CommonFlags,
}

pub(super) fn run(args: &BenchArgs) -> Result<u8> {
    let settings = BenchSettings { runs: args.runs.into(), cold_runs: args.cold_runs.into() };
    let python = PythonEnv::locate()?;
    let bench = bench(&python, &args.common.options(true), settings, |script| {
        output::note(&format!("measuring {script:?}"));
    })
    .context("nothing was measured")?;
    if args.common.json {
        output::json(&bench)?;
    } else {
        output::block(&bench.to_string())?;
    }
    Ok(exit::SUCCESS)
}
