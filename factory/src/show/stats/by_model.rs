//! The funnel by what played the roles, beside the paper's.

use super::funnel::Passage;
use super::paper;
use crate::roles::RoleCost;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A row of the table: its name, the paper's cell, and the cell of a group.
type Row<'a> = (&'static str, String, &'a dyn Fn(&Passage) -> String);

/// Reasons of refusals that are listed per group.
const REASONS: usize = 5;

/// The funnels of groups of attempts as text for a terminal: a column for the paper and one for
/// each group, then the most frequent reasons of refusals.
pub fn text(groups: &BTreeMap<String, Passage>) -> String {
    if groups.is_empty() {
        return "All roles are built in: no model had a part in this corpus.\n".to_owned();
    }
    let mut text = String::from("Roles\n");
    for (index, name) in groups.keys().enumerate() {
        let _ = writeln!(text, "  {}  {name}", letter(index));
    }
    let heads: Vec<String> = (0..groups.len()).map(letter).collect();
    let _ = write!(text, "\n{:<26}{:>18}", "Funnel", "paper");
    line(&mut text, heads);
    let steps = groups.values().next().map_or(&[][..], |passage| &passage.steps[..]);
    for (index, step) in steps.iter().enumerate() {
        let _ = write!(text, "  {:<24}{:>18}", step.name, share(step.paper, step.paper_share));
        let ours =
            |passage: &Passage| share(passage.steps[index].count, passage.steps[index].share);
        line(&mut text, groups.values().map(ours));
    }
    let rows: [Row<'_>; 9] = [
        ("attempts accepted, 95 %", "-".to_owned(), &|passage| {
            let interval = &passage.accepted.interval;
            format!("{:.1} - {:.1} %", 100.0 * interval.low, 100.0 * interval.high)
        }),
        ("slots filled", percent(paper_filled()), &|passage| percent(passage.filled.share)),
        ("attempts a task", "-".to_owned(), &|passage| per_task(passage, passage.accepted.total)),
        ("calls a task", "-".to_owned(), &|passage| per_cost(passage, 1, |cost| cost.calls)),
        ("tokens read a task", "-".to_owned(), &|passage| {
            per_cost(passage, 0, |cost| cost.prompt_tokens)
        }),
        ("tokens generated a task", "-".to_owned(), &|passage| {
            per_cost(passage, 0, |cost| cost.completion_tokens)
        }),
        ("USD a task", "-".to_owned(), &|passage| match passage.cost {
            None => "-".to_owned(),
            Some(RoleCost { cost_micro_usd: None, .. }) => "?".to_owned(),
            Some(RoleCost { cost_micro_usd: Some(micro), .. }) => {
                format!("{:.4}", micro as f64 / 1e6 / passage.accepted.count.max(1) as f64)
            }
        }),
        ("evaluator_fallback", "-".to_owned(), &|passage| passage.evaluator_fallbacks.to_string()),
        ("writer_fallback", "-".to_owned(), &|passage| passage.writer_fallbacks.to_string()),
    ];
    for (name, paper, ours) in rows {
        let _ = write!(text, "  {name:<24}{paper:>18}");
        line(&mut text, groups.values().map(ours));
    }
    for (index, passage) in groups.values().enumerate() {
        let reasons = passage.reasons.iter().flat_map(|(stage, reasons)| {
            reasons.iter().map(move |(reason, count)| (*count, stage, reason))
        });
        let mut reasons: Vec<_> = reasons.collect();
        reasons.sort_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
        for (count, stage, reason) in reasons.into_iter().take(REASONS) {
            let _ = writeln!(text, "  {} refused {count:>5}  {stage}: {reason}", letter(index));
        }
    }
    text
}

/// The name of a column: A, B, ...
fn letter(index: usize) -> String {
    char::from(b'A' + u8::try_from(index % 26).unwrap_or(0)).to_string()
}

fn line(text: &mut String, cells: impl IntoIterator<Item = String>) {
    for cell in cells {
        let _ = write!(text, "{cell:>18}");
    }
    text.push('\n');
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn share(count: usize, share: f64) -> String {
    format!("{count} ({})", percent(share))
}

fn paper_filled() -> f64 {
    paper::FUNNEL[3] as f64 / paper::FUNNEL[0] as f64
}

fn per_task(passage: &Passage, count: usize) -> String {
    format!("{:.2}", count as f64 / passage.accepted.count.max(1) as f64)
}

/// What models consumed, per task; nothing where none was asked.
fn per_cost(passage: &Passage, digits: usize, part: fn(&RoleCost) -> u64) -> String {
    let tasks = passage.accepted.count.max(1) as f64;
    let mean = |cost: &RoleCost| format!("{:.digits$}", part(cost) as f64 / tasks);
    passage.cost.as_ref().map_or("-".to_owned(), mean)
}

#[cfg(test)]
mod tests {
    use super::super::funnel;
    use super::*;
    use crate::corpus::frames;
    use crate::corpus::ledger::{AttemptOutcome, Entry, ModelUse, Stage};
    use crate::roles::RoleName;

    fn entry(slot: u64, accepted: bool, fallbacks: &[RoleName], model: bool) -> Entry {
        let cost = RoleCost {
            calls: 4,
            prompt_tokens: 11_000,
            completion_tokens: 4000,
            cost_micro_usd: Some(2500),
        };
        let (mode, name) = ("blueprint".to_owned(), "local:m".to_owned());
        Entry {
            stage: if accepted { Stage::Packaged } else { Stage::Verification },
            outcome: if accepted { AttemptOutcome::Accepted } else { AttemptOutcome::Refused },
            reason: (!accepted).then(|| "unlearnable".to_owned()),
            model: model.then(|| ModelUse { mode, name, cost, fallbacks: fallbacks.to_vec() }),
            ..Entry::for_tests(slot, 0)
        }
    }

    #[test]
    fn funnels_stand_side_by_side() {
        let entries = [
            entry(0, true, &[], false),
            entry(1, true, &[RoleName::Operator, RoleName::Writer], true),
            entry(2, false, &[], true),
            entry(3, true, &[RoleName::Operator], true),
        ];
        insta::assert_snapshot!(text(&funnel::by_model(&frames::attempts(&entries))));
    }

    #[test]
    fn corpus_of_built_in_roles_has_no_groups() {
        let groups = funnel::by_model(&frames::attempts(&[entry(0, true, &[], false)]));
        assert!(groups.is_empty() && text(&groups).contains("built in"));
    }
}
