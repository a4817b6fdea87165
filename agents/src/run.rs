//! `agents run`: one agent on one task.

use crate::cli::RunArgs;
use crate::guide::open_guide;
use crate::players::Players;
use crate::replay::recorded;
use crate::{INCOMPLETE, INTERRUPTED, complain, say};
use agents::knowledge::{KnowledgeDesk, TrickRecord};
use agents::preset::{Preset, ScaffoldSettings};
use agents::run::agent::{AgentObserver, AgentRest, AgentRun, AgentRunError, TaskView};
use agents::run::journal::{JournalLine, journal_path};
use agents::run::node::{Bug, Node, NodeState};
use agents::run::python::PythonFacts;
use agents::run::role::role_uses;
use agents::run::stop::AgentStop;
use agents::run::turn::TurnFacts;
use agents::run::weights::PretrainedWeights;
use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::process::ExitCode;
use tasks::task::{Collection, Opening, Task};

pub(crate) fn run(args: &RunArgs, stop: &AgentStop) -> Result<ExitCode> {
    let mut preset = Preset::load(&args.scaffold, &args.settings)?;
    if let Some(gpus) = &args.gpus {
        preset.limits.gpus = gpus.clone();
    }
    let opening = Opening { checkout: args.mlebench.clone(), mledojo: args.mledojo.clone() };
    let collection = Collection::open(&args.task, &opening)?;
    let [task] = collection.tasks() else {
        bail!(
            "`{}` has {} tasks; name the folder of one, or use `agents eval`",
            args.task,
            collection.tasks().len()
        );
    };
    let config = preset.episode();
    config.check_feedback(task)?;
    let base = crate::knowledge::open(&args.base)?;
    let players = Players::open(&args.model, Some(&args.sources), &args.out)?;
    check_roles(&preset, &players)?;
    let record = args.sources.uses.as_deref().map(TrickRecord::read).transpose()?;
    let weights = args.weights.as_deref().map(PretrainedWeights::of).transpose();
    let weights = weights.context("failed to read the pretrained weights")?;

    // It takes seconds to start, and nobody waits that long for a wrong flag.
    let options = sandbox_options(&collection, preset.workers(), args.weights.as_deref());
    let suite = TaskSuite::start(collection, options)?;
    suite.sandbox().host_gpus().check(&preset.limits.gpus)?;
    let task = &suite.tasks()[0];
    let knowledge =
        KnowledgeDesk { base: &base, embedder: players.embedder(), record: record.as_ref() };
    let direction = suite.grader(task)?.direction();
    let python = PythonFacts::ask(suite.sandbox())?;
    let view = TaskView::of(task, direction, &config.policy, &python, weights.as_ref())?;
    let guide = open_guide(args)?;
    let player = players.player(task, direction, args.seed)?;
    let run = AgentRun {
        suite: &suite,
        task,
        config: &config,
        scaffold: &preset.scaffold,
        view: &view,
        player: &*player,
        knowledge: &knowledge,
        guide: &guide,
        trials: None,
        seed: args.seed,
        folder: &args.out,
        stop,
        observer: &Lines,
    };
    let rest = preset.settings.play(run).map_err(|error| match error {
        AgentRunError::Fault(_) => {
            anyhow::Error::new(error).context("the run broke; the same command goes on with it")
        }
        error => error.into(),
    })?;
    // A run that waits for a provider of vectors has no journal yet.
    if journal_path(&args.out).is_file() {
        for used in role_uses(&recorded(&args.out)?, |what| players.price_of(what)) {
            complain(&used.to_string());
        }
    }
    match rest {
        AgentRest::Finished { chosen: Some(node), .. } => {
            let kind = preset.settings.step_name();
            say(&format!("{kind} {node} is submitted: `{}`", args.out.join("submission.csv")));
            say(&format!("to grade it: sandbox grade {} {}/submission.csv", args.task, args.out));
            complain(&format!("done{}", players.spent()));
            Ok(ExitCode::SUCCESS)
        }
        AgentRest::Finished { chosen: None, .. } => {
            say("no script left a valid submission");
            complain(&format!("done{}", players.spent()));
            Ok(ExitCode::SUCCESS)
        }
        AgentRest::Paused { why } => {
            complain(&format!("paused: {why}{}; the same command goes on", players.spent()));
            Ok(ExitCode::from(if stop.is_asked() { INTERRUPTED } else { INCOMPLETE }))
        }
    }
}

