//! `factory`: makes, verifies and shows corpora of tasks.

mod bar;
mod cli;
mod models;

use anyhow::{Context, Result, bail};
use bar::Bar;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use cli::{
    Anchors, Calibrate, CallsCommand, Cli, Command, ExportFormat, Generate, Inspect, ModelsCommand,
    Rate, StandIns, StatsGroup, Verify,
};
use evals::calibration::{self, CalibrationSettings};
use evals::rating::{self, Rated, RatingProgress};
use factory::anchors::{self, AnchorError, AnchorSettings};
use factory::corpus::export;
use factory::corpus::folder::{self, CorpusError, Record};
use factory::corpus::pipeline::{self, PipelineError};
use factory::generator::GeneratorJail;
use factory::roles::{Builtin, Roles};
use factory::show::gallery::{self, GalleryError};
use factory::spec::role_settings::RoleSettings;
use factory::spec::seed::SeedError;
use factory::standin::{self, StandInSettings};
use factory::verify::run;
use indicatif::{ProgressBar, ProgressStyle};
use models::ModelsFile;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tasks::task::{Corpus, Manifest, TaskDir, TaskError};
use tracing_subscriber::EnvFilter;

/// Something went wrong; the message says what.
const FAILED: u8 = 1;
/// Flags that make no sense, alone or together.
const USAGE: u8 = 2;
/// Some slots stayed empty, or some tasks failed verification.
const INCOMPLETE: u8 = 3;
/// Stopped by a signal; the same command continues.
const INTERRUPTED: u8 = 130;
/// The file of a corpus with what `generate --inspect` shows.
const PREVIEW: &str = "gallery.html";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
    let result = match cli.command {
        Command::Generate(flags) => generate(&flags),
        Command::Verify(flags) => verify(&flags),
        Command::Inspect(flags) => inspect(&flags),
        Command::Calibrate(flags) => calibrate(&flags),
        Command::Rate(flags) => rate(&flags),
        Command::Stats { dir, json, anchors: Some(anchors), .. } => compare(&dir, &anchors, json),
        Command::Stats { dir, json, html, by, anchors: None } => {
            stats(&dir, json, html.as_deref(), by)
        }
        Command::Models(ModelsCommand::Check { names, files }) => check_models(&names, &files),
        Command::Calls(CallsCommand::Export { dir, file }) => export_calls(&dir, &file),
        Command::Merge { out, shards } => merge(&out, &shards),
        Command::Export { dir, format, answers, out } => export(&dir, format, answers, &out),
        Command::Standin(flags) => stand_ins(&flags),
        Command::Anchors(flags) => make_anchors(&flags),
    };
    result.unwrap_or_else(|error| {
        complain(&format!("error: {error:#}"));
        ExitCode::from(if is_usage(&error) { USAGE } else { FAILED })
    })
}

/// Flags that `clap` accepts and that make no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(&'static str);

/// Whether an error is one of flags, not of the world.
fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let flags = matches!(
            cause.downcast_ref(),
            Some(
                PipelineError::Options(_)
                    | PipelineError::Plan(_)
                    | PipelineError::Seed(SeedError::Unknown { .. } | SeedError::EvaluationOnly(_))
            )
        );
        let filters = matches!(
            cause.downcast_ref(),
            Some(GalleryError::Filter(_) | GalleryError::NothingChosen(_))
        );
        let names = matches!(cause.downcast_ref(), Some(AnchorError::Unknown { .. }));
        flags || filters || names || cause.is::<UsageError>()
    })
}

/// A flag that the first signal sets; the second ends the process at once, by which nothing is
/// lost either.
fn stop_on_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(INTERRUPTED),
            Arc::clone(&stop),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
        .context("failed to listen for signals")?;
    }
    Ok(stop)
}

