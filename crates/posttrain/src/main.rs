//! `posttrain`: run an agent on a task of post-training, or serve the task to one; audit the run.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    // Not for people: it becomes a child such as a grader, the launcher of a box, or a wrapper of the toolbox.
    if first.as_ref().is_some_and(|word| word == posttrain::child::LAUNCH) {
        return cli::launch(words);
    }
    if first.as_ref().is_some_and(|word| word == jail::program::LAUNCH) {
        return ExitCode::from(u8::from(jail::program::launch() != 0));
    }
    if first.as_ref().is_some_and(|word| word == cli::TOOL) {
        return cli::run_tool(words);
    }
    if first.is_some_and(|word| word == cli::REFUSED) {
        return cli::refuse(words);
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        // A closed log is no reason to end.
        .log_internal_errors(false)
        .init();
    match cli::expand(std::env::args_os().collect()) {
        Ok(words) => ExitCode::from(cli::PosttrainCli::parse_from(words).run()),
        Err(error) => ExitCode::from(cli::refused(&error)),
    }
}
