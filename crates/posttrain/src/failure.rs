//! What went wrong in a run, and on what evidence.
//!
//! Each rule is a function of what stands in the ledger, in the record of the toolbox, or in what the
//! agent printed. A submission that is worse than the base by no more than chance has not failed.

use crate::grade::ItemScore;
use crate::ledger::{EndReason, Outcome, Submission};
use crate::record::ToolUse;
use crate::refusal::{Refusal, RefusalCode};
use evals::statistics::{Z, mean, standard_error};
use serde::{Deserialize, Serialize};
use std::fmt;
use worlds::Direction;

/// Tags of items that were lost by form: nothing was answered, or nothing in the form that is expected.
const FORM: [&str; 6] =
    ["empty", "format", "never_held", "no_answer", "no_result", "nothing_bought"];

/// A class of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A program of the agent ended with an error.
    CodeError,
    /// Memory ran out.
    OutOfMemory,
    /// The model was trained, and does not do in the evaluation what it was trained to: another prompt
    /// or form.
    RolloutWrong,
    /// The time was over before anything was submitted.
    TimeoutNoSubmission,
    /// The base was submitted in the end.
    CopyFallback,
    /// A loss or a weight was not finite.
    Diverged,
    /// The submission could not be evaluated.
    NotEvaluable,
    /// Something failed, and nothing shows why.
    Unknown,
}

/// A failure with the evidence in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureFinding {
    /// The class.
    pub failure: Failure,
    /// The evidence.
    pub because: String,
}

