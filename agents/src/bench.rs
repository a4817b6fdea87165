//! `agents eval` and `agents bench check`: benchmarks.

use crate::cli::{BenchCheckArgs, EvalArgs};
use crate::players::Players;
use crate::run::check_roles;
use crate::{INCOMPLETE, INTERRUPTED, complain, say};
use agents::knowledge::{KnowledgeDesk, TrickRecord};
use agents::preset::Preset;
use agents::run::player::{Asked, Player};
use agents::run::stop::AgentStop;
use agents::run::trial::{TrialCache, TrialCacheUse};
use anyhow::{Context as _, Result};
use evals::bench::conditions::BenchConditions;
use evals::bench::machine::{BenchMachine, MachineOptions};
use evals::bench::output;
use evals::bench::packages::missing_packages;
use evals::bench::runner::{Bench, BenchProgress, BenchRest, PlayerError, PlayerSource};
use evals::bench::suite::{
    self, BenchName, BenchTasksError, CompetitionState, Selection, data_folder, hints, open,
};
use evals::bench::summary::BenchField;
use indicatif::{ProgressBar, ProgressStyle};
use jail::exec::{Sandbox, SandboxOptions};
use jail::python::PythonEnv;
use llm::Price;
use std::process::ExitCode;
use tasks::metrics::Direction;
use tasks::task::{DataSource, Opening, Task, TaskId};

fn hint(hints: Vec<String>) {
    for hint in hints {
        complain(&format!("hint: {hint}"));
    }
}

pub(crate) fn check(args: &BenchCheckArgs) -> Result<ExitCode> {
    let data = data_folder(args.bench, args.data.as_deref())?;
    let opening = Opening { checkout: args.mlebench.clone(), mledojo: args.mledojo.clone() };
    let checks = suite::check(args.bench, &data, &opening)?;
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut ready = 0;
    for check in &checks {
        let state = match &check.state {
            CompetitionState::Missing => "missing".to_owned(),
            CompetitionState::Broken { why } => format!("broken: {why}"),
            CompetitionState::Ready { data, bytes } => {
                ready += 1;
                let kind = match data {
                    DataSource::StandIn => "stand-in",
                    DataSource::Real | DataSource::Synthetic => "real data",
                };
                format!("ready, {kind}, {:.1} MiB public", *bytes as f64 / f64::from(1 << 20))
            }
        };
        say(&format!("{:width$}  {state}", check.id));
    }
    let all = checks.len();
    say(&format!("{ready} of {all} competitions can be played from `{data}`"));
    check_packages()?;
    if ready == all {
        return Ok(ExitCode::SUCCESS);
    }
    if args.bench == BenchName::MlebenchLite {
        hint(hints(&data, ready, all));
    }
    Ok(ExitCode::from(INCOMPLETE))
}

/// Says which packages of MLE-bench's environment the Python of scripts has not.
fn check_packages() -> Result<()> {
    let python = PythonEnv::locate()?;
    let options =
        SandboxOptions { slots: 1, spares: 0, warm_up: false, ..SandboxOptions::default() };
    let sandbox = Sandbox::start(&python, options, &[])?;
    let missing = missing_packages(&sandbox)?;
    if missing.is_empty() {
        say("Python has all packages of MLE-bench's environment");
        return Ok(());
    }
    say(&format!(
        "Python lacks {} packages of MLE-bench's environment: {}",
        missing.len(),
        missing.join(", ")
    ));
    say(
        "`make venv-bench` installs those that have wheels and are kept up; `MLE_PYTHON` names that Python",
    );
    Ok(())
}

