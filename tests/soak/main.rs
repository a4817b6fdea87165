//! A soak of the sandbox: many scripted episodes at a time for many minutes, and then a kill.
//!
//! ```text
//! cargo build --release -p sandbox
//! cargo bench -p support --bench soak -- CORPUS --minutes 20 --episodes 64
//! ```
//! 1. This program starts itself as a *supervisor*, which has one sandbox and keeps so many
//!    episodes going, each with a record: scripted agents of all levels, and now and then a turn
//!    that fails as turns of models do.
//! 2. From outside it measures memory, processes, descriptors, mounts and control groups.
//! 3. It kills the supervisor in the middle of work: every process must go, every record be whole.
//! 4. A second supervisor on the same folder of records must find nothing in its way, remove what
//!    the first left, play, and leave in order.
//! 5. Some records of the first are played again, with the same result.
//!
//! What is too much is in `report.rs`, with reasons. Exit codes: 0 all is well, 1 it is not, 2
//! wrong usage.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it finds")]

mod failing_turn;
mod progress;
mod records;
mod report;
mod supervisor;
mod watch;

use anyhow::{Context as _, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use jail::exec::SandboxOptions;
use progress::SupervisorTally;
use records::Records;
use report::{Aftermath, Kill, PlaySummary, SoakReport, Soaked};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use support::process;
use watch::{ResourceSample, Supervisor, wait_until_gone};

/// How long the second supervisor plays.
const SECOND: Duration = Duration::from_mins(1);
/// How long processes may take to be gone after the kill: as in the sandbox's own tests.
const PATIENCE: Duration = Duration::from_secs(10);
/// Records that are played again.
const REPLAYS: usize = 12;

/// Soaks the sandbox in scripted episodes, kills it, and looks at what is left.
#[derive(Debug, Parser)]
#[command(name = "soak")]
struct SoakArgs {
    /// A corpus, as `factory generate` makes one.
    corpus: Utf8PathBuf,
    /// How long the first supervisor plays.
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// Episodes at a time.
    #[arg(long, default_value_t = 64)]
    episodes: usize,
    /// Keep the records in this new folder, for instance to look at a failure.
    #[arg(long, value_name = "DIR")]
    records: Option<Utf8PathBuf>,
    /// Also write the figures to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<Utf8PathBuf>,
    /// Be the supervisor of this number.
    #[arg(long, hide = true, requires = "records")]
    life: Option<u32>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let args = SoakArgs::parse();
    let result = match (args.life, &args.records) {
        (Some(life), Some(records)) => {
            supervisor::main(&args.corpus, records, args.episodes, life).map(|()| true)
        }
        _ => soak(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True if all is well.
fn soak(args: &SoakArgs) -> Result<bool> {
    let time = Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes")?;
    ensure!(time >= SECOND && args.episodes > 0, "give it at least a minute and an episode");
    let corpus = &args.corpus;
    let hint = "cargo runs benchmarks in the folder of their package, so give an absolute path";
    ensure!(corpus.is_dir(), "there is no folder {corpus}; {hint}");
    let temporary = tempfile::tempdir()?;
    let records = match &args.records {
        Some(records) => records.clone(),
        None => Utf8Path::from_path(temporary.path()).context("a name in UTF-8")?.join("records"),
    };
    ensure!(!records.exists(), "{records} is there already; name a new folder");
    fs_err::create_dir_all(&records)?;
    let start = |life| Supervisor::start(corpus, &records, args.episodes, life);
    let every = (time / 240).clamp(Duration::from_secs(1), Duration::from_secs(5));
    let mut failures = Vec::new();

    let mut first = start(1)?;
    let samples = first.watch(time, every, &mut tell())?;
    let soaked = Soaked::from_tally(&first.tally(), &samples, &mut failures);
    let was = first.process();
    let (tally, kill) = kill(first, &mut failures)?;
    let found = Records::read(&records, 1, &mut failures)?;
    found.compare(&tally, args.episodes, &mut failures);

    let mut second = start(2)?;
    let left = process::named_after(&was);
    failures.extend(left.iter().map(|path| format!("{path} was left by the first supervisor")));
    let samples = second.watch(SECOND, every, &mut tell())?;
    let tally = end(second, &mut failures)?;
    let later = Records::read(&records, 2, &mut failures)?;
    if later.closed() != tally.closed.len() || later.unfinished() > 0 {
        failures.push("the second supervisor did not close its records".to_owned());
    }
    if found != Records::read(&records, 1, &mut failures)? {
        failures.push("the second supervisor changed records of the first".to_owned());
    }
    let records_replayed = found.replay(corpus, REPLAYS, &mut failures)?;

    let aftermath = Aftermath {
        kill,
        records_closed: found.closed(),
        records_unfinished: found.unfinished(),
        second: PlaySummary::from_tally(&tally, &samples),
        records_drained: later.drained(),
        records_replayed,
    };
    let report = SoakReport { episodes_at_a_time: args.episodes, soaked, aftermath, failures };
    print!("{report}");
    if let Some(path) = &args.json {
        tasks::files::write_json(path, &report)?;
    }
    Ok(report.failures.is_empty())
}

/// Kills a supervisor in the middle of work, and sees everything below it go.
fn kill(supervisor: Supervisor, failures: &mut Vec<String>) -> Result<(SupervisorTally, Kill)> {
    let was = supervisor.process();
    // Launcher, zygote and spares with their reapers are always there; a run is what the kill must
    // hit.
    let always = 2 + 2 * SandboxOptions::default().spares;
    let begun = Instant::now();
    let mut below = supervisor.below();
    while below.len() <= always {
        ensure!(begun.elapsed() < PATIENCE, "nothing has run for {PATIENCE:?}");
        below = supervisor.below();
    }
    let tally = supervisor.kill()?;
    let (seconds_until_gone, left) = wait_until_gone(&below, PATIENCE);
    failures.extend(left.iter().map(|process| format!("{process:?} outlived its supervisor")));
    failures.extend(tally.errors.iter().cloned());
    let traces_left = process::named_after(&was).len();
    Ok((tally, Kill { processes: below.len(), seconds_until_gone, traces_left }))
}

/// Lets a supervisor leave in order, which leaves nothing at all.
fn end(supervisor: Supervisor, failures: &mut Vec<String>) -> Result<SupervisorTally> {
    let (was, below) = (supervisor.process(), supervisor.below());
    let (tally, status) = supervisor.end()?;
    failures.extend(tally.errors.iter().map(|error| format!("the second supervisor: {error}")));
    if !status.success() {
        failures.push(format!("the second supervisor ended badly ({status})"));
    }
    let (_, left) = wait_until_gone(&below, PATIENCE);
    failures
        .extend(left.iter().map(|process| format!("{process:?} outlived the second supervisor")));
    let left = process::named_after(&was);
    failures.extend(left.iter().map(|path| format!("{path} was left by the second supervisor")));
    Ok(tally)
}

/// Says, a line a minute, how far a supervisor has come.
fn tell() -> impl FnMut(&Supervisor, &ResourceSample) {
    let mut next = 1.0;
    move |supervisor, sample| {
        if sample.minutes >= next {
            next += 1.0;
            let (tally, memory) = (supervisor.tally(), sample.supervisor_memory >> 20);
            let (episodes, steps, errors) = (tally.closed.len(), tally.steps(), tally.errors.len());
            eprintln!(
                "{:.0} min: {episodes} episodes, {steps} steps, {errors} errors, {memory} MiB",
                sample.minutes
            );
        }
    }
}
