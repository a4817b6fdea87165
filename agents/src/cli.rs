//! The command line of `agents`.

mod guide;

pub(crate) use guide::{
    GuideCommand, GuideExportArgs, GuideJudgeArgs, GuidePersonArgs, GuideReplayArgs,
    GuideServeArgs, GuideServerArgs, GuideShowArgs, GuideTokenArgs, GuideVerdictsArgs,
};

use agents::guide::channel::OnLost;
use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand};
use evals::bench::suite::BenchName;
use jail::limits::Gpus;
use llm::MicroUsd;

/// Runs agents on tasks and on benchmarks.
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
    /// Run one agent on one task, or go on with it.
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
    /// Play a benchmark: every task with every seed, then a table and a page.
    #[command(after_help = "\
Examples:
  the whole path without data, model or GPU:
    factory standin --out standins
    agents eval --bench mlebench-lite --data standins --preset drafts --set steps=1 \
--model script:reference --seeds 3 --out eval
  a chat model on prepared competitions, for at most 20 dollars:
    agents eval --bench mlebench-lite --preset lite-aide --model openai:NAME --out eval \
--budget-usd 20 --prices prices.toml
  held-out tasks of a corpus:
    agents eval --bench synthetic --data corpus --preset aide --model script:mutator --out eval
docs/EVALUATION.md explains benchmarks, presets and reports.")]
    Eval(Box<EvalArgs>),
    /// Play several arms on the same tasks with the same seeds, and say what tells them apart.
    #[command(after_help = "\
Arms are a file, or one of three sets that change settings of automind: knowledge (none, random, \
retrieved, wrong-labels), coding (adaptive, one-pass, stepwise), policy (automind, aide, best-draft). \
A file has a table for each arm:
    base = \"plain\"
    [[arm]]
    name = \"plain\"
    set = [\"automind.tricks.knowledge=none\"]
    [[arm]]
    name = \"folds\"
    set = [\"automind.tricks.knowledge=retrieved\", \"automind.select=lower-bound\"]
    [[arm]]
    name = \"first-draft\"
    of = \"plain\"
    steps = 1
Examples:
  without a model, does knowledge help:
    agents ablate --arms knowledge --bench synthetic --data corpus --preset automind-micro \
--model script:engineer --seeds 3 --jobs 2 --out knowledge
  at equal numbers of questions, coding a player that slips:
    agents ablate --arms coding --calls 60 --bench synthetic --data corpus --preset automind-micro \
--set steps=60 --model script:engineer:slip=.01,fix=.7,lines=20-120 --out coding
The same command goes on where it was. docs/EVALUATION.md explains tables and intervals.")]
    Ablate(Box<AblateArgs>),
    /// Look after benchmarks.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Put evaluations side by side: a table for each kind of data, and a page.
    #[command(after_help = "\
Examples:
  two scaffolds on the same tasks:
    agents report aide-eval drafts-eval --html leaderboard.html
  ours beside the paper's rows of the same scaffold, in competitions:
    agents report eval --beside paper
  beside one row:
    agents report eval --beside \"table 2: 14B SandMLE\"")]
    Report(ReportArgs),
    /// Play a recorded run again without its model, and say what comes out otherwise.
    #[command(after_help = "\
Exit codes: 0 everything came out as before; 1 something did not. Answers are those of the journal; \
scripts run again. What a policy decides by the time that is left may differ.")]
    Replay(ReplayArgs),
    /// Show the tree or the turns of a run, also of one that is not over.
    Tree(TreeArgs),
    /// Look into the knowledge base of tricks and methods, ask it, extend it.
    #[command(subcommand)]
    Knowledge(KnowledgeCommand),
    /// Let people read along and advise agents while they work.
    #[command(subcommand)]
    Guide(GuideCommand),
}

/// What to do with the knowledge base.
#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeCommand {
    /// List tricks and methods.
    #[command(after_help = "\
Examples:
  agents knowledge list --label forecasting
  agents knowledge list --stage features --label \"computer vision\"")]
    List(KnowledgeListArgs),
    /// Show one card.
    Show(KnowledgeShowArgs),
    /// Ask for a task: its labels, the ranked cards with the terms of their scores, what is excluded and
    /// why. No model is asked.
    #[command(after_help = "\
Examples:
  agents knowledge query --task corpus/TASK
  with imported posts, and more of the ranking:
    agents knowledge query --task corpus/TASK --knowledge posts.jsonl --show 40
