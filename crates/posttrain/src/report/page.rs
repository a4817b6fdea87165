//! The page over some runs.

use super::groups::Group;
use super::iteration::Iteration;
use super::run::RunReport;
use super::{summary, tables};
use evals::report::ReportTable;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use web::chart::{Curve, LineChart};
use web::page::Document;

const STYLE: &str = "td.number { white-space: nowrap; }\ndetails .card { margin: .6rem 0; }\n";

/// The page, which fetches nothing.
pub(super) fn html(runs: &[RunReport], groups: &[Group]) -> String {
    let tasks: BTreeSet<&str> = runs.iter().map(|run| &*run.task).collect();
    let title = match runs {
        [run] => format!("{} on {}", run.agent, run.task),
        _ => format!("{} runs of post-training", runs.len()),
    };
    let body = html! {
        h1 { (title) }
        @if let [run] = runs {
            p { (summary::opening(run)) }
            p.note { (summary::compliance(run)) }
        } @else {
            p.note { "Tasks: " (tasks.iter().copied().collect::<Vec<_>>().join(", ")) "." }
        }
        h2 { "Results" }
        (all(&tables::scores(groups)))
        @if runs.len() > 1 { (all(&tables::modes(groups))) }
        h2 { "Score over time" }
        div.grid {
            @for (heading, here) in boards(runs) {
                @for chart in charts(&heading, &here) { section.card { (chart.html()) } }
            }
        }
        p.note { "The best valid submission so far, as the agents were shown its score." }
        h2 { "What was done" }
        (tables::routes(runs).html())
        (tables::jumps(runs).html())
        (tables::failures(runs).html())
        h2 { "How it was done" }
        (tables::runs(runs).html())
        (tables::compliance(runs).html())
        h2 { "Each run" }
        @for run in runs { (details(run, runs.len() == 1)) }
    };
    Document { title: &title, style: STYLE, body }.html()
}

fn all(tables: &[ReportTable]) -> Markup {
    html! { @for table in tables { (table.html()) } }
}

/// Runs whose scores are of the same items, with a heading.
fn boards(runs: &[RunReport]) -> BTreeMap<String, Vec<&RunReport>> {
    let mut all: BTreeMap<String, Vec<&RunReport>> = BTreeMap::new();
    for run in runs {
        let protocol = summary::name(&run.compliance.protocol);
        all.entry(format!("{}, protocol {protocol}", run.task)).or_default().push(run);
    }
    all
}

/// The best score so far, over the budget's time, over submissions and over tokens of chat models where
/// these were counted, and the base's.
fn charts(heading: &str, runs: &[&RunReport]) -> Vec<LineChart> {
    let chart =
        |title: &str, x_label: &str, x: fn(&Iteration) -> f64, end: fn(&RunReport) -> f64| {
            let curve =
                |run: &&RunReport| Curve { name: run.id.clone(), points: steps(run, x, end(run)) };
            let last = runs.iter().map(|run| end(run)).fold(0.0, f64::max);
            LineChart {
                title: format!("{heading}: {title}"),
                x_label: x_label.to_owned(),
                curves: bases(runs, last).into_iter().chain(runs.iter().map(curve)).collect(),
                y_range: None,
            }
        };
    let minutes = |run: &RunReport| {
        let used = run.metrics.ledger.as_ref().map_or(0.0, |metrics| metrics.time_used_ratio);
        used * run.budget_s / 60.0
    };
    let counts = runs.iter().all(|run| run.metrics.tokens.is_some());
    let tokens = counts.then(|| {
        chart(
            "over tokens",
            "thousand tokens of chat models",
            |one| thousands(one.tokens),
            |run| thousands(run.metrics.tokens),
        )
    });
    let mut all = vec![
        chart("over time", "minutes of the budget", |one| one.used_s / 60.0, minutes),
        chart(
            "over submissions",
            "submissions",
            |one| one.iteration as f64,
            |run| run.iterations.len() as f64,
        ),
    ];
    all.extend(tokens);
    all
}

fn thousands(tokens: Option<u64>) -> f64 {
    tokens.unwrap_or(0) as f64 / 1000.0
}

/// The score of each base, as a line.
fn bases(runs: &[&RunReport], end: f64) -> Vec<Curve> {
    let score = |run: &&RunReport| {
        let score = run.metrics.ledger.as_ref()?.baseline?;
        let name = run.base_model.rsplit('/').next().unwrap_or("base");
        Some((
            run.base_model.clone(),
            Curve { name: name.to_owned(), points: vec![(0.0, score), (end, score)] },
        ))
    };
    let all: BTreeMap<String, Curve> = runs.iter().filter_map(score).collect();
    all.into_values().collect()
}

/// The best score so far as steps, from the first valid submission to `end`.
fn steps(run: &RunReport, x: fn(&Iteration) -> f64, end: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for one in &run.iterations {
        let Some(best) = one.best else { continue };
        // The score before holds until this moment.
        points.extend(points.last().map(|(_, before)| (x(one), *before)));
        points.push((x(one), best));
    }
    if let Some((at, best)) = points.last().copied()
        && at < end
    {
        points.push((end, best));
    }
    points
}

fn details(run: &RunReport, is_open: bool) -> Markup {
    html! {
        details open[is_open] {
            summary { b { (run.id) } ": " (summary::opening(run)) }
            (tables::iterations(run).html())
            @for one in &run.iterations {
                details {
                    summary {
                        "Submission " (one.iteration) ": " (one.route.route) ", "
                        (tables::number(one.score))
                    }
                    @if !one.by_task.is_empty() {
                        p {
                            @for (task, score) in &one.by_task { (task) " " (format!("{score:.4}")) "; " }
                        }
                    }
                    p { "By " (one.route.by) ": " (one.route.because.join("; ")) }
                    @if let Some(found) = &one.failure {
                        p { span.bad { (found.failure) } ": " (found.because) }
                    }
                    @for found in &one.problems { p { (found.failure) ": " (found.because) } }
                    @if !one.key_lines.is_empty() { pre { (one.key_lines.join("\n")) } }
                    @if !one.diff.is_empty() { pre { (one.diff) } }
                }
            }
            @for found in &run.problems {
                p { "After the last submission, " (found.failure) ": " (found.because) }
            }
            @if let Some(found) = &run.metrics.failure {
                p { span.bad { (found.failure) } ": " (found.because) }
            }
        }
    }
}
