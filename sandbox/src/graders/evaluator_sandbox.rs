//! The sandbox for evaluators, which no agent's run ever shares, and the list of evaluators that
//! were checked in it.

use super::dojo::DojoMetric;
use super::script::EvaluatorFault;
use super::script_grader::Proof;
use jail::exec::{Sandbox, SandboxOptions, StartError};
use jail::python::PythonEnv;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tasks::task::{PublicDir, TaskId};

/// A sandbox that shows each evaluator its bundle's folder as it was released, answers included.
/// It starts when the first evaluator is needed.
#[derive(Debug, Default)]
pub(super) struct EvaluatorSandbox(Mutex<EvaluatorSandboxState>);

#[derive(Debug, Default)]
struct EvaluatorSandboxState {
    folders: Vec<(TaskId, PublicDir)>,
    options: Option<SandboxOptions>,
    sandbox: Option<Sandbox>,
    /// The lock is held while an evaluator is checked; other threads wait for the outcome.
    proofs: BTreeMap<TaskId, Arc<Mutex<Option<Arc<Proof>>>>>,
    /// The same for metrics of MLE-Dojo.
    metrics: BTreeMap<TaskId, Arc<Mutex<Option<Arc<DojoMetric>>>>>,
}

impl EvaluatorSandbox {
    /// Sets how the box will be built: with the layers that the operator can do without, and as
    /// many runs at a time as agents have. Default: two at a time, and no layer is dispensable
    /// but those that [`SandboxOptions`] leave out anyway. Evaluators that were checked in
    /// the box before are checked again.
    pub(super) fn configure(&self, options: SandboxOptions) {
        let mut state = lock(&self.0);
        state.options = Some(options);
        state.sandbox = None;
        state.proofs.clear();
        state.metrics.clear();
    }

    /// Adds a task whose evaluator will run here, with the folder that it is shown, answers
    /// included.
    pub(super) fn add(&self, task: &TaskId, folder: PublicDir) {
        let mut state = lock(&self.0);
        state.folders.push((task.clone(), folder));
        state.sandbox = None;
    }

    /// The box, started if it is not up.
    pub(super) fn sandbox(&self) -> Result<Sandbox, StartError> {
        let mut state = lock(&self.0);
        if let Some(sandbox) = &state.sandbox {
            return Ok(sandbox.clone());
        }
        // Evaluators are small: importing modules once is worth it, warming models up is not.
        let default = || SandboxOptions { slots: 2, ..SandboxOptions::default() };
        let options = state.options.clone().unwrap_or_else(default);
        // What the agents' work dirs are like is no matter of theirs.
        let SandboxOptions { work_dir, work_dir_on, work_files, .. } = SandboxOptions::default();
        let options =
            SandboxOptions { warm_up: false, work_dir, work_dir_on, work_files, ..options };
        let sandbox = Sandbox::start(&PythonEnv::locate()?, options, &state.folders)?;
        state.sandbox = Some(sandbox.clone());
        Ok(sandbox)
    }

    /// What `prove` made when it was called for the task before, or makes now. Only one thread
    /// proves a task at a time. A failure is not kept: the next call tries again.
    pub(super) fn proof(
        &self,
        task: &TaskId,
        prove: impl FnOnce() -> Result<Proof, EvaluatorFault>,
    ) -> Result<Arc<Proof>, EvaluatorFault> {
        let place = Arc::clone(lock(&self.0).proofs.entry(task.clone()).or_default());
        made_once(&place, prove)
    }

    /// The same for a metric of MLE-Dojo.
    pub(super) fn metric(
        &self,
        task: &TaskId,
        open: impl FnOnce() -> Result<DojoMetric, EvaluatorFault>,
    ) -> Result<Arc<DojoMetric>, EvaluatorFault> {
        let place = Arc::clone(lock(&self.0).metrics.entry(task.clone()).or_default());
        made_once(&place, open)
    }
}

fn made_once<T, E>(
    place: &Mutex<Option<Arc<T>>>,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    let mut kept = lock(place);
    if let Some(value) = &*kept {
        return Ok(Arc::clone(value));
    }
    let value = Arc::new(make()?);
    *kept = Some(Arc::clone(&value));
    Ok(value)
}

/// A thread that panicked leaves nothing half done behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn threads_that_ask_at_once_get_one_value_and_a_failure_is_not_kept() {
        const THREADS: u32 = 8;
        let (place, calls, start) =
            (Mutex::default(), AtomicU32::new(0), Barrier::new(THREADS as usize));
        // The first two tries fail.
        let ask = || {
            start.wait();
            made_once(&place, || match calls.fetch_add(1, Ordering::Relaxed) {
                failed @ 0..2 => Err(failed),
                made => Ok(made),
            })
        };
        let answers: Vec<Result<Arc<u32>, u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(calls.into_inner(), 3);
        assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 2);
        assert!(answers.iter().flatten().all(|value| **value == 2));
    }
}