docs/KNOWLEDGE.md explains the scores.")]
    Query(KnowledgeQueryArgs),
    /// Check posts of practitioners and label them, for `--knowledge`.
    #[command(after_help = "\
A line of the file is {\"title\": ..., \"introduction\": ..., \"tags\": {\"Hard Label\": [\"Soft \
Label\"]}, \"solutions\": {\"1st place\": ...}, \"origin\": \"a-competition\"}.
Examples:
  agents knowledge build --posts posts.jsonl --out base/posts.jsonl
  labels by five votes of a chat model, for at most a dollar:
    agents knowledge build --posts posts.jsonl --out base/posts.jsonl --model openai:NAME \
--budget-usd 1 --prices prices.toml")]
    Build(KnowledgeBuildArgs),
    /// Refuse cards that share five words in a row, or the name of a column, with a task.
    #[command(after_help = "\
Exit codes: 0 no card is refused; 1 some are.
Examples:
  agents knowledge audit --tasks corpus")]
    Audit(KnowledgeAuditArgs),
    /// Run the code of cards in the sandbox, each in a plain script for one task that it is for.
    #[command(after_help = "\
Exit codes: 0 all of them finish, print no warning and leave valid submissions; 1 some do not; 3 some \
have no task.
Examples:
  agents knowledge try --tasks corpus
  agents knowledge try --tasks corpus --card products-by-f --every")]
    Try(KnowledgeTryArgs),
    /// Count cards by label and stage.
    Stats(KnowledgeBase),
}

/// The knowledge base that is meant.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeBase {
    /// The knowledge base: `shipped`, a folder with `labels.toml`, `tricks/` and `methods/`, or a file of posts that `agents
    /// knowledge build` wrote, which are added to the shipped cards.
    #[arg(long, value_name = "BASE", default_value = "shipped")]
    pub(crate) knowledge: String,
}

/// What runs of `automind` use besides the cards.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeSources {
    /// Compare texts by vectors of this model, `ENDPOINT:NAME`, instead of by their words.
    #[arg(long, value_name = "MODEL")]
    pub(crate) embedder: Option<String>,
    /// Folder that keeps vectors; with `--replay` it has all that are needed [default: `embeddings`
    /// in `--out`].
    #[arg(long, value_name = "DIR", requires = "embedder")]
    pub(crate) embeddings: Option<Utf8PathBuf>,
    /// How tricks fared in earlier runs, for `--set automind.knowledge.learn=true`: a file
    /// `trick_uses.jsonl`, or a folder with such files below it.
    #[arg(long, value_name = "PATH")]
    pub(crate) uses: Option<Utf8PathBuf>,
}

/// Arguments of `agents knowledge list`.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeListArgs {
    /// Tricks of this stage only: read, clean, split, features, target, model, train, validate or post.
    #[arg(long, value_name = "STAGE")]
    pub(crate) stage: Option<String>,
    /// Cards with a label that has this text only.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
}

/// Arguments of `agents knowledge show`.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeShowArgs {
    /// Name of the card.
    #[arg(value_name = "NAME")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
}

/// Arguments of `agents knowledge query`.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeQueryArgs {
    /// The task's folder, of any kind that `agents run` takes.
    #[arg(long, value_name = "DIR")]
    pub(crate) task: Utf8PathBuf,
    /// Tricks that stand ready, at most 12.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) most: usize,
    /// Entries of the ranking that are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) show: usize,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mledojo: Option<Utf8PathBuf>,
}

/// Arguments of `agents knowledge build`.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeBuildArgs {
    /// Posts, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) posts: Utf8PathBuf,
    /// The file to write, `*.jsonl`.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Utf8PathBuf,
    /// The chat model that labels posts without tags [default: rules].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Endpoints of models [default: `openai` and `anthropic`].
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) models: Option<Utf8PathBuf>,
    /// Prices of models.
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) prices: Option<Utf8PathBuf>,
    /// Most money to spend in US dollars, over all starts.
    #[arg(long, value_name = "AMOUNT", requires = "model")]
    pub(crate) budget_usd: Option<MicroUsd>,
    /// Take every answer from a recording, and ask no model.
    #[arg(long, value_name = "FILE", requires = "model", conflicts_with = "budget_usd")]
    pub(crate) replay: Option<Utf8PathBuf>,
}

