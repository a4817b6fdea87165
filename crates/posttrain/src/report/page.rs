//! The page over some runs.

use super::groups::Group;
use super::iteration::Iteration;
use super::run::RunReport;
use super::{summary, tables};
use evals::report::ReportTable;
use maud::{Markup, html};
use std::collections::BTreeSet;
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
            @for task in &tasks {
                @let here: Vec<&RunReport> = runs.iter().filter(|run| run.task == *task).collect();
                @for chart in charts(task, &here) { section.card { (chart.html()) } }
            }
        }
        p.note {
            "The best score so far, as the agents were shown it; curves begin with the base. Scores of two "
            "protocols are of different items."
        }
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

/// The best score so far, over the budget's time and over submissions.
fn charts(task: &str, runs: &[&RunReport]) -> [LineChart; 2] {
    let chart =
        |title: &str, x_label: &str, x: fn(&Iteration) -> f64, end: fn(&RunReport) -> f64| {
            let curve =
                |run: &&RunReport| Curve { name: run.id.clone(), points: steps(run, x, end(run)) };
            LineChart {
                title: format!("{task}: {title}"),
                x_label: x_label.to_owned(),
                curves: runs.iter().map(curve).collect(),
                y_range: None,
            }
        };
    let minutes = |run: &RunReport| {
        let used = run.metrics.ledger.as_ref().map_or(0.0, |metrics| metrics.time_used_ratio);
        used * run.budget_s / 60.0
    };
    [
        chart("over time", "minutes of the budget", |one| one.used_s / 60.0, minutes),
        chart(
            "over submissions",
            "submissions",
            |one| one.iteration as f64,
            |run| run.iterations.len() as f64,
        ),
    ]
}

/// The best score so far as steps, from the base to `end`.
fn steps(run: &RunReport, x: fn(&Iteration) -> f64, end: f64) -> Vec<(f64, f64)> {
    let baseline = run.metrics.ledger.as_ref().and_then(|metrics| metrics.baseline);
    let mut points: Vec<(f64, f64)> = baseline.map(|score| (0.0, score)).into_iter().collect();
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
