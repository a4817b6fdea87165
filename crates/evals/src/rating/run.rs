//! Runs solvers on the tasks of a corpus; what is rated already is not run again.

use super::script::script;
use super::summary::{RatingSummary, Subject};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::{Run, SandboxOptions};
use rand::seq::SliceRandom;
use sandbox::env::{EpisodeConfig, EpisodeFault, Feedback, SuiteError, TaskSuite};
use sandbox::env::{grade_submission, try_script};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use tasks::files;
use tasks::rating::{self, RATING_VERSION, RATINGS, Rating, RatingError, Ratings, Solver};
use tasks::stream::Stream;
use tasks::task::{Manifest, Opening, Split, Task, TaskDir};
use tasks::text::with_causes;

/// Which tasks are rated, by whom and how.
#[derive(Debug, Clone, PartialEq)]
pub struct RatingSettings {
    /// The solvers.
    pub solvers: BTreeSet<Solver>,
    /// Which half of the corpus; `None` for both.
    pub split: Option<Split>,
    /// How many tasks at most, drawn by `seed`; `None` for all.
    pub count: Option<usize>,
    /// Scripts at a time, at least 1.
    pub jobs: usize,
    /// The seed of the sample of tasks and of the scripts' free choices.
    pub seed: u64,
    /// Wall time that a script may take; the other limits are the defaults of the sandbox.
    pub time_limit: Duration,
}

/// Why a corpus cannot be rated.
#[derive(Debug, thiserror::Error)]
pub enum RatingRunError {
    /// The corpus or the sandbox.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The ratings that are there.
    #[error(transparent)]
    Ratings(#[from] RatingError),
    /// Another process rates the corpus.
    #[error("another process rates `{0}`")]
    Busy(Utf8PathBuf),
    /// A rating could not be written.
    #[error("failed to write the ratings")]
    Io(#[from] std::io::Error),
}

/// Shows how far a rating is.
pub trait RatingProgress: Sync {
    /// It begins: `done` of `all` scripts have been run before.
    fn begin(&self, done: usize, all: usize);
    /// A script has ended.
    fn tick(&self);
}

/// Groups that a task is counted in besides its modality and split, by name.
pub type Labels<'a> = dyn Fn(&Manifest) -> Vec<String> + 'a;

/// What rating a corpus came to.
#[derive(Debug)]
pub struct Rated {
    /// The table over the chosen tasks and solvers.
    pub summary: RatingSummary,
    /// Scripts that were run now.
    pub played: usize,
    /// Scripts lost to faults of ours, with what went wrong; the same command runs them again.
    pub faults: Vec<String>,
    /// Scripts that an interruption left.
    pub unreached: usize,
}

/// A script to be run.
struct Job<'a> {
    task: &'a Task,
    dir: &'a TaskDir,
    solver: Solver,
}

/// A solver's program and its fingerprint.
struct Program {
    code: String,
    fingerprint: String,
}

/// Rates the corpus in `dir` and appends to its `ratings.jsonl`, a line as each script ends. Once
/// `stop` is set no further script is started, and running ones are finished.
///
/// # Errors
/// [`RatingRunError`]; what goes wrong with a single script is a part of the result.
pub fn rate(
    dir: &Utf8Path,
    settings: &RatingSettings,
    labels: &Labels<'_>,
    progress: &dyn RatingProgress,
    stop: &AtomicBool,
) -> Result<Rated, RatingRunError> {
    let options = SandboxOptions { slots: settings.jobs.max(1), ..SandboxOptions::default() };
    let suite = TaskSuite::open(dir, &Opening::default(), options)?;
    let lock = fs::OpenOptions::new().create(true).append(true).open(dir.join(".rating.lock"))?;
    if lock.file().try_lock().is_err() {
        return Err(RatingRunError::Busy(dir.to_owned()));
    }
    let path = dir.join(RATINGS);
    if path.is_file() {
        files::remove_torn_line(&path)?;
    }
    let mut ratings = Ratings::read(dir)?;
    let chosen = choose(&suite, settings)?;
    let programs: BTreeMap<Solver, Program> =
        settings.solvers.iter().map(|solver| (*solver, Program::new(*solver, settings))).collect();
    let jobs = missing(&chosen, &programs, &ratings);
    progress.begin(chosen.len() * programs.len() - jobs.len(), chosen.len() * programs.len());
    let (mut played, mut faults) = (0, Vec::new());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, jobs.len().max(1)) {
            let (sender, suite, jobs, programs, next) =
                (sender.clone(), &suite, &jobs, &programs, &next);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed)
                    && let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let result = one(suite, job, &programs[&job.solver], settings.time_limit);
                    progress.tick();
                    if sender.send((job, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (job, result) in receiver {
            played += 1;
            match result {
                Ok(rating) => {
                    rating::append(&path, &rating)?;
                    ratings.insert(rating);
                }
                Err(fault) => {
                    let (task, solver) = (job.task.id(), job.solver);
                    faults.push(format!("{task}, {solver}: {}", with_causes(&fault)));
                }
            }
        }
        Ok::<(), std::io::Error>(())
    })?;
    let unreached = jobs.len() - played;
    let subjects =
        chosen.iter().map(|(_, dir)| subject(dir.manifest(), settings, labels, &ratings));
    let solvers: Vec<Solver> = settings.solvers.iter().copied().collect();
    let stream = Stream::root(settings.seed).child("rating");
    let summary = RatingSummary::new(&solvers, &subjects.collect::<Vec<_>>(), stream);
    Ok(Rated { summary, played, faults, unreached })
}

