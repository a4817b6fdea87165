//! `rl`: train agents for machine learning engineering.

use clap::Parser;
use indicatif::MultiProgress;
use rl::cli::{NotPlayed, ProgressBars, RlCli};
use rl::run::stop::Stopped;
use std::io::{self, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Failure; the message on standard error has the reason.
const FAILED: u8 = 1;

/// How libtorch's threads wait for each other.
const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

fn main() -> ExitCode {
    let cli = RlCli::parse();
    wait_asleep();
    let bars = ProgressBars::default();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(AboveBars(bars.0.clone()))
        .init();
    match cli.run(&bars) {
        Ok(output) => {
            say(&output);
            ExitCode::SUCCESS
        }
        Err(error) => {
            let (text, code) = if let Some(stopped) = error.downcast_ref::<Stopped>() {
                (stopped.to_string(), stopped.code)
            } else if let Some(not_played) = error.downcast_ref::<NotPlayed>() {
                say(&not_played.output);
                (not_played.to_string(), not_played.code)
            } else {
                (format!("error: {error:#}"), FAILED)
            };
            #[expect(clippy::print_stderr, reason = "the last words of a command")]
            {
                eprintln!("{text}");
            }
            ExitCode::from(code)
        }
    }
}

/// The result of a command goes to standard output.
#[expect(clippy::print_stdout, reason = "this is where it is printed")]
fn say(output: &str) {
    print!("{output}");
}

/// Lets libtorch's threads sleep while they wait, unless the environment sets otherwise.
///
/// By default they spin, and with scripts on the same processors they then wait for a thread
/// that their own spinning keeps from running: measured on two busy cores, an update takes four
/// times as long. OpenMP reads the variable when it is loaded, so the program starts once more.
fn wait_asleep() {
    if std::env::var_os(WAIT_POLICY).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // Comes back only if it failed; then things are slower, and no worse.
        let error = Command::new(program)
            .args(std::env::args_os().skip(1))
            .env(WAIT_POLICY, "passive")
            .exec();
        drop(error);
    }
}

/// Log lines go above the progress bars instead of through them.
struct AboveBars(MultiProgress);

impl<'a> MakeWriter<'a> for AboveBars {
    type Writer = Above<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Above(&self.0)
    }
}

struct Above<'a>(&'a MultiProgress);

impl Write for Above<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().write(text))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
