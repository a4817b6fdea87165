//! What the largest malformed and valid submissions cost, and what 64 sessions cost together.
//!
//! `cargo bench -p sandbox --bench grading [-- MIB [all]]`. Each shape is written to a file of
//! `MIB` MiB (64) for a task of each kind and for six competitions, with `all` for every metric
//! and every competition; then valid submissions of that size, by metric; then 64 threads grade
//! such files at once, as sessions do. Memory is to the byte, the file's own
//! bytes counted in; time is the processor's.

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

#[path = "../tests/bounds/meter.rs"]
mod meter;
#[path = "../tests/bounds/sessions.rs"]
mod sessions;
#[path = "../tests/bounds/shapes.rs"]
mod shapes;
#[path = "../tests/bounds/targets.rs"]
mod targets;

use meter::{Cost, measure};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use targets::GradingTarget;

const SESSIONS: usize = 64;

/// The most of a number of grades, and where.
#[derive(Default)]
struct Worst {
    count: usize,
    /// How many took more than a session sets aside.
    over: usize,
    whole: Duration,
    memory: (usize, String),
    time: (Duration, String),
}

impl Worst {
    fn add(&mut self, name: &str, file: usize, allowance: usize, cost: Cost) {
        self.count += 1;
        self.over += usize::from(cost.memory + file > 4 * file + allowance);
        self.whole += cost.time;
        if cost.memory + file > self.memory.0 {
            self.memory = (cost.memory + file, name.to_owned());
        }
        if cost.time > self.time.0 {
            self.time = (cost.time, name.to_owned());
        }
    }

    fn print(&self, what: &str) {
        let mean = self.whole.as_secs_f64() / self.count.max(1) as f64;
        println!(
            "{what}: {} grades, {mean:.3} s each; {} took more than was set aside",
            self.count, self.over
        );
        println!("  most time   {:.3} s: {}", self.time.0.as_secs_f64(), self.time.1);
        println!("  most memory {:.1} MiB: {}", mib(self.memory.0), self.memory.1);
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn main() {
    // Cargo passes `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let size = words.first().map_or(64, |word| word.parse().unwrap()) << 20;
    let all = words.get(1).is_some_and(|word| word == "all");
    together(size);
    valid(size);
    malformed(size, all);
}

fn malformed(size: usize, all: bool) {
    let mut targets = targets::tasks();
    let mut kinds = BTreeSet::new();
    targets
        .retain(|target| all || kinds.insert(target.name.split(" of ").nth(1).map(str::to_owned)));
    let competitions = targets::competitions(size).into_iter().enumerate();
    let competitions = competitions.filter(|(index, _)| all || index % 4 == 0);
    targets.extend(competitions.map(|(_, target)| target));
    let mut worst = Worst::default();
    let mut count = 0;
    for shape in shapes::all() {
        count += 1;
        for target in &targets {
            let file = shape.write(target, size);
            let (_, cost) = measure(|| (target.grade)(&file));
            worst.add(
                &format!("{}, {}", target.name, shape.name()),
                file.len(),
                target.allowance,
                cost,
            );
        }
    }
    worst.print(&format!("malformed, {count} shapes to {} tasks", targets.len()));
}

fn valid(size: usize) {
    let mut worst = Worst::default();
    for (metric, kind) in targets::pairs() {
        let mut target: GradingTarget = targets::large(metric, kind, size * 15 / 16);
        let file = target.valid();
        target.rows = Vec::new();
        let (graded, cost) = measure(|| (target.grade)(&file));
        let score = graded.unwrap();
        let name = format!("{}, {:.1} MiB, scored {score:.4}", target.name, mib(file.len()));
        println!(
            "  {:.3} s {:6.1} MiB {name}",
            cost.time.as_secs_f64(),
            mib(cost.memory + file.len())
        );
        worst.add(&name, file.len(), target.allowance, cost);
    }
    worst.print("valid");
}

/// 64 threads that do as a session does with its submission.
fn together(size: usize) {
    let started = Instant::now();
    let cost = sessions::grade_at_once(SESSIONS, size);
    println!(
        "{SESSIONS} sessions at once: {:.1} MiB at most, all graded in {:.2} s; resident at most {}",
        mib(cost.memory),
        started.elapsed().as_secs_f64(),
        resident()
    );
}

/// The kernel's word for the most memory that this process has had.
fn resident() -> String {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().to_owned()
}
