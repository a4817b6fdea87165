//! What training loops share: resuming from the newest checkpoint, validation, keeping the best
//! checkpoint, early stopping, saving, and stopping on request.
//!
//! A [`Harness`] decides when; the loop itself makes the steps. It never looks at weights, losses
//! or episodes.

use crate::checkpoint::{Checkpoint, CheckpointError, Checkpoints};
use crate::run::metrics::Metrics;
use crate::run::stop::{RunEnd, Stop, Stopped};
use crate::train::learner::Learner;
use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

/// When a run saves, validates and ends, in steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cadence {
    /// The number of steps of the run.
    pub(super) steps: u64,
    /// Steps between checkpoints; at least 1.
    pub(super) checkpoint_every: u64,
    /// Validation, where there is one.
    pub(super) validation: Option<Validation>,
}

/// When a run validates, and what it does with the results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validation {
    /// Steps between validations; 0 for none.
    pub(super) every: u64,
    /// Whether the checkpoint of the best validation is kept.
    pub(super) keep_best: bool,
    /// Early stopping: validations without improvement until the run ends; 0 for no such end.
    pub(super) patience: u64,
}

/// What a checkpoint stores for a loop that validates. `L` is the loop's line of metrics, `S` what
/// else the loop has to remember from step to step.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopState<L, S> {
    /// The last step's metrics, while their line waits for a validation. A run that was stopped
    /// in between begins with that validation.
    unrecorded: Option<L>,
    /// The best validation so far.
    best: Option<Best>,
    /// The number of validations since the best one.
    stale: u64,
    /// The state of the loop's task sampler. Left out where there is none, as in checkpoints from
    /// before there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampler: Option<S>,
}

/// What a policy reaches on held-out tasks or examples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Best {
    /// After how many steps; 0 is the policy that training starts from.
    pub(super) step: u64,
    /// What is to be large: mean reward on held-out tasks, in [0, 1]; or minus the loss on held-out
    /// examples.
    pub(super) reward: f64,
}

/// What earlier starts of a run left on disk.
#[derive(Debug)]
pub(super) struct Earlier<'a> {
    out: &'a Utf8Path,
    checkpoints: Checkpoints,
    /// The checkpoint that the run resumes from.
    latest: Option<Checkpoint>,
}

impl<'a> Earlier<'a> {
    /// The run in the folder `out`, of which the last `keep` checkpoints stay, and the best.
    /// Removes what a killed run left unfinished.
    ///
    /// # Errors
    /// [`CheckpointError`] if the newest checkpoint is damaged.
    pub(super) fn find(out: &'a Utf8Path, keep: usize) -> Result<Self, CheckpointError> {
        let checkpoints = Checkpoints::new(out, keep);
        checkpoints.tidy()?;
        let latest = checkpoints.latest()?;
        Ok(Self { out, checkpoints, latest })
    }

    /// The folder of the checkpoint that the run resumes from; `None` if it begins.
    pub(super) fn folder(&self) -> Option<&Utf8Path> {
        self.latest.as_ref().map(Checkpoint::folder)
    }
}

/// The state of one training run.
#[derive(Debug)]
pub(super) struct Harness<'a, L, S = ()> {
    earlier: Earlier<'a>,
    stop: &'a Stop,
    cadence: Cadence,
    /// The state that checkpoints store; none for a loop without validation.
    state: Option<LoopState<L, S>>,
    /// The number of steps made.
    step: u64,
    /// The step of the newest checkpoint.
    saved: u64,
    /// The folder of the newest checkpoint.
    last: Option<Utf8PathBuf>,
}

