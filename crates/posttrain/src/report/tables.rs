//! Tables over several runs.

use super::groups::{Group, agent};
use super::run::RunReport;
use super::summary::name;
use crate::agents::Mode;
use crate::failure::Failure;
use crate::ledger::Protocol;
use crate::route::Route;
use evals::report::ReportTable;
use std::collections::BTreeSet;

/// Changes of score that are shown.
const JUMPS: usize = 20;

/// A number with four decimals, or a dash.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.4}"))
}

/// The same with its sign.
pub(super) fn signed(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:+.4}"))
}

fn table(title: &str, note: String, columns: &[&str], rows: Vec<Vec<String>>) -> ReportTable {
    let columns = columns.iter().map(|&name| name.to_owned()).collect();
    ReportTable { title: title.to_owned(), note, columns, rows }
}

fn seconds(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.0} s"))
}

/// What is said of numbers that rest on one seed.
fn seeds_note(groups: &[&Group]) -> String {
    let count = groups.iter().filter(|group| group.is_one_seed()).count();
    match count {
        0 => "Intervals are over seeds and items.".to_owned(),
        _ if count == groups.len() => {
            "Each row is of one seed, which is an anecdote: its interval is \
                                       over items alone, and another seed may differ by more."
                .to_owned()
        }
        _ => {
            "Rows of one seed are anecdotes: their intervals are over items alone. The others are \
              over seeds and items."
                .to_owned()
        }
    }
}

/// Final scores, a table for each protocol.
pub fn scores(groups: &[Group]) -> Vec<ReportTable> {
    let of = |protocol: Protocol| {
        let chosen: Vec<&Group> =
            groups.iter().filter(|group| group.protocol == protocol).collect();
        if chosen.is_empty() {
            return None;
        }
        let rows = chosen.iter().map(|group| {
            let interval = group.interval;
            vec![
                format!("{}, {}, {}", group.task, group.agent, group.mode),
                format!("{} of {}", group.finished, group.runs.len()),
                number(group.base),
                number(group.best),
                signed(group.improvement),
                interval.map_or("–".to_owned(), |(low, high)| format!("{low:+.4} to {high:+.4}")),
            ]
        });
        let scored = match protocol {
            Protocol::Sealed => "Test items, scored once after the end.",
            Protocol::Paper => "Test items, which were scored all the time: the best of many.",
        };
        let note = format!("{scored} {}", seeds_note(&chosen));
        let columns =
            ["task, agent, mode", "seeds", "base", "best", "improvement", "95 % interval"];
        let title = format!("Scores, protocol {}", name(&protocol));
        Some(table(&title, note, &columns, rows.collect()))
    };
    [Protocol::Sealed, Protocol::Paper].into_iter().filter_map(of).collect()
}

/// Improvement by agent and mode, and task; a table for each protocol.
pub(super) fn modes(groups: &[Group]) -> Vec<ReportTable> {
    let of = |protocol: Protocol| {
        let chosen: Vec<&Group> =
            groups.iter().filter(|group| group.protocol == protocol).collect();
        let tasks: BTreeSet<&str> = chosen.iter().map(|group| &*group.task).collect();
        let keys: BTreeSet<(&str, Mode)> =
            chosen.iter().map(|group| (&*group.agent, group.mode)).collect();
        if keys.is_empty() {
            return None;
        }
        let rows = keys.iter().map(|(agent, mode)| {
            let cells = tasks.iter().map(|task| {
                let mut here = chosen.iter().filter(|group| {
                    group.agent == *agent && group.mode == *mode && group.task == *task
                });
                match (here.next(), here.next()) {
                    (Some(group), None) => match group.best {
                        Some(best) => format!("{best:.4} ({})", signed(group.improvement)),
                        None => "–".to_owned(),
                    },
                    (Some(_), Some(_)) => "several bases".to_owned(),
                    _ => "–".to_owned(),
                }
            });
            [format!("{agent}, {mode}")].into_iter().chain(cells).collect()
        });
        let mut columns = vec!["agent, mode"];
        columns.extend(&tasks);
        let note = format!(
            "Final score of the best submission, and its improvement. {}",
            seeds_note(&chosen)
        );
        let title = format!("Modes and tasks, protocol {}", name(&protocol));
        Some(table(&title, note, &columns, rows.collect()))
    };
    [Protocol::Sealed, Protocol::Paper].into_iter().filter_map(of).collect()
}

/// In how many runs each way of training was tried, and in how many it led to the best submission.
pub(super) fn routes(runs: &[RunReport]) -> ReportTable {
    let count = |set: fn(&RunReport) -> &BTreeSet<Route>, route: Route| {
        runs.iter().filter(|run| set(run).contains(&route)).count()
    };
    let row = |route: Route| {
        let tried = count(|run| &run.metrics.attempted, route);
        let kept = count(|run| &run.metrics.adopted, route);
        (tried + kept > 0).then(|| vec![route.to_string(), tried.to_string(), kept.to_string()])
    };
    let online = runs.iter().filter(|run| run.metrics.strict_online_rl).count();
    let note = format!(
        "Of {} runs. A way is adopted if it is a stage of the best submission. Strict online \
         reinforcement learning shows in {online}.",
        runs.len()
    );
    let rows = Route::ALL.into_iter().filter_map(row).collect();
    table("Ways of training", note, &["way", "tried", "adopted"], rows)
}

