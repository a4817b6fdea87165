//! From the ledger: how many attempts came how far, why others did not, and what they took.

use super::groups::{ALL, counts, groups, integers, numbers, rows, with_value};
use super::paper;
use crate::corpus::ledger::{AttemptOutcome, Stage};
use crate::numeric::intervals::{Interval, Quantiles, wilson};
use crate::roles::RoleCost;
use crate::spec::mix::name;
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What comes through one stage, beside the paper's stage of the same place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunnelStep {
    /// Name of the stage in this project.
    pub name: String,
    /// Name of the paper's stage.
    pub paper_name: String,
    /// Attempts that came so far.
    pub count: usize,
    /// Their share of the first step's.
    pub share: f64,
    /// The paper's tasks that came so far.
    pub paper: usize,
    /// Their share of the first step's.
    pub paper_share: f64,
}

/// A share of many with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Number of cases that count.
    pub count: usize,
    /// Number of all cases.
    pub total: usize,
    /// `count` over `total`, in [0, 1].
    pub share: f64,
    /// 95 % interval (Wilson).
    pub interval: Interval,
}

impl Rate {
    /// The rate of `count` in `total`, with its interval.
    pub fn of(count: usize, total: usize) -> Self {
        let share = count as f64 / total.max(1) as f64;
        Self { count, total, share, interval: wilson(count, total) }
    }
}

/// How many attempts came through each stage, and why others did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// The stages, from first to last.
    pub steps: Vec<FunnelStep>,
    /// Attempts that became tasks: every attempt counts, so that repeating does not flatter.
    pub accepted: Rate,
    /// Slots that hold a task in the end. This is what the paper counts, whose stages repeat up
    /// to five times before a task is given up.
    pub filled: Rate,
    /// Share of the paper's tasks that came through all stages, in [0, 1].
    pub paper: f64,
    /// Refusals by stage and reason.
    pub reasons: BTreeMap<String, BTreeMap<String, usize>>,
    /// Slots by the number of attempts made at them.
    pub attempts: BTreeMap<usize, usize>,
    /// Milliseconds per attempt, by kind of task; `all` over all of them.
    pub milliseconds: BTreeMap<String, Quantiles>,
    /// Seconds over all attempts, as if one after the other.
    pub seconds: f64,
    /// What chat models consumed over all attempts; absent where all roles are built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<RoleCost>,
    /// Attempts whose evaluator is built in because a model's was refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub evaluator_fallbacks: usize,
    /// Attempts whose page is built in because a model's was refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub writer_fallbacks: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Follows attempts, one per row of [`frames::attempts`](crate::corpus::frames::attempts).
pub(super) fn follow(attempts: &DataFrame) -> Passage {
    let passed = numbers(attempts, "stages_passed");
    let past =
        |stage: Stage| passed.iter().filter(|passed| **passed > f64::from(stage as u8)).count();
    let accepted = rows(attempts, "outcome", &name(&AttemptOutcome::Accepted));
    let slots = counts(attempts, "slot");
    let counted =
        [attempts.height(), past(Stage::Development), past(Stage::Operation), accepted.height()];
    let names = [
        ("attempts", "tasks begun"),
        ("with tables and ladder", "data generated and run"),
        ("with an evaluator", "evaluator built and run"),
        ("verified", "sanity checks passed"),
    ];
    let share = |count: usize, first: usize| count as f64 / first.max(1) as f64;
    let steps = names
        .into_iter()
        .zip(counted)
        .zip(paper::FUNNEL)
        .map(|(((name, paper_name), count), paper)| FunnelStep {
            name: name.to_owned(),
            paper_name: paper_name.to_owned(),
            count,
            share: share(count, counted[0]),
            paper,
            paper_share: share(paper, paper::FUNNEL[0]),
        })
        .collect();

    let mut tries: BTreeMap<usize, usize> = BTreeMap::new();
    for attempts in slots.values() {
        *tries.entry(*attempts).or_default() += 1;
    }
    let reasons = groups(attempts, "stage").into_iter();
    let reasons = reasons.map(|(stage, attempts)| (stage, counts(&attempts, "reason")));
    let kinds = groups(attempts, "kind").into_iter().chain([(ALL.to_owned(), attempts.clone())]);
    let times = |(kind, attempts): (String, DataFrame)| {
        Some((kind, Quantiles::of(milliseconds(&attempts))?))
    };
    let fallbacks =
        |column| numbers(attempts, column).iter().filter(|fallback| **fallback > 0.0).count();
    Passage {
        steps,
        accepted: Rate::of(counted[3], counted[0]),
        filled: Rate::of(counts(&accepted, "slot").len(), slots.len()),
        paper: share(paper::FUNNEL[3], paper::FUNNEL[0]),
        reasons: reasons.filter(|(_, reasons)| !reasons.is_empty()).collect(),
        attempts: tries,
        milliseconds: kinds.filter_map(times).collect(),
        seconds: milliseconds(attempts).iter().map(|time| time / 1000.0).sum(),
        cost: consumed(attempts),
        evaluator_fallbacks: fallbacks("evaluator_fallback"),
        writer_fallbacks: fallbacks("writer_fallback"),
    }
}

