//! The report on each script of `sandbox run`, and the exit code.

use super::failure::FailureReport;
use super::run::RunArgs;
use super::{exit, output, report};
use anyhow::{Context as _, Result};
use camino::Utf8PathBuf;
use jail::exec::{Fault, Run, Sandbox};
use jail::isolation::Protection;
use jail::limits::RunLimits;
use sandbox::graders::Graders;
use serde_json::{Value, json};
use tasks::collect::CollectError;
use tasks::grade::{Grade, GradeError, Grader};
use tasks::submission::{MOST_BYTES, Part};
use tasks::task::{Task, TaskId};

/// The file that a script must write to submit.
const SUBMISSION: &str = "submission.csv";

/// A script of `sandbox run`.
pub(super) struct ReportedScript {
    /// Its name on the command line.
    pub(super) name: String,
    pub(super) code: String,
    /// Where its submission is saved.
    pub(super) out: Option<Utf8PathBuf>,
}

/// The run of a script and its submission.
pub(super) struct ScriptResult {
    run: Run,
    submission: Result<Vec<u8>, CollectError>,
}

impl ScriptResult {
    /// Runs a script in a work dir of its own.
    pub(super) fn run(
        script: &ReportedScript,
        sandbox: &Sandbox,
        task: &TaskId,
        policy: &RunLimits,
    ) -> Result<Self, Fault> {
        let workspace = sandbox.workspace(task)?;
        let run = workspace.run(&script.code, policy)?;
        let submission = workspace.collect(SUBMISSION, MOST_BYTES);
        Ok(Self { run, submission })
    }
}

/// Reports the result of each script.
pub(super) struct Reporter<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) task: &'a Task,
    pub(super) graders: &'a Graders,
    pub(super) policy: &'a RunLimits,
    pub(super) protection: &'a Protection,
    /// Opened once, when there is something to grade.
    pub(super) grader: Option<Box<dyn Grader>>,
}

