//! `posttrain run`.

use super::gateway::GatewayArgs;
use super::grading::{GradingArgs, this_program};
use super::model_folder;
use super::{UsageError, exit, output};
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use jail::limits::Gpus;
use jail::program::{Isolation, ProgramLimits};
use jail::python::{PythonEnv, PythonError};
use posttrain::agents::Mode;
use posttrain::run::{RunError, RunGroup, RunPlan, RunResult, RunSettings, run_group};
use posttrain::{ALL_TASKS, TaskSetError};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::num::NonZeroU32;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tasks::text::with_causes;
use tasks::units::{ByteSize, Span};

/// Sealed items in an agent's texts that are printed; `result.json` has the others.
const FOUND: usize = 20;

#[derive(Debug, Args)]
#[command(args_override_self = true)]
pub(super) struct RunArgs {
    /// The suite, with its sealed half.
    suite: Utf8PathBuf,
    /// The task, or `all`: each of the suite in a run of its own, or with `--mode multi` all in one.
    #[arg(long)]
    task: String,
    /// The agent: one of `posttrain agents`, or a folder with `agent.toml`.
    #[arg(long)]
    agent: String,
    /// The base model: a folder in Hugging Face's form, or a run of `rl`, whose newest checkpoint it is.
    #[arg(long, value_name = "DIR", value_parser = model_folder::parser())]
    base: Utf8PathBuf,
    /// The folder of the run; a run that is there goes on. Of several runs, the folder of their folders.
    #[arg(long, value_name = "DIR")]
    out: Utf8PathBuf,
    /// How the agent may train: `free`, `sft-only`, `rl-oriented`; or `multi`: one model for all tasks.
    #[arg(long, default_value = "free")]
    mode: Mode,
    /// What the agent gets as `SEED`.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Runs of each task, with the seeds from `--seed` on, one after another.
    #[arg(long, value_name = "COUNT", default_value = "1")]
    seeds: NonZeroU32,
    /// How the agent is kept apart from this machine: `t1` or `t2`, the weakest tier that is accepted,
    /// or `none`.
    #[arg(long, default_value = "t2")]
    isolation: Isolation,
    /// Memory of the agent.
    #[arg(long, value_name = "SIZE", default_value_t = ProgramLimits::default().memory)]
    memory: ByteSize,
    /// Processes and threads of the agent.
    #[arg(long, value_name = "COUNT", default_value_t = ProgramLimits::default().processes)]
    processes: u64,
    /// Processors' worth of time for the agent; default: all. Needs tier t1.
    #[arg(long, value_name = "COUNT")]
    cpus: Option<NonZeroU32>,
    /// GPUs that the agent may use: `none`, `all`, or indices such as `0,2`.
    #[arg(long, value_name = "GPUS", default_value_t = Gpus::None)]
    gpus: Gpus,
    /// What the agent's folders may hold; a run that holds more is ended.
    #[arg(long, value_name = "SIZE", default_value_t = ProgramLimits::default().disk)]
    disk: ByteSize,
    /// Time between SIGTERM and SIGKILL when the agent's time is over.
    #[arg(long, value_name = "TIME", default_value_t = Span::seconds(10))]
    grace: Span,
    /// The folder with the programs of the toolbox (`rl`, `sandbox`). Default: this program's.
    #[arg(long, value_name = "DIR")]
    toolbox: Option<Utf8PathBuf>,
    /// A folder of shared libraries for `rl` in the toolbox, such as `torch/lib` of a Python.
    #[arg(long, value_name = "DIR")]
    toolbox_libraries: Option<Utf8PathBuf>,
    /// Flags from a file: `rlbench-tiny`, `rlbench-paper`, or a TOML file of your own whose keys are
    /// flags. Flags that are given win.
    // Replaced by those flags before this parser sees it.
    #[arg(long, value_name = "NAME|FILE")]
    config: Option<String>,
    /// Print what would be run, with the memory that `rl train` plans, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// With `--dry-run`: what a GPU has, such as `141GiB`.
    #[arg(long, value_name = "SIZE")]
    gpu_memory: Option<ByteSize>,
    #[command(flatten)]
    gateway: GatewayArgs,
    #[command(flatten)]
    grading: GradingArgs,
}

