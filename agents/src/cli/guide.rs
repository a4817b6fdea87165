//! The command line of `agents guide`.

use super::ModelArgs;
use agents::guide::annotators::Role;
use agents::guide::export::SampleContext;
use agents::guide::ids::ConversationId;
use camino::Utf8PathBuf;
use clap::{Args, Subcommand, ValueEnum};
use llm::MicroUsd;
use std::net::SocketAddr;
use std::str::FromStr;
use tasks::thresholds::Milestone;
use tasks::units::Span;

/// What to do about guidance.
#[derive(Debug, Subcommand)]
pub(crate) enum GuideCommand {
    /// Serve conversations to agents and people, until it is interrupted.
    #[command(after_help = "\
Examples:
  on this machine, for yourself:
    agents guide serve --store guide
    agents run --scaffold react --model openai:NAME --task corpus/TASK --out run \
--guide http://127.0.0.1:8300
  for others:
    agents guide token ann --role annotator --store guide
    agents guide token bot --role agent --store guide
    agents guide serve --store guide --listen 0.0.0.0:8300
docs/GUIDANCE.md explains the interface.")]
    Serve(GuideServeArgs),
    /// Give somebody a role and a new token, which is shown once; an earlier one is no longer valid.
    Token(GuideTokenArgs),
    /// Show a conversation, also of a store that is being served.
    Show(GuideShowArgs),
    /// Say which turns are worth learning from, and who says so: people, rules, a judge.
    #[command(after_help = "\
Examples:
  how many turns are kept, and how far people and rules agree:
    agents guide verdicts --store guide
  every turn of a run:
    agents guide verdicts ID --store guide
docs/GUIDANCE.md explains the rules.")]
    Verdicts(GuideVerdictsArgs),
    /// Ask a model which turns of runs that are over are worth learning from.
    #[command(after_help = "\
Examples:
  with the prices of the model, for at most two dollars:
    agents guide judge --store guide --model openai:NAME --prices prices.toml --budget-usd 2
  one run:
    agents guide judge ID --store guide --model openai:NAME
The same command goes on where it was; turns on which the model could not decide are asked about \
again.")]
    Judge(GuideJudgeArgs),
    /// Make training samples of guided runs that are over.
    #[command(after_help = "\
Examples:
  runs that reach bronze, with all that the agent read:
    agents guide export --store guide --out samples --tier bronze
  without dropped turns and without advice, where what is left can be played again:
    agents guide export --store guide --out samples --context excise --tasks corpus --runs runs
The same store and flags give the same bytes. docs/GUIDANCE.md explains the files.")]
    Export(GuideExportArgs),
    /// Tell a recorded conversation again, through a server, as if it went on now.
    #[command(after_help = "\
Example:
  a run of an hour in three minutes, and pauses of no more than five seconds:
    agents guide replay ID --store guide --speed 20 --longest-pause 5s
The server is left to look at until it is interrupted. The store is only read.")]
    Replay(GuideReplayArgs),
    /// Let a scripted person advise the agents of a server, until it is interrupted.
    #[command(after_help = "\
A person is a TOML file:
    name = \"ann\"
    miss = 0.5
    [[rule]]
    name = \"import\"
    observation = \"ModuleNotFoundError\"
    say = [\"Look at what is installed.\"]
    drop = \"turn\"
Example:
  agents guide person --url http://127.0.0.1:8300 --rules ann.toml
docs/GUIDANCE.md has all keys. For a person in the process of the agent: `agents run --person`.")]
    Person(GuidePersonArgs),
}

/// Arguments of `agents guide serve`.
#[derive(Debug, Args)]
pub(crate) struct GuideServeArgs {
    /// The folder of conversations, which is made if there is none.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) at: GuideServerArgs,
}

/// Where a guide server is, and for whom.
#[derive(Debug, Args)]
pub(crate) struct GuideServerArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8300")]
    pub(crate) listen: SocketAddr,
    /// Who may do what [default: `annotators.toml` in the store, if it is there; else only this machine
    /// is served, and may do everything].
    #[arg(long, value_name = "FILE")]
    pub(crate) annotators: Option<Utf8PathBuf>,
    /// The address that browsers use, where a proxy is in between.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
}

/// Arguments of `agents guide replay`.
#[derive(Debug, Args)]
pub(crate) struct GuideReplayArgs {
    /// Name of the conversation.
    #[arg(value_name = "ID")]
    pub(crate) id: ConversationId,
    /// The folder of conversations, which may be served meanwhile.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Utf8PathBuf,
    /// How many times as fast as it was.
    #[arg(long, value_name = "TIMES", default_value = "20")]
    pub(crate) speed: Speed,
    /// Cut pauses that are still longer than this.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) longest_pause: Span,
    #[command(flatten)]
    pub(crate) at: GuideServerArgs,
}

/// How many times as fast; above 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speed(pub(crate) f64);

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0);
        speed.map(Self).ok_or_else(|| "a speed is a number above 0, such as 20".to_owned())
    }
}

/// Arguments of `agents guide token`.
#[derive(Debug, Args)]
pub(crate) struct GuideTokenArgs {
    /// Name of the person, or of the program.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it may do: `viewer`, `annotator`, `lead` or `agent`.
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Role,
    /// The folder of conversations, whose `annotators.toml` gets the name.
    #[arg(long, value_name = "DIR", required_unless_present = "annotators")]
    pub(crate) store: Option<Utf8PathBuf>,
    /// The list that gets the name [default: `annotators.toml` in the store].
    #[arg(long, value_name = "FILE")]
    pub(crate) annotators: Option<Utf8PathBuf>,
}

