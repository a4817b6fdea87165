//! Trials of many tasks at a time in one sandbox.

#[cfg(test)]
mod tests;

use super::report::{Ending, Trials};
use super::{agreement, reference};
use crate::verify::Refusal;
use jail::exec::{Fault, Sandbox, SandboxOptions, StartError};
use jail::limits::RunLimits;
use jail::python::{PythonEnv, PythonError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use tasks::task::TaskDir;
use tasks::units::ByteSize;

/// What a reference script may take of a processor on one task. The aim for a whole corpus is a
/// median below 2 s and a 95th percentile below this; a task above it would hold up every
/// episode that is played on it. A script that waits instead meets the policy's time limit.
pub const BUDGET: Duration = Duration::from_secs(10);

/// The largest file that is collected from a run.
pub(super) const COLLECT_LIMIT: ByteSize = ByteSize::mib(64);

/// How tasks are tried.
#[derive(Debug, Clone)]
pub struct TrialSettings {
    /// Runs at a time.
    pub jobs: usize,
    /// What a reference script may take.
    pub budget: Duration,
    /// The limits of every run.
    pub policy: RunLimits,
}

impl Default for TrialSettings {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self { jobs, budget: BUDGET, policy: RunLimits::default() }
    }
}

/// Why nothing was tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no Python for scripts.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The sandbox does not start.
    #[error("failed to start the sandbox")]
    Start(#[from] StartError),
}

/// Why a single trial ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// The task is not fit for use.
    Refused(Refusal),
    /// The sandbox failed; that says nothing of the task.
    Fault(Fault),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Starts the sandbox and lets it go again, so that what it lacks is known before anything that
/// takes long.
///
/// # Errors
/// [`TrialError`] if scripts cannot be run at all.
pub fn rehearse() -> Result<(), TrialError> {
    Sandbox::start(&PythonEnv::locate()?, SandboxOptions::default(), &[])?;
    Ok(())
}

/// Tries `tasks` and calls `tick` after each of them. Once `stop` is set, no further task is
/// started, and running ones are finished.
///
/// # Errors
/// [`TrialError`] if scripts cannot be run at all.
pub fn run(
    tasks: &[&TaskDir],
    settings: &TrialSettings,
    tick: impl Fn() + Sync,
    stop: &AtomicBool,
) -> Result<Trials, TrialError> {
    let python = PythonEnv::locate()?;
    let visible: Vec<_> = tasks.iter().map(|task| (task.id().clone(), task.public())).collect();
    let options = SandboxOptions { slots: settings.jobs.max(1), ..SandboxOptions::default() };
    let sandbox = Sandbox::start(&python, options, &visible)?;
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.clamp(1, tasks.len().max(1)) {
            let (sender, sandbox, next, tick) = (sender.clone(), &sandbox, &next, &tick);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed)
                    && let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let ending = one(sandbox, task, settings);
                    tick();
                    // The receiver outlives the scope.
                    let _ = sender.send((*task, ending));
                }
            });
        }
    });
    drop(sender);
    let mut endings: Vec<(&TaskDir, Ending)> = receiver.into_iter().collect();
    endings.sort_by(|a, b| a.0.id().cmp(b.0.id()));
    Ok(Trials::new(&endings, tasks.len() - endings.len(), settings.budget))
}

/// Both trials of one task, the evaluator's first.
fn one(sandbox: &Sandbox, task: &TaskDir, settings: &TrialSettings) -> Ending {
    let code = reference::script(task);
    let tried = agreement::check(sandbox, task, &settings.policy)
        .and_then(|()| reference::attempt(sandbox, task, &code, settings));
    match tried {
        Ok(attempt) => Ending::Passed(attempt),
        Err(Failure::Refused(refusal)) => Ending::refused(&refusal),
        Err(Failure::Fault(fault)) => Ending::Lost(fault.to_string()),
    }
}
