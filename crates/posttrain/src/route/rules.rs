//! Which way of training led to a submission, and which ones a run tried and kept.

use super::code::is_code;
use super::kind::Route;
use super::online::closes_its_loop;
use super::signs::{in_code, in_words};
use crate::ledger::{Outcome, Submission};
use crate::record::{CodeChange, ToolUse, TrainerFacts};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is known of the work that led to a submission.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The number of the submission.
    pub id: u64,
    /// What the ledger says of it.
    pub submission: &'a Submission,
    /// Its stages, the last one first, as the files beside the model tell.
    pub stages: &'a [TrainerFacts],
    /// The uses of the toolbox since the submission before, in order.
    pub uses: &'a [ToolUse],
    /// What changed in the code since the submission before.
    pub changes: &'a [CodeChange],
}

/// What a finding rests on, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The server compared the weights: observed.
    Ledger,
    /// Files of a trainer beside the model: told.
    Checkpoint,
    /// The toolbox's report of a use: told.
    Toolbox,
    /// The code was there: observed, but not that it ran.
    Code,
    /// The agent's own words: told.
    Note,
    /// Nothing.
    Nothing,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ledger => "the ledger",
            Self::Checkpoint => "files beside the checkpoint",
            Self::Toolbox => "the toolbox",
            Self::Code => "the code",
            Self::Note => "its own note",
            Self::Nothing => "nothing",
        })
    }
}

/// Which way of training led to a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteFinding {
    /// The last stage.
    pub route: Route,
    /// All stages from the base on, as far as they are known; of equal ones in a row one.
    pub chain: Vec<Route>,
    /// What that rests on.
    pub by: Evidence,
    /// The evidence in words: files, command lines, lines of code.
    pub because: Vec<String>,
    /// What shows strict online reinforcement learning; none if nothing does.
    pub online: Option<String>,
}

/// The way of training that led to a submission. `before` has the findings of earlier submissions, and
/// `paths` what was submitted, by number.
pub fn find(
    attempt: &Attempt<'_>,
    before: &BTreeMap<u64, RouteFinding>,
    paths: &BTreeMap<u64, &str>,
) -> RouteFinding {
    of_weights(attempt, before)
        .or_else(|| of_stages(attempt))
        .or_else(|| of_uses(attempt))
        .or_else(|| of_code(attempt, before, paths))
        .or_else(|| of_note(attempt))
        .unwrap_or_else(|| of_nothing(attempt))
}

/// Weights that were seen before: the base's, or those of an earlier submission.
fn of_weights(attempt: &Attempt<'_>, before: &BTreeMap<u64, RouteFinding>) -> Option<RouteFinding> {
    let facts = attempt.submission.model.as_ref().map(|(_, _, facts)| facts);
    if facts.is_some_and(|facts| facts.copy) {
        let because = vec!["every weight is the base's".to_owned()];
        return Some(RouteFinding {
            route: Route::Copy,
            chain: vec![Route::Copy],
            by: Evidence::Ledger,
            because,
            online: None,
        });
    }
    let Outcome::Cached { of: Some(of), .. } = &attempt.submission.outcome else { return None };
    let mut found = before.get(of)?.clone();
    found.because.insert(0, format!("the weights of submission {of}"));
    Some(found)
}

fn of_stages(attempt: &Attempt<'_>) -> Option<RouteFinding> {
    let last = attempt.stages.first()?;
    let routes = attempt.stages.iter().rev().map(|stage| refined(stage, attempt.uses));
    let chain = without_repeats(routes);
    let because = attempt.stages.iter().map(|stage| {
        let updates = stage.updates.map_or(String::new(), |count| format!(", {}", updates(count)));
        format!("`{}` is a folder of {}{updates}", stage.folder, refined(stage, attempt.uses))
    });
    let online = attempt.stages.iter().find(|stage| {
        stage.route.is_policy_gradient() && stage.updates.is_some_and(|count| count > 0)
    });
    let online = online.map(|stage| {
        let made = updates(stage.updates.unwrap_or_default());
        format!("`{}`: {made} of {}", stage.folder, stage.route)
    });
    Some(RouteFinding {
        route: refined(last, attempt.uses),
        chain,
        by: Evidence::Checkpoint,
        because: because.collect(),
        online,
    })
}

fn updates(count: u64) -> String {
    if count == 1 { "1 update".to_owned() } else { format!("{count} updates") }
}

/// Imitation of what `rl sample` drew from the policy is imitation of own successes.
fn refined(stage: &TrainerFacts, uses: &[ToolUse]) -> Route {
    let data = stage.settings.get("data").and_then(serde_json::Value::as_array);
    let files = data.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let is_sampled = |file: &str| {
        let samples = uses.iter().filter(|one| {
            one.program == "rl" && one.arguments.first().is_some_and(|word| word == "sample")
        });
        samples.filter_map(ToolUse::out).any(|out| file.contains(out))
    };
    match stage.route {
        Route::Sft if files.into_iter().any(is_sampled) => Route::Rft,
        route => route,
    }
}

fn of_uses(attempt: &Attempt<'_>) -> Option<RouteFinding> {
    let trained = || attempt.uses.iter().filter(|one| !one.is_refused && one.route().is_some());
    let path = attempt.submission.request.model_path.as_str();
    let wrote = |one: &&ToolUse| one.out().is_some_and(|out| is_inside(path, out));
    // What wrote the model, or else the last one that ended well.
    let ended_well = |one: &&ToolUse| one.end.is_some() && !one.has_failed();
    let one = trained().rfind(wrote).or_else(|| trained().rfind(ended_well))?;
    let route = one.route()?;
    let updates = one.end.as_ref().and_then(|end| end.trainer.as_ref()?.updates);
    let is_online = route.is_policy_gradient() && updates.is_some_and(|count| count > 0);
    let line = command(one);
    Some(RouteFinding {
        route,
        chain: vec![route],
        by: Evidence::Toolbox,
        online: is_online.then(|| format!("use {} of the toolbox: `{line}`", one.number)),
        because: vec![format!("use {} of the toolbox: `{line}`", one.number)],
    })
}

