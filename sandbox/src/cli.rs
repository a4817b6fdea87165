//! The command line: commands, flags and exit codes.

mod bench;
mod check;
mod checkouts;
mod failure;
mod grade;
mod interrupt;
mod limits;
mod mlebench;
mod output;
mod policy_file;
mod report;
mod reporter;
mod run;
mod serve;

use anyhow::{Context as _, Result};
use camino::Utf8Path;
use clap::{Args, Parser, Subcommand};
use jail::exec::{Sandbox, SandboxOptions, StartError};
use jail::isolation::IsolationLevel;
use jail::python::PythonEnv;
use sandbox::graders::Graders;
use std::process::ExitCode;
use tasks::task::{Opening, Task};

/// Exit codes of the program, by who has to act on them.
pub(crate) mod exit {
    /// Everything went well; a graded submission was valid.
    pub(crate) const SUCCESS: u8 = 0;
    /// A fault of ours or of the host: no Python, a layer that is down, a damaged task.
    pub(crate) const FAULT: u8 = 1;
    /// The caller's mistake, which is also the command-line parser's own code.
    pub(crate) const USAGE: u8 = 2;
    /// The script ran and did not finish: it raised, was killed, or exceeded a limit.
    pub(crate) const SCRIPT: u8 = 3;
    /// The submission is missing or not acceptable.
    pub(crate) const SUBMISSION: u8 = 4;
    /// `check` found a layer that is down.
    pub(crate) const UNPROTECTED: u8 = 5;
    /// `replay` found that something went otherwise than recorded.
    pub(crate) const DIFFERENT: u8 = 6;
    /// Ctrl-C: 128 and the signal's number, as shells count.
    pub(crate) const INTERRUPTED: u8 = 130;
    /// Standard output is a closed pipe: 128 and the number of SIGPIPE.
    pub(crate) const CLOSED: u8 = 141;
    /// SIGTERM: 128 and the signal's number.
    pub(crate) const TERMINATED: u8 = 143;
}

