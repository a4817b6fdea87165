//! `posttrain import`.

use super::{UsageError, exit, output, suite};
use anyhow::Result;
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use worlds::import::{Benchmark, Import, ImportError, ReleasedFile};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BenchmarkArg {
    /// GSM8K: word problems, answered with a number.
    Gsm8k,
    /// HumanEval: functions in Python, judged by tests.
    HumanEval,
}

impl BenchmarkArg {
    fn benchmark(self) -> Benchmark {
        match self {
            Self::Gsm8k => Benchmark::Gsm8k,
            Self::HumanEval => Benchmark::HumanEval,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// The folder with a folder for each benchmark: `gsm8k/train.jsonl`, `gsm8k/test.jsonl`,
    /// `human-eval/HumanEval.jsonl`.
    #[arg(long, value_name = "DIR")]
    from: Utf8PathBuf,
    /// A benchmark to import; may be given more than once. Default: those with a folder.
    #[arg(long = "benchmark", value_enum, value_name = "NAME")]
    benchmarks: Vec<BenchmarkArg>,
    /// Take files that differ from the released ones too. Scores cannot be compared with published ones then.
    #[arg(long)]
    any_files: bool,
    /// The seed that chooses dev items, as secret as these. Default: drawn by the system.
    #[arg(long)]
    seed: Option<u64>,
    /// The folder of the suite, which must not be there yet.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
}

pub(super) fn import(args: &ImportArgs) -> Result<u8> {
    let chosen = chosen(args)?;
    let seed = args.seed.map_or_else(suite::drawn_seed, Ok)?;
    let import =
        Import { from: args.from.clone(), benchmarks: chosen, any_files: args.any_files, seed };
    let made = import.make(&args.out).map_err(|error| match error {
        ImportError::Changed { .. } => {
            UsageError(format!("{error}; `--any-files` takes it all the same")).into()
        }
        ImportError::Io(_) | ImportError::Suite(_) => {
            anyhow::Error::from(error).context("failed to import")
        }
        mistake => UsageError(mistake.to_string()).into(),
    })?;
    for entry in made.tasks() {
        let items = made.task(entry.id.as_str())?.spec().items;
        output::line(&format!(
            "{}: {} items for training, {} sealed for dev and {} for the test",
            entry.id, items.train, items.dev, items.test
        ))?;
    }
    Ok(exit::SUCCESS)
}

/// The benchmarks that are asked for, or those that have a folder. Of the others it says what is missing.
fn chosen(args: &ImportArgs) -> Result<Vec<Benchmark>> {
    if !args.from.is_dir() {
        return Err(UsageError(format!("there is no folder `{}`", args.from)).into());
    }
    let mut chosen: Vec<Benchmark> =
        args.benchmarks.iter().map(|benchmark| benchmark.benchmark()).collect();
    chosen.sort_unstable();
    chosen.dedup();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let has_folder = |benchmark: &Benchmark| args.from.join(benchmark.name()).is_dir();
    let (there, missing): (Vec<_>, Vec<_>) = Benchmark::ALL.into_iter().partition(has_folder);
    let missing: Vec<String> = missing.into_iter().map(|it| files(args, it)).collect();
    if there.is_empty() {
        return Err(
            UsageError(format!("nothing to import; put there\n{}", missing.join("\n"))).into()
        );
    }
    for files in missing {
        output::note(&format!("left out, for it has no folder there:\n{files}"));
    }
    Ok(there)
}

/// Where the files of a benchmark belong, and where they are to be had.
fn files(args: &ImportArgs, benchmark: Benchmark) -> String {
    let line = |file: &ReleasedFile| {
        format!("  {}: {}", args.from.join(benchmark.name()).join(file.name), file.source)
    };
    benchmark.files().iter().map(line).collect::<Vec<_>>().join("\n")
}
