//! `agents run`: one search on one task.

use crate::cli::RunArgs;
use crate::players::Players;
use crate::{INCOMPLETE, INTERRUPTED, complain, say};
use agents::overview::DataOverview;
use agents::preset::Preset;
use agents::search::journal::JournalLine;
use agents::search::node::{Node, NodeState};
use agents::search::operator::TaskView;
use agents::search::python::PythonFacts;
use agents::search::run::{Search, SearchError, SearchObserver, SearchRest};
use agents::search::stop::SearchStop;
use anyhow::{Result, bail};
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::process::ExitCode;
use tasks::task::{Collection, Opening};

pub(crate) fn run(args: &RunArgs, stop: &SearchStop) -> Result<ExitCode> {
    let preset = Preset::load(&args.scaffold, &args.settings)?;
    let opening = Opening { checkout: args.mlebench.clone() };
    let slots = preset.search.workers.max(1) as usize;
    let collection = Collection::open(&args.task, &opening)?;
    let is_competition = collection.tasks().iter().any(|task| task.competition().is_some());
    let options =
        if is_competition { SandboxOptions::benchmark() } else { SandboxOptions::default() };
    let suite = TaskSuite::start(collection, SandboxOptions { slots, ..options })?;
    let [task] = suite.tasks() else {
        bail!(
            "`{}` has {} tasks; name the folder of one, or use `agents eval`",
            args.task,
            suite.tasks().len()
        );
    };
    let config = preset.episode();
    config.check_feedback(task)?;
    let players = Players::open(&args.model, &args.out)?;
    let direction = suite.grader(task)?.direction();
    let view = TaskView {
        page: task.description()?,
        overview: DataOverview::of(task.public().path()),
        direction,
        limits: config.policy.clone(),
        python: PythonFacts::ask(suite.sandbox())?,
        steps: preset.search.steps,
    };
    let player = players.player(task, direction, args.seed)?;
    let search = Search {
        suite: &suite,
        task,
        config: &config,
        scaffold: &preset.scaffold,
        settings: &preset.search,
        view: &view,
        player: &*player,
        seed: args.seed,
        folder: &args.out,
        stop,
        observer: &Lines,
    };
    let rest = search.run().map_err(|error| match error {
        SearchError::Fault(_) => {
            anyhow::Error::new(error).context("the run broke; the same command goes on with it")
        }
        error => error.into(),
    })?;
    match rest {
        SearchRest::Finished { chosen: Some(node), .. } => {
            say(&format!("node {node} is submitted: `{}`", args.out.join("submission.csv")));
            say(&format!("to grade it: sandbox grade {} {}/submission.csv", args.task, args.out));
            complain(&format!("done{}", players.spent()));
            Ok(ExitCode::SUCCESS)
        }
        SearchRest::Finished { chosen: None, .. } => {
            say("no script left a valid submission");
            complain(&format!("done{}", players.spent()));
            Ok(ExitCode::SUCCESS)
        }
        SearchRest::Paused { why } => {
            complain(&format!("paused: {why}{}; the same command goes on", players.spent()));
            Ok(ExitCode::from(if stop.is_asked() { INTERRUPTED } else { INCOMPLETE }))
        }
    }
}

/// Shows each node in a line.
#[derive(Debug)]
struct Lines;

impl SearchObserver for Lines {
    fn line(&self, line: &JournalLine) {
        if let JournalLine::Node(node) = line {
            complain(&summary(node));
        }
    }
}

/// A node in a line.
pub(crate) fn summary(node: &Node) -> String {
    let parents: Vec<String> = node.decision.parents.iter().map(ToString::to_string).collect();
    let of =
        if parents.is_empty() { String::new() } else { format!(" of {}", parents.join(" and ")) };
    let operator = node.decision.operator.name();
    let state = match (&node.state, node.metric) {
        (NodeState::Good, Some(metric)) => format!("validation score {metric}"),
        (NodeState::Good, None) => "good".to_owned(),
        (NodeState::Refused { reason }, _) => format!("no script: {reason}"),
        (NodeState::Buggy(_), _) => match (&node.run, &node.invalid) {
            (Some(run), _) if !run.outcome.is_finished() => format!("the script {}", run.outcome),
            (_, Some(invalid)) => invalid.clone(),
            _ => "the script printed no validation score".to_owned(),
        },
    };
    format!("node {}: {operator}{of}: {state}", node.id)
}
