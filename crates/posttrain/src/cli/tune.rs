//! `posttrain tune`: FT-Agent on a task of the user's own, with a grading server in the same process.

use super::client::ServerArgs;
use super::ft::watch_signals;
use super::ft_agent::{FtAgentArgs, FtPlace, Served, model_name, tell, told};
use super::{UsageError, exit, model_folder, output};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use fs_err as fs;
use posttrain::audit::audit;
use posttrain::clock::{Budget, ClockMode};
use posttrain::contamination::SealedTexts;
use posttrain::ft::{FtState, Trainer};
use posttrain::grade::GRADER;
use posttrain::ledger::{Aggregate, EndReason, Protocol, SubmissionLimits};
use posttrain::serve::{GradingServer, Phase, RunHandle, ServeConfig, ServeError};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;
use tasks::files;
use tasks::task::TaskId;
use tasks::units::Span;
use web::token::Token;
use worlds::custom::{CustomTask, CustomTaskError, read_rows};
use worlds::{Limits, Suite, SuiteError};

/// The name of the task in its suite.
const TASK: &str = "task";
/// The file of items in the folder of data.
const ITEMS: &str = "items.jsonl";
/// Files beside the folders of data that are no data.
const BESIDE: [&str; 2] = [ITEMS, "README.md"];
/// What a base is taken to read where its configuration does not say.
const MODEL_LEN: u32 = 4096;
/// What the paper's models read, at most.
const MOST_LEN: u64 = 32_768;
/// How often the server is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// The version of `result.json`.
const VERSION: u32 = 1;
const RESULT: &str = "result.json";

#[derive(Debug, Args)]
pub(super) struct TuneArgs {
    /// What the model is to do: a text, which is its system message.
    #[arg(long, value_name = "FILE")]
    objective: Utf8PathBuf,
    /// What a good answer is: a Python script that reads a line of JSON (`id`, `prompt`, `prediction`,
    /// `truth`) and prints one (`id`, `score` from 0 to 1, and if it likes `tags`).
    #[arg(long, value_name = "FILE")]
    scorer: Utf8PathBuf,
    /// A folder with `items.jsonl`, what models are scored on, and a folder for each source of raw data.
    #[arg(long, value_name = "DIR")]
    data: Utf8PathBuf,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, visible_alias = "model", value_name = "DIR", value_parser = model_folder::parser())]
    base: Utf8PathBuf,
    /// The folder of the run; a run that is there goes on.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    /// Time for everything, training and scoring included.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(12 * 3600))]
    budget: Span,
    /// Items that each of the two sealed parts has, at most.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    eval_items: usize,
    /// Tokens of a question with its answer. Default: what the base reads, at most 32,768.
    #[arg(long, value_name = "COUNT")]
    max_model_len: Option<u32>,
    /// Tokens of an answer. Default: a quarter of `--max-model-len`.
    #[arg(long, value_name = "COUNT")]
    max_tokens: Option<u32>,
    #[command(flatten)]
    agent: FtAgentArgs,
}

/// What a run came to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TuneResult {
    version: u32,
    /// The best experiment; none if none is better than the base.
    best: Option<u32>,
    /// The folder of its model.
    model: Option<Utf8PathBuf>,
    /// Scores on the items that were shown: of the base, of the best.
    dev: (Option<f64>, f64),
    /// Scores on the items that were sealed until the end: of the base, of the best.
    test: (Option<f64>, Option<f64>),
    /// The 95 % interval of the improvement on these.
    interval: Option<(f64, f64)>,
    /// Sealed items in what was trained on.
    contains: Vec<String>,
}

impl TuneArgs {
    fn read(&self, path: &Utf8Path) -> Result<String> {
        fs::read_to_string(path).map_err(|error| UsageError(error.to_string()).into())
    }

    fn limits(&self, trainer: &Trainer) -> Result<Limits> {
        let reads = trainer.base_facts()?.most_positions;
        let reads = reads.and_then(|most| u32::try_from(most.min(MOST_LEN)).ok());
        let context = self.max_model_len.or(reads).unwrap_or(MODEL_LEN);
        let turn_tokens = self.max_tokens.unwrap_or(context / 4);
        if reads.is_some_and(|reads| context > reads) {
            let what =
                format!("--max-model-len is {context}, and the base reads {}", reads.unwrap_or(0));
            return Err(UsageError(what).into());
        }
        if turn_tokens == 0 || turn_tokens >= context {
            let what = format!("--max-tokens must be from 1 to {}", context.saturating_sub(1));
            return Err(UsageError(what).into());
        }
        Ok(Limits { turns: 1, turn_tokens, context })
    }