/// Arguments of `agents knowledge audit`.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeAuditArgs {
    /// A corpus, a folder of competitions, or one task.
    #[arg(long, value_name = "DIR")]
    pub(crate) tasks: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mledojo: Option<Utf8PathBuf>,
}

/// Arguments of `agents knowledge try`.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeTryArgs {
    /// A corpus, or one task.
    #[arg(long, value_name = "DIR")]
    pub(crate) tasks: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
    /// Only this card.
    #[arg(long, value_name = "ID")]
    pub(crate) card: Option<String>,
    /// On every task that a card is for, not on the first alone.
    #[arg(long)]
    pub(crate) every: bool,
    /// Scripts at a time.
    #[arg(long, default_value_t = 2, value_parser = at_least_one)]
    pub(crate) jobs: usize,
}

/// Arguments of `agents report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders that `agents eval` or `rl eval --bench` wrote; agents must have different names.
    #[arg(required = true, value_name = "OUT")]
    pub(crate) evaluations: Vec<Utf8PathBuf>,
    /// Write the leaderboard as one self-contained page.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<Utf8PathBuf>,
    /// Write the tables as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<Utf8PathBuf>,
    /// Show rows of the paper as well: `paper` for all of the same scaffold, or a part of a row's
    /// name.
    #[arg(long, value_name = "ROWS")]
    pub(crate) beside: Option<String>,
    /// Count competitions without a grade as nothing, as mle-bench's flag of that name does.
    #[arg(long)]
    pub(crate) pad_missing: bool,
}

/// Arguments of `agents replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The folder of the recorded run, which is only read.
    #[arg(value_name = "RUN")]
    pub(crate) run: Utf8PathBuf,
    /// The folder of the task that it is on.
    #[arg(long, value_name = "DIR")]
    pub(crate) task: Utf8PathBuf,
    /// The folder of the new run.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Utf8PathBuf,
    /// Pretrained weights, which scripts find in `models/`, read-only.
    #[arg(long, value_name = "DIR")]
    pub(crate) weights: Option<Utf8PathBuf>,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mledojo: Option<Utf8PathBuf>,
}

/// Arguments of `agents tree`.
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// The folder of the run.
    #[arg(value_name = "RUN")]
    pub(crate) run: Utf8PathBuf,
    /// Write the run as one self-contained page, with scripts, outputs and changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<Utf8PathBuf>,
}

/// What to do about benchmarks.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Say of each competition whether it can be played, and what to do if not.
    Check(BenchCheckArgs),
}

/// Arguments of `agents bench check`.
#[derive(Debug, Args)]
pub(crate) struct BenchCheckArgs {
    /// The benchmark: `mlebench-lite`, `mlebench` or `mle-dojo`.
    #[arg(long, value_name = "NAME", default_value_t = BenchName::MlebenchLite)]
    pub(crate) bench: BenchName,
    /// The folder with `ID/prepared` of each competition, `ID/data` of MLE-Dojo [default for
    /// mlebench-lite: `MLE_BENCH_DATA`, else MLE-bench's own folder in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<Utf8PathBuf>,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mledojo: Option<Utf8PathBuf>,
}

/// Arguments of `agents eval`.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The benchmark: `mlebench-lite`, the 22 competitions of low complexity of MLE-bench;
    /// `mlebench`, the competitions in its form that a folder has; `mle-dojo`, competitions of MLE-Dojo; or `synthetic`, the held-out tasks of a corpus.
    #[arg(long, value_name = "NAME")]
    pub(crate) bench: BenchName,
    /// Leaderboards of MLE-bench's competitions, for places among people: a folder with `ID.csv` of the columns `rank,score`.
    #[arg(long, value_name = "DIR")]
    pub(crate) boards: Option<Utf8PathBuf>,
    /// The folder with the data: `ID/prepared` of each competition, or a corpus [default for
    /// mlebench-lite: `MLE_BENCH_DATA`, else MLE-bench's own folder in the user's cache].
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<Utf8PathBuf>,
    /// The scaffold with its settings: a name or a TOML file.
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: String,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
    #[command(flatten)]
    pub(crate) sources: KnowledgeSources,
    /// Runs of each task, with seeds 0, 1, …
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// Runs at a time.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    pub(crate) jobs: usize,
    /// GPUs to deal out, one to each run that plays [default: what the preset says].
    #[arg(long, value_name = "INDICES", value_delimiter = ',')]
    pub(crate) gpus: Vec<u32>,
    /// Let runs that play at a time share a GPU.
    #[arg(long, requires = "gpus")]
    pub(crate) share_gpus: bool,
    /// Pretrained weights, which scripts find in `models/`, read-only.
    #[arg(long, value_name = "DIR")]
    pub(crate) weights: Option<Utf8PathBuf>,
    /// Grade what would have counted after each step as well, for curves. On tasks of ours that is
    /// always done.
    #[arg(long)]
    pub(crate) grade_steps: bool,
    /// Run a script once that recurs on a task, for scripted players: runs with equal scripts get
    /// what the first left, and one in fifty is run to compare. Times of runs say nothing then.
    #[arg(long)]
    pub(crate) script_cache: bool,
    /// The folder of the evaluation.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Utf8PathBuf,
    /// Play these only: names, a file of names, or `prepared` for all that are there.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) only: Option<Vec<String>>,
    /// Set one setting of the scaffold, such as `steps=20`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mledojo: Option<Utf8PathBuf>,
}