impl RunArgs {
    /// Whether each task has a run of its own.
    fn is_of_all(&self) -> bool {
        self.task == ALL_TASKS && self.mode != Mode::Multi
    }

    /// The tasks; none for all of the suite.
    fn tasks(&self) -> Option<Vec<String>> {
        (!self.is_of_all()).then(|| vec![self.task.clone()])
    }

    fn all_seeds(&self) -> Vec<u64> {
        (0..u64::from(self.seeds.get())).map(|more| self.seed + more).collect()
    }

    fn settings(&self) -> Result<RunSettings> {
        if self.config.is_some() {
            return Err(UsageError("give --config once".to_owned()).into());
        }
        let program = this_program()?;
        let beside = program.parent().unwrap_or(Utf8Path::new("/"));
        let python = match PythonEnv::locate() {
            Ok(python) => Some(python),
            Err(PythonError::NotFound { .. }) => {
                tracing::warn!("no Python environment was found: the agent has the system's");
                None
            }
            Err(error) => return Err(UsageError(error.to_string()).into()),
        };
        let grading = &self.grading;
        Ok(RunSettings {
            suite: self.suite.clone(),
            task: self.task.clone(),
            agent: self.agent.clone(),
            base: self.base.clone(),
            budget: grading.budget()?,
            mode: self.mode,
            protocol: grading.protocol(),
            aggregate: grading.aggregate(),
            submissions: grading.limits()?,
            seed: self.seed,
            out: self.out.clone(),
            isolation: self.isolation,
            limits: ProgramLimits {
                memory: self.memory,
                processes: self.processes,
                cpus: self.cpus,
                gpus: self.gpus.clone(),
                disk: self.disk,
                ..ProgramLimits::default()
            },
            grace: self.grace.0,
            python,
            toolbox: self.toolbox.clone().unwrap_or_else(|| beside.to_owned()),
            libraries: self.toolbox_libraries.clone(),
            grader: grading.grader()?,
            grading_limit: grading.grading_limit.0,
            device: grading.device.clone(),
            device_lock: grading.device_lock.clone(),
            program,
            gateway: self.gateway.settings()?,
        })
    }
}

pub(super) fn run(args: &RunArgs) -> Result<u8> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .context("failed to watch for signals")?;
    }
    let settings = args.settings()?;
    if args.dry_run {
        return dry_run(args, &settings);
    }
    if args.is_of_all() || args.seeds.get() > 1 {
        return run_several(args, &settings, &interrupted);
    }
    let result = match posttrain::run::run(&settings, &interrupted) {
        Ok(result) => result,
        Err(error) => return stopped(error),
    };
    print(&result)?;
    Ok(if result.has_no_findings() { exit::SUCCESS } else { exit::FINDINGS })
}

/// Ends because of an error.
fn stopped(error: RunError) -> Result<u8> {
    match error {
        error @ (RunError::Usage(_) | RunError::Agent(_) | RunError::Tasks(TaskSetError::Mode)) => {
            Err(UsageError(with_causes(&error)).into())
        }
        RunError::Gateway(error) if error.is_the_callers() => {
            Err(UsageError(with_causes(&error)).into())
        }
        error @ RunError::Interrupted => {
            output::note(&error.to_string());
            Ok(exit::INTERRUPTED)
        }
        error => Err(error.into()),
    }
}