impl Reporter<'_> {
    /// Saves, grades and reports one script. Its exit code; an error ends everything.
    pub(super) fn report(
        &mut self,
        script: &ReportedScript,
        result: Result<ScriptResult, Fault>,
    ) -> Result<u8> {
        let ran = match result {
            Ok(ran) => ran,
            // Others may do better; the only one's failure is the program's.
            Err(error) if self.is_many() => return self.failed(script, &fault(error)),
            Err(error) => return Err(fault(error)),
        };
        let (judged, failure) = match self.save_and_grade(script, &ran) {
            Ok(None) => (None, None),
            Ok(Some(grade)) => {
                let failure = report::code(&grade).err();
                (Some(grade), failure)
            }
            Err(error) => (None, Some(error)),
        };
        let failure = failure.as_ref().map(FailureReport::from);
        self.show(script, &ran, judged.as_ref(), failure.as_ref())?;
        match failure {
            None => Ok(self.code(&ran, judged.as_ref())),
            Some(failure) => {
                output::note(&format!("error: {}: {}", script.name, failure.message));
                Ok(failure.kind.code())
            }
        }
    }

    /// Reports that a script could not be run.
    fn failed(&self, script: &ReportedScript, error: &anyhow::Error) -> Result<u8> {
        let failure = FailureReport::from(error);
        if self.args.common.json {
            let task = self.task.id();
            output::json_line(&json!({"task": task, "script": script.name, "fault": failure}))?;
        } else {
            output::line(&format!("=== {}", script.name))?;
        }
        output::note(&format!("error: {}: {}", script.name, failure.message));
        Ok(failure.kind.code())
    }

    fn is_many(&self) -> bool {
        self.args.scripts.len() > 1
    }

    fn save_and_grade(
        &mut self,
        script: &ReportedScript,
        ran: &ScriptResult,
    ) -> Result<Option<Result<Grade, GradeError>>> {
        let Ok(bytes) = &ran.submission else { return Ok(None) };
        if let Some(out) = &script.out {
            tasks::files::write_atomic(out, bytes).context("failed to save the submission")?;
        }
        if !self.args.grade {
            return Ok(None);
        }
        let grader = match &mut self.grader {
            Some(grader) => grader,
            none => none
                .insert(self.graders.open(self.task).context("the task itself cannot be graded")?),
        };
        Ok(Some(grader.grade(bytes, Part::All)))
    }

    fn show(
        &self,
        script: &ReportedScript,
        ran: &ScriptResult,
        judged: Option<&Result<Grade, GradeError>>,
        failure: Option<&FailureReport>,
    ) -> Result<()> {
        if self.args.raw {
            return Ok(print_raw(&ran.run)?);
        }
        if self.args.common.json {
            let mut report = self.to_json(script, ran, judged);
            if let Some(failure) = failure {
                report["fault"] = json!(failure);
            }
            let print = if self.is_many() { output::json_line } else { output::json };
            return Ok(print(&report)?);
        }
        if self.is_many() {
            output::line(&format!("=== {}", script.name))?;
        }
        print_run(ran)?;
        if let (Some(grader), Some(grade)) = (&self.grader, judged) {
            output::line(&report::to_text(&**grader, grade))?;
        }
        Ok(())
    }

    fn to_json(
        &self,
        script: &ReportedScript,
        ran: &ScriptResult,
        judged: Option<&Result<Grade, GradeError>>,
    ) -> Value {
        let grade = self.grader.as_deref().zip(judged);
        json!({
            "task": self.task.id(),
            "script": script.name,
            "run": ran.run,
            "submission": match &ran.submission {
                Ok(bytes) => json!({"bytes": bytes.len()}),
                Err(error) => json!({"error": error.to_string()}),
            },
            "grade": grade.map(|(grader, grade)| report::to_json(self.task, grader, grade)),
            "policy": self.policy,
            "protection": self.protection,
        })
    }

    /// The exit code of a script that ran and was graded, if that was wanted.
    fn code(&self, ran: &ScriptResult, judged: Option<&Result<Grade, GradeError>>) -> u8 {
        let wanted = self.args.grade || self.args.out.is_some() || self.args.out_dir.is_some();
        if !ran.run.outcome.is_finished() {
            exit::SCRIPT
        } else if (wanted && ran.submission.is_err()) || judged.is_some_and(Result::is_err) {
            exit::SUBMISSION
        } else {
            exit::SUCCESS
        }
    }
}

fn fault(fault: Fault) -> anyhow::Error {
    anyhow::Error::new(fault).context("the sandbox failed; this is no fault of the script")
}

fn print_run(ScriptResult { run, submission }: &ScriptResult) -> Result<()> {
    for (name, stream) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        if stream.total() == 0 {
            continue;
        }
        let (beginning, end) = stream.kept();
        output::line(&format!("--- {name}"))?;
        if !beginning.is_empty() {
            output::quoted(&beginning)?;
        }
        if let Some(end) = end {
            output::line(&format!("--- {} bytes of {name} were not kept", stream.omitted()))?;
            if !end.is_empty() {
                output::quoted(&end)?;
            }
        }
    }
    output::line(&format!(
        "--- {} in {:.2} s ({:.2} s of processor time, {} MiB at most, tier {})",
        run.outcome,
        run.wall.as_secs_f64(),
        run.cpu.as_secs_f64(),
        run.peak_memory >> 20,
        run.tier
    ))?;
    match submission {
        Ok(bytes) => output::line(&format!("{SUBMISSION}: {} bytes", bytes.len()))?,
        Err(error) => output::line(&format!("no submission: {error}"))?,
    }
    Ok(())
}

/// Nothing but the script's bytes, and on standard error whether some are missing.
fn print_raw(run: &Run) -> Result<(), output::OutputError> {
    let (beginning, end) = run.stderr.kept();
    output::raw_error(&[beginning, end.unwrap_or_default()].concat());
    let (beginning, end) = run.stdout.kept();
    output::raw(&[beginning, end.unwrap_or_default()].concat())?;
    for (name, stream) in [("output", &run.stdout), ("error", &run.stderr)] {
        if stream.omitted() > 0 {
            let omitted = stream.omitted();
            output::note(&format!("{omitted} bytes of standard {name} were not kept"));
        }
    }
    Ok(())
}
