//! The command line: flags in, options out.

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand, ValueEnum};
use factory::show::gallery;
use factory::spec::config::{Options, Preset};
use factory::spec::limits::RoleLimits;
use factory::spec::shard::Shard;

/// Turns seed tasks into verified, micro-scale machine-learning tasks.
#[derive(Debug, Parser)]
#[command(
    name = "factory",
    version,
    after_help = "\
Exit codes: 0 done; 1 failed; 2 wrong usage; 3 some slots or tasks failed verification; \
130 interrupted (run the same command again to continue)."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a corpus of tasks, or continue one that was interrupted.
    #[command(after_help = "\
Example: factory generate --seeds mlebench --count 72 --out generated/quickstart

A run that was interrupted, or killed, is continued by the same command: finished tasks are \
kept, the others made, and the result is byte for byte that of an uninterrupted run.")]
    Generate(Generate),
    /// Verify every task of a corpus again, from its files.
    #[command(after_help = "\
Example: factory verify generated/quickstart --run --json trials.json

Without --run, no Python is needed. With it, tasks that pass are tried in the sandbox: their own \
evaluator must agree with the native grader, and a reference script that sees public files alone \
must submit something valid within its budget of processor time. An interrupted trial reports \
what it has tried.")]
    Verify(Verify),
    /// Play the scripted ladder on a sample of tasks and report who beats whom.
    #[command(after_help = "\
Example: factory calibrate generated/quickstart --split val --count 64

Five scripted solvers (constant, linear, forest, operators, oracle) run in the sandbox. A corpus \
that is fit for use lets each win more often than the one below it.")]
    Calibrate(Calibrate),
    /// Show a corpus or a task in the terminal, or as a page for a browser.
    Inspect(Inspect),
    /// Show what is in a corpus, beside the paper's figures.
    Stats {
        /// A corpus folder.
        dir: Utf8PathBuf,
        /// Write JSON instead of text.
        #[arg(long)]
        json: bool,
        /// Also write a page for a browser to this file.
        #[arg(long, value_name = "FILE")]
        html: Option<Utf8PathBuf>,
    },
    /// Put the shards of a corpus together.
    #[command(after_help = "\
Example: factory merge generated/whole generated/part1 generated/part2

The shards are made by `factory generate --shard 1/2`, `--shard 2/2` with the same other options; \
the result is byte for byte the corpus that one run would have made. Files are linked, not copied, \
where that is possible.")]
    Merge {
        /// Folder of the whole corpus.
        out: Utf8PathBuf,
        /// Folders of all its shards.
        #[arg(required = true)]
        shards: Vec<Utf8PathBuf>,
    },
    /// Write a corpus in the form of another benchmark, or as tables in Parquet.
    Export {
        /// A corpus folder.
        dir: Utf8PathBuf,
        /// The form.
        #[arg(long, value_enum, default_value = "mlebench")]
        format: ExportFormat,
        /// With `--format parquet`: writes the answers of the test rows too, as `answer.parquet`.
        /// Everyone who can read the export can then see them.
        #[arg(long)]
        answers: bool,
        /// Where it goes: a folder that does not exist yet.
        out: Utf8PathBuf,
    },
}

/// The form of an export, given by `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Registry and data folders of MLE-bench, answers included.
    Mlebench,
    /// `tasks.parquet` with a row per task, and a folder per task with its tables; files beside
    /// the tables, such as pictures, stay in the corpus.
    Parquet,
}

/// The sizes of the tables, given by `--preset`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Size {
    Large,
    Paper,
}

/// The split of the tasks, given by `--split`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Half {
    Train,
    Val,
}

/// Flags of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// A corpus folder.
    pub(crate) dir: Utf8PathBuf,
    /// Which tasks.
    #[arg(long, value_enum, default_value = "val")]
    pub(crate) split: Half,
    /// How many of them at most.
    #[arg(long, default_value_t = 64)]
    pub(crate) count: usize,
    /// Scripts at a time; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) jobs: usize,
    /// The seed of the sample and of the scripts' free choices.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Write the result as JSON to this file as well.
    #[arg(long)]
    pub(crate) json: Option<Utf8PathBuf>,
}

/// Flags of `verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A corpus folder.
    pub(crate) dir: Utf8PathBuf,
    /// Also run each task's evaluator and a reference script in the sandbox.
    #[arg(long)]
    pub(crate) run: bool,
    /// Scripts at a time; 0 for one per core.
    #[arg(long, requires = "run", default_value_t = 0)]
    pub(crate) jobs: usize,
    /// Write what the runs came to as JSON to this file as well.
    #[arg(long, requires = "run", value_name = "FILE")]
    pub(crate) json: Option<Utf8PathBuf>,
}

/// Flags of `generate`.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Seed set (`mlebench`), a folder of seed files, or one `.toml` file.
    #[arg(long, default_value = "mlebench")]
    seeds: String,
    /// Number of tasks.
    #[arg(long)]
    count: usize,
    /// Held-out tasks among them [default: 2/9 of the count].
    #[arg(long)]
    val_count: Option<usize>,
    /// Folder of the corpus.
    #[arg(long)]
    out: Utf8PathBuf,
    /// The corpus's random seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Modalities to make, such as `tabular,image` [default: all].
    #[arg(long, value_delimiter = ',')]
    modality: Vec<String>,
    /// Formulations to make, such as `binary,regression` [default: all].
    #[arg(long, value_delimiter = ',')]
    formulation: Vec<String>,
    /// Shares of modalities, formulations, cells and domains, such as
    /// `image=0.3,image/binary=0.1,healthcare=0.5` [default: the paper's].
    #[arg(long, value_delimiter = ',')]
    shares: Vec<String>,
    /// Table sizes: `large` tests on several hundred rows, `paper` on a fifth of all rows.
    #[arg(long, value_enum, default_value = "large")]
    preset: Size,
    /// Make one part of the corpus only, such as `1/4`; `factory merge` puts the parts together.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Refuse to begin anew: there must be a corpus to continue.
    #[arg(long)]
    pub(crate) resume: bool,
}

impl From<&Generate> for Options {
    fn from(flags: &Generate) -> Self {
        Self {
            seeds: flags.seeds.clone(),
            count: flags.count,
            val_count: flags.val_count,
            out: flags.out.clone(),
            seed: flags.seed,
            jobs: flags.jobs,
            modalities: flags.modality.clone(),
            formulations: flags.formulation.clone(),
            shares: flags.shares.clone(),
            preset: match flags.preset {
                Size::Large => Preset::Large,
                Size::Paper => Preset::Paper,
            },
            limits: RoleLimits::default(),
            shard: flags.shard,
        }
    }
}

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// A corpus folder or a task folder.
    pub(crate) dir: Utf8PathBuf,
    /// Write a self-contained gallery to this file instead.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<Utf8PathBuf>,
    /// Tasks of a corpus in the gallery, every kind in turn.
    #[arg(long, requires = "html", default_value_t = gallery::LIMIT)]
    limit: usize,
    /// Modalities in the gallery, such as `tabular,image` [default: all].
    #[arg(long, requires = "html", value_delimiter = ',')]
    modality: Vec<String>,
    /// Formulations in the gallery, such as `binary,regression` [default: all].
    #[arg(long, requires = "html", value_delimiter = ',')]
    formulation: Vec<String>,
}

impl From<&Inspect> for gallery::Wish {
    fn from(flags: &Inspect) -> Self {
        Self {
            limit: flags.limit,
            modalities: flags.modality.clone(),
            formulations: flags.formulation.clone(),
        }
    }
}