/// Arguments of `agents ablate`.
#[derive(Debug, Args)]
pub(crate) struct AblateArgs {
    /// The arms: `knowledge`, `coding`, `policy`, or a TOML file.
    #[arg(long, value_name = "ARMS")]
    pub(crate) arms: String,
    /// The arm that the others are compared with [default: that of the arms, else the first].
    #[arg(long, value_name = "ARM")]
    pub(crate) base: Option<String>,
    /// Compare runs as they were after so many questions to the player. Those of automind end then.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) calls: Option<u32>,
    #[command(flatten)]
    pub(crate) eval: EvalArgs,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Arguments of `agents run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scaffold, or a preset of one: a name or a TOML file.
    #[arg(long, value_name = "NAME")]
    pub(crate) scaffold: String,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) base: KnowledgeBase,
    #[command(flatten)]
    pub(crate) sources: KnowledgeSources,
    /// The task's folder: one of ours, a prepared competition of MLE-bench or MLE-Dojo, or a released
    /// bundle.
    #[arg(long, value_name = "DIR")]
    pub(crate) task: Utf8PathBuf,
    /// The folder of the run.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Utf8PathBuf,
    /// The seed of every draw.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// GPUs that scripts may use: `none`, `all`, or indices such as `0,2` [default: what the preset
    /// says].
    #[arg(long, value_name = "GPUS")]
    pub(crate) gpus: Option<Gpus>,
    /// Pretrained weights, which scripts find in `models/`, read-only.
    #[arg(long, value_name = "DIR")]
    pub(crate) weights: Option<Utf8PathBuf>,
    /// Set one setting of the scaffold, such as `steps=20` or `search.operators.judge=true`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Let people advise the agent, a linear one such as `react`: the address of a guide server, or the
    /// folder of a guide store.
    #[arg(long, value_name = "URL|DIR")]
    pub(crate) guide: Option<String>,
    /// What the agent does while the guide server does not answer: `continue`, `stop`, or for example
    /// `wait=2m`.
    #[arg(long, value_name = "WHAT", default_value_t = OnLost::Continue, requires = "guide")]
    pub(crate) on_lost: OnLost,
    /// The token of the guide server, if its address has none in it.
    #[arg(long, value_name = "TOKEN", env = "GUIDE_TOKEN", hide_env_values = true)]
    pub(crate) guide_token: Option<String>,
    /// A scripted person advises the agent and keeps step with it, so that the run repeats; `--guide` is
    /// then a folder. docs/GUIDANCE.md explains the file.
    #[arg(long, value_name = "FILE", requires = "guide")]
    pub(crate) person: Option<Utf8PathBuf>,
    /// A checkout of mle-bench, for leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mlebench: Option<Utf8PathBuf>,
    /// A checkout of MLE-Dojo, for metrics and leaderboards.
    #[arg(long, value_name = "DIR")]
    pub(crate) mledojo: Option<Utf8PathBuf>,
}

/// Flags on the model that answers.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Who answers: `ENDPOINT:NAME`, such as `openai:NAME` or `anthropic:NAME`; or without a model
    /// `script:mutator`, `script:engineer[:slip=.01,…]` (for `automind`), `script:sample`, `script:reference`,
    /// `script:FILE`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// A model of its own for a role of `automind`: `retriever`, `analyzer`, `planner`, `coder`,
    /// `improver` or `verifier`. `--model` answers for all others.
    #[arg(long = "role", value_name = "ROLE=MODEL")]
    pub(crate) roles: Vec<String>,
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