fn generate(flags: &Generate) -> Result<ExitCode> {
    let file = ModelsFile::read(&flags.models.files)?;
    let settings = RoleSettings::new(&file.roles, flags.models.roles.as_ref())?;
    let options = flags.options(settings.clone());
    if flags.resume && folder::read(&options.out)?.is_none() {
        return Err(CorpusError::NothingToResume(options.out).into());
    }
    if flags.models.dry_run {
        say(&models::forecast(&file, &settings, &options)?);
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_on_signal()?;
    let asked = if settings.is_builtin() {
        None
    } else {
        Some(file.open(settings, &flags.models, &options)?)
    };
    let roles: &dyn Roles = asked.as_ref().map_or(&Builtin, |asked| &asked.roles);
    let bar = Bar::new(asked.as_ref().and_then(|asked| asked.calls.clone()))?;
    let started = std::time::Instant::now();
    let made = pipeline::generate(&options, roles, &bar, &stop);
    bar.clear();
    let code = match made {
        Err(error) => models::stopped(error, &options, &bar.spent())?,
        Ok(record) => {
            say(&factory::show::inspect::summary(&record));
            let seconds = started.elapsed().as_secs_f64();
            complain(&format!("`{}` took {seconds:.1} s{}", options.out, bar.spent()));
            if stop.load(Ordering::Relaxed) && !record.complete {
                complain("interrupted; run the same command again to continue");
                ExitCode::from(INTERRUPTED)
            } else {
                ending(&record)
            }
        }
    };
    if flags.inspect {
        preview(&options.out)?;
    }
    Ok(code)
}

/// Writes the gallery of a corpus that was just made, if it holds a task.
fn preview(corpus: &Utf8Path) -> Result<()> {
    match gallery::page(corpus, &gallery::Wish::default()) {
        Ok(page) => write_page(&corpus.join(PREVIEW), &page),
        Err(GalleryError::Task(TaskError::EmptyCorpus(_))) => {
            complain("there is no page to inspect: no task was made");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn check_models(names: &[String], files: &cli::ModelFiles) -> Result<ExitCode> {
    let failed = ModelsFile::read(files)?.check(names)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn export_calls(dir: &Utf8Path, file: &Utf8Path) -> Result<ExitCode> {
    let cache = dir.join(folder::CACHE);
    if !cache.is_dir() {
        bail!("`{dir}` keeps no answers of models; name a corpus that models had a part in");
    }
    let count = llm::export(&cache, file).with_context(|| format!("failed to write `{file}`"))?;
    say(&format!("{count} answers; play them with `factory generate --replay {file}`"));
    Ok(ExitCode::SUCCESS)
}

/// Whether every slot of a finished corpus holds a task, as an exit code.
fn ending(record: &Record) -> ExitCode {
    let whole = record.complete && record.empty_slots.is_empty() && record.faults.is_empty();
    if whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) }
}

fn verify(flags: &Verify) -> Result<ExitCode> {
    if flags.run {
        run::rehearse()?;
    }
    let corpus = Corpus::open(&flags.dir)?;
    if corpus.tasks().iter().any(|task| task.manifest().is_anchor()) {
        bail!(UsageError(
            "the folder holds anchors, which have no blueprint to be built again from; `factory anchors` \
             makes the same ones anew"
        ));
    }
    if flags.fix_times {
        let fixed = corpus.tasks().iter().map(factory::verify::fix_times);
        let fixed: usize = fixed.sum::<io::Result<_>>().context("failed to set times of files")?;
        complain(&format!("the times of {fixed} files were set back"));
    }
    let report = factory::verify::corpus::audit(&corpus)?;
    say(&report.to_string());
    let is_same = !flags.regenerate || regenerate(&corpus)?;
    let tried =
        if flags.run { try_out(flags, &report.passed(&corpus))? } else { ExitCode::SUCCESS };
    Ok(if report.clean() && is_same { tried } else { ExitCode::from(INCOMPLETE) })
}

/// Runs the generators of a corpus again; whether all draw the kept rows.
fn regenerate(corpus: &Corpus) -> Result<bool> {
    let jail = GeneratorJail::start(1).context("failed to start the jail of generators")?;
    let report = factory::verify::regenerate_all(&jail, corpus)?;
    say(&report.to_string());
    Ok(report.refused.is_empty())
}

/// The sandboxed pass, on the tasks that passed the other.
fn try_out(flags: &Verify, sound: &[&TaskDir]) -> Result<ExitCode> {
    if sound.is_empty() {
        return Ok(ExitCode::from(INCOMPLETE));
    }
    let mut settings = run::TrialSettings::default();
    if flags.jobs > 0 {
        settings.jobs = flags.jobs;
    }
    let stop = stop_on_signal()?;
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} tasks, {per_sec}, {eta} left")?;
    let bar = ProgressBar::new(sound.len() as u64).with_style(style);
    let trials = run::run(sound, &settings, || bar.inc(1), &stop)?;
    bar.finish_and_clear();
    say(&trials.to_string());
    if let Some(path) = &flags.json {
        tasks::files::write_json(path, &trials)
            .with_context(|| format!("failed to write `{path}`"))?;
    }
    Ok(match (trials.clean(), trials.unreached) {
        (true, _) => ExitCode::SUCCESS,
        (false, 0) => ExitCode::from(INCOMPLETE),
        (false, _) => ExitCode::from(INTERRUPTED),
    })
}

fn inspect(flags: &Inspect) -> Result<ExitCode> {
    if let Some(file) = &flags.html {
        write_page(file, &gallery::page(&flags.dir, &flags.into())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&factory::show::inspect::show(&flags.dir)?);
    Ok(ExitCode::SUCCESS)
}

fn write_page(file: &Utf8Path, page: &str) -> Result<()> {
    tasks::files::write_atomic(file, page.as_bytes())
        .with_context(|| format!("failed to write `{file}`"))?;
    complain(&format!("`{file}` has {} kB; open it in a browser", page.len() / 1000));
    Ok(())
}

/// Processors of this machine, at least 1.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn calibrate(flags: &Calibrate) -> Result<ExitCode> {
    let settings = CalibrationSettings {
        split: flags.split.split(),
        count: flags.count,
        jobs: if flags.jobs == 0 { cores() } else { flags.jobs },
        seed: flags.seed,
    };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} episodes, {eta} left")?;
    let bar = ProgressBar::new(0).with_style(style);
    let begin = |episodes: usize| bar.set_length(episodes as u64);
    let calibration = calibration::calibrate(&flags.dir, &settings, begin, || bar.inc(1))?;
    bar.finish_and_clear();
    say(&calibration.to_string());
    if let Some(path) = &flags.json {
        tasks::files::write_json(path, &calibration)
            .with_context(|| format!("failed to write `{path}`"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows how many of a rating's scripts have been run.
struct RatingBar(ProgressBar);

impl RatingProgress for RatingBar {
    fn begin(&self, done: usize, all: usize) {
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
        self.0.reset_eta();
    }

    fn tick(&self) {
        self.0.inc(1);
    }
}

fn rate(flags: &Rate) -> Result<ExitCode> {
    let stop = stop_on_signal()?;
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} scripts, {eta} left")?;
    let bar = RatingBar(ProgressBar::new(0).with_style(style));
    let corpus = Corpus::open(&flags.dir)?;
    let labels = factory::show::rating::Labels::of(&corpus);
    let settings = flags.settings(cores());
    let groups = |task: &Manifest| {
        labels.new_in(task).into_iter().map(rating::held_out_group).collect::<Vec<String>>()
    };
    let rated = rating::rate(&flags.dir, &settings, &groups, &bar, &stop)?;
    bar.0.finish_and_clear();
    let Rated { summary, played, faults, unreached } = rated;
    say(&summary.to_string());
    for fault in &faults {
        complain(&format!("lost to a fault of ours: {fault}"));
    }
    complain(&format!("{played} scripts were run, {} of them lost", faults.len()));
    if let Some(path) = &flags.json {
        tasks::files::write_json(path, &summary)
            .with_context(|| format!("failed to write `{path}`"))?;
    }
    if unreached > 0 {
        complain("interrupted; run the same command again to continue");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

fn stats(
    dir: &Utf8Path,
    json: bool,
    html: Option<&Utf8Path>,
    by: Option<StatsGroup>,
) -> Result<ExitCode> {
    let statistics = factory::show::stats::gather(dir)?;
    if let Some(file) = html {
        let page = factory::show::stats::page::page(&statistics);
        tasks::files::write_atomic(file, page.as_bytes()).with_context(|| {
            format!("failed to write `{file}`; name a file in a folder that exists")
        })?;
    }
    if let Some(StatsGroup::Model) = by {
        say(factory::show::stats::by_model::text(&statistics.by_model).trim_end());
    } else if json {
        say(&serde_json::to_string_pretty(&statistics)?);
    } else {
        say(&factory::show::stats::text::text(&statistics));
    }
    Ok(ExitCode::SUCCESS)
}

/// How alike a corpus and anchors rank solvers.
fn compare(dir: &Utf8Path, anchors: &Utf8Path, json: bool) -> Result<ExitCode> {
    let report = factory::show::anchoring::compare(dir, anchors)?;
    say(&if json { serde_json::to_string_pretty(&report)? } else { report.to_string() });
    Ok(ExitCode::SUCCESS)
}

fn merge(out: &Utf8Path, shards: &[Utf8PathBuf]) -> Result<ExitCode> {
    let record = factory::corpus::merge::merge(out, shards)?;
    say(&factory::show::inspect::summary(&record));
    Ok(ending(&record))
}

fn export(dir: &Utf8Path, format: ExportFormat, answers: bool, out: &Utf8Path) -> Result<ExitCode> {
    if answers && !matches!(format, ExportFormat::Parquet) {
        bail!(UsageError(
            "`--answers` is for `--format parquet`; the other forms have answers anyway"
        ));
    }
    match format {
        ExportFormat::Mlebench => {
            let exported = export::mlebench(dir, out)?;
            for task in &exported.coarse {
                complain(&format!("`{task}`: milestones coincide once rounded to five decimals"));
            }
            let readme = out.join("README.md");
            say(&format!("{} tasks; `{readme}` says where they go", exported.tasks));
        }
        ExportFormat::Harbor => {
            let tasks = export::harbor(dir, out)?;
            let readme = out.join("README.md");
            say(&format!("{tasks} tasks; `{readme}` says how to play them"));
        }
        ExportFormat::Hf => {
            let tasks = export::hf(dir, out)?;
            say(&format!("{tasks} tasks; their answers are in `{}`", out.join("tasks")));
        }
        ExportFormat::Parquet => {
            let tasks = export::parquet(dir, out, answers)?;
            say(&format!("{tasks} tasks; `{}` lists them", out.join("tasks.parquet")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn stand_ins(flags: &StandIns) -> Result<ExitCode> {
    let stop = stop_on_signal()?;
    let settings = StandInSettings { only: flags.only.clone(), seed: flags.seed };
    let written = standin::write(&flags.out, &settings, &stop)?;
    say(&format!("{} stand-ins in `{}`", written.len(), flags.out));
    if stop.load(Ordering::Relaxed) {
        complain("interrupted; run the same command again for the others");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

fn make_anchors(flags: &Anchors) -> Result<ExitCode> {
    let stop = stop_on_signal()?;
    let (only, python) = (flags.only.clone(), flags.python.clone());
    let settings = AnchorSettings { only, seed: flags.seed, python };
    let written = anchors::write(&flags.out, &settings, &stop)?;
    say(&format!("{} anchors in `{}`", written.len(), flags.out));
    if stop.load(Ordering::Relaxed) {
        complain("interrupted; run the same command again for the others");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, reason = "results go to stdout")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "messages go to stderr")]
fn complain(text: &str) {
    eprintln!("{text}");
}
