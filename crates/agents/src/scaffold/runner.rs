//! Scripted agents in parallel: demonstrations for SFT, the ladder that policies are compared
//! with, and the one that calibrates corpora.

use super::scripted::{Approach, ScriptStyle, play};
use crate::grammar::ToolCallFormat;
use crate::play::World;
use crate::prompt::PromptError;
use crate::trajectory::Trajectory;
use sandbox::env::EpisodeFault;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use tasks::stream::Stream;
use tasks::task::{Task, TaskId};

/// One scripted episode to play.
#[derive(Debug, Clone, Copy)]
pub struct ScriptedJob<'a> {
    /// The task that is played.
    pub task: &'a Task,
    /// Whose scripts it has.
    pub approach: Approach,
    /// Which attempt of this agent at this task.
    pub attempt: u64,
}

/// Why no scripted episode could be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptedError<E: std::error::Error + 'static> {
    /// The prompt of a task cannot be made.
    #[error("failed to write the prompt of task `{task}`")]
    Prompt {
        /// Name of the task without a prompt.
        task: TaskId,
        /// Why the prompt could not be made.
        #[source]
        source: PromptError,
    },
    /// The caller stopped the run with an error of its own.
    #[error(transparent)]
    Caller(E),
}

/// What all episodes of a call share.
#[derive(Debug, Clone, Copy)]
pub struct RunnerContext<'a> {
    /// The environment of the episodes.
    pub world: &'a dyn World,
    /// How calls are written in it.
    pub format: ToolCallFormat,
    /// Whether episodes are to be measured or imitated.
    pub style: ScriptStyle,
    /// Number of threads that play episodes.
    pub workers: usize,
    /// The root of all draws; each episode has its own stream below.
    pub stream: Stream,
}

/// Plays `jobs` and hands each result to `take` as it comes, in no certain order.
///
/// # Errors
/// [`ScriptedError`]; faults of single episodes go to `take`.
pub fn run_episodes<E: std::error::Error + 'static>(
    stage: &RunnerContext<'_>,
    jobs: &[ScriptedJob<'_>],
    take: &mut dyn FnMut(Result<Trajectory, EpisodeFault>) -> Result<(), E>,
) -> Result<(), ScriptedError<E>> {
    let mut prompts = BTreeMap::new();
    for job in jobs {
        let id = job.task.id();
        if !prompts.contains_key(id) {
            let prompt = stage
                .world
                .prompt(id)
                .map_err(|source| ScriptedError::Prompt { task: id.clone(), source })?;
            prompts.insert(id.clone(), prompt);
        }
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..stage.workers.clamp(1, jobs.len().max(1)) {
            let (sender, prompts, next) = (sender.clone(), &prompts, &next);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = play(stage, job, &prompts[job.task.id()]);
                    if sender.send(played).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Leaving early drops the receiver, which the workers notice at their next result.
        for played in receiver {
            take(played).map_err(ScriptedError::Caller)?;
        }
        Ok(())
    })
}
