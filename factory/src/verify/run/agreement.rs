//! Does a task's own evaluator say what the native grader says?
//!
//! The evaluator needs the answers, and a jail mounts public files only. That barrier stays as
//! it is: answers, thresholds and evaluator travel inside the code of this one run, which is
//! ours, into a work dir that is thrown away with it. No agent's script ever shares a work dir
//! with them.

use super::submissions::{self, TrialSubmission};
use super::trial::{COLLECT_LIMIT, Failure};
use crate::verify::Refusal;
use fs_err as fs;
use jail::exec::{Run, Sandbox};
use jail::limits::RunLimits;
use serde::Deserialize;
use std::collections::BTreeMap;
use tasks::grade::{Grade, GradeError, NativeGrader};
use tasks::metrics::Direction;
use tasks::submission::Part;
use tasks::task::TaskDir;
use tasks::thresholds::Thresholds;

/// Follows the two lines that say which files to write and how many submissions there are.
const EVALUATE: &str = include_str!("evaluate.py");

/// How far scores may lie apart, relative to the native one.
const RELATIVE: f64 = 1e-9;
/// The same next to a score of 0, where sums are rounded in another order.
const ABSOLUTE: f64 = 1e-12;

/// What became of one submission in the sandbox.
#[derive(Debug, Deserialize)]
struct Spoken {
    said: String,
    crash: String,
}

/// What an evaluator prints.
#[derive(Debug, Deserialize)]
struct Verdict {
    score: Option<f64>,
    is_lower_better: bool,
    gold_threshold: f64,
    silver_threshold: f64,
    bronze_threshold: f64,
    median_threshold: f64,
}

/// Compares the two on the task's [`submissions`].
///
/// # Errors
/// [`Refusal::EvaluatorDisagrees`], or a fault of the sandbox.
pub(super) fn check(sandbox: &Sandbox, task: &TaskDir, policy: &RunLimits) -> Result<(), Failure> {
    let submissions = submissions::all(task)?;
    let workspace = sandbox.workspace(task.id())?;
    let run = workspace.run(&code(task, &submissions)?, policy)?;
    let written = workspace.collect("results.json", COLLECT_LIMIT.bytes()).unwrap_or_default();
    let results: Vec<Spoken> = serde_json::from_slice(&written).unwrap_or_default();
    if results.len() < submissions.len() {
        return Err(unfinished(&run, &submissions[results.len()]).into());
    }
    let grader = NativeGrader::open(task).map_err(|error| Refusal::Contract(error.to_string()))?;
    for (submission, result) in submissions.iter().zip(&results) {
        let native = grader.grade(submission.csv.as_bytes(), Part::All);
        compare(submission.what, native, result, &grader)?;
    }
    Ok(())
}

fn code(task: &TaskDir, submissions: &[TrialSubmission]) -> Result<String, Refusal> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for name in
        ["source/evaluator.py", "prepared/private/answer.csv", "prepared/private/threshold.json"]
    {
        let text = fs::read_to_string(task.path().join(name))
            .map_err(|error| Refusal::Contract(error.to_string()))?;
        files.insert(format!("task/{name}"), text);
    }
    for (index, submission) in submissions.iter().enumerate() {
        files.insert(format!("submissions/{index}.csv"), submission.csv.clone());
    }
    // JSON of strings is also Python.
    let files = serde_json::json!(files);
    Ok(format!("FILES = {files}\nSUBMISSIONS = {}\n{EVALUATE}", submissions.len()))
}

fn unfinished(run: &Run, submission: &TrialSubmission) -> Refusal {
    let complaint = run.stderr.text();
    let complaint = complaint.trim_end().lines().last().unwrap_or_default().to_owned();
    Refusal::EvaluatorDisagrees(format!("on {} it {} {complaint}", submission.what, run.outcome))
}

fn compare(
    what: &str,
    native: Result<Grade, GradeError>,
    result: &Spoken,
    grader: &NativeGrader,
) -> Result<(), Refusal> {
    let disagrees = |text: String| Err(Refusal::EvaluatorDisagrees(format!("on {what} {text}")));
    if !result.crash.is_empty() {
        let complaint = result.crash.trim_end().lines().last().unwrap_or_default();
        return disagrees(format!("it crashes with {complaint}"));
    }
    let Ok(verdict) = serde_json::from_str::<Verdict>(&result.said) else {
        return disagrees(format!("it prints no verdict but `{}`", result.said.trim()));
    };
    let thresholds = Thresholds {
        gold_threshold: verdict.gold_threshold,
        silver_threshold: verdict.silver_threshold,
        bronze_threshold: verdict.bronze_threshold,
        median_threshold: verdict.median_threshold,
    };
    let direction =
        if verdict.is_lower_better { Direction::LowerIsBetter } else { Direction::HigherIsBetter };
    match (native, verdict.score) {
        (Ok(grade), Some(score)) => {
            if (score - grade.score).abs() > RELATIVE * grade.score.abs() + ABSOLUTE {
                return disagrees(format!("it says {score}, the grader {}", grade.score));
            }
            // The native score, so that rounding decides nothing at a threshold.
            let tier = thresholds.tier(grade.score, direction);
            if (tier, &thresholds) != (grade.tier, grader.thresholds())
                || direction != grader.metric().direction()
            {
                return disagrees(format!("it awards {tier:?}, the grader {:?}", grade.tier));
            }
            Ok(())
        }
        (Ok(grade), None) => {
            disagrees(format!("it refuses what the grader scores {}", grade.score))
        }
        // Where a metric is undefined, scikit-learn may have a convention; a grade has none.
        (Err(GradeError::Submission(_)), None) | (Err(GradeError::NotFinite { .. }), _) => Ok(()),
        (Err(GradeError::Submission(error)), Some(score)) => {
            disagrees(format!("it says {score}, the grader refuses it: {error}"))
        }
        // Unreadable answers; what else there is belongs to other kinds of tasks.
        (Err(error), _) => Err(Refusal::Contract(error.to_string())),
    }
}
