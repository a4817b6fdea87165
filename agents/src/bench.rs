//! `agents eval` and `agents bench check`: benchmarks.

use crate::cli::{BenchCheckArgs, EvalArgs};
use crate::players::Players;
use crate::{INCOMPLETE, INTERRUPTED, complain, say};
use agents::preset::Preset;
use agents::search::player::Player;
use agents::search::python::PythonFacts;
use agents::search::stop::SearchStop;
use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use evals::bench::mlebench_files;
use evals::bench::outcome::{BenchOutcome, BenchRun};
use evals::bench::runner::{Bench, BenchProgress, BenchRest, PlayerError, PlayerSource};
use evals::bench::suite::{
    BenchName, BenchTasksError, CompetitionState, Selection, check_lite, open,
};
use evals::bench::summary::BenchTable;
use evals::report::{LeaderboardPage, LeaderboardTable};
use fs_err as fs;
use indicatif::{ProgressBar, ProgressStyle};
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::process::ExitCode;
use tasks::files;
use tasks::metrics::Direction;
use tasks::task::{DataSource, Opening, Task, TaskId};

/// Where the data of MLE-bench is, in the order in which it is looked for.
fn data_folder(given: Option<&Utf8PathBuf>) -> Result<Utf8PathBuf> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    if let Ok(folder) = std::env::var("MLE_BENCH_DATA") {
        return Ok(folder.into());
    }
    let cache = std::env::var("XDG_CACHE_HOME").map(Utf8PathBuf::from);
    let home = std::env::var("HOME").map(|home| Utf8PathBuf::from(home).join(".cache"));
    let cache = cache.or(home).context("name the folder with the data: `--data DIR`")?;
    Ok(cache.join("mle-bench/data"))
}

/// What to do about competitions that are not there.
fn hints(data: &Utf8Path, ready: usize, all: usize) {
    complain(&format!(
        "hint: with a Kaggle account: accept each competition's rules on its page, put the key into \
         ~/.kaggle/kaggle.json, then `mlebench prepare --lite --data-dir {data}` (about 158 GB); \
         some competitions no longer accept new entrants"
    ));
    complain(
        "hint: without: `factory standin --out DIR` makes small invented stand-ins; they test this \
         program, not a model",
    );
    if ready > 0 {
        complain(&format!(
            "hint: `--only prepared` plays the {ready} that are there; the report will say \
             {ready} of {all}"
        ));
    }
}

pub(crate) fn check(args: &BenchCheckArgs) -> Result<ExitCode> {
    let data = data_folder(args.data.as_ref())?;
    let opening = Opening { checkout: args.mlebench.clone() };
    let checks = check_lite(&data, &opening);
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or(0);
    let mut ready = 0;
    for check in &checks {
        let state = match &check.state {
            CompetitionState::Missing => "missing".to_owned(),
            CompetitionState::Broken { why } => format!("broken: {why}"),
            CompetitionState::Ready { data, bytes } => {
                ready += 1;
                let kind = match data {
                    DataSource::StandIn => "stand-in",
                    DataSource::Real | DataSource::Synthetic => "real data",
                };
                format!("ready, {kind}, {:.1} MiB public", *bytes as f64 / f64::from(1 << 20))
            }
        };
        say(&format!("{:width$}  {state}", check.id));
    }
    let all = checks.len();
    say(&format!("{ready} of {all} competitions can be played from `{data}`"));
    if ready == all {
        return Ok(ExitCode::SUCCESS);
    }
    hints(&data, ready, all);
    Ok(ExitCode::from(INCOMPLETE))
}

