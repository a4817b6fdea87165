//! The trial of an evaluator that a chat model wrote, before the task is in a folder.
//!
//! Such an evaluator is untrusted code. It runs in the jail, once for each submission, each time
//! in a new process and a new work dir that holds the answers, and of what it leaves only its
//! standard output and the place of its failure are read. What the model hears of a failure holds
//! nothing of the answers but scores: no message of an exception, nothing that was printed.

#[cfg(test)]
mod tests;

use super::submissions::{SubmissionSource, TrialSubmission};
use super::verdict::{Disagreement, Verdict};
use crate::generator::GeneratorJail;
use crate::package::Draft;
use crate::roles::{EvaluatorTrial, RoleBackend, RoleCheckError, RoleRefusal, TaskFacts, TaskPage};
use jail::exec::{Outcome, Run, Sandbox};
use jail::limits::RunLimits;
use std::io;
use tasks::grade::NativeGrader;
use tasks::submission::{Part, parse_answers};
use tasks::units::Span;

/// Lays out the files of a work dir as a task folder, and runs the evaluator.
const PROGRAM: &str = include_str!("jailed_trial.py");

/// Reason code of an evaluator that scores otherwise than the native grader.
const DISAGREES: &str = "evaluator_disagrees";
/// Reason code of an evaluator that scores what no grader may accept.
const ACCEPTS: &str = "evaluator_accepts";
/// Reason code of an evaluator that crashes, takes too long or prints something else.
const FAILS: &str = "evaluator_fails";

/// Exceptions that a model is told by their names. A class that an evaluator defines could have
/// answers for its name.
const KNOWN_EXCEPTIONS: [&str; 29] = [
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "EmptyDataError",
    "Exception",
    "FileNotFoundError",
    "ImportError",
    "IndentationError",
    "IndexError",
    "IndexingError",
    "InvalidParameterError",
    "IsADirectoryError",
    "JSONDecodeError",
    "KeyError",
    "LinAlgError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "OSError",
    "OverflowError",
    "ParserError",
    "PermissionError",
    "RecursionError",
    "RuntimeError",
    "SyntaxError",
    "TypeError",
    "UnboundLocalError",
    "ValueError",
    "ZeroDivisionError",
];

/// Tries evaluators of chat models in a sandbox.
#[derive(Debug, Clone)]
pub struct JailedTrial {
    sandbox: Sandbox,
    limits: RunLimits,
}

/// A task in memory, as far as evaluators need it.
struct TrialTask<'a> {
    source: SubmissionSource<'a>,
    thresholds: Vec<u8>,
    grader: NativeGrader,
}

impl JailedTrial {
    /// A trial in `sandbox`, which needs no task's files.
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, limits: Self::limits() }
    }

    /// The limits of a run on one submission: 30 s, 2 GiB, 16 processes, no GPU, no network.
    pub fn limits() -> RunLimits {
        RunLimits { time_limit: Span::seconds(30), ..GeneratorJail::limits() }
    }

    /// The same sandbox with other limits.
    #[must_use]
    pub fn with_limits(self, limits: RunLimits) -> Self {
        Self { limits, ..self }
    }

    /// Runs an evaluator on one submission, in a work dir of its own.
    fn run(
        &self,
        task: &TrialTask<'_>,
        code: &str,
        submission: &TrialSubmission,
    ) -> Result<Run, RoleCheckError> {
        let workspace = self.sandbox.empty_workspace().map_err(fault)?;
        for (name, bytes) in [
            ("evaluator.py", code.as_bytes()),
            ("answer.csv", task.source.answers.as_bytes()),
            ("threshold.json", &task.thresholds),
            ("submission.csv", submission.csv.as_bytes()),
        ] {
            workspace.place(name, bytes).map_err(fault)?;
        }
        workspace.run(PROGRAM, &self.limits).map_err(fault)
    }
}