/// The attempts by what played the roles: `builtin`, or mode and models. Empty where all roles are
/// built in.
pub(super) fn by_model(attempts: &DataFrame) -> BTreeMap<String, Passage> {
    let groups = groups(attempts, "roles");
    if groups.keys().all(|roles| roles == "builtin") {
        return BTreeMap::new();
    }
    groups.into_iter().map(|(roles, attempts)| (roles, follow(&attempts))).collect()
}

/// What chat models consumed in all attempts; `None` where no attempt asked one.
fn consumed(attempts: &DataFrame) -> Option<RoleCost> {
    let asked = with_value(attempts, "calls");
    let total = |column| -> Option<u64> { integers(&asked, column).into_iter().sum() };
    (asked.height() > 0).then(|| RoleCost {
        calls: total("calls").unwrap_or(0),
        prompt_tokens: total("prompt_tokens").unwrap_or(0),
        completion_tokens: total("completion_tokens").unwrap_or(0),
        cost_micro_usd: total("cost_micro"),
    })
}

/// Durations of the attempts of which they are known.
fn milliseconds(attempts: &DataFrame) -> Vec<f64> {
    numbers(&with_value(attempts, "milliseconds"), "milliseconds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::frames;
    use crate::corpus::ledger::{Entry, ModelUse};

    fn entry(slot: u64, attempt: u64, stage: Stage) -> Entry {
        let accepted = stage == Stage::Packaged;
        Entry {
            stage,
            outcome: if accepted { AttemptOutcome::Accepted } else { AttemptOutcome::Refused },
            reason: (!accepted).then(|| "unlearnable".to_owned()),
            milliseconds: Some(100 * (slot + 1)),
            ..Entry::for_tests(slot, attempt)
        }
    }

    #[test]
    fn attempts_are_counted_where_they_ended() {
        let passage = follow(&frames::attempts(&[
            entry(0, 0, Stage::Verification),
            entry(0, 1, Stage::Packaged),
            entry(1, 0, Stage::Strategy),
            entry(1, 1, Stage::Operation),
            entry(2, 0, Stage::Packaged),
        ]));
        let counts: Vec<usize> = passage.steps.iter().map(|step| step.count).collect();
        assert_eq!(counts, [5, 4, 3, 2]);
        assert_eq!(passage.cost, None);
        assert_eq!((passage.accepted.count, passage.accepted.total), (2, 5));
        assert_eq!((passage.filled.count, passage.filled.total), (2, 3));
        assert_eq!(passage.attempts, BTreeMap::from([(1, 1), (2, 2)]));
        assert_eq!(passage.reasons["verification"]["unlearnable"], 1);
        assert_eq!(passage.milliseconds["all"].median, 200.0);
        assert!((passage.paper - 0.76).abs() < 1e-12);
    }

    #[test]
    fn costs_of_all_attempts_are_added_up() {
        let of_model = |slot, cost_micro_usd| Entry {
            model: Some(ModelUse {
                mode: "writer".to_owned(),
                name: "local:m".to_owned(),
                cost: RoleCost {
                    calls: 3,
                    prompt_tokens: 1000,
                    completion_tokens: 200,
                    cost_micro_usd,
                },
                fallbacks: Vec::new(),
            }),
            ..entry(slot, 0, Stage::Packaged)
        };
        let builtin = entry(0, 0, Stage::Packaged);
        let sum = RoleCost {
            calls: 6,
            prompt_tokens: 2000,
            completion_tokens: 400,
            cost_micro_usd: Some(12),
        };
        let cost = |entries: &[Entry]| follow(&frames::attempts(entries)).cost;
        assert_eq!(cost(&[builtin, of_model(1, Some(7)), of_model(2, Some(5))]), Some(sum));
        let unknown = RoleCost { cost_micro_usd: None, ..sum };
        assert_eq!(cost(&[of_model(1, Some(7)), of_model(2, None)]), Some(unknown));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let passage = follow(&frames::attempts(&[]));
        assert_eq!(passage.accepted.share, 0.0);
        assert!(passage.milliseconds.is_empty());
    }
}