/// Refuses models of roles for a scaffold that has no roles.
pub(crate) fn check_roles(preset: &Preset, players: &Players) -> Result<()> {
    if players.has_roles() && !matches!(preset.settings, ScaffoldSettings::AutoMind(_)) {
        bail!("`--role` is for `automind`: `{}` asks one model alone", preset.scaffold);
    }
    Ok(())
}

/// The sandbox that the scripts of a task need, `slots` of them at a time.
pub(crate) fn sandbox_options(
    tasks: &Collection,
    slots: usize,
    weights: Option<&Utf8Path>,
) -> SandboxOptions {
    let is_competition = tasks.tasks().iter().any(Task::is_competition);
    let options =
        if is_competition { SandboxOptions::benchmark() } else { SandboxOptions::default() };
    SandboxOptions { slots, weights: weights.map(Utf8Path::to_owned), ..options }
}

/// Shows each node or turn in a line.
#[derive(Debug)]
pub(crate) struct Lines;

impl AgentObserver for Lines {
    fn line(&self, line: &JournalLine) {
        match line {
            JournalLine::Node(node) => complain(&summary(node)),
            JournalLine::Turn(turn) => complain(&turn_summary(turn)),
            _ => {}
        }
    }
}

/// A turn in a line.
pub(crate) fn turn_summary(turn: &TurnFacts) -> String {
    let outcome = turn.record.outcome.as_ref();
    let script = outcome.map(|outcome| format!(": the script {outcome}")).unwrap_or_default();
    let metric =
        turn.metric.map(|metric| format!(", validation score {metric}")).unwrap_or_default();
    format!("turn {}: {}{script}{metric}", turn.number, turn.record.tool.name())
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
        (NodeState::Buggy(Bug::StepFailed { step }), _) => format!("given up at step {step}"),
        (NodeState::Buggy(bug), _) => match (&node.run, &node.invalid) {
            (Some(run), _) if !run.outcome.is_finished() => format!("the script {}", run.outcome),
            (_, Some(invalid)) => invalid.clone(),
            _ => bug_in_words(bug).to_owned(),
        },
    };
    format!("node {}: {operator}{of}: {state}{}", node.id, tricks(node))
}

/// What is wrong with a script that ran to its end.
fn bug_in_words(bug: &Bug) -> &'static str {
    match bug {
        Bug::NotFinished => "the script did not finish",
        Bug::NoMetric => "the script reported no validation score",
        Bug::NoSubmission => "the script left no submission",
        Bug::InvalidSubmission => "the submission is not valid",
        Bug::Judged => "a bug, by the judge",
        Bug::Disputed => "the judge reads another validation score",
        Bug::Overfitting => "overfitting, by the judge",
        Bug::StepFailed { .. } => "a step failed",
    }
}

/// The tricks of a node, where it has any.
fn tricks(node: &Node) -> String {
    let Some(facts) = &node.automind else { return String::new() };
    let mut text = String::new();
    if let Some(tried) = &facts.applying {
        text = format!("; tries `{}` on node {}", tried.trick, tried.base);
    }
    if let Some(declined) = &facts.declined {
        text = format!("{text}; `{declined}` does not fit");
    }
    if !facts.papers.is_empty() {
        text = format!("{text}; from {}", facts.papers.join(" and "));
    }
    if let Some(why) = &facts.no_papers {
        text = format!("{text}; not from papers: {why}");
    }
    if !facts.applied.is_empty() {
        let applied: Vec<&str> = facts.applied.iter().map(String::as_str).collect();
        text = format!("{text}; has {}", applied.join(", "));
    }
    text
}
