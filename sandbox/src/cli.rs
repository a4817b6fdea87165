//! The command line.

use clap::Parser;
use std::process::ExitCode;

#[derive(Debug, Parser)]
pub(crate) struct Cli {}

pub(crate) fn launch() -> ExitCode {
    match sandbox::jail::launcher::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn run(_: Cli) -> ExitCode {
    ExitCode::SUCCESS
}
