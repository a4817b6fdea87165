//! `sandbox run`: scripts from the command line to outcomes, submissions and grades.

use super::checkouts::CheckoutFlags;
use super::failure::UsageError;
use super::limits::{CheckedLimits, LimitFlags, within};
use super::reporter::{ReportedScript, Reporter, ScriptResult};
use super::{CommonFlags, exit, interrupt, open_task, start};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use jail::exec::{Fault, Sandbox, SandboxOptions};
use jail::limits::{RunLimits, range};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Read as _};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use tasks::task::TaskId;
use tasks::units::Span;

/// What stands for standard input.
const STDIN: &str = "-";

/// Arguments of `sandbox run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The task's folder: one of ours, a prepared competition of MLE-bench, or a released bundle.
    task: Utf8PathBuf,
    /// The Python scripts, each with a work dir of its own; `-` is standard input.
    #[arg(required = true, value_name = "SCRIPT")]
    pub(super) scripts: Vec<Utf8PathBuf>,
    /// Wall-clock limit of each script [default: 90s].
    #[arg(long, value_name = "TIME", value_parser = within(range::TIME_LIMIT))]
    time_limit: Option<Span>,
    /// Scripts that run at a time. Default: the number of processors.
    #[arg(long, value_name = "COUNT")]
    jobs: Option<NonZeroUsize>,
    /// Save `submission.csv` here; for one script.
    #[arg(long, value_name = "FILE", conflicts_with = "out_dir")]
    pub(super) out: Option<Utf8PathBuf>,
    /// Save the submission of each script in this folder, as SCRIPT'S NAME.csv.
    #[arg(long, value_name = "DIR")]
    pub(super) out_dir: Option<Utf8PathBuf>,
    /// Grade the `submission.csv` that the script leaves.
    #[arg(long)]
    pub(super) grade: bool,
    /// Print only what was kept of the script's output, byte for byte, each stream to its own; for
    /// one script, and not to a terminal, which would act on what is in it.
    #[arg(long, conflicts_with_all = ["json", "grade"])]
    pub(super) raw: bool,
    #[command(flatten)]
    checkouts: CheckoutFlags,
    #[command(flatten)]
    pub(super) common: CommonFlags,
    #[command(flatten)]
    limits: LimitFlags,
}

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    let limits = args.limits.resolve(args.time_limit, RunLimits::default().time_limit)?;
    let scripts = args.scripts()?;
    interrupt::listen()?;
    let (task, graders) =
        open_task(&args.task, &args.checkouts.opening(), args.common.options(false))?;
    let jobs =
        args.jobs.map_or(SandboxOptions::default().slots, NonZeroUsize::get).min(scripts.len());
    let options = SandboxOptions { slots: jobs, ..limits.bound(args.common.options(false)) };
    let sandbox = start(options, Some(&task)).context("no sandbox")?;
    let CheckedLimits { policy, .. } = &limits;
    let mut reporter = Reporter {
        args,
        task: &task,
        graders: &graders,
        policy,
        protection: sandbox.protection(),
        grader: None,
    };
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

/// Runs the scripts, several at a time, and passes on their results in order.
fn each_in_order(
    sandbox: &Sandbox,
    task: &TaskId,
    scripts: &[ReportedScript],
    jobs: usize,
    policy: &RunLimits,
    mut pass_on: impl FnMut(&ReportedScript, Result<ScriptResult, Fault>) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((number, script)) = take(next, scripts) {
                    // The receiver is gone after an error.
                    if sender
                        .send((number, ScriptResult::run(script, sandbox, task, policy)))
                        .is_err()
                    {
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

fn take<'a>(
    next: &AtomicUsize,
    scripts: &'a [ReportedScript],
) -> Option<(usize, &'a ReportedScript)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    scripts.get(number).map(|script| (number, script))
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
    /// Reads the scripts, and checks that their results can be saved and shown.
    fn scripts(&self) -> Result<Vec<ReportedScript>, UsageError> {
        let many = self.scripts.len() > 1;
        if many && self.out.is_some() {
            return Err(UsageError::new("`--out` is for one script; use `--out-dir` for several"));
        }
        if many && self.raw {
            return Err(UsageError::new("`--raw` is for one script"));
        }
        if self.raw && (std::io::stdout().is_terminal() || std::io::stderr().is_terminal()) {
            return Err(UsageError::new(
                "`--raw` does not print to a terminal, which would act on control sequences in \
                 the output; send standard output and error to files or pipes",
            ));
        }
        if self.scripts.iter().filter(|path| *path == STDIN).count() > 1 {
            return Err(UsageError::new("standard input can be read only once"));
        }
        if let Some(folder) = self.out.as_deref().and_then(folder_of)
            && !folder.is_dir()
        {
            return Err(UsageError::new(format!("there is no folder `{folder}` to save in")));
        }
        if let Some(folder) = &self.out_dir {
            fs_err::create_dir_all(folder)
                .map_err(UsageError::at("failed to make the folder for submissions"))?;
        }
        let mut taken = BTreeSet::new();
        let script = |path: &Utf8PathBuf| {
            let out = self
                .out
                .clone()
                .or_else(|| Some(self.out_dir.as_ref()?.join(format!("{}.csv", saved_name(path)))));
            if let Some(twice) = out.clone().filter(|out| !taken.insert(out.clone())) {
                return Err(UsageError::new(format!(
                    "two scripts would save their submissions as `{twice}`; rename one, or run \
                     them with different `--out-dir`"
                )));
            }
            Ok(ReportedScript { name: path.to_string(), code: read(path)?, out })
        };
        self.scripts.iter().map(script).collect()
    }
}

fn read(path: &Utf8Path) -> Result<String, UsageError> {
    if path != STDIN {
        return fs_err::read_to_string(path).map_err(UsageError::at("failed to read the script"));
    }
    let mut code = String::new();
    let read = std::io::stdin().read_to_string(&mut code);
    read.map_err(UsageError::at("failed to read a script from standard input"))?;
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