    /// The task of these files.
    fn task(&self, trainer: &Trainer) -> Result<CustomTask> {
        let items = self.data.join(ITEMS);
        let rows = read_rows(&self.read(&items)?)
            .map_err(|error| UsageError(format!("`{items}`: {}", with_reason(&error))))?;
        for entry in self.data.read_dir_utf8()? {
            let entry = entry?;
            let (name, is_file) = (entry.file_name(), entry.file_type()?.is_file());
            if is_file && !BESIDE.contains(&name) {
                let what = format!(
                    "`{}` is beside the folders of raw data; put it into one, such as `{}`",
                    entry.path(),
                    self.data.join("raw").join(name)
                );
                return Err(UsageError(what).into());
            }
        }
        Ok(CustomTask {
            id: TaskId::new(TASK)?,
            objective: self.read(&self.objective)?,
            scorer: self.read(&self.scorer)?,
            rows,
            pool: Some(self.data.clone()),
            limits: self.limits(trainer)?,
            most: self.eval_items,
            seed: self.agent.seed,
        })
    }

    /// The suite of this task, which is made once.
    fn suite(&self, trainer: &Trainer) -> Result<Suite> {
        let (task, path) = (self.task(trainer)?, self.out.join("suite"));
        let made = if path.exists() {
            let suite = Suite::open(&path)?;
            task.is_of(&suite).map(|is_same| is_same.then_some(suite))
        } else {
            fs::create_dir_all(&self.out)?;
            task.make(&path).map(Some)
        };
        let suite = match made {
            Ok(suite) => suite,
            Err(error @ (CustomTaskError::Io(_) | CustomTaskError::Suite(SuiteError::Io(_)))) => {
                return Err(error.into());
            }
            Err(error) => return Err(UsageError(error.to_string()).into()),
        };
        let suite = suite.ok_or_else(|| {
            UsageError(format!(
                "objective, scorer, data or limits are not those that `{}` was begun with; name another --out",
                self.out
            ))
        })?;
        if suite.pool().is_none() {
            let what = format!("`{}` has no folder with raw data to train on", self.data);
            return Err(UsageError(what).into());
        }
        Ok(suite)
    }

    fn serve_config(&self, trainer: &Trainer, token: &str) -> Result<ServeConfig> {
        let (sealed, models) = (self.out.join("sealed"), self.out.join("models"));
        fs::create_dir_all(&models)?;
        let grader = GRADER[1..].iter().map(|&word| word.to_owned());
        Ok(ServeConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            token: Token::new(token, 16)?,
            sealed,
            suite: self.out.join("suite"),
            task: TASK.to_owned(),
            base: trainer.base.clone(),
            output: models,
            aliases: Vec::new(),
            views: None,
            protocol: Protocol::Sealed,
            aggregate: Aggregate::Mean,
            tells_items: true,
            budget: Budget {
                limit_ms: u64::try_from(self.budget.0.as_millis())?,
                clock: ClockMode::Wall,
            },
            limits: SubmissionLimits {
                submissions: None,
                refusals: 1_000,
                grading_share: None,
                waiting: 8,
            },
            grader: trainer.program.iter().cloned().chain(grader).collect(),
            grading_limit: self.budget.0,
            device: self.agent.device.clone(),
            device_lock: None,
            launcher: trainer.launcher.clone(),
            until_final: true,
            code: None,
            uses: None,
        })
    }
}