/// Prints what would be run.
fn dry_run(args: &RunArgs, settings: &RunSettings) -> Result<u8> {
    let plan = match RunPlan::new(settings, args.tasks().as_deref(), &args.all_seeds()) {
        Ok(plan) => plan,
        Err(error) => return stopped(error),
    };
    for (name, value) in plan.lines() {
        output::line(&format!("{name:22}  {value}"))?;
    }
    let Some(memory) = args.gpu_memory else { return Ok(exit::SUCCESS) };
    let rl = settings.toolbox.join("rl");
    if !rl.is_file() {
        let what =
            format!("`{rl}` is not there, and it plans memory; name its folder with --toolbox");
        return Err(UsageError(what).into());
    }
    // `rl train` is on one GPU; with two, the other one grades.
    let mut planned = Command::new(&rl);
    planned.args(["plan", "--model", settings.base.as_str(), "--memory", &memory.to_string()]);
    if let Some(libraries) = &settings.libraries {
        planned.env("LD_LIBRARY_PATH", libraries);
    }
    let planned = planned.output().with_context(|| format!("failed to start `{rl}`"))?;
    let text = String::from_utf8_lossy(&planned.stdout);
    output::line(&format!("\nmemory of `rl train` on a GPU of {memory}:\n{}", text.trim_end()))?;
    if !planned.status.success() {
        let said = String::from_utf8_lossy(&planned.stderr);
        return Err(UsageError(format!("`rl plan` refused: {}", said.trim())).into());
    }
    let graded = settings.device.strip_prefix("cuda:");
    let trained = settings.limits.gpus.to_string();
    let shares = graded.is_some_and(|index| trained.split(',').any(|gpu| gpu == index));
    output::line(if shares {
        "grading is on a GPU of the agent: while it trains there, a submission is answered `busy`"
    } else {
        "grading is on no GPU of the agent: both can work at the same time"
    })?;
    Ok(exit::SUCCESS)
}

/// Carries out a run for each task and seed, and reports on all of them.
fn run_several(args: &RunArgs, settings: &RunSettings, interrupted: &AtomicBool) -> Result<u8> {
    let (tasks, seeds) = (args.tasks(), args.all_seeds());
    let mut code = exit::SUCCESS;
    let group = RunGroup { settings: settings.clone(), tasks, seeds };
    let folders = run_group(&group, interrupted, |folder, result| {
        let name = folder.file_name().unwrap_or_default();
        match result {
            Ok(result) => {
                output::line(&format!("--- {name}"))?;
                print(result).map_err(std::io::Error::other)?;
                if !result.has_no_findings() && code == exit::SUCCESS {
                    code = exit::FINDINGS;
                }
            }
            Err(error) => {
                output::note(&format!("error: {name}: {}", with_causes(error)));
                code = exit::FAULT;
            }
        }
        Ok(())
    });
    let folders = match folders {
        Ok(folders) => folders,
        Err(error) => return stopped(error),
    };
    if !folders.is_empty() {
        let written = posttrain::report::write(&folders, &settings.out.join("report"))?;
        for table in posttrain::report::scores(&written.groups) {
            output::line(&format!("\n{}", table.markdown()))?;
        }
        output::line(&format!("page        {}", written.page))?;
    }
    Ok(code)
}

fn print(result: &RunResult) -> Result<()> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    output::line(&format!(
        "agent       {} on {}, mode {} (held by {}), seed {}",
        result.agent.0,
        result.task,
        result.mode,
        serde_json::to_value(result.mode_held_by)?.as_str().unwrap_or_default(),
        result.seed
    ))?;
    output::line(&format!("isolation   {}", result.isolation))?;
    let ended = result.ended.as_ref().map_or("not started".to_owned(), ToString::to_string);
    output::line(&format!("ended       {ended}"))?;
    if let Some(metrics) = &result.metrics {
        output::line(&format!(
            "shown       base {}, best {:.4}, improvement {}, {} submissions",
            number(metrics.baseline),
            metrics.best,
            number(metrics.improvement),
            metrics.submissions
        ))?;
        output::line(&format!(
            "test        base {}, best {}, last {}, improvement {}",
            number(metrics.final_base),
            number(metrics.final_best),
            number(metrics.final_last),
            number(metrics.final_improvement)
        ))?;
    }
    if let Some(chat) = &result.chat {
        let cost = chat
            .cost()
            .map_or("unknown, for want of a price".to_owned(), |_| chat.cost_micro.to_string());
        output::line(&format!(
            "chat models {} requests, {} tokens read, {} written, cost {cost}",
            chat.requests, chat.input, chat.output
        ))?;
    }
    if let Some((low, high)) = result.interval {
        output::line(&format!("interval    {low:.4} to {high:.4} (95 %, items in pairs)"))?;
    }
    for finding in &result.findings {
        output::line(&format!("audit       {finding}"))?;
    }
    for found in result.contamination.iter().flat_map(|scan| &scan.found).take(FOUND) {
        output::line(&format!("contains    {found}"))?;
    }
    if let Some(head) = result.head {
        output::line(&format!("head        {head}"))?;
    }
    Ok(())
}
