//! What a run is worth. A program finds out what it can: how the script ended, its submission, its
//! validation score. A judge is asked only for what a program cannot know.

use super::answer::{RunVerdict, read_run_verdict};
use super::asker::Asker;
use super::metric::{self, Validation, is_disputed};
use super::prompt::{Question, Weight, title};
use super::settings::VerifyRuns;
use crate::run::job::AutoMindJob;
use crate::run::node::{Bug, Node, NodeState, RunFacts, Verdict};
use crate::run::node_facts::{AutoMindFacts, JudgedBy};
use crate::run::open::Undone;
use crate::run::trial::ScriptTrial;
use crate::search::output::output_text;
use jail::exec::Outcome;
use sandbox::env::TrialResult;

/// Sets what came of a script that left `trial`, and judges it. `given_up` is the step at which
/// it was given up.
pub(super) fn verify(
    asker: &Asker<'_>,
    ask: VerifyRuns,
    node: &mut Node,
    facts: &mut AutoMindFacts,
    code: &str,
    trial: ScriptTrial,
    given_up: Option<u32>,
) -> Result<(), Undone> {
    let ScriptTrial { result, validation, cached } = trial;
    let TrialResult { run, submission, validity, told, .. } = result;
    let stdout = run.stdout.text();
    let output = output_text(&run.outcome, &stdout, &run.stderr.text(), &validity, told);
    let validation = metric::validation(validation.as_deref(), &stdout);
    let blobs = &asker.open.blobs;
    node.output = Some(blobs.put(output.as_bytes())?);
    node.invalid = validity.err();
    node.submission = submission.map(|csv| blobs.put(&csv)).transpose()?;
    node.run = Some(RunFacts {
        outcome: run.outcome.clone(),
        wall: run.wall.as_secs_f64(),
        processor: run.cpu.as_secs_f64(),
        peak_memory: run.peak_memory,
        cached,
    });
    node.metric = validation.as_ref().map(|found| found.metric);
    facts.folds = validation.as_ref().map(|found| found.folds.clone()).unwrap_or_default();
    let found = fault(node, &run.outcome, given_up);
    let asks = match ask {
        VerifyRuns::None => false,
        VerifyRuns::Good => found.is_none(),
        VerifyRuns::All => true,
    };
    let judged = if asks { judge(asker, node, code, &output)? } else { None };
    facts.judged_by = Some(if judged.is_some() { JudgedBy::Player } else { JudgedBy::Rules });
    let judged = judged.unwrap_or_else(|| by_rules(&run.outcome, validation.as_ref(), &output));
    let disputed = match (node.metric, judged.metric) {
        (Some(reported), Some(read)) => is_disputed(reported, read),
        _ => false,
    };
    node.state = match found {
        Some(bug) => NodeState::Buggy(bug),
        None if disputed => NodeState::Buggy(Bug::Disputed),
        None if judged.is_bug => NodeState::Buggy(Bug::Judged),
        None if judged.is_overfitting => NodeState::Buggy(Bug::Overfitting),
        None => NodeState::Good,
    };
    let RunVerdict { is_bug, summary, metric, .. } = judged;
    let metric = metric.filter(|metric| metric.is_finite());
    node.judged = Some(Verdict { is_bug, summary, metric });
    Ok(())
}

/// What a program finds wrong.
fn fault(node: &Node, outcome: &Outcome, given_up: Option<u32>) -> Option<Bug> {
    if let Some(step) = given_up {
        Some(Bug::StepFailed { step })
    } else if !outcome.is_finished() {
        Some(Bug::NotFinished)
    } else if node.metric.is_none() {
        Some(Bug::NoMetric)
    } else if node.submission.is_none() {
        Some(Bug::NoSubmission)
    } else if node.invalid.is_some() {
        Some(Bug::InvalidSubmission)
    } else {
        None
    }
}

/// A judgement of the player; `None` where there is none that can be read.
fn judge(
    asker: &Asker<'_>,
    node: &Node,
    code: &str,
    output: &str,
) -> Result<Option<RunVerdict>, Undone> {
    let question = Question::new(AutoMindJob::Verify, asker.task())
        .text(title::PLAN, &node.plan, Weight::Stays)
        .python(title::CODE, code)
        .text(title::OUTPUT, output, Weight::Output);
    Ok(asker.ask_for(&question, read_run_verdict)?.ok())
}

/// The judgement where no player gives one: a traceback of a script that went on is a bug.
fn by_rules(outcome: &Outcome, validation: Option<&Validation>, output: &str) -> RunVerdict {
    let has_traceback = output.lines().any(|line| line.starts_with("Traceback (most recent call"));
    let mut summary = format!("The script {outcome}.");
    if let Some(Validation { metric, folds }) = validation {
        summary = format!("{summary} It reports a validation of {metric}");
        if let Some(error) = metric::standard_error(folds) {
            summary = format!("{summary} over {} folds (standard error {error:.4})", folds.len());
        }
        summary.push('.');
    }
    if !outcome.is_finished() {
        // The last line of a traceback says what is wrong.
        let said = output.lines().rev().find(|line| !line.starts_with('[') && !line.is_empty());
        if let Some(said) = said {
            summary = format!("{summary} {said}");
        }
    }
    RunVerdict {
        is_bug: has_traceback && outcome.is_finished(),
        is_overfitting: false,
        summary,
        metric: None,
    }
}
