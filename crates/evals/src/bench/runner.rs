//! Plays a benchmark: every task with every seed, each as a run of its own that goes on where it
//! was.
//!
//! ```text
//! <out>/runs/<task>/seed<k>/journal.jsonl, blobs/, submission.csv    the run
//! <out>/runs/<task>/seed<k>/run.json                                 its grade
//! <out>/runs/<task>/seed<k>/tree.html                                its page
//! ```

use super::boards;
use super::grading::{FinishedRun, Grades, GradingFault};
use super::machine::BenchMachine;
use super::outcome::{BenchOutcome, BenchRun, PlayerTokens, RunSeconds};
use crate::report::TreePage;
use agents::preset::Preset;
use agents::run::agent::{AgentRest, AgentRun, AgentRunError, TaskView};
use agents::run::journal::{JournalError, journal_path, read_lines};
use agents::run::knowledge::KnowledgeSource;
use agents::run::player::{Asked, Player};
use agents::run::role::role_uses;
use agents::run::state::RunState;
use agents::run::stop::AgentStop;
use agents::run::trial::TrialCache;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use llm::{Price, Usage};
use std::error::Error;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tasks::files;
use tasks::metrics::Direction;
use tasks::task::{Task, TaskId};
use tasks::text::with_causes;

/// The file in the folder of a run that shows it.
pub const RUN_PAGE: &str = "tree.html";

/// Times that a run is begun again after a fault of ours before it is given up.
const REDONE: u32 = 2;

/// Why there is no player for a run.
pub type PlayerError = Box<dyn Error + Send + Sync>;

/// Who plays: a player for each run.
pub trait PlayerSource: Sync {
    /// The player of the run of `seed` on `task`, whose scores improve in `direction`.
    ///
    /// # Errors
    /// Why there is none. The run is not played then.
    fn player(
        &self,
        task: &Task,
        direction: Direction,
        seed: u64,
    ) -> Result<Box<dyn Player>, PlayerError>;

    /// What a token of an answer to a question costs, if that is known. `all` is what one of
    /// [`Bench::price`] costs; players with models of their own for some questions say otherwise.
    fn price(&self, _what: Asked, all: Option<Price>) -> Option<Price> {
        all
    }
}

/// Shows how far a benchmark is.
pub trait BenchProgress: Sync {
    /// A run came to rest.
    fn rest(&self, task: &TaskId, seed: u64, rest: &BenchRest);
}

/// A benchmark that is to be played.
#[expect(missing_debug_implementations, reason = "players and progress bars have none")]
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// What scripts run on, with the tasks.
    pub machine: &'a BenchMachine,
    /// The scaffold and its settings.
    pub preset: &'a Preset,
    /// Scaffold and model, as in reports.
    pub agent: &'a str,
    /// Who plays.
    pub players: &'a dyn PlayerSource,
    /// Where scaffolds that use tricks get them; `&()` without a knowledge base.
    pub knowledge: &'a dyn KnowledgeSource,
    /// Recalls scripts that recur; `None` where every script is run.
    pub trials: Option<&'a TrialCache>,
    /// What a token costs, if that is known.
    pub price: Option<Price>,
    /// The folder of the evaluation.
    pub out: &'a Utf8Path,
    /// Seeds 0 to `seeds - 1` are played.
    pub seeds: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Whether what would have counted after each step is graded as well. On tasks of ours, where
    /// that costs little, it always is.
    pub grade_steps: bool,
    /// Leaderboards of MLE-bench's competitions, `ID.csv` each, for `HumanRank`.
    pub boards: Option<&'a Utf8Path>,
    /// Ends it from outside.
    pub stop: &'a AgentStop,
    /// Is told of each run that came to rest.
    pub progress: &'a dyn BenchProgress,
}

/// How a run came to rest.
#[derive(Debug, Clone, PartialEq)]
pub enum BenchRest {
    /// It is over and graded, or was given up after faults of ours.
    Over(Box<BenchRun>),
    /// It can go on.
    Paused {
        /// Why it paused.
        why: String,
    },
}

/// In words for people.
impl fmt::Display for BenchRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over(run) => write!(f, "{}", run.outcome),
            Self::Paused { why } => write!(f, "paused: {why}"),
        }
    }
}

