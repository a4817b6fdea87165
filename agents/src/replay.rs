//! `agents replay`: a recorded run again, without its model.

use crate::cli::ReplayArgs;
use crate::run::{Lines, sandbox_options};
use crate::{INTERRUPTED, complain, say};
use agents::preset::ScaffoldSettings;
use agents::run::agent::{AgentRest, AgentRun, TaskView};
use agents::run::journal::{Blobs, JournalError, journal_path, read_lines};
use agents::run::knowledge::ReadyKnowledge;
use agents::run::python::PythonFacts;
use agents::run::recorded::{RecordedAnswers, differences};
use agents::run::state::RunState;
use agents::run::stop::AgentStop;
use agents::run::weights::PretrainedWeights;
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use sandbox::env::TaskSuite;
use std::process::ExitCode;
use tasks::task::{Collection, Opening};

/// The state of the run in `folder`.
pub(crate) fn recorded(folder: &Utf8Path) -> Result<RunState> {
    let path = journal_path(folder);
    if !path.is_file() {
        bail!("`{folder}` is not the folder of a run: it has no `journal.jsonl`");
    }
    let state = RunState::from_lines(&path, read_lines(&path)?)?;
    Ok(state.ok_or(JournalError::NoHeader(path))?)
}

pub(crate) fn replay(args: &ReplayArgs, stop: &AgentStop) -> Result<ExitCode> {
    let old = recorded(&args.run)?;
    if args.run.canonicalize_utf8()? == args.out {
        bail!("`--out` must be another folder than the run");
    }
    let header = &old.header;
    let settings: ScaffoldSettings = serde_json::from_value(header.settings.clone())
        .context("the settings of the run are not those of a scaffold")?;
    let opening = Opening { checkout: args.mlebench.clone(), mledojo: args.mledojo.clone() };
    let collection = Collection::open(&args.task, &opening)?;
    let [task] = collection.tasks() else {
        bail!("`{}` holds several tasks; name the folder of `{}`", args.task, header.task);
    };
    if *task.id() != header.task {
        bail!("the run is on `{}`, and `{}` is `{}`", header.task, args.task, task.id());
    }
    let options = sandbox_options(&collection, settings.workers(), args.weights.as_deref());
    let weights = args.weights.as_deref().map(PretrainedWeights::of).transpose();
    let weights = weights.context("failed to read the pretrained weights")?;
    let suite = TaskSuite::start(collection, options)?;
    let task = &suite.tasks()[0];
    let config = header.episode();
    let python = PythonFacts::ask(suite.sandbox())?;
    let view = TaskView::of(task, header.direction, &config.policy, &python, weights.as_ref())?;
    let knowledge = match &old.knowledge {
        Some(facts) => ReadyKnowledge::recorded(facts, &Blobs::new(&args.run))?,
        None => ReadyKnowledge::default(),
    };
    let player = RecordedAnswers::new(&old, &args.run);
    let rest = settings.play(AgentRun {
        suite: &suite,
        task,
        config: &config,
        scaffold: &header.scaffold,
        view: &view,
        player: &player,
        knowledge: &knowledge,
        guide: &(),
        trials: None,
        seed: header.seed,
        folder: &args.out,
        stop,
        observer: &Lines,
    })?;
    if stop.is_asked() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let new = recorded(&args.out)?;
    for difference in header.differences(&new.header) {
        complain(&format!("note: {difference}"));
    }
    let found = differences(&old, &new);
    for difference in &found {
        say(difference);
    }
    if let (AgentRest::Paused { why }, true) = (&rest, old.finish.is_some()) {
        say(&format!("it could not be finished: {why}"));
        return Ok(ExitCode::FAILURE);
    }
    if found.is_empty() {
        say(&format!("all {} steps came out as before", old.steps()));
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("{} differences in {} steps", found.len(), old.steps()));
    Ok(ExitCode::FAILURE)
}
