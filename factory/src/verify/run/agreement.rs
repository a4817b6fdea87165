//! Does a task's own evaluator say what the native grader says?
//!
//! The evaluator needs the answers, and a jail mounts public files only. That barrier stays as
//! it is: answers, thresholds and evaluator travel inside the code of this one run, which is
//! ours, into a work dir that is thrown away with it. No agent's script ever shares a work dir
//! with them.

use super::submissions::{SubmissionSource, TrialSubmission};
use super::trial::{COLLECT_LIMIT, Failure};
use super::verdict::{Disagreement, Verdict};
use crate::verify::Refusal;
use fs_err as fs;
use jail::exec::{Run, Sandbox};
use jail::limits::RunLimits;
use serde::Deserialize;
use std::collections::BTreeMap;
use tasks::grade::{Grade, GradeError, NativeGrader};
use tasks::submission::Part;
use tasks::task::TaskDir;
use tasks::text::one_line;

/// Follows the two lines that say which files to write and how many submissions there are.
const EVALUATE: &str = include_str!("evaluate.py");

/// The longest text of an evaluator in a message, in characters: a chat model may have written it.
const MOST_SHOWN: usize = 300;

/// What became of one submission in the sandbox.
#[derive(Debug, Deserialize)]
struct Spoken {
    said: String,
    crash: String,
}

/// Compares the two on the task's [`submissions`].
///
/// # Errors
/// [`Refusal::EvaluatorDisagrees`], or a fault of the sandbox.
pub(super) fn check(sandbox: &Sandbox, task: &TaskDir, policy: &RunLimits) -> Result<(), Failure> {
    let submissions = SubmissionSource::open(task)?.submissions();
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
        compare(submission.what, &native, result, &grader)?;
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
    let complaint = last_line(&run.stderr.text());
    Refusal::EvaluatorDisagrees(format!("on {} it {} {complaint}", submission.what, run.outcome))
}

/// The last line of a traceback, as [`shown`].
fn last_line(text: &str) -> String {
    shown(text.trim_end().lines().last().unwrap_or_default())
}

/// The beginning of a text that an evaluator printed, as one line that a terminal can show.
fn shown(text: &str) -> String {
    one_line(text.trim()).chars().take(MOST_SHOWN).collect()
}

fn compare(
    what: &str,
    native: &Result<Grade, GradeError>,
    result: &Spoken,
    grader: &NativeGrader,
) -> Result<(), Refusal> {
    let disagrees = |text: String| Err(Refusal::EvaluatorDisagrees(format!("on {what} {text}")));
    if !result.crash.is_empty() {
        return disagrees(format!("it crashes with {}", last_line(&result.crash)));
    }
    let Some(verdict) = Verdict::parse(&result.said) else {
        return disagrees(format!("it prints no verdict but `{}`", shown(&result.said)));
    };
    match verdict.compare(native, grader) {
        Ok(None) => Ok(()),
        Ok(Some(Disagreement { text, .. })) => disagrees(text),
        Err(error) => Err(Refusal::Contract(error)),
    }
}
