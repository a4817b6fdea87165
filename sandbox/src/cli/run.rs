//! `sandbox run`: scripts from the command line to outcomes, submissions and grades.

use super::failure::{Failure, Mistake};
use super::limits::{LimitFlags, Limits, within};
use super::{Common, exit, imports, interrupt, open_task, output, report, start};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use sandbox::exec::{CollectError, Fault, Options, Run, Sandbox};
use sandbox::grade::{Grade, GradeError};
use sandbox::jail::Protection;
use sandbox::judge::Judge;
use sandbox::policy::{ByteSize, Policy, Span, range};
use sandbox::submission::Part;
use sandbox::task::{Task, TaskId};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Read as _};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// The largest submission that is read.
const SUBMISSION_LIMIT: ByteSize = ByteSize::mib(64);
/// The file that a script must write to submit.
const SUBMISSION: &str = "submission.csv";
/// What stands for standard input.
const STDIN: &str = "-";

/// Arguments of `sandbox run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The task's folder: one of ours, a prepared competition of MLE-bench, or a released bundle.
    task: Utf8PathBuf,
    /// The Python scripts, each with a work dir of its own; `-` is standard input.
    #[arg(required = true, value_name = "SCRIPT")]
    scripts: Vec<Utf8PathBuf>,
    /// Wall-clock limit of each script [default: 90s].
    #[arg(long, value_name = "TIME", value_parser = within(range::TIME_LIMIT))]
    time_limit: Option<Span>,
    /// Scripts that run at a time. Default: the number of processors.
    #[arg(long, value_name = "COUNT")]
    jobs: Option<NonZeroUsize>,
    /// Save `submission.csv` here; for one script.
    #[arg(long, value_name = "FILE", conflicts_with = "out_dir")]
    out: Option<Utf8PathBuf>,
    /// Save the submission of each script in this folder, as SCRIPT'S NAME.csv.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<Utf8PathBuf>,
    /// Grade `submission.csv` afterwards.
    #[arg(long)]
    grade: bool,
    /// Print only what was kept of the script's output, byte for byte, each stream to its own; for
    /// one script, and not to a terminal, which would act on what is in it.
    #[arg(long, conflicts_with_all = ["json", "grade"])]
    raw: bool,
    /// Take the leaderboard of a competition from this checkout of mle-bench.
    #[arg(long, value_name = "DIR")]
    mlebench: Option<Utf8PathBuf>,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    pub(super) common: Common,
}

/// A script and what becomes of it.
struct Script {
    /// As it was given.
    name: String,
    code: String,
    /// Where its submission is saved.
    out: Option<Utf8PathBuf>,
}

/// What a script left.
struct Ran {
    run: Run,
    submission: Result<Vec<u8>, CollectError>,
}

/// What is said about each script.
struct Reporter<'a> {
    args: &'a RunArgs,
    task: &'a Task,
    policy: &'a Policy,
    protection: &'a Protection,
    /// Opened once, when there is something to grade.
    judge: Option<Box<dyn Judge>>,
}

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    let limits = args.limits.resolve(args.time_limit, Policy::default().time_limit)?;
    let scripts = args.scripts()?;
    interrupt::listen()?;
    let task = open_task(&args.task, args.mlebench.as_ref(), args.common.options(false))?;
    let codes: Vec<_> = scripts.iter().map(|script| script.code.clone()).collect();
    let jobs = args.jobs.map_or(Options::default().slots, NonZeroUsize::get).min(scripts.len());
    let options = Options {
        slots: jobs,
        // One run does not repay a warm-up, nor what it has no use for.
        modules: imports::needed(&codes),
        ..limits.bound(args.common.options(false))
    };
    let sandbox = start(options, Some(&task)).context("no sandbox")?;
    let Limits { policy, .. } = &limits;
    let mut reporter =
        Reporter { args, task: &task, policy, protection: sandbox.protection(), judge: None };
    let mut worst = exit::SUCCESS;
    each_in_order(&sandbox, task.id(), &scripts, jobs, policy, |script, result| {
        let code = reporter.report(script, result)?;
        if severity(code) > severity(worst) {
            worst = code;
        }
        Ok(())
    })?;
    Ok(worst)
}

/// Runs the scripts, so many at a time, and passes on what becomes of each in their order.
fn each_in_order(
    sandbox: &Sandbox,
    task: &TaskId,
    scripts: &[Script],
    jobs: usize,
    policy: &Policy,
    mut pass_on: impl FnMut(&Script, Result<Ran, Fault>) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((number, script)) = take(next, scripts) {
                    // Whoever listened is gone after an error.
                    if sender.send((number, one(sandbox, task, &script.code, policy))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut awaited = scripts.iter().enumerate().peekable();
        for (number, result) in &results {
            early.insert(number, result);
            while let Some((_, script, result)) = awaited
                .peek()
                .and_then(|(number, script)| Some((*number, *script, early.remove(number)?)))
            {
                awaited.next();
                if let Err(error) = pass_on(script, result) {
                    next.store(scripts.len(), Ordering::Relaxed);
                    sandbox.abandon();
                    return Err(error);
                }
            }
        }
        Ok(())
    })
}

fn take<'a>(next: &AtomicUsize, scripts: &'a [Script]) -> Option<(usize, &'a Script)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    scripts.get(number).map(|script| (number, script))
}

