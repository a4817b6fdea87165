//! A soak of a fleet: many clients over a few `sandbox serve` processes, one of which is killed in
//! the middle and started again.
//!
//! ```text
//! cargo build --release -p sandbox
//! cargo bench -p support --bench fleet -- CORPUS --minutes 20
//! ```
//! Every client plays episode after episode. No episode may fail, those of the server that is killed
//! must be repeated on another, equal turns on a task must always earn the same reward, and the
//! memory of servers and clients must not grow. Exit codes: 0 all is well, 1 it is not.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it finds")]

mod clients;

use agents::remote::{Fleet, FleetOptions, RemoteWorld, ServerAddress};
use agents::scaffold::react::EpisodeRules;
use anyhow::{Context as _, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use clients::{Tally, play};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::process::{anonymous_memory, descriptors};
use support::servers::ServedTasks;
use support::trend::exceeds;
use tasks::task::{Collection, Opening};
use tasks::units::Span;

const MIB: f64 = 1024.0 * 1024.0;
/// Time between two samples.
const EVERY: Duration = Duration::from_secs(2);
/// For how long the killed server is gone.
const GONE: Duration = Duration::from_secs(10);
/// MiB by which a process may grow between a fifth of its time and the end: allocators keep what
/// the largest answer needed, and a server remembers how often each client has begun each task.
const GROWTH: f64 = 32.0;
/// The same of descriptors, which come and go with connections.
const DESCRIPTORS: usize = 64;

/// Soaks a fleet of environment servers.
#[derive(Debug, Parser)]
#[command(name = "fleet")]
struct FleetArgs {
    /// A corpus, as `factory generate` makes one.
    corpus: Utf8PathBuf,
    /// How long clients play.
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// Episodes at a time.
    #[arg(long, default_value_t = 64)]
    clients: usize,
    /// Servers; the last of them is killed in the middle.
    #[arg(long, default_value_t = 2)]
    servers: usize,
    /// Also write the figures to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<Utf8PathBuf>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Memory and descriptors of a process over time.
#[derive(Debug, serde::Serialize)]
struct ProcessTrack {
    name: String,
    /// Seconds since the process began, MiB of memory without a file, descriptors.
    samples: Vec<(f64, f64, usize)>,
    #[serde(skip)]
    began: Instant,
}

impl ProcessTrack {
    fn new(name: String) -> Self {
        Self { name, samples: Vec::new(), began: Instant::now() }
    }

    fn sample(&mut self, pid: u32) {
        if let (Some(memory), Some(open)) = (anonymous_memory(pid), descriptors(pid)) {
            let at = self.began.elapsed().as_secs_f64();
            self.samples.push((at, memory as f64 / MIB, open));
        }
    }

    /// After a fifth of its time and at the end: the medians of a tenth of the samples each.
    fn ends(&self) -> [(f64, usize); 2] {
        let count = self.samples.len();
        let tenth = (count / 10).max(1);
        [count / 5, count.saturating_sub(tenth)].map(|from| {
            let part = &self.samples[from.min(count)..(from + tenth).min(count)];
            let mut memory: Vec<f64> = part.iter().map(|(_, memory, _)| *memory).collect();
            let mut open: Vec<usize> = part.iter().map(|(_, _, open)| *open).collect();
            memory.sort_by(f64::total_cmp);
            open.sort_unstable();
            let middle = part.len() / 2;
            (
                memory.get(middle).copied().unwrap_or(f64::NAN),
                open.get(middle).copied().unwrap_or(0),
            )
        })
    }
}

fn main() -> ExitCode {
    match soak(&FleetArgs::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(corpus: &Utf8Path, records: &Utf8Path, listen: &str, clients: usize) -> ServedTasks {
    let places = (2 * clients).to_string();
    let flags = [
        ["--step-limit", "30s"],
        ["--answer-limit", "120s"],
        ["--reveal", "score"],
        ["--max-episodes", places.as_str()],
        ["--episodes-per-task", "1000000000"],
        ["--drain-limit", "30s"],
    ];
    ServedTasks::start(corpus, records, listen, flags.as_flattened())
}

/// True if all is well.
fn soak(args: &FleetArgs) -> Result<bool> {
    ensure!(args.servers >= 2, "`--servers` must be at least 2: one of them is killed");
    ensure!(args.clients > 0, "`--clients` must be at least 1");
    let time = Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes")?;
    ensure!(
        time > 4 * GONE,
        "`--minutes` must be more than {:.1}",
        4.0 * GONE.as_secs_f64() / 60.0
    );
    let corpus = args.corpus.canonicalize_utf8().context("the corpus is not there")?;
    let folder = tempfile::tempdir()?;
    let folder = Utf8Path::from_path(folder.path()).context("a path that is no text")?;
    let records = |name: String| folder.join(name);
    let mut servers: Vec<ServedTasks> = (0..args.servers)
        .map(|index| start(&corpus, &records(index.to_string()), "127.0.0.1:0", args.clients))
        .collect();
    let urls: Vec<String> = servers.iter().map(ServedTasks::url).collect();
    let addresses = ServerAddress::parse_list(&urls.join(","))?;
    let fleet = Fleet::connect(addresses, FleetOptions::default())?;
    let tasks = Collection::open(&corpus, &Opening::default())?;
    let mut rules = EpisodeRules::default();
    rules.episode.policy.time_limit = Span::seconds(30);
    let world = RemoteWorld { fleet: &fleet, tasks: tasks.tasks(), rules: &rules };
    world.check()?;

    let (tally, over) = (Tally::default(), AtomicBool::new(false));
    let mut tracks: Vec<ProcessTrack> =
        (0..args.servers).map(|index| ProcessTrack::new(format!("server {index}"))).collect();
    tracks.push(ProcessTrack::new("clients".to_owned()));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..args.clients {
            let (tally, over) = (&tally, &over);
            scope.spawn(move || play(&world, client, tally, over));
        }
        let (mut killed, mut restarted) = (None, false);
        while began.elapsed() < time {
            std::thread::sleep(EVERY);
            for (track, server) in tracks.iter_mut().zip(&servers) {
                track.sample(server.pid());
            }
            tracks[args.servers].sample(std::process::id());
            if killed.is_none() && began.elapsed() >= time / 2 {
                servers[args.servers - 1].kill();
                println!(
                    "{:4.0} s: killed server {}",
                    began.elapsed().as_secs_f64(),
                    args.servers - 1
                );
                killed = Some(Instant::now());
            }
            if !restarted && killed.is_some_and(|killed: Instant| killed.elapsed() >= GONE) {
                let address = servers[args.servers - 1].address.clone();
                let again = records("again".to_owned());
                servers[args.servers - 1] = start(&corpus, &again, &address, args.clients);
                // Its memory is another process's.
                let before = std::mem::replace(
                    &mut tracks[args.servers - 1],
                    ProcessTrack::new(format!("server {}, again", args.servers - 1)),
                );
                tracks.push(before);
                println!("{:4.0} s: started it again", began.elapsed().as_secs_f64());
                restarted = true;
            }
        }
        over.store(true, Ordering::SeqCst);
    });
    let seconds = began.elapsed().as_secs_f64();
    report(args, &fleet, &tally, &tracks, seconds)
}

/// Prints what was found; true if all is well.
fn report(
    args: &FleetArgs,
    fleet: &Fleet,
    tally: &Tally,
    tracks: &[ProcessTrack],
    seconds: f64,
) -> Result<bool> {
    let usage = fleet.usage();
    let (played, faults, differences) = tally.counts();
    println!();
    println!(
        "| clients | servers | minutes | episodes | a second | lost | redone | errors | other rewards |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    println!(
        "| {} | {} | {:.1} | {played} | {:.1} | {} | {} | {faults} | {differences} |",
        args.clients,
        args.servers,
        seconds / 60.0,
        played as f64 / seconds,
        usage.lost,
        usage.redone,
    );
    println!();
    println!(
        "| process | memory after a fifth, MiB | at the end, MiB | descriptors | at the end |"
    );
    println!("| --- | --- | --- | --- | --- |");
    let mut failures = Vec::new();
    for track in tracks {
        let [(early, open_early), (late, open_late)] = track.ends();
        println!("| {} | {early:.1} | {late:.1} | {open_early} | {open_late} |", track.name);
        if exceeds(late - early, GROWTH) {
            failures.push(format!("memory of {}: {early:.1} MiB, then {late:.1}", track.name));
        }
        if open_late > open_early + DESCRIPTORS {
            failures.push(format!("descriptors of {}: {open_early}, then {open_late}", track.name));
        }
    }
    println!();
    for (what, count) in [("episodes failed", faults), ("rewards differed", differences)] {
        if count > 0 {
            failures.push(format!("{count} {what}"));
        }
    }
    failures.extend(tally.first_faults());
    if usage.lost == 0 {
        failures.push("no episode was on the server that was killed".to_owned());
    }
    if usage.redone > usage.lost || usage.redone + faults < usage.lost {
        failures.push(format!("{} episodes were lost, {} redone", usage.lost, usage.redone));
    }
    for failure in &failures {
        println!("NOT WELL: {failure}");
    }
    if let Some(path) = &args.json {
        tasks::files::write_json(path, &tracks)?;
    }
    Ok(failures.is_empty())
}