pub(super) fn tune(args: &TuneArgs) -> Result<u8> {
    let trainer = args.agent.trainer(&args.base)?;
    let suite = args.suite(&trainer)?;
    let result = args.out.join(RESULT);
    if result.is_file() {
        let result = serde_json::from_slice(&fs::read(&result)?);
        let result =
            result.with_context(|| format!("failed to read `{}`", args.out.join(RESULT)))?;
        return print(&result);
    }
    let interrupted = watch_signals()?;
    let token = tasks::stream::unguessable()?;
    let server = GradingServer::open(args.serve_config(&trainer, &token)?)?;
    let (handle, url) = (server.handle(), format!("http://{}", server.address()));
    let served = thread::spawn(move || server.run_beside());
    let tuned =
        experiments(args, &suite, &trainer, &ServerArgs::new(url, token), &handle, &interrupted);
    match &tuned {
        Ok(Some(_)) => handle.end(EndReason::Agent),
        // Nobody works until it is started again.
        _ => handle.pause()?,
    }
    wait_for_scores(served, &handle, &interrupted, matches!(tuned, Ok(Some(_))))?;
    let Some(state) = tuned? else { return Ok(exit::INTERRUPTED) };
    if handle.phase() != Phase::Final {
        output::note(
            "note: the run was interrupted; start it again with the same flags, and it goes on",
        );
        return Ok(exit::INTERRUPTED);
    }
    tell(&state)?;
    let found = conclude(args, &suite, &state)?;
    files::write_json(&result, &found)?;
    print(&found)
}

/// FT-Agent's experiments, once the base is scored; none if they were interrupted.
fn experiments(
    args: &TuneArgs,
    suite: &Suite,
    trainer: &Trainer,
    server: &ServerArgs,
    handle: &RunHandle,
    interrupted: &AtomicBool,
) -> Result<Option<FtState>> {
    while handle.phase() == Phase::Baseline && !handle.is_stopping() {
        if interrupted.load(Ordering::SeqCst) {
            return Ok(None);
        }
        sleep(LOOK);
    }
    if handle.is_stopping() {
        // The server says why.
        return Ok(None);
    }
    handle.resume()?;
    let task = suite.task(TASK)?;
    let pool = suite.pool().context("the suite has lost its raw data")?;
    let (models, agent) = (args.out.join("models"), args.out.join("agent"));
    let mut arena = Served { server, output: &models, base: &trainer.base };
    let place = FtPlace { task: &task, pool: &pool, trainer, out: &agent };
    told(args.agent.run(&place, &mut arena, interrupted))
}

/// Waits for the server, which ends after the final scores, or now if there are to be none.
fn wait_for_scores(
    served: JoinHandle<Result<(), ServeError>>,
    handle: &RunHandle,
    interrupted: &AtomicBool,
    is_over: bool,
) -> Result<()> {
    while !served.is_finished() {
        if !is_over || interrupted.load(Ordering::SeqCst) {
            handle.stop();
        }
        sleep(LOOK);
    }
    // A panic there is one here.
    let served = served.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    served.context("failed to score a model")
}

fn conclude(args: &TuneArgs, suite: &Suite, state: &FtState) -> Result<TuneResult> {
    let report = audit(&args.out.join("sealed"), None)?;
    let metrics = report.metrics.context("the ledger of the run cannot be read")?;
    let best = state.best().map(|best| best.number);
    let trained = args.out.join("agent/experiments");
    let folders = if trained.is_dir() { vec![trained] } else { Vec::new() };
    let scan = SealedTexts::of([&suite.task(TASK)?])?.scan(&args.out, &folders)?;
    Ok(TuneResult {
        version: VERSION,
        best,
        model: best.map(|number| args.out.join("models").join(model_name(number))),
        dev: (metrics.baseline, metrics.best),
        test: (metrics.final_base, metrics.final_best),
        interval: report.interval,
        contains: scan.found.iter().map(ToString::to_string).collect(),
    })
}

fn print(result: &TuneResult) -> Result<u8> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    let TuneResult { dev, test, interval, contains, .. } = result;
    output::line(&format!("dev   base {}, best {:.4}", number(dev.0), dev.1))?;
    output::line(&format!("test  base {}, best {}", number(test.0), number(test.1)))?;
    if let Some((low, high)) = interval {
        output::line(&format!("      improvement {low:+.4} to {high:+.4} (95 %, items in pairs)"))?;
    }
    for found in contains {
        output::line(&format!("contains  {found}"))?;
    }
    match &result.model {
        Some(model) => output::line(&format!("model {model}"))?,
        None => output::line("model none: no experiment is better than the base")?,
    }
    Ok(if contains.is_empty() { exit::SUCCESS } else { exit::FINDINGS })
}

/// An error with its reason.
fn with_reason(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
