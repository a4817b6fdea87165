//! `sandbox serve` and `sandbox replay`.

use super::checkouts::CheckoutFlags;
use super::failure::UsageError;
use super::limits::{LimitFlags, within};
use super::{Jail, exit, output};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use jail::exec::{Mode, SandboxOptions};
use jail::limits::{RunLimits, range};
use sandbox::env::{Budget, EpisodeConfig, EpisodeRecord, Feedback, TaskSuite, replay};
use sandbox::reward::RewardWeights;
use sandbox::serve::{DrawnTasks, EpisodeServer, Reveal, ServeConfig, ServeLimits};
use std::net::SocketAddr;
use tasks::task::{Collection, Opening};
use tasks::units::{ByteSize, Span};
use web::token::{BadToken, Token};

/// Default time limit of one script.
const STEP_LIMIT: Span = Span::seconds(30);

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// A folder of tasks, of whichever kind, or a single task.
    corpus: Utf8PathBuf,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8765")]
    listen: SocketAddr,
    /// What clients must show, needed to listen to other machines. Better given in the
    /// environment, where other users of this machine do not see it.
    #[arg(long, env = "SANDBOX_TOKEN", hide_env_values = true, value_parser = token)]
    token: Option<Token>,
    /// Where the record of every episode is written.
    #[arg(long, value_name = "DIR", default_value = "generated/episodes")]
    records: Utf8PathBuf,
    /// Size at which an episode's record takes no more calls but the last.
    #[arg(long, value_name = "SIZE", default_value_t = ServeLimits::default().record)]
    record_limit: ByteSize,
    /// Size of the folder of records; where another might not fit, no episode begins.
    #[arg(long, value_name = "SIZE", default_value_t = ServeLimits::default().records)]
    records_limit: ByteSize,
    /// The tasks that are drawn for a client that names neither a task nor a split. Tasks that state
    /// no split, such as competitions, are always among them.
    #[arg(long, value_enum, value_name = "SPLIT", default_value = "train")]
    draw: DrawArg,
    /// How much the tool `score` reveals.
    #[arg(long, value_enum, default_value = "tier")]
    feedback: FeedbackArg,
    /// Share of the test rows that `score` uses; the final grade uses the others.
    #[arg(long, default_value_t = EpisodeConfig::default().feedback_share)]
    feedback_share: f64,
    /// How much of the final grade is revealed to clients, in replies and by rewards; the record
    /// has all of it. Default: as much as `score` reveals (`none` with `--feedback validate`, `tier`
    /// with `tier`, `score` with `full`). Training with the server's rewards needs `tier`.
    #[arg(long, value_enum)]
    reveal: Option<RevealArg>,
    /// What rewards are made of. `beyond-gold` needs tasks of the factory and `--reveal score`.
    #[arg(long, value_enum, default_value = "milestones")]
    reward: RewardArg,
    /// Episodes of one task that one client may begin while the server is up. A client is an
    /// address that connections come from; this machine is one, and so is a proxy.
    #[arg(long, value_name = "COUNT", default_value_t = ServeLimits::default().episodes_per_task)]
    episodes_per_task: u64,
    /// Whether scripts share an interpreter (`session`) or only the files of the work dir.
    #[arg(long, value_enum, default_value = "script")]
    mode: ModeArg,
    /// Largest number of turns of an episode.
    #[arg(long, default_value_t = Budget::default().turns)]
    turns: u32,
    /// Wall time of an episode.
    #[arg(long, default_value_t = Span::seconds(Budget::default().wall_seconds))]
    episode_limit: Span,
    /// Time limit of one script [default: 30s]. Clients of OpenEnv wait 60 s for an answer by
    /// default.
    #[arg(long, value_name = "TIME", value_parser = within(range::TIME_LIMIT))]
    step_limit: Option<Span>,
    /// Time by which a step is answered. A script that gets no free slot in time is not run; the
    /// answer says so, and the client may try again.
    #[arg(long, default_value_t = ServeLimits::default().answer)]
    answer_limit: Span,
    /// Sessions at a time.
    #[arg(long, value_name = "COUNT", default_value_t = ServeLimits::default().episodes)]
    max_episodes: usize,
    /// Scripts that run at a time. Default: the number of processors.
    #[arg(long, value_name = "COUNT")]
    slots: Option<usize>,
    /// Time without a message after which an episode in progress is ended, without a grade, and a
    /// session that has no WebSocket.
    #[arg(long, default_value_t = ServeLimits::default().idle)]
    idle_limit: Span,
    /// Time without a message after which a session that has a WebSocket is ended.
    #[arg(long, default_value_t = ServeLimits::default().session)]
    session_limit: Span,
    /// Time that episodes in progress may go on after SIGTERM or Ctrl-C. No others begin then, and
    /// `/health` has the status 503. With 0s, steps in flight are finished and nothing more.
    #[arg(long, value_name = "TIME", default_value_t = ServeLimits::default().drain)]
    drain_limit: Span,
    /// Size of a client's message.
    #[arg(long, default_value_t = ServeLimits::default().message)]
    message_limit: ByteSize,
    #[command(flatten)]
    checkouts: CheckoutFlags,
    #[command(flatten)]
    jail: Jail,
    #[command(flatten)]
    limits: LimitFlags,
}

/// [`Feedback`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FeedbackArg {
    /// Whether a submission is valid, and why not.
    Validate,
    /// Also the tier it reaches.
    Tier,
    /// Also the score and the thresholds.
    Full,
}

