//! FT-Agent as `posttrain ft` and `posttrain tune` run it: its flags, its server, and what it prints.

use super::client::ServerArgs;
use super::grading::this_program;
use super::planner::{ChatModels, MANUAL, PlannerArgs};
use super::{UsageError, output};
use anyhow::{Context as _, Result};
use camino::Utf8Path;
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
    ModelPlanner, Planner, Rejection, ScriptBox, Scripted, Trainer, Workflow,
};
use posttrain::grade::ItemScore;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use worlds::{TaskFolder, TaskWorld};

/// The paper's settings by name.
const PAPER: (&str, &str) =
    ("ftdojo-paper", include_str!("../../../../configs/ftdojo-paper-settings.toml"));
/// Time for an answer about the time.
const QUICK: Duration = Duration::from_secs(30);
/// What a folder of a model has that a server takes.
const MODEL: [&str; 2] = ["json", "safetensors"];

#[derive(Debug, Args)]
pub(super) struct FtAgentArgs {
    #[command(flatten)]
    planner: PlannerArgs,
    /// Experiments, at most.
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    pub(super) loops: u32,
    /// The seed of all draws.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Limits, checks and the rule of acceptance: `ftdojo-paper`, or a TOML file.
    #[arg(long, value_name = "NAME|FILE")]
    settings: Option<String>,
    /// `fail-fast`, which is FT-Agent's: cheap checks before anything dear is done. `staged`, to compare with:
    /// data, training and scores in full at once, what fails is mended, and no proposal knows of earlier ones.
    /// Default: what the settings say, which is `fail-fast`.
    #[arg(long, value_name = "NAME", value_parser = workflow)]
    workflow: Option<Workflow>,
    /// The device, as the trainer calls it.
    #[arg(long, default_value = "auto")]
    pub(super) device: String,
    /// The trainer, which answers as `rl` does: program and first arguments. Default: `rl` beside this
    /// program.
    #[arg(last = true, value_name = "TRAINER")]
    trainer: Vec<String>,
}

/// What a run is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct FtPlace<'a> {
    pub(super) task: &'a TaskFolder,
    /// The raw data.
    pub(super) pool: &'a Utf8Path,
    pub(super) trainer: &'a Trainer,
    /// The folder of the run.
    pub(super) out: &'a Utf8Path,
}

impl FtAgentArgs {
    /// The settings of FT-Agent.
    pub(super) fn settings(&self) -> Result<CheckedFtSettings> {
        let mut settings: FtSettings = match &self.settings {
            Some(name) => toml::from_str(&settings_text(name)?)
                .map_err(|error| UsageError(format!("`{name}` cannot be read: {error}")))?,
            None => FtSettings::default(),
        };
        settings.workflow = self.workflow.unwrap_or(settings.workflow);
        Ok(settings.check().map_err(|error| UsageError(error.to_string()))?)
    }

    /// Refuses flags that cannot be meant, before anything is begun.
    pub(super) fn check(&self) -> Result<()> {
        self.settings()?;
        self.planner.check()
    }

    /// Who decides what to try.
    pub(super) fn planner_name(&self) -> &str {
        &self.planner.planner
    }

    /// The tiers of models that scripts may ask, and how the flags name them.
    pub(super) fn teachers(&self) -> Vec<(&'static str, &str)> {
        self.planner.teachers()
    }

    /// The trainer, for this base.
    pub(super) fn trainer(&self, base: &Utf8Path) -> Result<Trainer> {
        let base = base.canonicalize_utf8().context("failed to find the base")?;
        self.trainer_of(&base)
    }

    /// The same for a base that need not be there.
    pub(super) fn trainer_of(&self, base: &Utf8Path) -> Result<Trainer> {
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
        Ok(Trainer { program, launcher, base: base.to_owned(), device: self.device.clone() })
    }

