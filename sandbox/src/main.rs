//! `sandbox`: run scripts on tasks, grade submissions, check the jail.

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The launcher is not for people, and must not do anything before it has cleaned up.
    if std::env::args_os().nth(1).is_some_and(|word| word == sandbox::exec::LAUNCH) {
        return cli::launch();
    }
    cli::run(cli::Cli::parse())
}
