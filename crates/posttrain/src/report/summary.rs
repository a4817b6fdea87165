//! `summary.md` and `summary.jsonl`: a section and a line for each iteration of a run.

use super::iteration::Iteration;
use super::run::RunReport;
use super::tables::{number, signed};
use serde::Serialize;
use std::fmt::Write as _;

/// A line of `summary.jsonl`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    iteration: u64,
    timestamp: &'a str,
    duration_s: f64,
    status: &'a str,
    exit_code: Option<i32>,
    score: Option<f64>,
    improvement: Option<f64>,
    train_type: &'a str,
    failure_type: Option<&'a str>,
}

/// The lines of `summary.jsonl`.
pub(super) fn lines(run: &RunReport) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for one in &run.iterations {
        let line = Line {
            iteration: one.iteration,
            timestamp: &one.timestamp,
            duration_s: one.duration_s,
            status: one.status,
            exit_code: one.exit_code,
            score: one.score,
            improvement: one.improvement,
            train_type: one.route.route.name(),
            failure_type: one.failure.as_ref().map(|found| found.failure.name()),
        };
        text += &serde_json::to_string(&line)?;
        text.push('\n');
    }
    Ok(text)
}

/// The text of `summary.md`.
pub(super) fn markdown(run: &RunReport) -> String {
    let mut text = format!("# {}\n\n{}\n\n{}\n", run.id, opening(run), compliance(run));
    for one in &run.iterations {
        text.push('\n');
        text += &section(one);
    }
    if !run.problems.is_empty() {
        text += "\n## After the last submission\n\n";
        for found in &run.problems {
            let _ = writeln!(text, "- {}: {}", found.failure, found.because);
        }
    }
    if let Some(found) = &run.metrics.failure {
        let _ = write!(text, "\nThe run has no score: {}, {}.\n", found.failure, found.because);
    }
    text
}

/// What the run is, and what came of it.
pub(super) fn opening(run: &RunReport) -> String {
    let metrics = &run.metrics;
    let mut text = format!(
        "{} on {}, seed {}, {}. {} submissions.",
        super::groups::agent(run),
        run.task,
        run.seed,
        metrics.state.name(),
        run.iterations.len()
    );
    if let Some(ledger) = &metrics.ledger {
        let _ = write!(
            text,
            " Shown: base {}, best {}.",
            number(ledger.baseline),
            number(run.iterations.iter().rev().find_map(|one| one.best))
        );
        if ledger.final_best.is_some() {
            let _ = write!(
                text,
                " Test: base {}, best {}, last {}, improvement {}",
                number(ledger.final_base),
                number(ledger.final_best),
                number(ledger.final_last),
                signed(ledger.final_improvement)
            );
            if let Some((low, high)) = metrics.interval {
                let _ = write!(text, " (95 % interval {low:.4} to {high:.4}, items in pairs)");
            }
            text.push('.');
        }
    }
    if let Some(tokens) = metrics.tokens {
        let _ = write!(text, " Chat models: {tokens} tokens, {}.", super::tables::cost(run));
    }
    text
}

/// The compliance line.
pub(super) fn compliance(run: &RunReport) -> String {
    let held = &run.compliance;
    let kept = match held.mode_kept {
        Some(true) => "kept",
        Some(false) => "not kept",
        None => "open",
    };
    let online = held.strict_online_rl.as_ref();
    let clean = match held.clean {
        Some(true) => "clean".to_owned(),
        Some(false) => format!("not clean ({})", held.findings.join("; ")),
        None => "not audited".to_owned(),
    };
    format!(
        "Compliance: isolation {}; protocol {}; mode {} (held by {}, {kept}); strict online RL: {}; {clean}.",
        held.isolation,
        name(&held.protocol),
        held.mode,
        name(&held.mode_held_by),
        online.map_or("none shown".to_owned(), |place| format!("yes, {place}")),
    )
}

fn section(one: &Iteration) -> String {
    let mut text = format!("## {}. {}\n\n", one.iteration, one.model_path.replace('\n', " "));
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "- **{name}**: {what}");
    };
    let failed = one.failure.as_ref().map_or(String::new(), |found| format!(", {}", found.failure));
    line("status", format!("{}{failed}, after {:.0} s", one.status, one.used_s));
    line(
        "score",
        format!(
            "{}; improvement {}; best {}",
            number(one.score),
            signed(one.improvement),
            number(one.best)
        ),
    );
    if !one.by_task.is_empty() {
        let all = one.by_task.iter().map(|(task, score)| format!("{task} {score:.4}"));
        line("by task", all.collect::<Vec<_>>().join(", "));
    }
    let chain: Vec<&str> = one.route.chain.iter().map(|route| route.name()).collect();
    line("training", format!("{} ({}), by {}", one.route.route, chain.join(" → "), one.route.by));
    if !one.settings.is_empty() {
        let all: Vec<String> =
            one.settings.iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
        line("settings", all.join(", "));
    }
    let changed =
        if one.changed.is_empty() { "nothing".to_owned() } else { one.changed.join(", ") };
    line("what", format!("code: {changed}"));
    line("why", one.route.because.join("; "));
    if let Some(online) = &one.route.online {
        line("strict online RL", online.clone());
    }
    if let Some(note) = &one.note {
        line("its own words", note.replace('\n', " "));
    }
    let progress = match (&one.failure, one.gain) {
        (Some(found), _) => format!("{}: {}", found.failure, found.because),
        (None, Some(gain)) => {
            let chance = if gain.beyond_chance { "beyond chance" } else { "within chance" };
            format!("{} against {:.4}, {chance}", signed(Some(gain.by)), gain.from)
        }
        (None, None) => "no score".to_owned(),
    };
    line("progress", progress);
    for found in &one.problems {
        line("problem", format!("{}: {}", found.failure, found.because));
    }
    if !one.key_lines.is_empty() {
        let _ = write!(text, "\n```\n{}\n```\n", one.key_lines.join("\n"));
    }
    if !one.diff.is_empty() {
        // A fence that no line of the agent's code can close.
        let fence = "`".repeat(longest_run(&one.diff).max(2) + 1);
        let _ = write!(text, "\n{fence}diff\n{}\n{fence}\n", one.diff);
    }
    text
}

/// The length of the longest row of backticks in a text.
fn longest_run(text: &str) -> usize {
    text.split(|next| next != '`').map(str::len).max().unwrap_or(0)
}

/// The name of a value as its file has it.
pub(super) fn name(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_is_longer_than_any_in_the_code() {
        assert_eq!(longest_run("a ```` b ``"), 4);
        assert_eq!(longest_run("none"), 0);
    }
}
