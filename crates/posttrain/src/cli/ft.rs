//! `posttrain ft`: FT-Agent on a task of a suite with raw data.

use super::client::ServerArgs;
use super::grading::this_program;
use super::model_folder;
use super::planner::{MANUAL, PlannerArgs, PlannerModel};
use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use fs_err as fs;
use jail::exec::SandboxOptions;
use jail::python::PythonEnv;
use llm::CallTotals;
use posttrain::Digest;
use posttrain::dojo::describe;
use posttrain::ft::{
    AnswerForm, Arena, Chain, CheckedFtSettings, ErrorClass, Evaluated, Experiment,
    ExperimentOutcome, FtFault, FtRun, FtRunError, FtSettings, FtState, JournalError, Manual,
    ModelPlanner, Planner, Rejection, ScriptBox, Scripted, Trainer,
};
use posttrain::grade::ItemScore;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use worlds::Suite;

/// Time for an answer about the time.
const QUICK: Duration = Duration::from_secs(30);
/// What a folder of a model has that a server takes.
const MODEL: [&str; 2] = ["json", "safetensors"];

#[derive(Debug, Args)]
pub(super) struct FtArgs {
    /// The suite; its public half and its raw data are read.
    suite: Utf8PathBuf,
    /// The task.
    task: String,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, value_name = "DIR", value_parser = model_folder::parser())]
    base: Utf8PathBuf,
    /// The output folder of the server, where models are put.
    #[arg(long, value_name = "DIR")]
    output: Utf8PathBuf,
    /// The folder of the run; a run that is there goes on.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    #[command(flatten)]
    planner: PlannerArgs,
    /// Experiments, at most.
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    loops: u32,
    /// The seed of all draws.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// A TOML file with limits, checks and the rule of acceptance.
    #[arg(long, value_name = "FILE")]
    settings: Option<Utf8PathBuf>,
    /// The device, as the trainer calls it.
    #[arg(long, default_value = "auto")]
    device: String,
    #[command(flatten)]
    server: ServerArgs,
    /// The trainer, which answers as `rl` does: program and first arguments. Default: `rl` beside this
    /// program.
    #[arg(last = true, value_name = "TRAINER")]
    trainer: Vec<String>,
}

impl FtArgs {
    fn settings(&self) -> Result<CheckedFtSettings> {
        let settings: FtSettings = match &self.settings {
            Some(path) => toml::from_str(&fs::read_to_string(path)?)
                .map_err(|error| UsageError(format!("`{path}` cannot be read: {error}")))?,
            None => FtSettings::default(),
        };
        Ok(settings.check().map_err(|error| UsageError(error.to_string()))?)
    }

    fn trainer(&self) -> Result<Trainer> {
        let launcher = this_program()?;
        let mut program = self.trainer.clone();
        if program.is_empty() {
            let beside = launcher.with_file_name("rl");
            if !beside.is_file() {
                let what = format!("there is no `{beside}`; name the trainer after `--`");
                return Err(UsageError(what).into());
            }
            program.push(beside.into_string());
        }
        let base = self.base.canonicalize_utf8().context("failed to find the base")?;
        Ok(Trainer { program, launcher, base, device: self.device.clone() })
    }
}

pub(super) fn ft(args: &FtArgs) -> Result<u8> {
    let settings = args.settings()?;
    let trainer = args.trainer()?;
    let suite = Suite::open(&args.suite).context("failed to open the suite")?;
    let task = suite.task(&args.task)?;
    let pool = suite.pool().ok_or_else(|| {
        UsageError(format!("`{}` has no raw data; make a suite `ftdojo`", args.suite))
    })?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    fs::create_dir_all(&args.out)?;
    let out = args.out.canonicalize_utf8()?;
    let python = PythonEnv::locate().context("failed to find a Python for scripts")?;
    let scripts = ScriptBox::start(&python, SandboxOptions::default(), &pool)?;
    let form = AnswerForm::open(&task, scripts.runner())?;
    let (schema, base) = (trainer.schema()?, trainer.base_facts()?);
    let pool = describe(&pool)?;
    let asked = json!({
        "task": args.task,
        "planner": args.planner.planner,
        "answer_tokens": args.planner.answer_tokens,
        "seed": args.seed,
        "settings": &*settings,
        "base": trainer.base,
        "trainer": trainer.program,
    });
    let chain = Chain {
        settings: &settings,
        scripts: &scripts,
        form: &form,
        trainer: &trainer,
        schema: &schema,
        base,
        pool: &pool,
    };
    let run = FtRun {
        task: task.spec(),
        chain,
        loops: args.loops,
        seed: args.seed,
        asked: Digest::of(asked.to_string().as_bytes()),
        out: &out,
    };
    let mut arena = Served { server: &args.server, output: &args.output, base: &trainer.base };
    let model = args.planner.open(&out)?;
    let mut planner: Box<dyn Planner> = match &model {
        None if args.planner.planner == MANUAL => Box::new(Manual),
        None => Box::new(Scripted),
        Some(PlannerModel { chat, name, .. }) => Box::new(ModelPlanner::new(
            &**chat,
            name,
            args.planner.answer_tokens,
            settings.limits.planner_repairs,
        )),
    };
    match run.run(&mut *planner, &mut arena, &interrupted) {
        Ok(state) => {
            tell(&state)?;
            if let Some(calls) = model.as_ref().and_then(|model| model.calls.as_ref()) {
                let CallTotals { answers, usage, spent, .. } = calls.totals();
                let tokens = usage.input + usage.output;
                output::line(&format!("asked {answers} answers, {tokens} tokens, {spent}"))?;
            }
            Ok(exit::SUCCESS)
        }
        Err(error @ FtRunError::Interrupted) => {
            output::note(&format!("note: {error}"));
            Ok(exit::INTERRUPTED)
        }
        // These are about the flags and not about the host.
        Err(FtRunError::Journal(
            error @ (JournalError::OtherRun(_) | JournalError::Busy(_) | JournalError::Line { .. }),
        )) => Err(UsageError(error.to_string()).into()),
        Err(error) => Err(error.into()),
    }
}