impl From<FeedbackArg> for Feedback {
    fn from(feedback: FeedbackArg) -> Self {
        match feedback {
            FeedbackArg::Validate => Self::Validate,
            FeedbackArg::Tier => Self::Tier,
            FeedbackArg::Full => Self::Full,
        }
    }
}

/// [`DrawnTasks`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DrawArg {
    /// Those to be trained on.
    Train,
    /// The held-out ones.
    Val,
    /// All of them.
    All,
}

impl From<DrawArg> for DrawnTasks {
    fn from(draw: DrawArg) -> Self {
        match draw {
            DrawArg::Train => Self::Train,
            DrawArg::Val => Self::Val,
            DrawArg::All => Self::All,
        }
    }
}

/// [`Reveal`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RevealArg {
    /// Whether the submission was valid, and why not.
    None,
    /// Also the tier that it reached.
    Tier,
    /// Also the score with all its digits.
    Score,
}

impl From<RevealArg> for Reveal {
    fn from(reveal: RevealArg) -> Self {
        match reveal {
            RevealArg::None => Self::None,
            RevealArg::Tier => Self::Tier,
            RevealArg::Score => Self::Score,
        }
    }
}

/// [`RewardWeights`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RewardArg {
    /// A valid submission, and each threshold reached: the paper's dense reward.
    Milestones,
    /// The same with less for bronze, and a part that grows from gold to the ceiling.
    BeyondGold,
}

impl From<RewardArg> for RewardWeights {
    fn from(reward: RewardArg) -> Self {
        match reward {
            RewardArg::Milestones => Self::DENSE,
            RewardArg::BeyondGold => Self::BEYOND_GOLD,
        }
    }
}

/// [`Mode`] on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeArg {
    /// The files.
    Script,
    /// The files and all variables, as in a notebook.
    Session,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Script => Self::Script,
            ModeArg::Session => Self::Session,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// The record, a `.jsonl` file.
    record: Utf8PathBuf,
    /// The folder of tasks that it was made with, or the task itself.
    corpus: Utf8PathBuf,
    #[command(flatten)]
    checkouts: CheckoutFlags,
    #[command(flatten)]
    jail: Jail,
}

impl ServeArgs {
    fn config(&self, policy: RunLimits) -> ServeConfig {
        let feedback = self.feedback.into();
        let reveal = self.reveal.map_or_else(|| Reveal::from_feedback(feedback), Into::into);
        let budget = Budget { turns: self.turns, wall_seconds: self.episode_limit.0.as_secs() };
        ServeConfig {
            listen: self.listen,
            token: self.token.clone(),
            records: self.records.clone(),
            episode: EpisodeConfig {
                budget,
                feedback,
                feedback_share: self.feedback_share,
                mode: self.mode.into(),
                policy,
                ..EpisodeConfig::default()
            },
            drawn: self.draw.into(),
            reveal,
            reward: self.reward.into(),
            limits: ServeLimits {
                episodes: self.max_episodes,
                answer: self.answer_limit,
                idle: self.idle_limit,
                session: self.session_limit,
                drain: self.drain_limit,
                message: self.message_limit,
                episodes_per_task: self.episodes_per_task,
                record: self.record_limit,
                records: self.records_limit,
                ..ServeLimits::default()
            },
        }
    }
}

/// A token that cannot be guessed.
fn token(secret: &str) -> std::result::Result<Token, BadToken> {
    Token::new(secret, 16)
}

/// The tasks in `corpus`, ready for episodes.
fn open(corpus: &Utf8PathBuf, opening: &Opening, options: SandboxOptions) -> Result<TaskSuite> {
    let tasks = Collection::open(corpus, opening).context("failed to open the tasks")?;
    TaskSuite::start(tasks, options).context("no sandbox")
}

pub(super) fn serve(args: &ServeArgs) -> Result<u8> {
    let slots = args.slots.unwrap_or(SandboxOptions::default().slots).max(1);
    let limits = args.limits.resolve(args.step_limit, STEP_LIMIT)?;
    let config = args.config(limits.policy.clone());
    config.check()?;
    let options = limits.bound(args.jail.options(slots, true));
    let suite = open(&args.corpus, &args.checkouts.opening(), options)?;
    let count = suite.tasks().len();
    let server = EpisodeServer::bind(config, suite, slots)?;
    output::line(&format!("serving {count} tasks at http://{}", server.address()))?;
    server.run()?;
    Ok(exit::SUCCESS)
}

pub(super) fn replay_record(args: &ReplayArgs) -> Result<u8> {
    let record =
        EpisodeRecord::read(&args.record).map_err(UsageError::at("failed to read the record"))?;
    let options = args.jail.options(1, true);
    let suite = open(&args.corpus, &args.checkouts.opening(), options)?;
    let task = suite.task(&record.task).ok_or_else(|| {
        UsageError::new(format!("`{}` has no task `{}`", args.corpus, record.task))
    })?;
    let differences = replay(&record, &suite, task)?;
    for difference in &differences {
        output::line(&difference.to_string())?;
    }
    let turns = record.turns.iter().filter(|turn| turn.step.is_some()).count();
    output::line(&format!("{turns} turns played again, {} differences", differences.len()))?;
    Ok(if differences.is_empty() { exit::SUCCESS } else { exit::DIFFERENT })
}