impl EvaluatorTrial for JailedTrial {
    fn try_out(&self, facts: &TaskFacts, code: &str) -> Result<(), RoleCheckError> {
        let task = TrialTask::new(facts)?;
        let submissions = task.source.submissions().into_iter().chain(task.source.malformed());
        for submission in submissions {
            let run = self.run(&task, code, &submission)?;
            let native = task.grader.grade(submission.csv.as_bytes(), Part::All);
            let refused = |code: &'static str, text: String| {
                let detail = format!("on {} {text}", submission.what);
                Err(RoleRefusal { code, detail }.into())
            };
            let verdict = match verdict(&run, code, &self.limits) {
                Ok(verdict) => verdict,
                Err(text) => return refused(FAILS, text),
            };
            let compared = verdict.compare(&native, &task.grader);
            match compared.map_err(|error| fault(io::Error::other(error)))? {
                None => {}
                Some(Disagreement { accepts: true, text }) => return refused(ACCEPTS, text),
                Some(Disagreement { accepts: false, text }) => return refused(DISAGREES, text),
            }
        }
        Ok(())
    }
}

impl<'a> TrialTask<'a> {
    fn new(facts: &'a TaskFacts) -> Result<Self, RoleCheckError> {
        let page = TaskPage { text: String::new(), prose: None };
        let draft = Draft::new(facts.clone(), String::new(), page, RoleBackend::Builtin);
        let mut files = draft.map_err(fault)?.files;
        let mut take = |path: &str| {
            let missing = || fault(io::Error::other(format!("a draft has no `{path}`")));
            files.remove(path).ok_or_else(missing)
        };
        let answers = take("prepared/private/answer.csv")?;
        let thresholds = take("prepared/private/threshold.json")?;
        let sample = take("prepared/public/sample_submission.csv")?;
        let blueprint = &facts.blueprint;
        let (id_column, prediction) = (&blueprint.id_column, &blueprint.prediction);
        let truth = parse_answers(&answers, id_column, prediction).map_err(fault)?;
        Ok(Self {
            grader: NativeGrader::new(
                truth,
                blueprint.metric,
                prediction.clone(),
                serde_json::from_slice(&thresholds).map_err(fault)?,
            ),
            source: SubmissionSource {
                task: blueprint.task.as_str(),
                id_column,
                prediction,
                sample: String::from_utf8(sample).map_err(fault)?,
                answers: String::from_utf8(answers).map_err(fault)?,
            },
            thresholds,
        })
    }
}

fn fault(error: impl std::error::Error + Send + Sync + 'static) -> RoleCheckError {
    RoleCheckError::Fault(Box::new(error))
}

/// What an evaluator printed, or why that is no verdict.
fn verdict(run: &Run, code: &str, limits: &RunLimits) -> Result<Verdict, String> {
    match &run.outcome {
        Outcome::Finished | Outcome::Exited { code: 1 } => {}
        Outcome::Raised { exception } => {
            let known = KNOWN_EXCEPTIONS.contains(&exception.as_str());
            let exception = if known { exception } else { "an exception" };
            return Err(format!("it raises {exception}{}", place(&run.stderr.text(), code)));
        }
        Outcome::TimedOut => return Err(format!("it takes more than {}", limits.time_limit)),
        Outcome::OutOfMemory => return Err(format!("it takes more than {}", limits.memory)),
        other => return Err(format!("it {other}")),
    }
    let Some(verdict) = Verdict::parse(&run.stdout.text()) else {
        let text = "its standard output is not one JSON object with the six fields, numbers finite";
        return Err(text.to_owned());
    };
    if verdict.score.is_some() != run.outcome.is_finished() {
        let text = "its exit code is not the right one: 0 with a score, 1 without";
        return Err(text.to_owned());
    }
    Ok(verdict)
}

/// The last line of the evaluator's own code in a traceback, with a blank before it; empty if there
/// is none. Of the traceback only the number of the line is used.
fn place(traceback: &str, code: &str) -> String {
    let line = |text: &str| {
        let (_, after) = text.split_once("evaluator.py\", line ")?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        let number: usize = digits.parse().ok()?;
        let text = code.lines().nth(number.checked_sub(1)?)?;
        Some(format!(" in line {number}: `{}`", text.trim()))
    };
    traceback.lines().rev().find_map(line).unwrap_or_default()
}
