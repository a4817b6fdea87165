//! The command line: what each command takes, does and answers.

mod bench;
mod mlebench;
mod serve;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, Parser, Subcommand};
use sandbox::exec::{CollectError, Fault, Options, Run, Sandbox, StartError, read_file};
use sandbox::grade::{Direction, Grade, GradeError};
use sandbox::jail::{State, Tier};
use sandbox::judge::Judge;
use sandbox::policy::{ByteSize, Gpus, Policy, Span};
use sandbox::python::PythonEnv;
use sandbox::submission::{MOST_BYTES, Part};
use sandbox::task::{Opening, Task};
use serde_json::json;
use std::process::ExitCode;

/// Ends of the program, by who is to act on them.
pub(crate) mod exit {
    /// Everything went well; a graded submission was valid.
    pub(crate) const SUCCESS: u8 = 0;
    /// The program itself failed: a missing file, no Python, a jail that does not stand.
    pub(crate) const FAULT: u8 = 1;
    /// Wrong usage; the command-line parser's own code.
    #[expect(dead_code, reason = "set by the command-line parser; here for completeness")]
    pub(crate) const USAGE: u8 = 2;
    /// The script ran and did not finish: it raised, was killed, or exceeded a limit.
    pub(crate) const SCRIPT: u8 = 3;
    /// The submission is missing or not acceptable.
    pub(crate) const SUBMISSION: u8 = 4;
    /// `check` found a layer that is down.
    pub(crate) const UNPROTECTED: u8 = 5;
    /// `replay` found that something went otherwise than recorded.
    pub(crate) const DIFFERENT: u8 = 6;
}

/// The file that a script must write to submit.
const SUBMISSION: &str = "submission.csv";

const AFTER_HELP: &str = "\
Exit codes: 0 fine; 1 a fault of ours; 2 wrong usage; 3 the script did not finish;
4 no acceptable submission; 5 `check` found a layer down; 6 `replay` found a difference.

Python is found through MLE_PYTHON, else as `.venv/bin/python` in or above the current folder.";

