//! A soak of `rl train`: an hour of steps, watched from outside, and then Ctrl-C.
//!
//! ```text
//! cargo build --release -p sandbox
//! cargo bench -p rl --bench soak -- --minutes 60 -- --model SFT --tasks CORPUS --out RUN
//! ```
//! What stands behind the second `--` goes to `rl train`. Memory, descriptors, threads and
//! processes must not grow, every episode must be accounted for in the metrics and, unless it
//! broke, be on disk, and after Ctrl-C nothing may be left. Exit codes: 0 all is well, 1 it is
//! not, 2 wrong usage.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it finds")]

use anyhow::{Context as _, Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use fs_err as fs;
use serde_json::Value;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use support::process::{self, Process};
use support::trend::{exceeds, slope};

const MIB: f64 = 1024.0 * 1024.0;
/// How long the run may take to save and stop, and its processes to go.
const LEAVING: Duration = Duration::from_mins(5);

/// Soaks `rl train` and looks at what grows.
#[derive(Debug, Parser)]
#[command(name = "soak")]
struct TrainSoakArgs {
    /// How long it trains.
    #[arg(long, default_value_t = 60.0)]
    minutes: f64,
    /// Also write every sample to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<Utf8PathBuf>,
    /// For `rl train`; `--out` must be among them, and a number of steps that is never reached.
    #[arg(last = true, required = true)]
    train: Vec<String>,
}

/// Into how many parts the time is divided. Of each, the lowest tenth is looked at: what comes and
/// goes with episodes, like their folders and control groups, is not what stays.
const PARTS: usize = 20;
/// What is measured, how much more it may be at the end than after a fifth of the time, and how
/// much it may rise an hour over the second half. Allocators keep what the largest step needed, and
/// steps differ.
const QUANTITIES: [(&str, f64, f64); 5] = [
    ("memory of the trainer without files, MiB", 48.0, 48.0),
    ("memory below it, MiB", 512.0, 512.0),
    ("descriptors of the trainer", 4.0, 4.0),
    ("threads of the trainer", 4.0, 4.0),
    ("processes below it", 4.0, 4.0),
];

/// Minutes from which slopes are judged. Below, a part has so few steps in it that what they happen
/// to run, and no leak, decides: half an hour gave slopes of either sign.
const SLOPES_FROM: f64 = 45.0;

/// One moment: minutes since the start, and a value for each quantity.
type MemorySample = (f64, [f64; 5]);

fn main() -> ExitCode {
    // Cargo says `--bench` to every benchmark, behind whatever else it is told.
    let arguments = std::env::args().filter(|argument| argument != "--bench");
    match soak(&TrainSoakArgs::parse_from(arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True if all is well.
fn soak(args: &TrainSoakArgs) -> Result<bool> {
    let time = Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes")?;
    let out = args.train.iter().skip_while(|argument| *argument != "--out").nth(1);
    let out = Utf8PathBuf::from(out.context("name the run's folder with `--out` behind `--`")?);
    ensure!(out.is_absolute(), "cargo runs benchmarks elsewhere: `--out` must be absolute");
    let said = out.with_extension("log");
    let log = fs::File::create(&said)?;
    let mut child = Command::new(env!("CARGO_BIN_EXE_rl"))
        .arg("train")
        .args(&args.train)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log.into_parts().0)
        .spawn()
        .context("failed to start `rl train`")?;
    let watched = watch(&mut child, time).and_then(|samples| {
        let below = Process::tree(child.id());
        Ok((samples, stop(&mut child, &below)?))
    });
    if watched.is_err() {
        // Nobody else would end it. What it started dies with it.
        child.kill()?;
        child.wait()?;
    }
    let (samples, mut failures) =
        watched.with_context(|| format!("what it said is in `{said}`"))?;
    let (steps, episodes) = accounts(&out, &mut failures)?;

    println!("{steps} steps, {episodes} episodes in {:.0} minutes", args.minutes);
    println!("| measure | after a fifth | at the end | most | an hour, second half |");
    println!("| --- | --- | --- | --- | --- |");
    for (index, (name, growth, steepest)) in QUANTITIES.into_iter().enumerate() {
        let values = samples.iter().map(|(at, all)| (*at, all[index]));
        let floor: Vec<(f64, f64)> = (0..PARTS)
            .map(|part| {
                let (from, to) = (part as f64, part as f64 + 1.0);
                let scale = args.minutes / PARTS as f64;
                let inside = values.clone().filter(|(at, _)| (from..to).contains(&(at / scale)));
                ((from + 0.5) * scale, lowest_tenth(inside.map(|(_, value)| value)))
            })
            .collect();
        let (early, late) = (floor[PARTS / 5].1, floor[PARTS - 1].1);
        let most = values.map(|(_, value)| value).fold(f64::NAN, f64::max);
        let rise = 60.0 * slope(&floor[PARTS / 2..]);
        println!("| {name} | {early:.1} | {late:.1} | {most:.1} | {rise:+.1} |");
        if exceeds(late - early, growth) {
            failures.push(format!("{name}: {early:.1}, then {late:.1}"));
        }
        if args.minutes >= SLOPES_FROM && exceeds(rise, steepest) {
            failures.push(format!("{name}: {rise:+.1} an hour"));
        }
    }
    for failure in &failures {
        println!("NOT WELL: {failure}");
    }
    if let Some(path) = &args.json {
        let lines: Vec<Value> =
            samples.iter().map(|(at, all)| serde_json::json!([at, all])).collect();
        tasks::files::write_json(path, &lines)?;
    }
    Ok(failures.is_empty())
}

/// Samples every few seconds for as long as `time` says.
fn watch(child: &mut Child, time: Duration) -> Result<Vec<MemorySample>> {
    let (began, every) = (Instant::now(), Duration::from_secs(5));
    let mut samples: Vec<MemorySample> = Vec::new();
    while began.elapsed() < time {
        std::thread::sleep(every);
        if let Some(status) = child.try_wait()? {
            bail!("`rl train` ended after {:.1} minutes ({status})", minutes(began));
        }
        let pid = child.id();
        let tree = Process::tree(pid);
        let below = tree.iter().filter(|process| process.pid != pid);
        let below_memory: u64 =
            below.clone().filter_map(|process| process::proportional_memory(process.pid)).sum();
        let threads = fs::read_dir(format!("/proc/{pid}/task"))?.count();
        let sample = [
            process::anonymous_memory(pid).unwrap_or_default() as f64 / MIB,
            below_memory as f64 / MIB,
            process::descriptors(pid).unwrap_or_default() as f64,
            threads as f64,
            below.count() as f64,
        ];
        samples.push((minutes(began), sample));
        if samples.len().is_multiple_of(60) {
            eprintln!("{:.0} min: {sample:.0?}", minutes(began));
        }
    }
    Ok(samples)
}

/// Asks it to stop, and says what it left.
fn stop(child: &mut Child, tree: &[Process]) -> Result<Vec<String>> {
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    ensure!(asked.success(), "`kill` failed");
    let mut failures = Vec::new();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        ensure!(began.elapsed() < LEAVING, "it did not stop within {LEAVING:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    if status.code() != Some(130) {
        failures.push(format!("it ended with {status}, and not with 130"));
    }
    std::thread::sleep(Duration::from_secs(1));
    let left = tree.iter().filter(|process| process.is_there());
    failures.extend(left.map(|process| format!("{process:?} outlived it")));
    Ok(failures)
}

/// Compares the metrics with themselves and with the episodes on disk; returns how many steps and
/// episodes there were.
fn accounts(run: &Utf8Path, failures: &mut Vec<String>) -> Result<(u64, u64)> {
    let (mut steps, mut episodes) = (0, 0);
    for line in fs::read_to_string(run.join("metrics.jsonl"))?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let Some(played) = line["played"].as_u64() else { continue };
        let step = line["step"].as_u64().context("a line has a step")?;
        let count = |name: &str| line[name].as_u64().unwrap_or_default();
        let dropped = count("dropped");
        let parts = ["trained", "zero_advantage", "masked_time_limit", "masked_length"];
        let sum = parts.map(count).iter().sum::<u64>() + count("masked_turn_limit") + dropped;
        let file = run.join(format!("episodes/step-{step:06}.jsonl"));
        let stored = fs::read_to_string(&file)?.lines().count() as u64;
        if sum != played || stored + dropped != played {
            failures.push(format!(
                "step {step}: {played} played, {sum} accounted for, {stored} stored, {dropped} dropped"
            ));
        }
        steps += 1;
        episodes += played;
    }
    Ok((steps, episodes))
}

fn minutes(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() / 60.0
}

/// The value that a tenth are below; NaN of nothing.
fn lowest_tenth(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 10).copied().unwrap_or(f64::NAN)
}