/// A command line, for people.
fn command(one: &ToolUse) -> String {
    let words: Vec<&str> = [one.program.as_str()]
        .into_iter()
        .chain(one.arguments.iter().map(String::as_str))
        .collect();
    words.join(" ").chars().take(200).collect()
}

/// Whether the folder that an agent calls `path` lies in the one that it calls `out`, however it
/// names the output folder.
fn is_inside(path: &str, out: &str) -> bool {
    let below = |path: &str| {
        let path = path.trim_end_matches('/');
        let at = path.rfind("output/").map_or(0, |at| at + "output/".len());
        path[at..].to_owned()
    };
    let (path, out) = (below(path), below(out));
    !out.is_empty()
        && path.strip_prefix(&out).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn of_code(
    attempt: &Attempt<'_>,
    findings: &BTreeMap<u64, RouteFinding>,
    paths: &BTreeMap<u64, &str>,
) -> Option<RouteFinding> {
    let files = texts(attempt.changes);
    if !files.iter().any(|(path, _)| is_code(path)) {
        // The same code again makes what it made before.
        let (number, found) = findings.range(..attempt.id).next_back()?;
        if found.by != Evidence::Code {
            return None;
        }
        let mut found = found.clone();
        found.because = vec![format!("the code of submission {number}")];
        return Some(found);
    }
    let found = in_code(files.iter().copied());
    let route = strongest(&found)?;
    let named = |path: &&str| {
        let name = path.trim_start_matches("./");
        files.iter().any(|(_, text)| mentions(text, name))
    };
    let parents = || paths.range(..attempt.id).filter(|(_, path)| named(path));
    let mut because: Vec<String> = super::signs::key_lines(files.iter().copied(), route);
    let mut chain = Vec::new();
    for (number, path) in parents() {
        because.push(format!("it begins with submission {number}, `{path}`"));
        chain
            .extend(findings.get(number).into_iter().flat_map(|found| found.chain.iter().copied()));
    }
    chain.retain(|route| route.is_training());
    let chain = without_repeats(chain.into_iter().chain([route]));
    // What a model began with is part of its way.
    let inherited = || parents().find_map(|(number, _)| findings.get(number)?.online.clone());
    let online = closes_its_loop(files.iter().copied()).or_else(inherited);
    Some(RouteFinding { route, chain, by: Evidence::Code, because, online })
}

/// The files of changes that are there and are text.
fn texts(changes: &[CodeChange]) -> Vec<(&str, &str)> {
    changes.iter().filter_map(|change| Some((&*change.path, change.now.as_deref()?))).collect()
}

/// Whether a text names a path, and not a longer one.
fn mentions(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let after = text[at + path.len()..].chars().next();
        !after.is_some_and(|next| next.is_alphanumeric() || matches!(next, '-' | '_' | '.'))
    })
}

/// Of several ways of training in one piece of work the one that says most.
fn strongest(found: &BTreeSet<Route>) -> Option<Route> {
    const ORDER: [Route; 9] = [
        Route::Ppo,
        Route::Grpo,
        Route::Dpo,
        Route::KtoOrpo,
        Route::Dagger,
        Route::Rft,
        Route::Merge,
        Route::Sft,
        Route::Other,
    ];
    ORDER.into_iter().find(|route| found.contains(route))
}

fn of_note(attempt: &Attempt<'_>) -> Option<RouteFinding> {
    let note = attempt.submission.request.note.as_deref()?;
    let route = in_words(note)?;
    let because = vec![format!("its note: \u{201c}{note}\u{201d}")];
    Some(RouteFinding { route, chain: vec![route], by: Evidence::Note, because, online: None })
}

fn of_nothing(attempt: &Attempt<'_>) -> RouteFinding {
    let is_changed = attempt.submission.model.is_some();
    let (route, because) = if is_changed {
        (Route::Other, "the weights were changed, and nothing shows how".to_owned())
    } else {
        (Route::None, "there is no model".to_owned())
    };
    let by = if is_changed { Evidence::Ledger } else { Evidence::Nothing };
    RouteFinding { route, chain: vec![route], by, because: vec![because], online: None }
}

/// A way of training once where it stands several times in a row.
fn without_repeats(routes: impl IntoIterator<Item = Route>) -> Vec<Route> {
    let mut kept = Vec::new();
    for route in routes {
        if kept.last() != Some(&route) {
            kept.push(route);
        }
    }
    kept
}

/// The ways of training that a run tried: in submissions, in uses of the toolbox that were not refused,
/// and in code that was written after the last submission.
pub fn attempted<'a>(
    findings: impl IntoIterator<Item = &'a RouteFinding>,
    uses: &[ToolUse],
    after: &[CodeChange],
) -> BTreeSet<Route> {
    let mut all: BTreeSet<Route> =
        findings.into_iter().flat_map(|found| found.chain.iter().copied()).collect();
    all.extend(uses.iter().filter(|one| !one.is_refused).filter_map(ToolUse::route));
    all.extend(in_code(texts(after)));
    all.remove(&Route::None);
    all
}

/// The ways of training that led to the best submission.
pub fn adopted(best: Option<&RouteFinding>) -> BTreeSet<Route> {
    best.into_iter().flat_map(|found| found.chain.iter().copied()).collect()
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