const AFTER_HELP: &str = "\
Exit codes: 0 fine; 1 a fault of ours or of this host; 2 a mistake of the caller; 3 the script did
not finish; 4 no acceptable submission; 5 `check` found a layer down; 6 `replay` found a
difference; 130 interrupted, 143 terminated; 141 standard output was closed.
With --json, a fault or mistake is also an object on standard output:
{\"fault\": {\"kind\": ..., \"message\": ..., \"hint\": ...}}.

Python is found through MLE_PYTHON, else as `.venv/bin/python` in or above the current folder.";

/// Run untrusted Python on a task, grade what it submits.
#[derive(Debug, Parser)]
#[command(name = "sandbox", version, after_help = AFTER_HELP)]
pub(crate) struct SandboxCli {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    /// Run scripts in the jail, as an agent's would be.
    ///
    /// Each script starts in an empty folder with the task's public files, read-only, in `input/`.
    /// It can read nothing else of the task, write nowhere else, and reach no network. If it
    /// writes `submission.csv`, `--out` saves that and `--grade` scores it.
    ///
    /// Every line that a script printed is shown after `| `, with control characters escaped.
    ///
    /// Example: sandbox run generated/demo/task-001 solve.py --time-limit 10s --grade
    ///
    /// Example: sandbox run generated/demo/task-001 a.py b.py --jobs 2 --json --out-dir saved
    Run(run::RunArgs),
    /// Grade a submission against a task's answers, or as MLE-bench does.
    ///
    /// Example: sandbox grade generated/demo/task-001 submission.csv --json
    ///
    /// Example: sandbox grade --competition leaf-classification --answers a.csv --submission s.csv
    Grade(grade::GradeArgs),
    /// Say which layers of protection are up on this host, why one is not, and which GPUs it has.
    Check(check::CheckArgs),
    /// Measure what a run costs, beside a cold interpreter, bubblewrap and a plain fork.
    Bench(bench::BenchArgs),
    /// Serve episodes to clients of OpenEnv and of MCP, until interrupted.
    ///
    /// Clients of OpenEnv connect to `/ws`, reset with the name of a task (or with a split, or a
    /// seed, or nothing) and call the tools `python`, `score` and `submit`; clients of MCP call them
    /// at `/mcp`. Every episode is written down, a JSONL file each. Interrupted, the server finishes
    /// the steps in flight and ends every episode.
    ///
    /// Example: sandbox serve generated/demo --feedback full --max-episodes 32
    Serve(serve::ServeArgs),
    /// Play a recorded episode again and say what goes otherwise.
    ///
    /// Example: sandbox replay generated/episodes/task-001/1.jsonl generated/demo
    Replay(serve::ReplayArgs),
}

#[derive(Debug, Args)]
struct CommonFlags {
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    jail: Jail,
}

#[derive(Debug, Args)]
struct Jail {
    /// The weakest tier of protection that is accepted: t1 has namespaces and control groups, t2
    /// namespaces alone, t3 neither. The best that this host offers is used.
    #[arg(long, value_name = "TIER", default_value_t = SandboxOptions::default().allow_tier)]
    allow_tier: IsolationLevel,
}

impl CommonFlags {
    fn options(&self, warm_up: bool) -> SandboxOptions {
        // There is no second run to wait for.
        SandboxOptions { spares: 0, ..self.jail.options(1, warm_up) }
    }
}

impl Jail {
    fn options(&self, slots: usize, warm_up: bool) -> SandboxOptions {
        SandboxOptions {
            slots,
            spares: slots,
            warm_up,
            allow_tier: self.allow_tier,
            ..SandboxOptions::default()
        }
    }
}

/// The hidden command: builds the jail for another process of this program.
pub(crate) fn launch() -> ExitCode {
    match jail::isolation::launcher::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its log, which the supervisor reads.
            output::note(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

impl SandboxCli {
    /// Carries out the command and reports a failure. The exit code.
    pub(crate) fn run(&self) -> u8 {
        let result = self.listen().and_then(|()| self.carry_out());
        // Interrupted, what fails does so because of that.
        if let Some(code) = interrupt::code() {
            output::note("interrupted; what was started has ended");
            return code;
        }
        result.unwrap_or_else(|error| failure::report(&error, self.json()))
    }

    /// A server has its own way to end, and until scripts have been read from standard input there
    /// is nothing to clean up.
    fn listen(&self) -> Result<()> {
        match &self.command {
            SandboxCommand::Serve(_) | SandboxCommand::Run(_) => Ok(()),
            _ => interrupt::listen(),
        }
    }

    fn carry_out(&self) -> Result<u8> {
        match &self.command {
            SandboxCommand::Run(args) => run::run(args),
            SandboxCommand::Grade(args) => grade::run(args),
            SandboxCommand::Check(args) => check::run(args),
            SandboxCommand::Bench(args) => bench::run(args),
            SandboxCommand::Serve(args) => serve::serve(args),
            SandboxCommand::Replay(args) => serve::replay_record(args),
        }
    }

    /// Whether the answer is for programs.
    fn json(&self) -> bool {
        match &self.command {
            SandboxCommand::Run(args) => args.common.json,
            SandboxCommand::Grade(args) => args.json,
            SandboxCommand::Check(args) => args.common.json,
            SandboxCommand::Bench(args) => args.common.json,
            SandboxCommand::Serve(_) | SandboxCommand::Replay(_) => false,
        }
    }
}

fn open_task(
    path: &Utf8Path,
    opening: &Opening,
    options: SandboxOptions,
) -> Result<(Task, Graders)> {
    let task = Task::open(path, opening)
        .with_context(|| format!("failed to open the task in `{path}`"))?;
    let graders = Graders::new([&task]);
    graders.configure(options);
    Ok((task, graders))
}

fn start(options: SandboxOptions, task: Option<&Task>) -> Result<Sandbox, StartError> {
    let python = PythonEnv::locate()?;
    let tasks: Vec<_> =
        task.iter().map(|task| (task.id().clone(), task.public().clone())).collect();
    Sandbox::start(&python, options, &tasks)
}
