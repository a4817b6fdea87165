//! `posttrain make` and `posttrain tasks`.

use super::{exit, output};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, ValueEnum};
use fs_err as fs;
use posttrain::dojo::describe;
use serde_json::{Value, json};
use worlds::{Scale, Suite, SuiteName, SuiteRequest};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SuiteArg {
    /// The generated counterparts of the tasks of Agent² RL-Bench.
    Rlbench,
    /// The generated counterparts of the tasks of FT-Dojo, with a pool of raw data.
    Ftdojo,
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
    /// Print what is in the raw data instead, as JSON: rows, columns, lengths, samples.
    #[arg(long, conflicts_with = "json")]
    pool: bool,
}

pub(super) fn make(args: &MakeArgs) -> Result<u8> {
    let seed = args.seed.map_or_else(drawn_seed, Ok)?;
    let suite = match args.suite {
        SuiteArg::Rlbench => SuiteName::Rlbench,
        SuiteArg::Ftdojo => SuiteName::Ftdojo,
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
pub(super) fn drawn_seed() -> Result<u64> {
    let digits = tasks::stream::unguessable().context("failed to draw a seed")?;
    Ok(u64::from_str_radix(&digits[..16], 16)?)
}

pub(super) fn tasks(args: &TasksArgs) -> Result<u8> {
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    suite.check_files()?;
    if args.pool {
        let pool = suite.pool();
        let pool = pool.with_context(|| format!("`{}` has no raw data", args.suite))?;
        output::json(&describe(&pool)?)?;
        return Ok(exit::SUCCESS);
    }
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
    let pool = pool_rows(&suite)?;
    if args.json {
        // Suites without a pool keep the form that they always had.
        if pool.is_empty() {
            output::json(&rows)?;
        } else {
            output::json(&json!({"tasks": rows, "pool": pool}))?;
        }
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
    if !pool.is_empty() {
        output::line("\npool                            KiB  lines")?;
    }
    for row in &pool {
        output::line(&format!(
            "{:28}  {:5}  {:5}",
            row["file"].as_str().unwrap_or_default(),
            row["bytes"].as_u64().unwrap_or_default().div_ceil(1024),
            row["lines"].as_u64().unwrap_or_default(),
        ))?;
    }
    Ok(exit::SUCCESS)
}

/// The files of a suite's pool, READMEs left out, with their sizes; of CSV the header is a line too.
fn pool_rows(suite: &Suite) -> Result<Vec<Value>> {
    let Some(pool) = suite.pool() else { return Ok(Vec::new()) };
    let files = suite.pool_files().into_iter().filter(|path| path.extension() != Some("md"));
    let row = |path: &Utf8Path| {
        let text = fs::read_to_string(pool.join(path))?;
        let (bytes, lines) = (text.len(), text.lines().count());
        Ok(json!({"file": path.as_str(), "bytes": bytes, "lines": lines}))
    };
    files.map(row).collect()
}