fn one(sandbox: &Sandbox, task: &TaskId, code: &str, policy: &Policy) -> Result<Ran, Fault> {
    let workspace = sandbox.workspace(task)?;
    let run = workspace.run(code, policy)?;
    let submission = workspace.collect(SUBMISSION, SUBMISSION_LIMIT.bytes());
    Ok(Ran { run, submission })
}

/// Which of two codes is the worse one to end with.
fn severity(code: u8) -> u8 {
    match code {
        exit::SUCCESS => 0,
        exit::SUBMISSION => 1,
        exit::SCRIPT => 2,
        _ => 3,
    }
}

impl RunArgs {
    /// Reads the scripts, and makes sure that what becomes of them can be saved and shown.
    fn scripts(&self) -> Result<Vec<Script>, Mistake> {
        let many = self.scripts.len() > 1;
        if many && self.out.is_some() {
            return Err(Mistake::new("`--out` is for one script; use `--out-dir` for several"));
        }
        if many && self.raw {
            return Err(Mistake::new("`--raw` is for one script"));
        }
        if self.raw && (std::io::stdout().is_terminal() || std::io::stderr().is_terminal()) {
            return Err(Mistake::new(
                "`--raw` does not print to a terminal, which would act on control sequences in \
                 the output; send standard output and error to files or pipes",
            ));
        }
        if self.scripts.iter().filter(|path| *path == STDIN).count() > 1 {
            return Err(Mistake::new("standard input can be read only once"));
        }
        if let Some(folder) = self.out.as_deref().and_then(folder_of)
            && !folder.is_dir()
        {
            return Err(Mistake::new(format!("there is no folder `{folder}` to save in")));
        }
        if let Some(folder) = &self.out_dir {
            fs_err::create_dir_all(folder)
                .map_err(Mistake::at("failed to make the folder for submissions"))?;
        }
        let mut taken = BTreeSet::new();
        let script = |path: &Utf8PathBuf| {
            let out = self
                .out
                .clone()
                .or_else(|| Some(self.out_dir.as_ref()?.join(format!("{}.csv", saved_name(path)))));
            if let Some(twice) = out.clone().filter(|out| !taken.insert(out.clone())) {
                return Err(Mistake::new(format!(
                    "two scripts would save their submissions as `{twice}`; rename one, or run \
                     them with different `--out-dir`"
                )));
            }
            Ok(Script { name: path.to_string(), code: read(path)?, out })
        };
        self.scripts.iter().map(script).collect()
    }
}

fn read(path: &Utf8Path) -> Result<String, Mistake> {
    if path != STDIN {
        return fs_err::read_to_string(path).map_err(Mistake::at("failed to read the script"));
    }
    let mut code = String::new();
    let read = std::io::stdin().read_to_string(&mut code);
    read.map_err(Mistake::at("failed to read a script from standard input"))?;
    Ok(code)
}

/// What a script's submission is called, without the ending.
fn saved_name(script: &Utf8Path) -> &str {
    if script == STDIN { "stdin" } else { script.file_stem().unwrap_or("script") }
}

/// The folder that a path is in; none if that is the current one.
fn folder_of(path: &Utf8Path) -> Option<&Utf8Path> {
    path.parent().filter(|folder| !folder.as_str().is_empty())
}

impl Reporter<'_> {
    /// Saves, grades and reports one script. Its exit code; an error ends everything.
    fn report(&mut self, script: &Script, result: Result<Ran, Fault>) -> Result<u8> {
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
        let failure = failure.as_ref().map(Failure::from);
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
    fn failed(&self, script: &Script, error: &anyhow::Error) -> Result<u8> {
        let failure = Failure::from(error);
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
        script: &Script,
        ran: &Ran,
    ) -> Result<Option<Result<Grade, GradeError>>> {
        let Ok(bytes) = &ran.submission else { return Ok(None) };
        if let Some(out) = &script.out {
            sandbox::files::write_atomic(out, bytes).context("failed to save the submission")?;
        }
        if !self.args.grade {
            return Ok(None);
        }
        let judge = match &mut self.judge {
            Some(judge) => judge,
            none => none.insert(self.task.judge().context("the task itself cannot be graded")?),
        };
        Ok(Some(judge.grade(bytes, Part::All)))
    }

    fn show(
        &self,
        script: &Script,
        ran: &Ran,
        judged: Option<&Result<Grade, GradeError>>,
        failure: Option<&Failure>,
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
        if let (Some(judge), Some(grade)) = (&self.judge, judged) {
            output::line(&report::to_text(&**judge, grade))?;
        }
        Ok(())
    }

    fn to_json(
        &self,
        script: &Script,
        ran: &Ran,
        judged: Option<&Result<Grade, GradeError>>,
    ) -> Value {
        let grade = self.judge.as_deref().zip(judged);
        json!({
            "task": self.task.id(),
            "script": script.name,
            "run": ran.run,
            "submission": match &ran.submission {
                Ok(bytes) => json!({"bytes": bytes.len()}),
                Err(error) => json!({"error": error.to_string()}),
            },
            "grade": grade.map(|(judge, grade)| report::to_json(self.task, judge, grade)),
            "policy": self.policy,
            "protection": self.protection,
        })
    }

    /// The exit code of a script that ran and was graded, if that was wanted.
    fn code(&self, ran: &Ran, judged: Option<&Result<Grade, GradeError>>) -> u8 {
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

fn print_run(Ran { run, submission }: &Ran) -> Result<()> {
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
