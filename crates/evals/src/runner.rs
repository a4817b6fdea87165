//! Runs agents on the same tasks with exact resume: episodes that are on disk are not run again.
//!
//! ```text
//! <out>/episodes/<agent>.jsonl    trajectories, in the order in which they ended
//! <out>/evaluation.json           the table
//! ```

use crate::evaluation::{EVALUATION_VERSION, Evaluation, EvaluationRow, is_all_or_none};
use agents::grammar::ToolCallFormat;
use agents::guide::source::SourceError;
use agents::play::World;
use agents::remote::RemoteError;
use agents::scaffold::react::MleWorld;
use agents::scaffold::runner::{RunnerContext, ScriptedError, ScriptedJob, run_episodes};
use agents::scaffold::scripted::{Approach, ScriptStyle};
use agents::script_cache::ScriptCacheError;
use agents::trajectory::{self, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use sandbox::env::{EpisodeFault, SuiteError};
use sandbox::reward::NoCeiling;
use std::collections::BTreeSet;
use std::error::Error;
use tasks::files;
use tasks::stream::Stream;
use tasks::task::{Split, Task};
use tasks::text::with_causes;

/// What every agent plays in an evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Protocol<'a> {
    /// The tasks and the rules of their episodes.
    pub world: MleWorld<'a>,
    /// The split of the tasks.
    pub split: Split,
    /// Episodes per agent and task.
    pub attempts: u64,
    /// The seed of every draw.
    pub seed: u64,
    /// The folder of the evaluation.
    pub out: &'a Utf8Path,
}

/// One episode that is to be run: a task, and the number of the attempt at it.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeSlot<'a> {
    /// The task that is played.
    pub task: &'a Task,
    /// Number of the attempt, from 0.
    pub attempt: u64,
}

/// Takes the result of an episode: its trajectory, or what broke.
pub type Take<'a> =
    dyn FnMut(Result<&Trajectory, &EpisodeFault>) -> Result<(), TrajectoryError> + 'a;

/// Why the episodes of an agent cannot be run.
pub type AgentError = Box<dyn Error + Send + Sync>;

/// An agent that takes part in an evaluation.
pub trait Contestant {
    /// Its name in the table; also a part of a file's name.
    fn name(&self) -> String;