impl Failure {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::CodeError,
        Self::OutOfMemory,
        Self::RolloutWrong,
        Self::TimeoutNoSubmission,
        Self::CopyFallback,
        Self::Diverged,
        Self::NotEvaluable,
        Self::Unknown,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::CodeError => "code_error",
            Self::OutOfMemory => "out_of_memory",
            Self::RolloutWrong => "rollout_wrong",
            Self::TimeoutNoSubmission => "timeout_no_submission",
            Self::CopyFallback => "copy_fallback",
            Self::Diverged => "diverged",
            Self::NotEvaluable => "not_evaluable",
            Self::Unknown => "unknown",
        }
    }

    fn because(self, because: impl Into<String>) -> FailureFinding {
        FailureFinding { failure: self, because: because.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a refusal amounts to.
pub fn of_refusal(refusal: &Refusal) -> FailureFinding {
    let failure = match refusal.code {
        RefusalCode::NotFinite => Failure::Diverged,
        _ => Failure::NotEvaluable,
    };
    failure.because(refusal.message.clone())
}

/// What shows in what an agent printed: memory that ran out, a loss that is not finite, an error of a
/// program. None if nothing does.
pub fn of_log(text: &str) -> Option<FailureFinding> {
    const MEMORY: [&str; 5] =
        ["out of memory", "outofmemoryerror", "memoryerror", "cannot allocate memory", "oom-kill"];
    const DIVERGED: [&str; 6] =
        ["loss nan", "loss: nan", "loss=nan", "loss = nan", "'loss': nan", "\"loss\": nan"];
    const ERRORS: [&str; 4] =
        ["traceback (most recent call last)", "syntaxerror", "command not found", "' panicked at "];
    let line_with = |words: &[&str]| {
        text.lines().find(|line| {
            let line = line.to_lowercase();
            words.iter().any(|word| line.contains(word))
        })
    };
    let quoted = |line: &str| {
        let line: String = line.trim().chars().take(200).collect();
        format!("it printed \u{201c}{line}\u{201d}")
    };
    let found = |failure: Failure, words: &[&str]| Some(failure.because(quoted(line_with(words)?)));
    found(Failure::OutOfMemory, &MEMORY).or_else(|| found(Failure::Diverged, &DIVERGED)).or_else(
        || {
            let line = line_with(&ERRORS)?;
            // The last line of a traceback says what it was.
            let mut below = text.lines().skip_while(|one| *one != line).skip(1);
            let says = below.find(|one| !one.is_empty() && !one.starts_with(char::is_whitespace));
            Some(Failure::CodeError.because(quoted(says.unwrap_or(line))))
        },
    )
}

/// Signals that ask a program to end, as the end of the time does: SIGHUP, SIGINT, SIGTERM.
const ASKED: [i32; 3] = [1, 2, 15];

/// What a use of the toolbox amounts to; none if it ended well, was asked to end, or nothing was heard
/// of its end.
pub fn of_use(one: &ToolUse) -> Option<FailureFinding> {
    let end = one.end.as_ref()?;
    let line = format!("use {} of the toolbox, `{}`", one.number, one.program);
    if end.trainer.as_ref().is_some_and(crate::record::TrainerFacts::has_diverged) {
        return Some(Failure::Diverged.because(format!("{line}, had a loss that is not finite")));
    }
    // A program that answers a signal ends with 128 and its number.
    let answered = end.code.filter(|code| (129..160).contains(code)).map(|code| code - 128);
    match (end.code.filter(|_| answered.is_none()), end.signal.or(answered)) {
        (Some(0), _) => None,
        (_, Some(signal)) if ASKED.contains(&signal) => None,
        (Some(code), _) => {
            Some(Failure::CodeError.because(format!("{line}, ended with code {code}")))
        }
        (None, Some(signal)) => {
            Some(Failure::Unknown.because(format!("{line}, was ended by signal {signal}")))
        }
        (None, None) => Some(Failure::Unknown.because(format!("{line}, ended"))),
    }
}

/// What a score that is worse than the base's by more than chance amounts to; none if it is not worse.
/// Items are those of the same part, in the same order.
///
/// It is [`Failure::RolloutWrong`] if most lost items were lost by form, or less than half of the base's
/// score is left: the model was trained to do something, and that was not what the evaluation asks for.
pub fn of_items(
    base: &[ItemScore],
    items: &[ItemScore],
    direction: Direction,
) -> Option<FailureFinding> {
    let losses: Vec<f64> = gains(base, items, direction).into_iter().map(|gain| -gain).collect();
    let loss = mean(losses.iter().copied());
    if !is_beyond_chance(&losses) || loss <= 0.0 {
        return None;
    }
    let score = |items: &[ItemScore]| mean(items.iter().map(|item| item.score));
    let (before, now) = (score(base), score(items));
    let lost: Vec<&ItemScore> = base
        .iter()
        .zip(items)
        .filter(|(base, item)| base.score > item.score)
        .map(|(_, item)| item)
        .collect();
    let by_form = lost.iter().filter(|item| item.tags.iter().any(|tag| FORM.contains(&&**tag)));
    let by_form = by_form.count();
    let told = format!("{now:.4} against the base's {before:.4}");
    if 2 * by_form > lost.len() {
        let because = format!("{told}; {by_form} of {} items were lost by form", lost.len());
        return Some(Failure::RolloutWrong.because(because));
    }
    if direction == Direction::Higher && now < before / 2.0 {
        let because = format!("{told}; less than half is left, without an error");
        return Some(Failure::RolloutWrong.because(because));
    }
    Some(Failure::Unknown.because(format!("{told}; worse by more than chance")))
}

/// By how much each item is better than in `before`.
pub fn gains(before: &[ItemScore], now: &[ItemScore], direction: Direction) -> Vec<f64> {
    let gain = |(before, now): (&ItemScore, &ItemScore)| match direction {
        Direction::Higher => now.score - before.score,
        Direction::Lower => before.score - now.score,
    };
    before.iter().zip(now).map(gain).collect()
}

/// Whether the mean of paired differences is further from 0 than 1.96 standard errors.
pub fn is_beyond_chance(differences: &[f64]) -> bool {
    let center = mean(differences.iter().copied());
    center != 0.0 && center.abs() > Z * standard_error(differences)
}

/// The failure of a submission: a refusal, a copy that nothing better followed, or a score that is worse
/// than the base's. `is_followed` says whether a trained model was submitted after it.
pub fn of_submission(
    submission: &Submission,
    is_followed: bool,
    worse: Option<FailureFinding>,
) -> Option<FailureFinding> {
    match &submission.outcome {
        Outcome::Refused(refusal) => return Some(of_refusal(refusal)),
        Outcome::Waiting | Outcome::Failed { .. } => return None,
        Outcome::Graded(_) | Outcome::Cached { .. } => {}
    }
    let is_copy = submission.model.as_ref().is_some_and(|(_, _, facts)| facts.copy);
    if is_copy {
        // To submit the base first is a way to try the server out.
        let because = "the base was submitted, and no trained model after it";
        return (!is_followed).then(|| Failure::CopyFallback.because(because));
    }
    worse
}

/// What is known of a whole run.
#[derive(Debug, Clone, Copy)]
pub struct RunEnd<'a> {
    /// Why it ended; none while it goes on.
    pub ended: Option<EndReason>,
    /// Submissions, and those of them that have a score.
    pub submissions: (usize, usize),
    /// Processes that the kernel killed because memory ran out.
    pub killed_for_memory: u64,
    /// The code that the agent ended with, if it ended by itself.
    pub code: Option<i32>,
    /// What shows in what it printed.
    pub log: Option<&'a FailureFinding>,
}

/// Why a run has no score; none if it has one, or goes on.
pub fn of_run(run: &RunEnd<'_>) -> Option<FailureFinding> {
    let ended = run.ended?;
    let (made, valid) = run.submissions;
    if valid > 0 {
        return None;
    }
    if run.killed_for_memory > 0 {
        let because = format!("the kernel killed {} processes for memory", run.killed_for_memory);
        return Some(Failure::OutOfMemory.because(because));
    }
    if made > 0 {
        let because = format!("none of {made} submissions could be evaluated");
        return Some(Failure::NotEvaluable.because(because));
    }
    if let Some(found) = run.log {
        return Some(found.clone());
    }
    match (ended, run.code) {
        (EndReason::Time, _) => {
            Some(Failure::TimeoutNoSubmission.because("the time was over before a submission"))
        }
        (_, Some(code)) if code != 0 => {
            Some(Failure::CodeError.because(format!("the agent ended with code {code}")))
        }
        _ => Some(Failure::Unknown.because("it ended without a submission")),
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