/// Prints a line for each experiment, and the best.
fn tell(state: &FtState) -> Result<()> {
    if let Some(baseline) = &state.baseline {
        output::line(&format!("base  {:.4}", baseline.primary))?;
    }
    for Experiment { number, parent, outcome, .. } in &state.experiments {
        let from = parent.map_or_else(|| "nothing".to_owned(), |parent| parent.to_string());
        let what = match outcome {
            ExperimentOutcome::Evaluated { evaluated, acceptance, .. } => {
                let word = if acceptance.accepted { "accepted" } else { "not accepted" };
                let agree = 100.0 * acceptance.agree;
                format!("{:.4}  {word}, {agree:.0} % of the resamples agree", evaluated.primary)
            }
            ExperimentOutcome::Rejected { stage, message, .. } => {
                format!("failed at {stage}: {message}")
            }
        };
        output::line(&format!("{number:4}  from {from}: {what}"))?;
    }
    if let Some(best) = state.best() {
        output::line(&format!("best  {}", best.number))?;
    }
    if let Some(why) = &state.over {
        output::line(&format!("ended because {why}"))?;
    }
    Ok(())
}

/// A grading server, as an agent meets it.
struct Served<'a> {
    server: &'a ServerArgs,
    output: &'a Utf8Path,
    base: &'a Utf8Path,
}

impl Served<'_> {
    /// Submits a copy of a model under a name.
    fn score(&self, name: &str, model: &Utf8Path) -> Result<Result<Evaluated, Rejection>, FtFault> {
        let place = self.output.join(name);
        // A copy of an interrupted run is made anew.
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::create_dir_all(&place)?;
        for entry in model.read_dir_utf8()? {
            let entry = entry?;
            let is_of_model = entry.path().extension().is_some_and(|end| MODEL.contains(&end));
            if is_of_model && entry.file_type()?.is_file() {
                fs::copy(entry.path(), place.join(entry.file_name()))?;
            }
        }
        let body = json!({
            "model_path": place.canonicalize_utf8()?, "note": name, "wait": true,
        });
        let asked = self.server.ask("/v1/submit", Some(&body), None);
        let (_, answer) = asked.map_err(|error| FtFault::Server(format!("{error:#}")))?;
        read_score(&answer)
    }
}

/// What a server says of a submission.
fn read_score(answer: &Value) -> Result<Result<Evaluated, Rejection>, FtFault> {
    let said = || answer["error"].as_str().unwrap_or("it gave no reason").to_owned();
    match answer["state"].as_str() {
        Some("graded" | "cached") => {}
        Some("refused") => {
            let class = match answer["code"].as_str() {
                Some("not_finite") => ErrorClass::Config,
                _ => ErrorClass::Env,
            };
            return Ok(Err(Rejection::new(
                class,
                format!("the server refused the model: {}", said()),
            )));
        }
        // It may go on later, with the same flags.
        _ => return Err(FtFault::Server(said())),
    }
    let score = answer["score"].as_f64();
    let score = score.ok_or_else(|| FtFault::Server("its answer has no score".to_owned()))?;
    // Without them every comparison says so.
    let items: Vec<ItemScore> = match &answer["items"] {
        Value::Null => Vec::new(),
        items => serde_json::from_value(items.clone())
            .map_err(|error| FtFault::Server(format!("its items cannot be read: {error}")))?,
    };
    Ok(Ok(Evaluated::new(score, &items)))
}

impl Arena for Served<'_> {
    fn baseline(&mut self) -> Result<Evaluated, FtFault> {
        let scored = self.score("base", self.base)?;
        scored.map_err(|rejection| FtFault::Server(rejection.message))
    }

    fn submit(
        &mut self,
        experiment: u32,
        checkpoint: &Utf8Path,
    ) -> Result<Result<Evaluated, Rejection>, FtFault> {
        self.score(&format!("experiment-{experiment:03}"), checkpoint)
    }

    fn left(&mut self) -> Result<Option<Duration>, FtFault> {
        let asked = self.server.ask("/v1/time", None, Some(QUICK));
        let (is_told, answer) = asked.map_err(|error| FtFault::Server(format!("{error:#}")))?;
        let left = answer["remaining_seconds"].as_f64().filter(|_| is_told);
        let left = left.ok_or_else(|| FtFault::Server("it does not tell the time".to_owned()))?;
        Ok(Some(Duration::try_from_secs_f64(left).unwrap_or(Duration::ZERO)))
    }
}