pub(crate) fn eval(args: &EvalArgs, stop: &SearchStop) -> Result<ExitCode> {
    let preset = Preset::load(&args.preset, &args.settings)?;
    let opening = Opening { checkout: args.mlebench.clone() };
    let bench = match args.bench {
        crate::cli::BenchArg::MlebenchLite => BenchName::MlebenchLite,
        crate::cli::BenchArg::Synthetic => BenchName::Synthetic,
    };
    let data = match bench {
        BenchName::MlebenchLite => data_folder(args.data.as_ref())?,
        BenchName::Synthetic => args
            .data
            .clone()
            .context("name the corpus: `--data DIR`; `factory generate` makes one")?,
    };
    let selection = match args.only.as_deref() {
        None => Selection::All,
        Some([one]) if one == "prepared" => Selection::Prepared,
        Some([one]) if Utf8Path::new(one).is_file() => Selection::Only(
            fs::read_to_string(one)?.split_whitespace().map(str::to_owned).collect(),
        ),
        Some(names) => Selection::Only(names.to_vec()),
    };
    let (field, tasks) = match open(bench, &data, &opening, &selection) {
        Ok(opened) => opened,
        Err(error @ BenchTasksError::NotPrepared { .. }) => {
            complain(&format!("error: {error}"));
            if let BenchTasksError::NotPrepared { missing, all, .. } = &error {
                hints(
                    &data,
                    if selection == Selection::All { all - missing.len() } else { 0 },
                    *all,
                );
            }
            return Ok(ExitCode::from(INCOMPLETE));
        }
        Err(error) => return Err(error.into()),
    };
    let workers = preset.search.workers.max(1) as usize;
    let options = SandboxOptions { slots: args.jobs * workers, ..SandboxOptions::default() };
    let count = tasks.tasks().len();
    let suite = TaskSuite::start(tasks, options)?;
    let players = Players::open(&args.model, &args.out)?;
    let agent = format!("{}/{}", preset.scaffold, players.name());
    let python = PythonFacts::ask(suite.sandbox())?;
    let bar = Bar::new(count as u64 * args.seeds)?;
    let rests = Bench {
        suite: &suite,
        preset: &preset,
        agent: &agent,
        players: &players,
        price: players.price(),
        python: &python,
        out: &args.out,
        seeds: args.seeds,
        jobs: args.jobs,
        stop,
        progress: &bar,
    }
    .play();
    bar.0.finish_and_clear();
    let rests = rests?;
    let mut runs: Vec<BenchRun> = Vec::new();
    let mut paused = Vec::new();
    for (task, seed, rest) in rests {
        match rest {
            BenchRest::Over(run) => runs.push(*run),
            BenchRest::Paused { why } => paused.push(format!("{task}, seed {seed}: {why}")),
        }
    }
    let faults =
        runs.iter().filter(|run| matches!(run.outcome, BenchOutcome::Fault { .. })).count();
    files::write_json(&args.out.join("runs.json"), &runs)?;
    if !runs.is_empty() {
        report(&field, &runs, &args.out)?;
    }
    complain(&format!("the runs are in `{}`{}", args.out.join("runs"), players.spent()));
    if let Some(first) = paused.first() {
        complain(&format!("{} runs can go on ({first}); the same command does", paused.len()));
    }
    Ok(if stop.is_asked() {
        ExitCode::from(INTERRUPTED)
    } else if !paused.is_empty() || faults > 0 {
        ExitCode::from(INCOMPLETE)
    } else {
        ExitCode::SUCCESS
    })
}

/// Prints the table of the runs, and writes page and files.
fn report(
    field: &evals::bench::summary::BenchField,
    runs: &[BenchRun],
    out: &Utf8Path,
) -> Result<()> {
    let table = BenchTable::from_runs(field, runs, false)?;
    say(table.to_string().trim_end());
    let page = LeaderboardPage {
        title: format!("Leaderboard of {}", field.name),
        conditions: Vec::new(),
        tables: vec![LeaderboardTable {
            table: table.clone(),
            run_page: |_| None,
            paper: Vec::new(),
        }],
    };
    files::write_atomic(&out.join("leaderboard.html"), page.html().as_bytes())?;
    if field.name == BenchName::MlebenchLite.to_string() {
        mlebench_files::write(out, &table)?;
    }
    complain(&format!("the leaderboard is `{}`", out.join("leaderboard.html")));
    Ok(())
}

impl PlayerSource for Players {
    fn player(
        &self,
        task: &Task,
        direction: Direction,
        seed: u64,
    ) -> Result<Box<dyn Player>, PlayerError> {
        Players::player(self, task, direction, seed).map_err(Into::into)
    }
}

struct Bar(ProgressBar);

impl Bar {
    fn new(runs: u64) -> Result<Self> {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs {elapsed} {msg}")
            .context("a template")?;
        Ok(Self(ProgressBar::new(runs).with_style(style)))
    }
}

impl BenchProgress for Bar {
    fn rest(&self, task: &TaskId, seed: u64, rest: &BenchRest) {
        self.0.inc(1);
        let how = match rest {
            BenchRest::Over(run) => match &run.outcome {
                BenchOutcome::Graded(graded) => match graded.score {
                    Some(score) => format!("score {score:.5}"),
                    None => "no valid submission".to_owned(),
                },
                BenchOutcome::Fault { why } => format!("fault: {why}"),
            },
            BenchRest::Paused { why } => format!("paused: {why}"),
        };
        self.0.set_message(format!("{task} seed {seed}: {how}"));
    }
}
