//! `agents knowledge try`: the code of cards, run.

use super::{cells, open, table};
use crate::cli::KnowledgeTryArgs;
use crate::run::sandbox_options;
use crate::{INCOMPLETE, say};
use agents::automind::engineer::script_with;
use agents::knowledge::{Knowledge, Label, Query, Slot, Trick, TrickId};
use anyhow::{Context as _, Result, bail};
use sandbox::env::{EpisodeConfig, TaskSuite, TrialResult, try_script};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tasks::metrics::Direction;
use tasks::task::{Collection, Opening, Task};

/// Characters of what a script prints on standard error that are shown.
const SHOWN: usize = 300;

/// A card on a task that it is for.
struct Trial<'a> {
    card: &'a Trick,
    task: &'a Task,
    script: String,
}

/// What was wrong with a script, and how long it took.
struct Tried {
    wrong: Option<String>,
    seconds: f64,
}

pub(super) fn try_cards(args: &KnowledgeTryArgs) -> Result<ExitCode> {
    let base = open(&args.base)?;
    let only = args.card.as_deref().map(TrickId::new).transpose()?;
    if let Some(id) = &only {
        let card = base.trick(id).with_context(|| {
            format!("there is no trick `{id}`; `agents knowledge list` shows all names")
        })?;
        if card.snippet.is_none() {
            bail!("`{id}` has no code");
        }
    }
    let collection = Collection::open(&args.tasks, &Opening::default())?;
    let options = sandbox_options(&collection, args.jobs, None);
    let suite = TaskSuite::start(collection, options)?;
    let (trials, without) = trials(&base, &suite, only.as_ref(), args.every)?;
    if trials.is_empty() {
        bail!("no card with code is for a task in `{}`", args.tasks);
    }
    let results = run(&suite, &trials, args.jobs)?;
    let mut rows = vec![cells(["card", "task", "seconds", "what is wrong"])];
    for (trial, tried) in trials.iter().zip(&results) {
        if let Some(wrong) = &tried.wrong {
            let seconds = format!("{:.2}", tried.seconds);
            rows.push(cells([trial.card.id.as_str(), trial.task.id().as_str(), &seconds, wrong]));
        }
    }
    let wrong = rows.len() - 1;
    if wrong > 0 {
        say(&table(&rows));
    }
    let slowest = trials.iter().zip(&results).max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
    if let Some((trial, tried)) = slowest {
        say(&format!("slowest: {} on {}, {:.2} s", trial.card.id, trial.task.id(), tried.seconds));
    }
    if !without.is_empty() {
        say(&format!("no task for {} cards: {}", without.len(), without.join(", ")));
    }
    say(&format!("{} scripts, {wrong} of them with something wrong", trials.len()));
    Ok(ExitCode::from(match (wrong, without.is_empty()) {
        (0, true) => 0,
        (0, false) => INCOMPLETE,
        _ => crate::FAILED,
    }))
}

/// Cards on tasks that share a label with them, or at least a field, and the names of cards without such a task.
fn trials<'a>(
    base: &'a Knowledge,
    suite: &'a TaskSuite,
    only: Option<&TrickId>,
    every: bool,
) -> Result<(Vec<Trial<'a>>, Vec<&'a str>)> {
    let mut known = Vec::new();
    for task in suite.tasks() {
        let query = Query::from_task(task)?;
        let higher = suite.grader(task)?.direction() == Direction::HigherIsBetter;
        known.push((task, query, higher));
    }
    let (mut trials, mut without) = (Vec::new(), Vec::new());
    let cards = base.tricks().iter().filter(|card| only.is_none_or(|id| card.id == *id));
    for card in cards {
        let Some(snippet) = &card.snippet else { continue };
        // Of its own labels first: some cards carry only labels that no task has.
        let own = known.iter().filter(|(_, query, _)| query.labels.has_any(&card.labels));
        let near = known.iter().filter(|(_, query, _)| {
            let shares = |label: &Label| query.labels.soft(&label.hard).is_some();
            // What is drawn has a form of its own on tasks of each kind.
            snippet.slot != Slot::Draw
                && !query.labels.has_any(&card.labels)
                && card.labels.iter().any(shares)
        });
        let scripts = own.chain(near).filter_map(|(task, query, higher)| {
            let script = script_with(&query.description, *higher, snippet)?;
            Some(Trial { card, task, script })
        });
        let before = trials.len();
        trials.extend(scripts.take(if every { usize::MAX } else { 1 }));
        if trials.len() == before {
            without.push(card.id.as_str());
        }
    }
    Ok((trials, without))
}

fn run(suite: &TaskSuite, trials: &[Trial<'_>], jobs: usize) -> Result<Vec<Tried>> {
    let config = EpisodeConfig::default();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((at, trial)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    trials.get(at).map(|trial| (at, trial))
                } {
                    let limit = config.policy.time_limit.0;
                    let tried =
                        try_script(suite, trial.task, &config, &trial.script, limit, &|_| ());
                    results.lock().expect("no thread panics").push((at, tried.map(judge)));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, tried)| tried.context("the sandbox failed")).collect()
}

fn judge(result: TrialResult) -> Tried {
    let said = result.run.stderr.text();
    let last: String = {
        let count = said.chars().count();
        said.chars().skip(count.saturating_sub(SHOWN)).collect()
    };
    let last = last.split_whitespace().collect::<Vec<_>>().join(" ");
    let wrong = if !result.run.outcome.is_finished() {
        Some(format!("it {}: {last}", result.run.outcome))
    } else if let Err(invalid) = result.validity {
        Some(invalid)
    } else if said.trim().is_empty() {
        None
    } else {
        Some(format!("it warned: {last}"))
    };
    Tried { wrong, seconds: result.run.wall.as_secs_f64() }
}
