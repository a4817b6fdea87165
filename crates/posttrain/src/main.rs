//! `posttrain`: serve a task of post-training to an agent, submit to it, audit the run.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    // Not for people: it becomes the grader.
    if words.next().is_some_and(|word| word == posttrain::grade::LAUNCH) {
        return cli::launch(words);
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        // A closed log is no reason to end.
        .log_internal_errors(false)
        .init();
    ExitCode::from(cli::PosttrainCli::parse().run())
}
