//! `agents`: runs agents on tasks and on benchmarks.

mod ablate;
mod bench;
mod cli;
mod guide;
mod knowledge;
mod players;
mod replay;
mod report;
mod run;
mod tree;

use agents::run::stop::AgentStop;
use anyhow::{Context as _, Result};
use clap::Parser as _;
use cli::{BenchCommand, Cli, Command};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;

/// Something went wrong; the message says what.
const FAILED: u8 = 1;
/// Something was not played.
const INCOMPLETE: u8 = 3;
/// Stopped by a signal; the same command continues.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
    // The server has signals of its own.
    if let Command::Guide(command) = &cli.command {
        return ended(guide::guide(command));
    }
    let result = stop_on_signal().and_then(|stop| match &cli.command {
        Command::Run(args) => run::run(args, &stop),
        Command::Eval(args) => bench::eval(args, &stop),
        Command::Ablate(args) => ablate::ablate(args, &stop),
        Command::Bench(BenchCommand::Check(args)) => bench::check(args),
        Command::Report(args) => report::report(args),
        Command::Replay(args) => replay::replay(args, &stop),
        Command::Tree(args) => tree::tree(args),
        Command::Knowledge(command) => knowledge::knowledge(command),
        Command::Guide(command) => guide::guide(command),
    });
    ended(result)
}

fn ended(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        complain(&format!("error: {error:#}"));
        ExitCode::from(FAILED)
    })
}

/// Ends all runs at the first signal, and the process at the second, by which nothing is lost
/// either.
fn stop_on_signal() -> Result<Arc<AgentStop>> {
    let stop = Arc::new(AgentStop::default());
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("failed to listen for signals")?;
    let asked = Arc::clone(&stop);
    let listener = std::thread::Builder::new().name("signals".to_owned());
    listener
        .spawn(move || {
            for (count, _) in signals.forever().enumerate() {
                if count > 0 {
                    leave();
                }
                complain("stopping; a second signal ends at once");
                asked.stop();
            }
        })
        .context("failed to start a thread")?;
    Ok(stop)
}

#[expect(clippy::exit, reason = "a second signal asks for it")]
fn leave() {
    std::process::exit(i32::from(INTERRUPTED));
}

/// Prints a line for programs and people. A reader that has gone away wants no more.
fn say(text: &str) {
    drop(writeln!(io::stdout(), "{text}"));
}

/// Prints a line for people.
fn complain(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}