/// Arguments of `agents guide show`.
#[derive(Debug, Args)]
pub(crate) struct GuideShowArgs {
    /// Name of the conversation; without one, all of the store are listed.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<ConversationId>,
    /// The folder of conversations.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Utf8PathBuf,
}

/// Arguments of `agents guide verdicts`.
#[derive(Debug, Args)]
pub(crate) struct GuideVerdictsArgs {
    /// Name of a conversation, whose turns are listed; without one, all of the store are counted.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<ConversationId>,
    /// The folder of conversations.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Utf8PathBuf,
    /// Write every verdict into a file, one a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<Utf8PathBuf>,
}

/// What the policy reads in a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContextFlag {
    /// All that the agent read, dropped turns and advice too.
    Keep,
    /// Advice is left out of a share of samples.
    Quiet,
    /// Dropped turns and advice are cut out, where what is left comes out the same when it is played
    /// again; else as `quiet`.
    Excise,
}

impl From<ContextFlag> for SampleContext {
    fn from(flag: ContextFlag) -> Self {
        match flag {
            ContextFlag::Keep => Self::Keep,
            ContextFlag::Quiet => Self::Quiet,
            ContextFlag::Excise => Self::Excise,
        }
    }
}

/// A tier that a run must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TierFlag {
    Median,
    Bronze,
    Silver,
    Gold,
}

impl From<TierFlag> for Milestone {
    fn from(flag: TierFlag) -> Self {
        match flag {
            TierFlag::Median => Self::Median,
            TierFlag::Bronze => Self::Bronze,
            TierFlag::Silver => Self::Silver,
            TierFlag::Gold => Self::Gold,
        }
    }
}

/// Arguments of `agents guide export`.
#[derive(Debug, Args)]
pub(crate) struct GuideExportArgs {
    /// The folder of conversations.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Utf8PathBuf,
    /// The folder of the export, which is made if there is none.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Utf8PathBuf,
    /// What the policy reads.
    #[arg(long, value_enum, default_value = "keep", requires_if("excise", "again"))]
    pub(crate) context: ContextFlag,
    /// Share of quiet samples without advice, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) guidance_dropout: f64,
    /// The seed of the draws.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Leave thoughts out of the text.
    #[arg(long)]
    pub(crate) no_thoughts: bool,
    /// Train on a turn in each sample that shows it, not in the first alone. Runs whose conversation was
    /// summarised have several.
    #[arg(long)]
    pub(crate) every_view: bool,
    /// Train on every turn, whatever the verdicts.
    #[arg(long)]
    pub(crate) unmasked: bool,
    /// Export only runs that reach a tier.
    #[arg(long, value_enum)]
    pub(crate) tier: Option<TierFlag>,
    /// The tasks of the runs, for `excise`.
    #[arg(long, value_name = "DIR", required_if_eq("context", "excise"))]
    pub(crate) tasks: Option<Utf8PathBuf>,
    /// Folders of the runs, or with runs below them, for `excise`. They are only read.
    #[arg(long, value_name = "DIR", group = "again")]
    pub(crate) runs: Vec<Utf8PathBuf>,
    /// The `settings.toml` of the `rl eval` or `rl train` whose episodes these are, for `excise`: they are
    /// played again by its rules.
    #[arg(long, value_name = "FILE", group = "again", conflicts_with = "weights")]
    pub(crate) rules: Option<Utf8PathBuf>,
    /// Pretrained weights, which scripts find in `models/`, for `excise`.
    #[arg(long, value_name = "DIR")]
    pub(crate) weights: Option<Utf8PathBuf>,
}

/// Arguments of `agents guide person`.
#[derive(Debug, Args)]
pub(crate) struct GuidePersonArgs {
    /// The address of the guide server.
    #[arg(long, value_name = "URL")]
    pub(crate) url: String,
    /// What the person says when.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Utf8PathBuf,
    /// The token of the guide server, if its address has none in it.
    #[arg(long, value_name = "TOKEN", env = "GUIDE_TOKEN", hide_env_values = true)]
    pub(crate) guide_token: Option<String>,
    /// End once the server has runs, and all are over.
    #[arg(long)]
    pub(crate) until_over: bool,
}

/// Arguments of `agents guide judge`.
#[derive(Debug, Args)]
pub(crate) struct GuideJudgeArgs {
    /// Name of a conversation; without one, all that are over.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<ConversationId>,
    /// The folder of conversations, which may be served meanwhile. Calls are booked in it.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Utf8PathBuf,
    /// Who judges: `ENDPOINT:NAME`, such as `openai:NAME` or `anthropic:NAME`.
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

impl GuideJudgeArgs {
    /// The flags on the model, as other commands have them.
    pub(crate) fn model_args(&self) -> ModelArgs {
        let Self { model, models, prices, budget_usd, replay, .. } = self;
        ModelArgs {
            model: model.clone(),
            roles: Vec::new(),
            models: models.clone(),
            prices: prices.clone(),
            budget_usd: *budget_usd,
            replay: replay.clone(),
        }
    }
}