    /// Runs an episode for each slot, in any order, and hands each result to `take` as it ends.
    ///
    /// # Errors
    /// Why no more episodes can be run; faults of single episodes go to `take`.
    fn run(&self, slots: &[EpisodeSlot<'_>], take: &mut Take<'_>) -> Result<(), AgentError>;
}

/// Shows how far an evaluation is.
pub trait EvaluationProgress {
    /// An agent begins: `done` of its `all` episodes are on disk.
    fn begin(&self, agent: &str, done: u64, all: u64);
    /// One of its episodes ended.
    fn tick(&self);
    /// All its episodes ended.
    fn end(&self);
}

/// Why there is no evaluation.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The tasks cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The servers on which episodes are to be played cannot be used.
    #[error(transparent)]
    Fleet(#[from] RemoteError),
    /// The folder of the script cache cannot be used.
    #[error(transparent)]
    ScriptCache(#[from] ScriptCacheError),
    /// The reward's weights do not fit a task.
    #[error(transparent)]
    Reward(#[from] NoCeiling),
    /// Episodes of an earlier start cannot be read.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// A file could not be written.
    #[error("failed to write the evaluation")]
    Io(#[from] std::io::Error),
    /// An agent cannot be run.
    #[error("failed to run `{agent}`")]
    Agent {
        /// Name of the agent.
        agent: String,
        /// Why the agent could not run.
        #[source]
        source: AgentError,
    },
    /// The people who are to advise the agents cannot be reached.
    #[error(transparent)]
    Guide(#[from] SourceError),
    /// Episodes with and without advice of people.
    #[error(
        "people advised some of the episodes and not others (`{agent}`): they are different tasks and \
         are not compared; evaluate them in folders of their own"
    )]
    Guided {
        /// The agent whose episodes are not like those before.
        agent: String,
    },
    /// Every episode of an agent broke.
    #[error("every episode of `{agent}` broke; the error of the last one: {last}")]
    AllFaulted {
        /// Name of the agent.
        agent: String,
        /// The error of the last one, with its causes.
        last: String,
    },
}

/// The file with the episodes of an agent in the folder of an evaluation.
pub fn episodes_of(agent: &str, out: &Utf8Path) -> Utf8PathBuf {
    out.join("episodes").join(format!("{agent}.jsonl"))
}

/// Runs all agents, appends each episode to its agent's file as it ends, and writes
/// `evaluation.json`. Episodes that are on disk are not run again; those that broke are.
///
/// # Errors
/// [`RunError`].
pub fn evaluate(
    protocol: &Protocol<'_>,
    contestants: &[&dyn Contestant],
    progress: &dyn EvaluationProgress,
) -> Result<Evaluation, RunError> {
    let tasks = protocol.world.suite.split(protocol.split)?;
    protocol.world.rules.reward.check_tasks(tasks.iter().copied())?;
    let mut rows = Vec::new();
    for contestant in contestants {
        let row = row(protocol, &tasks, *contestant, progress)?;
        let agent = row.agent.clone();
        rows.push(row);
        if !is_all_or_none(rows.iter().map(|row: &EvaluationRow| row.guided)) {
            return Err(RunError::Guided { agent });
        }
    }
    let evaluation = Evaluation {
        version: EVALUATION_VERSION,
        split: protocol.split,
        tasks: tasks.len(),
        attempts: protocol.attempts,
        feedback: protocol.world.rules.episode.feedback,
        seed: protocol.seed,
        rows,
    };
    files::write_json(&protocol.out.join("evaluation.json"), &evaluation)?;
    Ok(evaluation)
}

/// Runs the episodes of one agent that are not on disk, and summarises all of them.
fn row(
    protocol: &Protocol<'_>,
    tasks: &[&Task],
    contestant: &dyn Contestant,
    progress: &dyn EvaluationProgress,
) -> Result<EvaluationRow, RunError> {
    let agent = contestant.name();
    let path = episodes_of(&agent, protocol.out);
    fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
    let mut trajectories = trajectory::resume(&path)?;
    let done: BTreeSet<_> = trajectories.iter().map(Trajectory::key).collect();
    let slots = tasks
        .iter()
        .flat_map(|&task| (0..protocol.attempts).map(move |attempt| EpisodeSlot { task, attempt }));
    let (all, mut missing) = (tasks.len() as u64 * protocol.attempts, Vec::new());
    missing.extend(
        slots.filter(|slot| !done.contains(&(slot.task.id(), agent.as_str(), slot.attempt))),
    );
    if !missing.is_empty() {
        progress.begin(&agent, all - missing.len() as u64, all);
        let mut last = String::new();
        contestant
            .run(&missing, &mut |result| {
                progress.tick();
                match result {
                    Ok(trajectory) => trajectory::append(&path, std::slice::from_ref(trajectory)),
                    Err(fault) => {
                        last = with_causes(fault);
                        tracing::warn!(fault = last, "an episode broke and is left out");
                        Ok(())
                    }
                }
            })
            .map_err(|source| RunError::Agent { agent: agent.clone(), source })?;
        progress.end();
        trajectories = trajectory::resume(&path)?;
        if trajectories.is_empty() {
            return Err(RunError::AllFaulted { agent, last });
        }
    }
    if !is_all_or_none(trajectories.iter().map(|trajectory| trajectory.guided)) {
        return Err(RunError::Guided { agent });
    }
    trajectories.sort_by(|a, b| a.key().cmp(&b.key()));
    let faults = usize::try_from(all).unwrap_or(usize::MAX).saturating_sub(trajectories.len());
    Ok(EvaluationRow::from_trajectories(&agent, &trajectories, faults))
}

/// A scripted agent as a contestant.
#[derive(Debug, Clone, Copy)]
pub struct Scripted<'a> {
    /// Whose scripts it has.
    pub approach: Approach,
    /// The environment of its episodes.
    pub world: &'a dyn World,
    /// How calls are written in it.
    pub format: ToolCallFormat,
    /// Number of threads that play episodes.
    pub workers: usize,
    /// The root of its free choices.
    pub stream: Stream,
}

impl Contestant for Scripted<'_> {
    fn name(&self) -> String {
        format!("scripted/{}", self.approach.name())
    }

    fn run(&self, slots: &[EpisodeSlot<'_>], take: &mut Take<'_>) -> Result<(), AgentError> {
        let context = RunnerContext {
            world: self.world,
            format: self.format,
            style: ScriptStyle::Evaluation,
            workers: self.workers,
            stream: self.stream,
        };
        let approach = self.approach;
        let jobs = slots.iter().map(|&EpisodeSlot { task, attempt }| ScriptedJob {
            task,
            approach,
            attempt,
        });
        let jobs: Vec<ScriptedJob<'_>> = jobs.collect();
        run_episodes(&context, &jobs, &mut |result| take(result.as_ref()))
            .map_err(|error: ScriptedError<TrajectoryError>| error.into())
    }
}
