//! Verified tasks per second and core, by kind of task, beside what a table of the same shape
//! with the same four baselines costs in Python with scikit-learn, in one run.
//!
//! `cargo bench -p factory --bench throughput [-- TASKS [CELL]]`. Both sides use one thread and
//! take turns, so that a noisy machine disturbs them alike. The Python side draws a table and fits
//! baselines; ours also renders and reads items, writes files, verifies and builds everything a
//! second time. Cells of scenes have no table and stand alone.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use anyhow::{Context as _, Result};
use camino::Utf8Path;
use factory::baselines::{features, thresholds};
use factory::data::assets::Assets;
use factory::package::Draft;
use factory::page;
use factory::roles::{Brief, RoleBackend, TaskFacts, TaskPage, operator, strategist};
use factory::spec::blueprint::{Blueprint, Origin};
use factory::spec::config::{Options, Preset};
use factory::spec::levels::Levels;
use factory::spec::limits::RoleLimits;
use factory::spec::mix::Cell;
use factory::spec::plan::{self, Slot};
use factory::spec::role_settings::RoleSettings;
use factory::spec::scenario::{self, Scenario};
use factory::spec::seed::Seed;
use factory::spec::seed_set::{MLEBENCH, SeedSet};
use factory::verify::{self, Rebuild};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Tasks per cell, unless told otherwise.
const TASKS: usize = 4;

/// Where an attempt's time goes.
const STAGES: [&str; 5] = ["strategy", "assets", "ladder", "verify", "rebuild"];

fn main() -> Result<()> {
    // Cargo passes `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let count = words.first().map_or(Ok(TASKS), |word| word.parse()).context("TASKS")?;
    let cells = match words.get(1) {
        Some(cell) => vec![cell.parse()?],
        None => Cell::all(),
    };
    let mut python = Python::start()?;
    let seeds = SeedSet::resolve(MLEBENCH)?;
    let stories = scenario::all()?;
    let work = tempfile::tempdir()?;
    let work = Utf8Path::from_path(work.path()).context("a folder with a name in UTF-8")?;
    println!("{count} tasks a cell; milliseconds an attempt by stage, one thread\n");
    print!("{:26} {:>8} {:>8}", "cell", "accepted", "tasks/s");
    for stage in STAGES {
        print!(" {stage:>8}");
    }
    println!(" {:>8} {:>12}", "sum", "scikit-learn");
    for cell in cells {
        let request = Options {
            seeds: MLEBENCH.to_owned(),
            count,
            val_count: Some(0),
            out: work.to_owned(),
            seed: 0,
            jobs: 1,
            concurrency: 1,
            carry_on: false,
            modalities: Vec::new(),
            formulations: Vec::new(),
            shares: vec![format!("{cell}=1")],
            preset: Preset::Large,
            levels: Vec::new(),
            limits: RoleLimits::default(),
            roles: RoleSettings::default(),
            shard: None,
        }
        .check(seeds.fingerprint(), &scenario::domains(&stories))?;
        let plan = plan::plan(&request, seeds.seeds(), &stories)?;
        let mut total = Total::default();
        for slot in &plan.slots {
            let story = &stories[slot.scenario];
            total.fill(slot, &seeds.seeds()[slot.seed], story, work, &mut python)?;
        }
        println!("{}", total.line(cell));
    }
    Ok(())
}

/// What a cell's slots took.
#[derive(Default)]
struct Total {
    attempts: usize,
    accepted: usize,
    /// Seconds by stage.
    stages: [f64; STAGES.len()],
    /// Seconds in Python, and for how many attempts.
    python: (f64, usize),
}

impl Total {
    /// Attempts a slot as `factory generate` does.
    fn fill(
        &mut self,
        slot: &Slot,
        seed: &Seed,
        story: &Scenario,
        work: &Utf8Path,
        python: &mut Python,
    ) -> Result<()> {
        for attempt in 0..RoleLimits::default().attempts {
            self.attempts += 1;
            let origin = Origin { corpus_seed: 0, slot: slot.index, attempt };
            let (preset, levels) = (Preset::Large, Levels::default());
            let brief = Brief { slot, seed, scenario: story, origin, preset, levels };
            let Ok(blueprint) = self.timed(0, || strategist::strategise(&brief)) else { continue };
            let assets = self.timed(1, || blueprint.kind().render(&blueprint, None))?;
            if !blueprint.targets.is_empty() {
                self.python.0 += python.seconds(&blueprint, &assets)?;
                self.python.1 += 1;
            }
            let Ok(ladder) = self.timed(2, || blueprint.kind().fit_baselines(&blueprint, &assets))
            else {
                continue;
            };
            let thresholds = thresholds::from_ladder(&ladder.baselines, blueprint.medals());
            let evaluator = operator::evaluator(&blueprint);
            let text = page::builtin(&blueprint, story, &assets);
            let page = TaskPage { text, prose: None };
            let facts = TaskFacts { generated: None, blueprint, assets, ladder, thresholds };
            let draft = Draft::new(facts, evaluator, page, RoleBackend::Builtin)?;
            let Ok(task) = self.timed(3, || verify::verify(draft, work)) else { continue };
            self.timed(4, || verify::rebuilds(task.get(), story, Rebuild::Data))?;
            self.accepted += 1;
            break;
        }
        Ok(())
    }

    /// Does something and adds its time to a stage.
    fn timed<T>(&mut self, stage: usize, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        self.stages[stage] += started.elapsed().as_secs_f64();
        result
    }

    fn line(&self, cell: Cell) -> String {
        let whole: f64 = self.stages.iter().sum();
        let attempts = self.attempts.max(1) as f64;
        let stages = self.stages.iter().map(|stage| format!(" {:8.1}", 1e3 * stage / attempts));
        let python = match self.python {
            (_, 0) => String::from("–"),
            (seconds, count) => format!("{:.1}", 1e3 * seconds / count as f64),
        };
        format!(
            "{:26} {:>4}/{:<3} {:8.2}{} {:8.1} {python:>12}",
            cell.to_string(),
            self.accepted,
            self.attempts,
            self.accepted as f64 / whole,
            stages.collect::<String>(),
            1e3 * whole / attempts,
        )
    }
}

/// A Python that draws tables and fits baselines.
struct Python {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Python {
    fn start() -> Result<Self> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let python = std::env::var("MLE_PYTHON").unwrap_or(format!("{root}/.venv/bin/python"));
        let mut child = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/baselines.py"))
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start Python; `make venv` sets one up")?;
        let stdin = child.stdin.take().context("no pipe")?;
        let stdout = BufReader::new(child.stdout.take().context("no pipe")?);
        Ok(Self { child, stdin, stdout })
    }

    /// Seconds for a table of the shape that the task's forest sees.
    fn seconds(&mut self, blueprint: &Blueprint, assets: &Assets) -> Result<f64> {
        let request = json!({
            "train": blueprint.rows.train,
            "test": blueprint.rows.test,
            "columns": features::generic(assets).train.ncols(),
            "classes": blueprint.targets.first().map_or(0, |target| target.classes.len()),
            "targets": blueprint.targets.len(),
        });
        writeln!(self.stdin, "{request}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        line.trim().parse().context("Python gave no answer")
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It ends with its input; a script that hangs is not waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
