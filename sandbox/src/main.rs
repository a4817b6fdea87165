//! `sandbox`: run scripts on tasks, grade submissions, check the jail.

mod cli;

use clap::Parser;
use std::process::ExitCode;

#[expect(clippy::print_stderr, reason = "errors go to standard error")]
fn main() -> ExitCode {
    // The launcher is not for people, and must not do anything before it has cleaned up.
    if std::env::args_os().nth(1).is_some_and(|word| word == sandbox::exec::LAUNCH) {
        return cli::launch();
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    match cli::run(&cli::Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(cli::exit::FAULT)
        }
    }
}