impl<'a, L, S> Harness<'a, L, S>
where
    L: Serialize + DeserializeOwned,
    S: Serialize + DeserializeOwned,
{
    /// A run that resumes where earlier starts left it.
    ///
    /// # Errors
    /// [`CheckpointError`] if the checkpoint's state is of another kind of run.
    pub(super) fn new(
        earlier: Earlier<'a>,
        cadence: Cadence,
        stop: &'a Stop,
    ) -> Result<Self, CheckpointError> {
        let stored = match (&earlier.latest, cadence.validation) {
            (Some(checkpoint), Some(_)) => Some(checkpoint.state()?),
            _ => None,
        };
        let fresh = || LoopState { unrecorded: None, best: None, stale: 0, sampler: None };
        let state = cadence.validation.map(|_| stored.unwrap_or_else(fresh));
        let step = earlier.latest.as_ref().map_or(0, Checkpoint::step);
        let last = earlier.folder().map(Utf8Path::to_owned);
        Ok(Self { earlier, stop, cadence, state, step, saved: step, last })
    }

    /// The folder of the checkpoint that the run resumes from; `None` if it begins.
    pub(super) fn resumed(&self) -> Option<&Utf8Path> {
        self.earlier.folder()
    }

    /// Whether the run resumes from a checkpoint.
    pub(super) fn is_resumed(&self) -> bool {
        self.earlier.latest.is_some()
    }

    /// Restores the learner's state from the checkpoint, if there is one, and lets
    /// `checkpoints/best` lead to the best one.
    ///
    /// # Errors
    /// [`CheckpointError`] if the checkpoint is of another model.
    pub(super) fn restore(&self, learner: &mut dyn Learner) -> Result<(), CheckpointError> {
        if let Some(checkpoint) = &self.earlier.latest {
            learner.restore(checkpoint)?;
            tracing::info!(step = checkpoint.step(), "continuing");
        }
        self.earlier.checkpoints.point_to_best(self.best_step())
    }

    /// The run's metrics, without lines of steps that are made again.
    ///
    /// # Errors
    /// An I/O error naming the file.
    pub(super) fn metrics(&self) -> io::Result<Metrics> {
        // A run killed before its first checkpoint starts over, and so does its metrics file.
        if !self.is_resumed() {
            return Metrics::restart(self.earlier.out);
        }
        // A step that is not recorded yet is recorded after its validation, even if a start since
        // then did so and was killed before it saved.
        Metrics::resume(self.earlier.out, self.step - u64::from(self.is_unrecorded()))
    }

    /// The number of steps made.
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    /// Whether all steps are made, or early stopping ends the run.
    pub(super) fn is_over(&self) -> bool {
        let patience = self.cadence.validation.map_or(0, |validation| validation.patience);
        let stale = self.state.as_ref().map_or(0, |state| state.stale);
        let ends_early = patience > 0 && stale >= patience;
        !self.is_unrecorded() && (self.step >= self.cadence.steps || ends_early)
    }

    /// Whether the user asked the run to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_requested()
    }

    /// Counts a step. Its metrics wait for [`Self::take_unrecorded`] in the checkpoints of a loop
    /// that validates.
    pub(super) fn made(&mut self, line: L) {
        let _ = self.made_or_kept(line);
    }

    /// Counts a step, and returns its metrics to a loop that does not validate.
    pub(super) fn made_or_kept(&mut self, line: L) -> Option<L> {
        self.step += 1;
        match &mut self.state {
            Some(state) => {
                state.unrecorded = Some(line);
                None
            }
            None => Some(line),
        }
    }

    /// The state of the task sampler as the checkpoint has it that the run resumes from; `None` if
    /// the run begins, or its checkpoint has none.
    pub(super) fn take_sampler(&mut self) -> Option<S> {
        self.state.as_mut()?.sampler.take()
    }

    /// Replaces the state of the task sampler that checkpoints store. Only a loop that validates
    /// has one.
    pub(super) fn keep_sampler(&mut self, sampler: S) {
        if let Some(state) = &mut self.state {
            state.sampler = Some(sampler);
        }
    }

    /// Whether the last step's metrics are not recorded yet.
    pub(super) fn is_unrecorded(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.unrecorded.is_some())
    }

    /// The last step's metrics, to be recorded now.
    pub(super) fn take_unrecorded(&mut self) -> Option<L> {
        self.state.as_mut()?.unrecorded.take()
    }

    /// Whether the weights after this step are to be validated. Those that training starts from
    /// are, where there is validation at all.
    pub(super) fn validation_is_due(&self) -> bool {
        let every = self.cadence.validation.map_or(0, |validation| validation.every);
        every > 0 && (self.step.is_multiple_of(every) || self.step == self.cadence.steps)
    }

    /// Takes note of a validation and returns whether it is the best so far. Of equals the first
    /// stays the best.
    pub(super) fn record_validation(&mut self, reward: f64) -> bool {
        let Some(state) = &mut self.state else { return false };
        let better = state.best.is_none_or(|best| reward > best.reward);
        if better {
            (state.best, state.stale) = (Some(Best { step: self.step, reward }), 0);
        } else {
            state.stale += 1;
        }
        better
    }

    /// The best validation so far.
    pub(super) fn best(&self) -> Option<Best> {
        self.state.as_ref().and_then(|state| state.best)
    }

    /// Whether this step is to be saved; `is_best` is what [`Self::record_validation`] returned for it.
    /// The policy that training starts from never is.
    pub(super) fn checkpoint_is_due(&self, is_best: bool) -> bool {
        let keeps_best = self.cadence.validation.is_some_and(|validation| validation.keep_best);
        let is_due = self.step.is_multiple_of(self.cadence.checkpoint_every)
            || (is_best && keeps_best)
            || self.is_over();
        self.step > 0 && is_due
    }

    /// Writes a checkpoint of this step.
    ///
    /// # Errors
    /// [`CheckpointError::Save`] if a file cannot be written; earlier checkpoints stay.
    pub(super) fn save(&mut self, learner: &dyn Learner) -> Result<(), CheckpointError> {
        let (step, best) = (self.step, self.best_step());
        let checkpoints = &self.earlier.checkpoints;
        let write = |folder: &Utf8Path| learner.save(folder);
        let saved = checkpoints.save(step, &write, &self.state, best)?;
        (self.saved, self.last) = (step, Some(saved.folder().to_owned()));
        Ok(())
    }

    /// Whether steps were made that no checkpoint has.
    pub(super) fn is_unsaved(&self) -> bool {
        self.step > self.saved
    }

    /// The end of a run that was asked to stop.
    pub(super) fn stopped(self) -> RunEnd {
        let code = self.stop.exit_code();
        let (step, steps) = (self.step, self.cadence.steps);
        RunEnd::Stopped(Stopped { step, steps, checkpoint: self.last, code })
    }

    /// The end of a run that made all its steps: its newest checkpoint, or `start` if it made
    /// none.
    pub(super) fn finished(self, start: &Utf8Path) -> RunEnd {
        RunEnd::Finished(self.last.unwrap_or_else(|| start.to_owned()))
    }

    /// The step whose checkpoint is kept whatever its age.
    fn best_step(&self) -> Option<u64> {
        self.cadence.validation.filter(|validation| validation.keep_best)?;
        self.best().map(|best| best.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harness<'a>(out: &'a Utf8Path, stop: &'a Stop, patience: u64) -> Harness<'a, u64> {
        let validation = Validation { every: 1, keep_best: true, patience };
        let cadence = Cadence { steps: 9, checkpoint_every: 4, validation: Some(validation) };
        Harness::new(Earlier::find(out, 2).unwrap(), cadence, stop).unwrap()
    }

    #[test]
    fn patience_counts_validations_without_gain() {
        let dir = tempfile::tempdir().unwrap();
        let (out, stop) = (Utf8Path::from_path(dir.path()).unwrap(), Stop::default());
        for (patience, ends) in [(1, true), (2, false), (0, false)] {
            let mut harness = harness(out, &stop, patience);
            let mut better = Vec::new();
            for reward in [0.3, 0.5, 0.5, 0.4, 0.6, 0.1] {
                better.push(harness.record_validation(reward));
                harness.made(0);
                assert!(!harness.is_over(), "a step that is not recorded is not the last");
                assert_eq!(harness.take_unrecorded(), Some(0));
            }
            assert_eq!(better, [true, true, false, false, true, false]);
            assert_eq!(harness.best(), Some(Best { step: 4, reward: 0.6 }));
            assert_eq!(harness.is_over(), ends, "patience {patience}");
            harness.step = 9;
            assert!(harness.is_over());
        }
    }

    #[test]
    fn checkpoints_are_due_at_intervals_at_the_best_and_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let (out, stop) = (Utf8Path::from_path(dir.path()).unwrap(), Stop::default());
        let mut harness = harness(out, &stop, 0);
        let due: Vec<bool> = (0..=9)
            .map(|step| {
                harness.step = step;
                harness.checkpoint_is_due(step == 3)
            })
            .collect();
        assert_eq!(due, [false, false, false, true, true, false, false, false, true, true]);
    }

    #[test]
    fn a_loop_without_validation_stores_nothing_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (out, stop) = (Utf8Path::from_path(dir.path()).unwrap(), Stop::default());
        let cadence = Cadence { steps: 2, checkpoint_every: 1, validation: None };
        let earlier = Earlier::find(out, 1).unwrap();
        let mut harness: Harness<'_, ()> = Harness::new(earlier, cadence, &stop).unwrap();
        harness.made(());
        assert!(
            !harness.record_validation(1.0) && !harness.validation_is_due() && harness.is_unsaved()
        );
        assert_eq!(serde_json::to_string(&harness.state).unwrap(), "null");
        assert!(!harness.is_over());
        harness.made(());
        assert!(harness.is_over());
    }
}
