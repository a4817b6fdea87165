//! The command line: commands, flags and exit codes.

mod agents;
mod audit;
mod base;
mod client;
mod ft;
mod ft_agent;
mod gateway;
mod grading;
mod import;
mod model_files;
mod model_folder;
mod output;
mod own_server;
mod planner;
mod react;
mod recipe;
mod report;
mod run;
mod scan;
mod serve;
mod suite;
mod tool;
mod tune;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Exit codes of the program, by who has to act on them.
pub(crate) mod exit {
    /// Everything went well.
    pub(crate) const SUCCESS: u8 = 0;
    /// A fault of ours or of the host.
    pub(crate) const FAULT: u8 = 1;
    /// The caller's mistake, which is also the command-line parser's own code.
    pub(crate) const USAGE: u8 = 2;
    /// `submit`: the submission was not accepted, or not scored.
    pub(crate) const SUBMISSION: u8 = 3;
    /// `audit` and `run`: something is not as the server left it.
    pub(crate) const FINDINGS: u8 = 4;
    /// `run`: it was interrupted, and can be taken up again.
    pub(crate) const INTERRUPTED: u8 = 5;
    /// The grader could not be started.
    pub(crate) const LAUNCH: u8 = 127;
}

const AFTER_HELP: &str = "\
Exit codes: 0 fine; 1 a fault of ours or of this host; 2 a mistake of the caller; 3 `submit` was not
accepted or not scored; 4 `audit` found something, also at the end of `run`; 5 `run` was interrupted.";

/// Score models that an agent trains, on items that it never sees.
#[derive(Debug, Parser)]
#[command(name = "posttrain", version, after_help = AFTER_HELP)]
pub(crate) struct PosttrainCli {
    #[command(subcommand)]
    command: PosttrainCommand,
}

#[derive(Debug, Subcommand)]
enum PosttrainCommand {
    /// Make a suite of tasks.
    ///
    /// Example: posttrain make --suite rlbench --scale tiny --seed 4711 --out generated/suite
    Make(suite::MakeArgs),
    /// Make a suite of published benchmarks, from files that you have: GSM8K, HumanEval.
    ///
    /// Test items are the published ones. Dev items are taken out of those for training.
    ///
    /// Example: posttrain import --from benchmarks --out generated/published
    Import(import::ImportArgs),
    /// List the tasks of a suite, after comparing every file with its hash.
    Tasks(suite::TasksArgs),
    /// Make a small base model that knows the words of all tasks and does them badly.
    ///
    /// It is pretrained by `rl sft` on text of the suite's training items.
    ///
    /// Example: posttrain base generated/suite --out generated/base
    Base(base::BaseArgs),
    /// Serve a task to an agent until interrupted.
    ///
    /// Started again on the same sealed folder, the run goes on where it was.
    ///
    /// Agents show the token in `GRADING_TOKEN`; `openssl rand -hex 16` makes a good one.
    ///
    /// Example: posttrain serve suite household --base base --output work/output --sealed sealed
    Serve(Box<serve::ServeArgs>),
    /// Submit a model, as an agent does, and print the answer.
    ///
    /// Example: posttrain submit output/step-100 --wait
    Submit(client::SubmitArgs),
    /// Print how much time is left, as an agent asks for it.
    Time(client::TimeArgs),
    /// Run an agent on a task: in a box of its own, with a grading server beside it.
    ///
    /// Started again with the same flags, an interrupted run goes on. With `--task all` or `--seeds`,
    /// several runs follow each other, and a report on all of them is written.
    ///
    /// Example: posttrain run suite --task household --agent scripted/sft --base base --budget 10m --out run
    Run(Box<run::RunArgs>),
    /// Work on a task with a chat model, as the agent `react` does in its box: one tool a turn.
    ///
    /// It takes everything else from the environment of an agent.
    React(react::ReactArgs),
    /// Fine-tune on raw data again and again: propose, check cheaply, train, submit, compare (FT-Agent).
    ///
    /// It talks to a server that was started with `--feedback items`, as any agent does. Started again
    /// with the same flags, an interrupted run goes on.
    ///
    /// Example: posttrain ft suite aime --base base --output work/output --out run --loops 4
    Ft(Box<ft::FtArgs>),
    /// Fine-tune a model for a task of your own: an objective, a scorer, and a folder of data.
    ///
    /// FT-Agent experiments on it, with scores on items that are sealed; at the end base and best are scored
    /// on others.
    ///
    /// Example: posttrain tune --objective objective.md --scorer scorer.py --data data --base model --out run
    Tune(Box<tune::TuneArgs>),
    /// Search files for sealed items of a suite, such as training data that somebody gives.
    ///
    /// Exit code 4 if there are some, or a file is too large to be read.
    ///
    /// Example: posttrain scan suite data.jsonl --task arithmetic
    Scan(scan::ScanArgs),
    /// List the agents that are part of this program.
    Agents(agents::AgentsArgs),
    /// Say what runs did: scores, ways of training, failures, and whether they kept to their mode.
    ///
    /// Writes a page and tables. Runs may be going on, interrupted, or without any submission.
    ///
    /// Example: posttrain report run-1 run-2 --out report
    Report(report::ReportArgs),
    /// Check the ledger and the results of a run, and compute its metrics anew.
    Audit(audit::AuditArgs),
}

impl PosttrainCli {
    /// Carries out the command and reports a failure. The exit code.
    pub(crate) fn run(&self) -> u8 {
        let result = match &self.command {
            PosttrainCommand::Make(args) => suite::make(args),
            PosttrainCommand::Import(args) => import::import(args),
            PosttrainCommand::Tasks(args) => suite::tasks(args),
            PosttrainCommand::Base(args) => base::base(args),
            PosttrainCommand::Serve(args) => serve::serve(args),
            PosttrainCommand::Submit(args) => client::submit(args),
            PosttrainCommand::Time(args) => client::time(args),
            PosttrainCommand::Run(args) => run::run(args),
            PosttrainCommand::React(args) => react::react(args),
            PosttrainCommand::Ft(args) => ft::ft(args),
            PosttrainCommand::Tune(args) => tune::tune(args),
            PosttrainCommand::Scan(args) => scan::scan(args),
            PosttrainCommand::Agents(args) => agents::agents(args),
            PosttrainCommand::Report(args) => report::report(args),
            PosttrainCommand::Audit(args) => audit::audit(args),
        };
        result.unwrap_or_else(|error| refused(&error))
    }
}

/// Says why a command failed. Its exit code.
pub(crate) fn refused(error: &anyhow::Error) -> u8 {
    output::note(&format!("error: {error:#}"));
    if error.is::<UsageError>() { exit::USAGE } else { exit::FAULT }
}

/// A mistake of the caller.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

pub(crate) use recipe::expand;
pub(crate) use tool::{REFUSED, TOOL, refuse, run as run_tool};

/// The hidden command: becomes a program that this one starts, such as a grader.
pub(crate) fn launch(words: impl Iterator<Item = OsString>) -> ExitCode {
    let error = posttrain::child::launch(words);
    output::note(&format!("error: the program could not be started: {error}"));
    ExitCode::from(exit::LAUNCH)
}
