//! `posttrain make` and `posttrain tasks`.

use super::{exit, output};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use serde_json::json;
use worlds::{Scale, Suite, SuiteName, SuiteRequest};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SuiteArg {
    /// The generated counterparts of the tasks of Agent² RL-Bench.
    Rlbench,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScaleArg {
    /// For policies of a few million parameters, on processors.
    Tiny,
    /// For language models; counts and lengths of the published benchmarks.
    Full,
}

#[derive(Debug, Args)]
pub(super) struct MakeArgs {
    /// Which tasks.
    #[arg(long, value_enum, default_value = "rlbench")]
    suite: SuiteArg,
    /// How large.
    #[arg(long, value_enum, default_value = "tiny")]
    scale: ScaleArg,
    /// The seed of all draws, as secret as the sealed items. Default: drawn by the system.
    #[arg(long)]
    seed: Option<u64>,
    /// The folder, which must not be there yet.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct TasksArgs {
    /// The suite.
    suite: Utf8PathBuf,
    /// Print the tasks as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn make(args: &MakeArgs) -> Result<u8> {
    let seed = match args.seed {
        Some(seed) => seed,
        None => drawn_seed()?,
    };
    let suite = match args.suite {
        SuiteArg::Rlbench => SuiteName::Rlbench,
    };
    let scale = match args.scale {
        ScaleArg::Tiny => Scale::Tiny,
        ScaleArg::Full => Scale::Full,
    };
    let request = SuiteRequest { suite, scale, seed };
    let suite = request.make(&args.out).context("failed to make the suite")?;
    output::line(&format!("{} tasks in {}", suite.tasks().len(), args.out))?;
    Ok(exit::SUCCESS)
}

/// A seed that nobody can guess.
fn drawn_seed() -> Result<u64> {
    let digits = tasks::stream::unguessable().context("failed to draw a seed")?;
    Ok(u64::from_str_radix(&digits[..16], 16)?)
}

pub(super) fn tasks(args: &TasksArgs) -> Result<u8> {
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    suite.check_files()?;
    let mut rows = Vec::new();
    for entry in suite.tasks() {
        let task = suite.task(entry.id.as_str())?;
        let spec = task.spec();
        rows.push(json!({
            "id": spec.id.as_str(),
            "level": spec.level,
            "kind": spec.kind,
            "metric": spec.metric,
            "train": spec.items.train,
            "dev": spec.items.dev,
            "test": spec.items.test,
            "turns": spec.limits.turns,
            "turn_tokens": spec.limits.turn_tokens,
            "objective": spec.objective,
        }));
    }
    if args.json {
        output::json(&rows)?;
        return Ok(exit::SUCCESS);
    }
    output::line("task        level  train    dev   test  turns  tokens  metric")?;
    for row in &rows {
        let number = |key: &str| row[key].as_u64().unwrap_or_default();
        output::line(&format!(
            "{:10}  {:5}  {:5}  {:5}  {:5}  {:5}  {:6}  {}",
            row["id"].as_str().unwrap_or_default(),
            number("level"),
            number("train"),
            number("dev"),
            number("test"),
            number("turns"),
            number("turn_tokens"),
            row["metric"].as_str().unwrap_or_default(),
        ))?;
    }
    Ok(exit::SUCCESS)
}