    /// Carries out a run of FT-Agent, or goes on with it. Prints what a chat model has cost.
    pub(super) fn run(
        &self,
        place: &FtPlace<'_>,
        arena: &mut dyn Arena,
        interrupted: &AtomicBool,
    ) -> Result<FtState> {
        let FtPlace { task, pool, trainer, out } = *place;
        let settings = self.settings()?;
        fs::create_dir_all(out)?;
        let out = out.canonicalize_utf8()?;
        let python = PythonEnv::locate().context("failed to find a Python for scripts")?;
        let scripts = ScriptBox::start(&python, SandboxOptions::default(), pool)?;
        let form = AnswerForm::open(task, scripts.runner())?;
        if task.spec().world == TaskWorld::Custom {
            form.check_scorer()?;
        }
        let (schema, base) = (trainer.schema()?, trainer.base_facts()?);
        let pool = describe(pool)?;
        let asked = json!({
            "task": task.spec().id,
            "planner": self.planner.planner,
            "answer_tokens": self.planner.answer_tokens,
            "teachers": self.planner.teachers(),
            "seed": self.seed,
            "settings": &*settings,
            "base": trainer.base,
            "trainer": trainer.program,
        });
        let ChatModels { planner, teachers, calls } = self.planner.open(&out)?;
        let chain = Chain {
            settings: &settings,
            scripts: &scripts,
            teachers: &teachers,
            form: &form,
            trainer,
            schema: &schema,
            base,
            pool: &pool,
            interrupted,
        };
        let run = FtRun {
            task: task.spec(),
            chain,
            loops: self.loops,
            seed: self.seed,
            asked: Digest::of(asked.to_string().as_bytes()),
            out: &out,
        };
        let mut planner: Box<dyn Planner> = match &planner {
            None if self.planner.planner == MANUAL => Box::new(Manual),
            None => Box::new(Scripted),
            Some((model, name)) => Box::new(ModelPlanner::new(
                &**model,
                name,
                self.planner.answer_tokens,
                settings.limits.planner_repairs,
            )),
        };
        let state = run.run(&mut *planner, arena)?;
        if let Some(calls) = calls {
            let CallTotals { answers, usage, spent, .. } = calls.totals();
            let tokens = usage.input + usage.output;
            output::line(&format!("asked {answers} answers, {tokens} tokens, {spent}"))?;
        }
        Ok(state)
    }
}

fn workflow(name: &str) -> Result<Workflow, String> {
    match name {
        "fail-fast" => Ok(Workflow::FailFast),
        "staged" => Ok(Workflow::Staged),
        _ => Err("it is `fail-fast` or `staged`".to_owned()),
    }
}

/// The text of settings: those of the paper, or a file.
fn settings_text(name: &str) -> Result<String> {
    if name == PAPER.0 {
        return Ok(PAPER.1.to_owned());
    }
    fs::read_to_string(name).map_err(|error| {
        UsageError(format!("`{name}` is neither `{}` nor a file: {error}", PAPER.0)).into()
    })
}

/// The state that a run came to; none if it was interrupted, which is said.
pub(super) fn told(run: Result<FtState>) -> Result<Option<FtState>> {
    match run.map_err(anyhow::Error::downcast::<FtRunError>) {
        Ok(state) => Ok(Some(state)),
        Err(Ok(error @ FtRunError::Interrupted)) => {
            output::note(&format!("note: {error}"));
            Ok(None)
        }
        // These are about the flags and not about the host.
        Err(Ok(FtRunError::Journal(
            error @ (JournalError::OtherRun(_) | JournalError::Busy(_) | JournalError::Line { .. }),
        ))) => Err(UsageError(error.to_string()).into()),
        Err(Ok(error)) => Err(error.into()),
        Err(Err(error)) => Err(error),
    }
}

/// Prints a line for each experiment, and the best.
pub(super) fn tell(state: &FtState) -> Result<()> {
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
pub(super) struct Served<'a> {
    pub(super) server: &'a ServerArgs,
    /// Where models are put.
    pub(super) output: &'a Utf8Path,
    pub(super) base: &'a Utf8Path,
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

/// The folder of an experiment's model, where models are put.
pub(super) fn model_name(experiment: u32) -> String {
    format!("experiment-{experiment:03}")
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
        self.score(&model_name(experiment), checkpoint)
    }

    fn left(&mut self) -> Result<Option<Duration>, FtFault> {
        let asked = self.server.ask("/v1/time", None, Some(QUICK));
        let (is_told, answer) = asked.map_err(|error| FtFault::Server(format!("{error:#}")))?;
        let left = answer["remaining_seconds"].as_f64().filter(|_| is_told);
        let left = left.ok_or_else(|| FtFault::Server("it does not tell the time".to_owned()))?;
        Ok(Some(Duration::try_from_secs_f64(left).unwrap_or(Duration::ZERO)))
    }
}