/// The benchmark, with what scripts run on, each run with as many as `workers` scripts at once; `None`
/// if competitions are missing, which is said.
pub(crate) fn ready(args: &EvalArgs, workers: usize) -> Result<Option<(BenchField, BenchMachine)>> {
    let opening = Opening { checkout: args.mlebench.clone(), mledojo: args.mledojo.clone() };
    let data = data_folder(args.bench, args.data.as_deref())?;
    let selection = Selection::from_names(args.only.as_deref())?;
    let (field, tasks) = match open(args.bench, &data, &opening, &selection) {
        Ok(opened) => opened,
        Err(error @ BenchTasksError::NotPrepared { .. }) => {
            complain(&format!("error: {error}"));
            hint(error.hints());
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let options = MachineOptions {
        gpus: args.gpus.clone(),
        share_gpus: args.share_gpus,
        weights: args.weights.clone(),
    };
    let machine = BenchMachine::start(args.bench, tasks, (args.jobs, workers), options)?;
    Ok(Some((field, machine)))
}

pub(crate) fn eval(args: &EvalArgs, stop: &AgentStop) -> Result<ExitCode> {
    let preset = Preset::load(&args.preset, &args.settings)?;
    let Some((field, machine)) = ready(args, preset.workers())? else {
        return Ok(ExitCode::from(INCOMPLETE));
    };
    let count = machine.suite.tasks().len();
    let base = crate::knowledge::open(&args.base)?;
    let players = Players::open(&args.model, Some(&args.sources), &args.out)?;
    check_roles(&preset, &players)?;
    let record = args.sources.uses.as_deref().map(TrickRecord::read).transpose()?;
    let knowledge =
        KnowledgeDesk { base: &base, embedder: players.embedder(), record: record.as_ref() };
    let agent = format!("{}/{}", preset.scaffold, players.name());
    let bar = Bar::new(count as u64 * args.seeds)?;
    let conditions = BenchConditions::new(args.bench, &preset, &machine, args.seeds, args.jobs);
    let trials = args.script_cache.then(TrialCache::default);
    let played = Bench {
        machine: &machine,
        preset: &preset,
        agent: &agent,
        players: &players,
        knowledge: &knowledge,
        trials: trials.as_ref(),
        price: players.price(),
        out: &args.out,
        seeds: args.seeds,
        jobs: args.jobs,
        grade_steps: args.grade_steps,
        boards: args.boards.as_deref(),
        stop,
        progress: &bar,
    }
    .play();
    bar.finish();
    complain_of_cache(trials.as_ref());
    let played = played?;
    if let Some(table) = output::write(&args.out, &field, &played.runs, &conditions)? {
        say(table.to_string().trim_end());
        complain(&format!("the leaderboard is `{}`", args.out.join("leaderboard.html")));
    }
    complain(&format!("the runs are in `{}`{}", args.out.join("runs"), players.spent()));
    if let Some(text) = played.unfinished() {
        complain(&text);
    }
    Ok(if stop.is_asked() {
        ExitCode::from(INTERRUPTED)
    } else if played.unfinished().is_some() {
        ExitCode::from(INCOMPLETE)
    } else {
        ExitCode::SUCCESS
    })
}

impl PlayerSource for Players {
    fn player(
        &self,
        task: &Task,
        direction: Direction,
        seed: u64,
    ) -> Result<Box<dyn Player>, PlayerError> {
        Players::player(self, task, direction, seed).map_err(Into::into)
    }

    fn price(&self, what: Asked, _: Option<Price>) -> Option<Price> {
        self.price_of(what)
    }
}

/// Says what a cache of scripts was used for.
pub(crate) fn complain_of_cache(trials: Option<&TrialCache>) {
    let Some(TrialCacheUse { scripts, cached, checks, mismatches }) = trials.map(TrialCache::uses)
    else {
        return;
    };
    complain(&format!(
        "{cached} of {scripts} scripts had run before and were not run again; {checks} such were \
         run to compare, and {mismatches} of them left something else"
    ));
}

pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(runs: u64) -> Result<Self> {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs {elapsed} {msg}")
            .context("a template")?;
        Ok(Self(ProgressBar::new(runs).with_style(style)))
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl BenchProgress for Bar {
    fn rest(&self, task: &TaskId, seed: u64, rest: &BenchRest) {
        self.0.inc(1);
        self.0.set_message(format!("{task} seed {seed}: {rest}"));
    }
}
