//! `sandbox`: run scripts on tasks, grade submissions, check the jail.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The launcher is not for people, and must not do anything before it has cleaned up.
    if std::env::args_os().nth(1).is_some_and(|word| word == jail::exec::LAUNCH) {
        return cli::launch();
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        // A closed log is no reason to end.
        .log_internal_errors(false)
        .init();
    ExitCode::from(cli::SandboxCli::parse().run())
}