/// The tasks of our own that are to be rated, by name.
fn choose<'a>(
    suite: &'a TaskSuite,
    settings: &RatingSettings,
) -> Result<Vec<(&'a Task, &'a TaskDir)>, RatingRunError> {
    let tasks = match settings.split {
        Some(split) => suite.split(split)?,
        None => suite.tasks().iter().collect(),
    };
    // Ways and milestones are stated by our own tasks only.
    let ours = |task: &'a Task| task.ours().map(|dir| (task, dir));
    let mut tasks: Vec<_> = tasks.into_iter().filter_map(ours).collect();
    if let Some(count) = settings.count {
        tasks.shuffle(&mut Stream::root(settings.seed).child("rating").child("sample").rng());
        tasks.truncate(count);
        tasks.sort_by(|a, b| a.0.id().cmp(b.0.id()));
    }
    Ok(tasks)
}

/// What no rating is there of, task by task.
fn missing<'a>(
    chosen: &[(&'a Task, &'a TaskDir)],
    programs: &BTreeMap<Solver, Program>,
    ratings: &Ratings,
) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for &(task, dir) in chosen {
        let known: BTreeMap<Solver, &str> = ratings
            .of(dir.manifest())
            .map(|rating| (rating.solver, rating.script.as_str()))
            .collect();
        for (&solver, program) in programs {
            if known.get(&solver) != Some(&program.fingerprint.as_str()) {
                jobs.push(Job { task, dir, solver });
            }
        }
    }
    jobs
}

impl Program {
    fn new(solver: Solver, settings: &RatingSettings) -> Self {
        let code = script(solver, settings.seed, settings.time_limit);
        // The time limit is a part of the code; all other limits are the defaults.
        let fingerprint = blake3::hash(code.as_bytes()).to_hex()[..16].to_owned();
        Self { code, fingerprint }
    }
}

/// Runs a solver on a task and grades what it leaves.
fn one(
    suite: &TaskSuite,
    job: &Job<'_>,
    program: &Program,
    time_limit: Duration,
) -> Result<Rating, EpisodeFault> {
    let mut config = EpisodeConfig { feedback: Feedback::Validate, ..EpisodeConfig::default() };
    config.policy.time_limit = tasks::units::Span(time_limit);
    let result = try_script(suite, job.task, &config, &program.code, time_limit, &|_| ())?;
    let graded = match &result.submission {
        None => None,
        Some(csv) => grade_submission(suite, job.task, &config, csv)?.ok(),
    };
    let manifest = job.dir.manifest();
    let way = |score| manifest.baselines.way(score, manifest.direction());
    let ending = result.run.outcome.to_string();
    Ok(Rating {
        version: RATING_VERSION,
        task: job.task.id().clone(),
        files: rating::files_hash(manifest),
        solver: job.solver,
        script: program.fingerprint.clone(),
        score: graded.map(|grade| grade.score),
        milestone: graded.and_then(|grade| grade.tier),
        way: graded.map_or(0.0, |grade| way(grade.score)),
        processor_seconds: result.run.cpu.as_secs_f64(),
        refusal: result.validity.err().map(|told| refusal(&told, &result.run)),
        note: note(&result.run),
        ending,
    })
}

/// Why there is no valid submission: what the agent is told, and the last line of a traceback.
fn refusal(told: &str, run: &Run) -> String {
    let printed = run.stderr.text();
    match printed.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(last) if !run.outcome.is_finished() => format!("{told}; {}", last.trim()),
        _ => told.to_owned(),
    }
}

/// What a script says of itself in its last line that begins with `note: `.
fn note(run: &Run) -> Option<String> {
    let printed = run.stdout.text();
    let said = printed.lines().rev().find_map(|line| line.strip_prefix("note: "));
    said.map(str::to_owned)
}

/// A task as the table sees it.
fn subject(
    manifest: &Manifest,
    settings: &RatingSettings,
    labels: &Labels<'_>,
    ratings: &Ratings,
) -> Subject {
    let chosen = ratings.of(manifest).filter(|rating| settings.solvers.contains(&rating.solver));
    let split = match manifest.split {
        Split::Train => "train",
        Split::Val => "val",
    };
    let mut groups = vec![manifest.modality.name().to_owned(), format!("split {split}")];
    groups.extend(labels(manifest));
    Subject {
        modality: manifest.modality,
        direction: manifest.direction(),
        groups,
        level: ratings.level(manifest),
        ratings: chosen.map(|rating| (rating.solver, rating.clone())).collect(),
    }
}
