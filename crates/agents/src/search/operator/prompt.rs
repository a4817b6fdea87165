//! The questions of a search, in words.

use super::view::{MemoryEntry, ParentView, Shortening, View};
use crate::run::agent::{TaskView, gpus_in_words, processors_in_words};
use crate::run::node::Operator;
use crate::search::output::{OUTPUT_END, SHORT_END, cut};
use llm::{Message, Role};
use std::fmt::Write as _;
use std::time::Duration;
use tasks::metrics::Direction;
use tasks::units::Span;

const TASK: &str = include_str!("../../../prompts/search_task.md");
const ANSWER: &str = include_str!("../../../prompts/search_answer.md");
const DRAFT: &str = include_str!("../../../prompts/search_draft.md");
const IMPROVE: &str = include_str!("../../../prompts/search_improve.md");
const DEBUG: &str = include_str!("../../../prompts/search_debug.md");
const CROSSOVER: &str = include_str!("../../../prompts/search_crossover.md");
const JUDGE: &str = include_str!("../../../prompts/search_judge.md");

/// Characters of memory in a prompt.
const MEMORY: usize = 8_000;
/// Entries of memory that stay however long it is: the best ones.
const BEST: usize = 3;
/// The question for a script.
pub fn script_messages(view: &View<'_>, shortening: Shortening) -> Vec<Message> {
    let mut user = String::new();
    let operator = view.decision.operator;
    if shortening < Shortening::Memory && operator != Operator::Debug && !view.memory.is_empty() {
        let _ = writeln!(user, "# What was tried before\n\n{}", memory(&view.memory, view.task));
    }
    let shows_data = match operator {
        Operator::Draft | Operator::Debug => true,
        Operator::Improve => view.rich_improve,
        Operator::Crossover => false,
    };
    if shows_data && shortening < Shortening::Overview && !view.task.overview.is_empty() {
        let _ = writeln!(user, "# The files in `input/`\n\n{}\n", view.task.overview.trim_end());
    }
    let end = if shortening < Shortening::Outputs { OUTPUT_END } else { SHORT_END };
    for failed in &view.failed {
        show(&mut user, "An earlier script that failed", failed, Some(end));
    }
    let shows_output = match operator {
        Operator::Debug => true,
        Operator::Improve => view.rich_improve,
        Operator::Draft | Operator::Crossover => false,
    };
    let titles = match operator {
        Operator::Crossover => ["The first script", "The second script"],
        _ => ["The script", "The script"],
    };
    for (parent, title) in view.parents.iter().zip(titles) {
        show(&mut user, title, parent, shows_output.then_some(end));
    }
    user.push_str(match operator {
        Operator::Draft => DRAFT,
        Operator::Improve => IMPROVE,
        Operator::Debug => DEBUG,
        Operator::Crossover => CROSSOVER,
    });
    let _ = write!(user, "\n{}", ANSWER.trim_end());
    vec![Message::new(Role::System, system(view)), Message::new(Role::User, user)]
}

/// The question for a judgement of a run.
pub fn judge_messages(code: &str, output: &str) -> Vec<Message> {
    let user = format!(
        "# The script\n\n```python\n{}\n```\n\n# Its output\n\n```\n{}\n```",
        code.trim_end(),
        cut(output, OUTPUT_END)
    );
    vec![Message::new(Role::System, JUDGE.trim_end()), Message::new(Role::User, user)]
}

fn system(view: &View<'_>) -> String {
    let TaskView { page, limits, python, direction, weights, .. } = view.task;
    let weights = weights.as_ref().map(|weights| format!("\n- {}", weights.sentence()));
    let gpus = gpus_in_words(&limits.gpus);
    let direction = match direction {
        Direction::HigherIsBetter => "Higher is better.",
        Direction::LowerIsBetter => "Lower is better.",
    };
    let left = Duration::try_from_secs_f64(view.seconds_left.max(0.0)).unwrap_or(Duration::MAX);
    let left = Span::seconds(left.as_secs());
    TASK.trim_end()
        .replace("{time_limit}", &limits.time_limit.in_words())
        .replace("{memory}", &limits.memory.to_string())
        .replace("{processors}", &processors_in_words(limits))
        .replace("{gpus}", &gpus)
        .replace("{packages}", &python.list())
        .replace("{weights}", &weights.unwrap_or_default())
        .replace("{direction}", direction)
        .replace("{steps_left}", &view.steps_left.to_string())
        .replace("{steps}", &view.steps.to_string())
        .replace("{seconds_left}", &left.in_words())
        // Last: a page may hold any text.
        .replace("{page}", page.trim())
}

/// Entries of memory, the oldest first. Where they are too long the oldest are left out, but the
/// best three stay.
fn memory(entries: &[MemoryEntry], task: &TaskView) -> String {
    let texts: Vec<String> = entries.iter().map(entry).collect();
    let mut order: Vec<usize> =
        (0..entries.len()).filter(|&i| entries[i].metric.is_some()).collect();
    let gain = |index: &usize| entries[*index].metric.map(|metric| task.direction.gain(metric));
    order.sort_by(|a, b| gain(b).partial_cmp(&gain(a)).expect("metrics are finite"));
    let best = &order[..order.len().min(BEST)];
    let mut kept: Vec<usize> = best.to_vec();
    let mut size: usize = kept.iter().map(|&index| texts[index].chars().count()).sum();
    for index in (0..entries.len()).rev().filter(|index| !best.contains(index)) {
        size += texts[index].chars().count();
        if size > MEMORY {
            break;
        }
        kept.push(index);
    }
    kept.sort_unstable();
    let left_out = entries.len() - kept.len();
    let mut text = String::new();
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} older ones are left out.)\n");
    }
    for index in kept {
        text.push_str(&texts[index]);
    }
    text
}

fn entry(entry: &MemoryEntry) -> String {
    let mut text = format!("- Plan: {}\n", one_line(&entry.plan));
    if !entry.result.is_empty() {
        let _ = writeln!(text, "  Result: {}", one_line(&entry.result));
    }
    if let Some(metric) = entry.metric {
        let _ = writeln!(text, "  Validation score: {metric}");
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn show(text: &mut String, title: &str, parent: &ParentView, output: Option<usize>) {
    let _ = writeln!(text, "# {title}\n\n```python\n{}\n```\n", parent.code.trim_end());
    if let Some(metric) = parent.metric {
        let _ = writeln!(text, "Its validation score: {metric}\n");
    }
    if let Some(end) = output {
        let _ =
            writeln!(text, "Its output:\n\n```\n{}\n```\n", cut(&parent.output, end).trim_end());
    }
}