/// Why a benchmark stopped.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// One run cannot go on.
    #[error("the run of seed {seed} on `{task}` cannot go on")]
    Run {
        /// The task.
        task: TaskId,
        /// The seed.
        seed: u64,
        /// Why.
        #[source]
        source: Box<AgentRunError>,
    },
    /// There is no player for a run.
    #[error("there is no player for `{task}`")]
    Player {
        /// The task.
        task: TaskId,
        /// Why.
        #[source]
        source: PlayerError,
    },
    /// The task cannot be played or graded.
    #[error("task `{task}` cannot be played")]
    Task {
        /// The task.
        task: TaskId,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A file could not be read or written.
    #[error("failed to write the evaluation")]
    Io(#[from] std::io::Error),
    /// The file of a grade cannot be read.
    #[error("`{path}` is not the file of a graded run; remove it, and the run is graded again")]
    Graded {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// What became of the runs of a benchmark, by task and seed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchPlayed {
    /// Runs that are over.
    pub runs: Vec<BenchRun>,
    /// Runs that can go on: which, and why they paused.
    pub paused: Vec<String>,
}

impl BenchPlayed {
    /// Runs that were given up after faults of ours; another start tries them again.
    pub fn faults(&self) -> usize {
        let lost = |run: &&BenchRun| matches!(run.outcome, BenchOutcome::Fault { .. });
        self.runs.iter().filter(lost).count()
    }

    /// What another start of the same command has left to do, in words; `None` if that is nothing.
    pub fn unfinished(&self) -> Option<String> {
        let paused = self.paused.first().map(|first| {
            format!("{} runs can go on ({first}); the same command does", self.paused.len())
        });
        let faults = (self.faults() > 0).then(|| {
            format!("{} runs were lost to faults; the same command tries them again", self.faults())
        });
        let texts: Vec<String> = paused.into_iter().chain(faults).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Adds those of another agent.
    pub fn extend(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.paused.extend(other.paused);
    }
}

impl Bench<'_> {
    /// Plays every run that is not over, `jobs` at a time.
    ///
    /// # Errors
    /// The first [`BenchError`]; runs in flight come to rest first.
    pub fn play(&self) -> Result<BenchPlayed, BenchError> {
        let tasks = self.machine.suite.tasks();
        let runs: Vec<(&Task, u64)> =
            (0..self.seeds).flat_map(|seed| tasks.iter().map(move |task| (task, seed))).collect();
        let (next, rests, failed) = (
            AtomicUsize::new(0),
            Mutex::new(Vec::<(TaskId, u64, BenchRest)>::new()),
            Mutex::new(None),
        );
        std::thread::scope(|scope| {
            let (runs, next, rests, failed) = (&runs, &next, &rests, &failed);
            for worker in 0..self.jobs.clamp(1, runs.len().max(1)) {
                scope.spawn(move || {
                    while let Some(&(task, seed)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.run(task, seed, worker) {
                            Ok(rest) => {
                                self.progress.rest(task.id(), seed, &rest);
                                let mut rests =
                                    rests.lock().unwrap_or_else(PoisonError::into_inner);
                                rests.push((task.id().clone(), seed, rest));
                            }
                            Err(error) => {
                                // What others are at is finished; nothing new is begun.
                                next.store(runs.len(), Ordering::Relaxed);
                                let mut failed =
                                    failed.lock().unwrap_or_else(PoisonError::into_inner);
                                failed.get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut rests = rests.into_inner().unwrap_or_else(PoisonError::into_inner);
        rests.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let mut played = BenchPlayed::default();
        for (task, seed, rest) in rests {
            match rest {
                BenchRest::Over(run) => played.runs.push(*run),
                BenchRest::Paused { why } => {
                    played.paused.push(format!("{} on {task}, seed {seed}: {why}", self.agent));
                }
            }
        }
        Ok(played)
    }

    /// The folder of a run.
    pub fn folder(&self, task: &TaskId, seed: u64) -> Utf8PathBuf {
        self.out.join("runs").join(task.as_str()).join(format!("seed{seed}"))
    }

    /// Plays one run, unless it is over. Every worker plays one at a time.
    fn run(&self, task: &Task, seed: u64, worker: usize) -> Result<BenchRest, BenchError> {
        let folder = self.folder(task.id(), seed);
        let graded = folder.join("run.json");
        if graded.exists() {
            let read = serde_json::from_slice(&fs::read(&graded)?);
            let run = read.map_err(|source| BenchError::Graded { path: graded, source })?;
            return Ok(BenchRest::Over(Box::new(run)));
        }
        let BenchMachine { suite, python, weights, .. } = self.machine;
        let mut config = self.preset.episode();
        if let Some(gpus) = self.machine.dealt(worker) {
            config.policy.gpus = gpus;
        }
        let broken = |source: Box<dyn Error + Send + Sync>| BenchError::Task {
            task: task.id().clone(),
            source,
        };
        let direction = suite.grader(task).map_err(|error| broken(error.into()))?.direction();
        let view = TaskView::of(task, direction, &config.policy, python, weights.as_ref())
            .map_err(|error| broken(error.into()))?;
        let boards =
            boards::of(task, self.boards, direction).map_err(|error| broken(error.into()))?;
        let player = self
            .players
            .player(task, direction, seed)
            .map_err(|source| BenchError::Player { task: task.id().clone(), source })?;
        let agent = AgentRun {
            suite,
            task,
            config: &config,
            scaffold: &self.preset.scaffold,
            view: &view,
            player: &*player,
            knowledge: self.knowledge,
            guide: &(),
            trials: self.trials,
            seed,
            folder: &folder,
            stop: self.stop,
            observer: &(),
        };
        let mut faults = 0;
        let fault = loop {
            if self.stop.is_asked() {
                return Ok(BenchRest::Paused { why: "it was stopped".to_owned() });
            }
            match self.preset.settings.play(agent) {
                Ok(AgentRest::Paused { why }) => return Ok(BenchRest::Paused { why }),
                Ok(AgentRest::Finished { .. }) => break None,
                Err(AgentRunError::Fault(fault)) if faults < REDONE => {
                    faults += 1;
                    tracing::warn!(task = %task.id(), seed, fault = with_causes(&fault), "redone");
                }
                Err(AgentRunError::Fault(fault)) => break Some(with_causes(&fault)),
                Err(source) => {
                    let source = Box::new(source);
                    return Err(BenchError::Run { task: task.id().clone(), seed, source });
                }
            }
        };
        let journal = |source: JournalError| BenchError::Run {
            task: task.id().clone(),
            seed,
            source: Box::new(source.into()),
        };
        let path = journal_path(&folder);
        let lines = read_lines(&path).map_err(journal)?;
        let state = RunState::from_lines(&path, lines)
            .and_then(|state| state.ok_or(JournalError::NoHeader(path)))
            .map_err(journal)?;
        let finished = FinishedRun {
            suite,
            task,
            config: &config,
            direction,
            folder: &folder,
            state: &state,
            grade_steps: self.grade_steps,
            boards: &boards,
        };
        let grades = match fault {
            Some(why) => Err(why),
            None => match finished.grade() {
                Ok(grades) => Ok(grades),
                Err(GradingFault::Journal(source)) => return Err(journal(source)),
                Err(GradingFault::Grader(fault)) => Err(with_causes(&fault)),
            },
        };
        let run = self.bench_run(&state, grades);
        // A fault is tried again by the next start.
        if matches!(run.outcome, BenchOutcome::Graded(_)) {
            let page = TreePage::from_run(&state, &folder, &run.by_step).map_err(journal)?;
            files::write_atomic(&folder.join(RUN_PAGE), page.html().as_bytes())?;
            files::write_json(&graded, &run)?;
        }
        Ok(BenchRest::Over(Box::new(run)))
    }

    fn bench_run(&self, state: &RunState, grades: Result<Grades, String>) -> BenchRun {
        let (outcome, selection_gap, way, by_step) = match grades {
            Ok(Grades { graded, gap, way, by_step }) => {
                (BenchOutcome::Graded(graded), gap, way, by_step)
            }
            Err(why) => (BenchOutcome::Fault { why }, None, None, Vec::new()),
        };
        let usage =
            |of: fn(&Usage) -> u64| state.asked.values().map(|asked| of(&asked.usage)).sum();
        let nodes = state.nodes.values().filter_map(|node| Some(node.run.as_ref()?.wall));
        let scripts = nodes.chain(state.turns.iter().map(|turn| turn.record.seconds));
        let price = |what| self.players.price(what, self.price);
        let cost = state
            .asked
            .values()
            .map(|asked| Some(price(asked.what)?.cost(&asked.usage).0))
            .try_fold(0, |sum, cost| Some(sum + cost?));
        BenchRun {
            competition: state.header.task.to_string(),
            agent: self.agent.to_owned(),
            seed: state.header.seed,
            data: state.header.data,
            feedback: state.header.feedback,
            outcome,
            selection_gap,
            way,
            by_step,
            steps: state.steps() as u64,
            seconds: RunSeconds {
                // The sum of nothing is -0.0.
                script: scripts.sum::<f64>() + 0.0,
                player: state.asked.values().map(|asked| asked.seconds).sum::<f64>() + 0.0,
                wall: state.clock,
            },
            tokens: PlayerTokens { read: usage(|u| u.input), written: usage(|u| u.output) },
            cost: cost.map(|micro| micro as f64 / 1e6),
            roles: role_uses(state, price),
        }
    }
}
