//! `agents tree`: a run in the terminal or as a page, finished or not.

use crate::cli::TreeArgs;
use crate::replay::recorded;
use crate::run::{summary, turn_summary};
use crate::say;
use agents::run::journal::AgentEnd;
use agents::run::node::NodeId;
use agents::run::role::{RoleUse, role_uses};
use agents::search::tree::Tree;
use anyhow::{Context as _, Result};
use camino::Utf8Path;
use evals::bench::outcome::{BenchRun, StepGrade};
use evals::report::TreePage;
use fs_err as fs;
use std::process::ExitCode;
use tasks::files;

pub(crate) fn tree(args: &TreeArgs) -> Result<ExitCode> {
    let state = recorded(&args.run)?;
    let header = &state.header;
    say(&format!(
        "{} by {} on {} (seed {}, {} data): {} steps, {:.0} s",
        header.scaffold,
        header.player,
        header.task,
        header.seed,
        header.data,
        state.steps(),
        state.clock,
    ));
    let tree = Tree::from_state(&state);
    let chosen = state.finish.and_then(|(chosen, _)| chosen);
    for &root in tree.roots() {
        show(&tree, root, "", chosen);
    }
    for turn in &state.turns {
        say(&turn_summary(turn));
    }
    for used in uses(&args.run)?.unwrap_or_else(|| role_uses(&state, |_| None)) {
        say(&used.to_string());
    }
    let kind = if state.turns.is_empty() { "node" } else { "turn" };
    say(&match state.finish {
        None => "not over; the command that made it goes on".to_owned(),
        Some((Some(node), why)) => format!("over ({}): {kind} {node} is submitted", end(why)),
        Some((None, why)) => format!("over ({}): nothing is submitted", end(why)),
    });
    if let Some(path) = &args.html {
        let page = TreePage::from_run(&state, &args.run, &grades(&args.run)?)?;
        files::write_atomic(path, page.html().as_bytes())?;
        say(&format!("the page is `{path}`"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What roles used and cost, if `agents eval` wrote it beside the journal.
fn uses(run: &Utf8Path) -> Result<Option<Vec<RoleUse>>> {
    Ok(graded(run)?.map(|graded| graded.roles))
}

/// The grades after each step, if `agents eval` wrote them beside the journal.
fn grades(run: &Utf8Path) -> Result<Vec<StepGrade>> {
    Ok(graded(run)?.map(|graded| graded.by_step).unwrap_or_default())
}

/// What `agents eval` wrote beside the journal of a run that is over.
fn graded(run: &Utf8Path) -> Result<Option<BenchRun>> {
    let path = run.join("run.json");
    if !path.is_file() {
        return Ok(None);
    }
    let graded = serde_json::from_slice(&fs::read(&path)?)
        .with_context(|| format!("`{path}` is not the grade of a run"))?;
    Ok(Some(graded))
}

/// A node and everything below it.
fn show(tree: &Tree, id: NodeId, indent: &str, chosen: Option<NodeId>) {
    let mark = if chosen == Some(id) { "*" } else { " " };
    let text = tree.node(id).map_or_else(
        || format!("node {id}: {}: being worked on", tree.decision(id).operator.name()),
        summary,
    );
    say(&format!("{mark} {indent}{text}"));
    // A crossover stands below the first of its parents.
    for &child in tree.children(id) {
        if tree.parent(child) == Some(id) {
            show(tree, child, &format!("{indent}  "), chosen);
        }
    }
}

fn end(why: AgentEnd) -> &'static str {
    match why {
        AgentEnd::Steps => "all steps were taken",
        AgentEnd::Calls => "as many questions were asked as may be",
        AgentEnd::Time => "the time is up",
        AgentEnd::Exhausted => "nothing was left to try",
        AgentEnd::Refused => "the model declined, or gave no script too often",
        AgentEnd::Answered => "the agent is done",
        AgentEnd::Context => "the conversation is longer than the context",
    }
}