/// Run untrusted Python on a task, grade what it submits.
#[derive(Debug, Parser)]
#[command(name = "sandbox", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a script in the jail, as an agent's would be.
    ///
    /// The script starts in an empty folder with the task's public files, read-only, in `input/`.
    /// It can read nothing else of the task, write nowhere else, and reach no network. If it
    /// writes `submission.csv`, `--out` saves that and `--grade` scores it.
    ///
    /// Example: sandbox run generated/demo/task-001 solve.py --time-limit 10s --grade
    Run(RunArgs),
    /// Grade a submission against a task's answers, or as MLE-bench does.
    ///
    /// Example: sandbox grade generated/demo/task-001 submission.csv --json
    ///
    /// Example: sandbox grade --competition leaf-classification --answers a.csv --submission s.csv
    Grade(GradeArgs),
    /// Say which layers of protection are up on this host, why one is not, and which GPUs it has.
    Check(CheckArgs),
    /// Measure what a run costs, beside a cold interpreter, bubblewrap and a plain fork.
    Bench(bench::BenchArgs),
    /// Serve episodes to clients of OpenEnv, until interrupted.
    ///
    /// Clients connect to `/ws`, reset with the name of a task (or with a seed, or with neither)
    /// and call the tools `python`, `score` and `submit`. Every episode is written down, a JSONL
    /// file each. Interrupted, the server finishes the steps in flight and ends every episode.
    ///
    /// Example: sandbox serve generated/demo --feedback full --max-episodes 32
    Serve(serve::ServeArgs),
    /// Play a recorded episode again and say what goes otherwise.
    ///
    /// Example: sandbox replay generated/episodes/task-001/1.jsonl generated/demo
    Replay(serve::ReplayArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The task's folder: one of ours, a prepared competition of MLE-bench, or a released bundle.
    task: Utf8PathBuf,
    /// The Python script.
    script: Utf8PathBuf,
    /// Wall-clock limit.
    #[arg(long, default_value_t = Policy::default().time_limit)]
    time_limit: Span,
    /// Memory limit of each of its processes.
    #[arg(long, default_value_t = Policy::default().memory)]
    memory: ByteSize,
    /// GPUs that it may use: `none`, `all`, or indices such as `0,2`.
    #[arg(long, default_value_t = Policy::default().gpus)]
    gpus: Gpus,
    /// Save `submission.csv` here.
    #[arg(long)]
    out: Option<Utf8PathBuf>,
    /// Grade `submission.csv` afterwards.
    #[arg(long)]
    grade: bool,
    /// Take the leaderboard of a competition from this checkout of mle-bench.
    #[arg(long, value_name = "DIR")]
    mlebench: Option<Utf8PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct GradeArgs {
    /// The task's folder: one of ours, a prepared competition of MLE-bench, or a released bundle.
    #[arg(required_unless_present_any = ["competition", "submissions"], requires = "submission")]
    task: Option<Utf8PathBuf>,
    /// The submission.
    submission: Option<Utf8PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    jail: Jail,
    #[command(flatten)]
    mlebench: mlebench::MlebenchArgs,
}

#[derive(Debug, Args)]
struct CheckArgs {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    jail: Jail,
}

#[derive(Debug, Args)]
struct Jail {
    /// The weakest tier of protection that is accepted: t1 has namespaces and control groups, t2
    /// namespaces alone, t3 neither. The best that this host offers is used.
    #[arg(long, value_name = "TIER", default_value_t = Options::default().allow_tier)]
    allow_tier: Tier,
}

impl Common {
    fn options(&self, warm_up: bool) -> Options {
        // Nobody waits for a second run.
        Options { spares: 0, ..self.jail.options(1, warm_up) }
    }
}

impl Jail {
    fn options(&self, slots: usize, warm_up: bool) -> Options {
        Options { slots, spares: slots, warm_up, allow_tier: self.allow_tier, ..Options::default() }
    }
}

/// The hidden command: builds the jail for another process of this program.
#[expect(clippy::print_stderr, reason = "its log, which the supervisor reads")]
pub(crate) fn launch() -> ExitCode {
    match sandbox::jail::launcher::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Carries out a command.
pub(crate) fn run(cli: &Cli) -> Result<u8> {
    match &cli.command {
        Command::Run(args) => run_script(args),
        Command::Grade(args) => grade(args),
        Command::Check(args) => check(args),
        Command::Bench(args) => bench::run(args),
        Command::Serve(args) => serve::serve(args),
        Command::Replay(args) => serve::replay_record(args),
    }
}

fn open_task(path: &Utf8Path, checkout: Option<&Utf8PathBuf>, options: Options) -> Result<Task> {
    let task = Task::open(path, &Opening { checkout: checkout.cloned() })
        .with_context(|| format!("failed to open the task in `{path}`"))?;
    if let Some(evaluators) = task.evaluators() {
        evaluators.configure(options);
    }
    Ok(task)
}

fn start(options: Options, task: Option<&Task>) -> Result<Sandbox, StartError> {
    let python = PythonEnv::locate()?;
    let tasks: Vec<_> =
        task.iter().map(|task| (task.id().clone(), task.public().clone())).collect();
    Sandbox::start(&python, options, &tasks)
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn run_script(args: &RunArgs) -> Result<u8> {
    let task = open_task(&args.task, args.mlebench.as_ref(), args.common.options(false))?;
    let code = fs_err::read_to_string(&args.script).context("failed to read the script")?;
    let policy = Policy {
        time_limit: args.time_limit,
        memory: args.memory,
        gpus: args.gpus.clone(),
        ..Policy::default()
    };
    // One run does not repay a warm-up.
    let sandbox = start(args.common.options(false), Some(&task)).context("no sandbox")?;
    let workspace = sandbox.workspace(task.id()).map_err(fault)?;
    let run = workspace.run(&code, &policy).map_err(fault)?;

    let submission = workspace.collect(SUBMISSION, MOST_BYTES);
    if let (Some(out), Ok(bytes)) = (&args.out, &submission) {
        sandbox::files::write_atomic(out, bytes).context("failed to save the submission")?;
    }
    let judged = match (&submission, args.grade) {
        (Ok(bytes), true) => {
            let judge = task.judge()?;
            let grade = judge.grade(bytes, Part::All);
            Some((judge, grade))
        }
        _ => None,
    };
    if args.common.json {
        let report = json!({
            "task": task.id(),
            "run": run,
            "submission": submission.as_ref().map(Vec::len).map_err(ToString::to_string).map_or_else(
                |error| json!({"error": error}),
                |bytes| json!({"bytes": bytes}),
            ),
            "grade": judged.as_ref().map(|(judge, grade)| grade_json(&task, &**judge, grade)),
            "policy": policy,
            "protection": sandbox.protection(),
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print_run(&run, &submission);
        if let Some((judge, grade)) = &judged {
            println!("{}", grade_text(&**judge, grade));
        }
    }
    if !run.outcome.is_finished() {
        return Ok(exit::SCRIPT);
    }
    match (&submission, &judged) {
        (Err(_), _) if args.out.is_some() || args.grade => Ok(exit::SUBMISSION),
        (_, Some((_, Err(error)))) => grade_code(error),
        _ => Ok(exit::SUCCESS),
    }
}

fn fault(fault: Fault) -> anyhow::Error {
    anyhow::Error::new(fault).context("the sandbox failed; this is no fault of the script")
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn print_run(run: &Run, submission: &Result<Vec<u8>, CollectError>) {
    for (name, stream) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        let text = stream.text();
        if !text.is_empty() {
            println!("--- {name}\n{}", text.trim_end());
        }
    }
    println!(
        "--- {} in {:.2} s ({:.2} s of processor time, {} MiB at most, tier {})",
        run.outcome,
        run.wall.as_secs_f64(),
        run.cpu.as_secs_f64(),
        run.peak_memory >> 20,
        run.tier
    );
    match submission {
        Ok(bytes) => println!("{SUBMISSION}: {} bytes", bytes.len()),
        Err(error) => println!("no submission: {error}"),
    }
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn grade(args: &GradeArgs) -> Result<u8> {
    if let Some(code) = mlebench::run(&args.mlebench, args.json)? {
        return Ok(code);
    }
    let (Some(task), Some(submission)) = (&args.task, &args.submission) else {
        anyhow::bail!("there is nothing to grade");
    };
    let checkout = args.mlebench.checkout();
    let task = open_task(task, checkout, args.jail.options(1, false))?;
    let judge = task.judge()?;
    let grade = match read_file(submission, MOST_BYTES) {
        Ok(bytes) => judge.grade(&bytes, Part::All),
        Err(error @ CollectError::Unreadable { .. }) => {
            return Err(error).context("failed to read the submission");
        }
        Err(refusal) => Err(GradeError::Refused(refusal.to_string())),
    };
    if args.json {
        let report = grade_json(&task, &*judge, &grade);
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}", grade_text(&*judge, &grade));
    }
    match &grade {
        Ok(_) => Ok(exit::SUCCESS),
        Err(error) => grade_code(error),
    }
}

fn grade_code(error: &GradeError) -> Result<u8> {
    if error.is_fault() {
        anyhow::bail!("the task itself cannot be graded: {}", chain(error));
    }
    Ok(exit::SUBMISSION)
}

/// An error with all its reasons.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

fn grade_json(
    task: &Task,
    judge: &dyn Judge,
    grade: &Result<Grade, GradeError>,
) -> serde_json::Value {
    json!({
        "task": task.id(),
        "metric": judge.metric(),
        "valid": grade.is_ok(),
        "score": grade.as_ref().ok().map(|grade| grade.score),
        "tier": grade.as_ref().ok().and_then(|grade| grade.tier),
        "error": grade.as_ref().err().map(ToString::to_string),
        "thresholds": judge.thresholds(),
        "is_lower_better": judge.direction() == Direction::LowerIsBetter,
    })
}

fn grade_text(judge: &dyn Judge, grade: &Result<Grade, GradeError>) -> String {
    let metric = judge.metric().map_or_else(|| "score".to_owned(), |metric| metric.to_string());
    match grade {
        Ok(Grade { score, tier: Some(tier) }) => format!("{metric}: {score} ({tier:?})"),
        Ok(Grade { score, tier: None }) => format!("{metric}: {score} (below the median)"),
        Err(error) => error.to_string(),
    }
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn check(args: &CheckArgs) -> Result<u8> {
    let sandbox = match start(args.common.options(false), None) {
        Ok(sandbox) => sandbox,
        Err(
            ref error @ (StartError::Layer { layer, ref reason }
            | StartError::Tier { layer, ref reason, .. }),
        ) => {
            if args.common.json {
                println!("{}", json!({"ready": false, "layer": layer, "reason": reason}));
            } else {
                println!("{error}\nscripts will not be run on this host");
            }
            return Ok(exit::UNPROTECTED);
        }
        Err(error) => return Err(error.into()),
    };
    let protection = sandbox.protection();
    let gpus = sandbox.host_gpus().indices();
    let obstacles = sandbox.host_gpus().obstacles();
    if args.common.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&json!({
                "ready": true,
                "tier": sandbox.tier(),
                "layers": protection,
                "gpus": {"indices": gpus, "obstacles": obstacles},
            }))?
        );
    } else {
        println!("tier {}", sandbox.tier());
        for (layer, state) in protection.iter() {
            match state {
                State::Up => println!("{layer:20} up"),
                State::Down { reason } => println!("{layer:20} down: {reason}"),
            }
        }
        let gpus = if gpus.is_empty() { Gpus::None } else { Gpus::Only(gpus) };
        println!("{:20} {}", "gpus", [vec![gpus.to_string()], obstacles].concat().join("; "));
    }
    // What was asked for is fulfilled even if an accepted layer is down.
    Ok(exit::SUCCESS)
}