/// Classes of failures, of submissions and of the work before them.
pub(super) fn failures(runs: &[RunReport]) -> ReportTable {
    let row = |failure: Failure| {
        let iterations = || runs.iter().flat_map(|run| &run.iterations);
        let submitted = iterations()
            .filter(|one| one.failure.as_ref().is_some_and(|found| found.failure == failure))
            .count();
        let after = runs.iter().flat_map(|run| &run.problems);
        let work = iterations()
            .flat_map(|one| &one.problems)
            .chain(after)
            .filter(|found| found.failure == failure)
            .count();
        let whole = runs.iter().filter(|run| {
            run.metrics.failure.as_ref().is_some_and(|found| found.failure == failure)
        });
        let cells = [submitted, work, whole.count()];
        (cells.iter().sum::<usize>() > 0).then(|| {
            [failure.to_string()].into_iter().chain(cells.map(|count| count.to_string())).collect()
        })
    };
    let rows: Vec<Vec<String>> = Failure::ALL.into_iter().filter_map(row).collect();
    let note = if rows.is_empty() {
        "None was found.".to_owned()
    } else {
        "Submissions that failed, failures in the work before them, and runs without a score. Classes \
         follow from refusals, items, exit codes and what the agent printed."
            .to_owned()
    };
    table("Failures", note, &["class", "submissions", "in the work", "runs without a score"], rows)
}

/// The largest changes of score.
pub(super) fn jumps(runs: &[RunReport]) -> ReportTable {
    let mut all: Vec<_> =
        runs.iter().flat_map(|run| run.jumps().into_iter().map(move |one| (run, one))).collect();
    let size = |one: &super::Iteration| one.gain.map_or(0.0, |gain| gain.by.abs());
    all.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let rows = all.iter().take(JUMPS).map(|(run, one)| {
        let from = one.gain.map(|gain| gain.from);
        vec![
            format!("{} #{}", run.id, one.iteration),
            number(from),
            number(one.score),
            signed(one.gain.map(|gain| gain.by)),
            one.route.route.to_string(),
            one.failure.as_ref().map_or("–".to_owned(), |found| found.failure.to_string()),
        ]
    });
    let note = "Against the best score before, or the base's; those of more than 1.96 standard errors of \
                the paired items alone.";
    let columns = ["submission", "from", "to", "change", "way", "failure"];
    table("Largest changes of score", note.to_owned(), &columns, rows.collect())
}

/// How each run went.
pub(super) fn runs(runs: &[RunReport]) -> ReportTable {
    let rows = runs.iter().map(|run| {
        let ledger = run.metrics.ledger.as_ref();
        let share = |value: Option<f64>| {
            value.map_or("–".to_owned(), |value| format!("{:.0} %", 100.0 * value))
        };
        vec![
            run.id.clone(),
            format!("{}, {}", run.task, agent(run)),
            run.metrics.state.name().to_owned(),
            run.iterations.len().to_string(),
            share(ledger.and_then(|metrics| metrics.valid_submission_rate)),
            seconds(ledger.and_then(|metrics| metrics.time_to_first_improvement)),
            seconds(ledger.and_then(|metrics| metrics.time_to_best)),
            share(ledger.map(|metrics| metrics.time_used_ratio)),
            share(ledger.map(|metrics| metrics.grading_share)),
            run.metrics.tokens.map_or("–".to_owned(), |tokens| tokens.to_string()),
            cost(run),
        ]
    });
    let columns = [
        "run",
        "task, agent",
        "state",
        "submissions",
        "valid",
        "first better",
        "best",
        "time used",
        "grading",
        "tokens",
        "cost",
    ];
    let note = "Times are of the agent's budget. Tokens and cost are those of chat models behind the \
                gateway; nothing else counts them.";
    table("Runs", note.to_owned(), &columns, rows.collect())
}

/// What chat models cost, or why that is not known.
pub(super) fn cost(run: &RunReport) -> String {
    match (run.metrics.tokens, run.metrics.cost) {
        (None, _) => "–".to_owned(),
        (Some(_), Some(cost)) => format!("${cost:.4}"),
        (Some(_), None) => "price unknown".to_owned(),
    }
}

/// What each run was held to.
pub(super) fn compliance(runs: &[RunReport]) -> ReportTable {
    let rows = runs.iter().map(|run| {
        let held = &run.compliance;
        let word = |value: Option<bool>, yes: &str, no: &str| {
            value.map_or("open".to_owned(), |value| if value { yes } else { no }.to_owned())
        };
        vec![
            run.id.clone(),
            held.isolation.clone(),
            name(&held.protocol),
            held.mode.to_string(),
            name(&held.mode_held_by),
            word(held.mode_kept, "yes", "no"),
            word(Some(held.strict_online_rl.is_some()), "shown", "not shown"),
            word(held.clean, "clean", "not clean"),
        ]
    });
    let columns = [
        "run",
        "isolation",
        "protocol",
        "mode",
        "held by",
        "mode kept",
        "strict online RL",
        "audit and words",
    ];
    let note = "Whether a mode was kept follows from evidence of which some is told by the agent's own \
                programs. There is no scan for contamination yet.";
    table("Compliance", note.to_owned(), &columns, rows.collect())
}

/// The iterations of one run.
pub(super) fn iterations(run: &RunReport) -> ReportTable {
    let rows = run.iterations.iter().map(|one| {
        vec![
            one.iteration.to_string(),
            format!("{:.0} s", one.used_s),
            one.status.to_owned(),
            number(one.score),
            signed(one.improvement),
            number(one.best),
            one.route.route.to_string(),
            name(&one.route.by),
            one.failure.as_ref().map_or("–".to_owned(), |found| found.failure.to_string()),
        ]
    });
    let columns =
        ["submission", "after", "status", "score", "improvement", "best", "way", "by", "failure"];
    let note = super::summary::compliance(run);
    table(&format!("Submissions of {}", run.id), note, &columns, rows.collect())
}
