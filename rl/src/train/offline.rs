//! The loop of trainers whose examples are there before they begin: `sft` and `prefer`.
//!
//! 1. Every epoch is a new shuffle of the examples, or their own order, cut into batches; a batch is
//!    an update.
//! 2. Where some examples are held out, the loss on them is measured before the first update and every so
//!    many updates. The best checkpoint can be kept, and a run without gain ends early.
//! 3. A run that is resumed goes on along the same curve.

use crate::checkpoint::CheckpointError;
use crate::optim::{Decay, Schedule};
use crate::run::metrics::Metrics;
use crate::run::stop::{RunEnd, Stop};
use crate::run::view::Stages;
use crate::train::harness::{Cadence, Earlier, Harness, Validation};
use crate::train::learner::{Learner, LearnerError};
use camino::Utf8Path;
use rand::seq::SliceRandom;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use tasks::stream::Stream;

/// What is learnt from examples.
pub(super) trait OfflineLoss {
    /// What a line of metrics says of an update besides the loss.
    type Update: Serialize + DeserializeOwned;
    /// What it says of a validation besides the loss.
    type Validation: Serialize;
    /// What ends a run.
    type Error: From<CheckpointError> + From<LearnerError> + From<io::Error>;

    /// Adds the gradient of the loss over the examples at `chosen` to the learner's, for the update
    /// after `step` others. Returns the loss, the number of tokens that it is over, and what else there
    /// is to say.
    ///
    /// # Errors
    /// If the gradient cannot be computed.
    fn accumulate(
        &self,
        learner: &mut dyn Learner,
        chosen: &[usize],
        step: u64,
    ) -> Result<(f64, usize, Self::Update), Self::Error>;

    /// The loss over all examples that are held out, and what else there is to say.
    ///
    /// # Errors
    /// If it cannot be computed.
    fn validate(&self, learner: &dyn Learner) -> Result<(f64, Self::Validation), Self::Error>;
}

/// How long a run is and what it keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfflinePlan {
    /// Examples.
    pub(super) examples: usize,
    /// Examples of an update.
    pub(super) batch: usize,
    /// Whether each pass takes the examples in an order of its own, or in the one that they have.
    pub(super) shuffled: bool,
    /// Updates in all.
    pub(super) steps: u64,
    /// The learning rate of each.
    pub(super) schedule: Schedule,
    /// Updates between checkpoints.
    pub(super) checkpoint_every: u64,
    /// Validation, where examples are held out.
    pub(super) validation: Option<Validation>,
}

/// The learning rate of both trainers: a warm-up to `peak`, then a cosine down to a twentieth of it.
pub(super) fn cosine(peak: f64, warmup: u64, steps: u64) -> Schedule {
    Schedule { peak, warmup, decay: Decay::Cosine { floor: 0.05 }, steps }
}

impl OfflinePlan {
    /// Updates of one pass over the examples.
    pub(super) fn per_epoch(&self) -> u64 {
        self.examples.div_ceil(self.batch) as u64
    }

    /// The places of the examples of the update after `step` others; `order` is the stream of all
    /// shuffles.
    pub(super) fn batch_of(&self, step: u64, order: Stream) -> Vec<usize> {
        let per_epoch = self.per_epoch();
        let mut places: Vec<usize> = (0..self.examples).collect();
        if self.shuffled {
            places.shuffle(&mut order.index(step / per_epoch).rng());
        }
        let first = usize::try_from(step % per_epoch).unwrap_or(0) * self.batch;
        places[first..self.examples.min(first + self.batch)].to_vec()
    }
}

/// Updates of a number of passes over examples: at most `max_steps`, if that is not 0.
pub(super) fn steps_of(examples: usize, batch: usize, epochs: u64, max_steps: u64) -> u64 {
    let all = examples.div_ceil(batch) as u64 * epochs;
    if max_steps == 0 { all } else { all.min(max_steps) }
}

/// What a run is told.
#[derive(Clone, Copy)]
pub(super) struct OfflineContext<'a> {
    pub(super) plan: OfflinePlan,
    /// The stream of shuffles.
    pub(super) order: Stream,
    /// What the progress bar and the log call the work.
    pub(super) doing: &'static str,
    pub(super) out: &'a Utf8Path,
    pub(super) stages: &'a dyn Stages,
    pub(super) stop: &'a Stop,
}

/// An update in `metrics.jsonl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct UpdateLine<U> {
    epoch: u64,
    /// The loss of the batch.
    loss: f64,
    /// Tokens that the loss is over.
    tokens: usize,
    learning_rate: f64,
    gradient_norm: f64,
    #[serde(flatten)]
    more: U,
}

/// A line of `metrics.jsonl`.
#[derive(Debug, Serialize)]
struct OfflineLine<'a, U, V> {
    step: u64,
    #[serde(flatten)]
    update: Option<&'a UpdateLine<U>>,
    #[serde(flatten)]
    validation: Option<ValidationLine<V>>,
}

/// A validation in `metrics.jsonl`.
#[derive(Debug, Serialize)]
struct ValidationLine<V> {
    eval_loss: f64,
    #[serde(flatten)]
    more: V,
}

/// Nothing else to say.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Nothing {}

/// Trains; a run that is there goes on.
///
/// # Errors
/// If the loss cannot be computed, or a file cannot be written.
pub(super) fn train<O: OfflineLoss>(
    objective: &O,
    learner: &mut dyn Learner,
    earlier: Earlier<'_>,
    context: OfflineContext<'_>,
) -> Result<RunEnd, O::Error> {
    let OfflineContext { plan, order, doing, out, stages, stop } = context;
    let OfflinePlan { steps, checkpoint_every, validation, .. } = plan;
    let harness = Harness::new(earlier, Cadence { steps, checkpoint_every, validation }, stop)?;
    harness.restore(learner)?;
    let mut run = OfflineRun { objective, metrics: harness.metrics()?, harness };
    let bar = stages.stage(doing, steps);
    bar.set_position(run.harness.step());
    if validation.is_some() && (!run.harness.is_resumed() || run.harness.is_unrecorded()) {
        run.finish_step(learner, None)?;
    }
    while !run.harness.is_over() {
        if run.harness.is_stopping() {
            if run.harness.is_unsaved() {
                run.harness.save(learner)?;
            }
            return Ok(run.harness.stopped());
        }
        let step = run.harness.step();
        let epoch = step / plan.per_epoch();
        let (loss, tokens, more) =
            objective.accumulate(learner, &plan.batch_of(step, order), step)?;
        let learning_rate = plan.schedule.rate(step);
        let gradient_norm = learner.step(learning_rate)?;
        let line = UpdateLine { epoch, loss, tokens, learning_rate, gradient_norm, more };
        bar.set_message(format!("loss {loss:.3}"));
        if bar.is_hidden() {
            tracing::info!(step = step + 1, epoch, loss, learning_rate, "{doing}");
        }
        bar.inc(1);
        let eval_loss = run.made(learner, line)?;
        if let Some(eval_loss) = eval_loss.filter(|_| bar.is_hidden()) {
            tracing::info!(step = step + 1, eval_loss, "held-out examples");
        }
    }
    bar.finish();
    if run.harness.step() < steps {
        let (step, best) = (run.harness.step(), run.harness.best().map(|best| best.step));
        tracing::info!(step, best, "early stopping: no gain on held-out examples");
    }
    Ok(run.harness.finished(out))
}

/// A run under way.
struct OfflineRun<'a, O: OfflineLoss> {
    objective: &'a O,
    metrics: Metrics,
    harness: Harness<'a, UpdateLine<O::Update>>,
}

impl<O: OfflineLoss> OfflineRun<'_, O> {
    /// Counts an update and ends its step. Returns the loss on held-out examples, if it was measured.
    fn made(
        &mut self,
        learner: &dyn Learner,
        line: UpdateLine<O::Update>,
    ) -> Result<Option<f64>, O::Error> {
        // A loop that validates keeps the line until it has.
        let rest = self.harness.made_or_kept(line);
        self.finish_step(learner, rest)
    }

    /// Validation if it is due, the line of metrics, the checkpoint if it is due.
    fn finish_step(
        &mut self,
        learner: &dyn Learner,
        line: Option<UpdateLine<O::Update>>,
    ) -> Result<Option<f64>, O::Error> {
        let due = self.harness.validation_is_due();
        let found = due.then(|| self.objective.validate(learner)).transpose()?;
        let eval_loss = found.as_ref().map(|(loss, _)| *loss);
        let is_best = eval_loss.is_some_and(|loss| self.harness.record_validation(-loss));
        let validation = found.map(|(eval_loss, more)| ValidationLine { eval_loss, more });
        let update = line.or_else(|| self.harness.take_unrecorded());
        let step = self.harness.step();
        self.metrics.append(&OfflineLine { step, update: update.as_ref(), validation })?;
        if self.harness.checkpoint_is_due(is_best) {
            self.harness.save(learner)?;
        }
        Ok(eval_loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_has_every_example_once_in_another_order() {
        let schedule = Schedule { peak: 1.0, warmup: 0, decay: Decay::Constant, steps: 6 };
        let plan = OfflinePlan {
            examples: 7,
            batch: 3,
            shuffled: true,
            steps: 6,
            schedule,
            checkpoint_every: 1,
            validation: None,
        };
        let epoch = |epoch: u64| -> Vec<usize> {
            let steps = epoch * plan.per_epoch()..(epoch + 1) * plan.per_epoch();
            steps.flat_map(|step| plan.batch_of(step, Stream::root(1))).collect()
        };
        let (first, second) = (epoch(0), epoch(1));
        assert_ne!(first, second);
        for mut places in [first, second] {
            places.sort_unstable();
            assert_eq!(places, (0..7).collect::<Vec<_>>());
        }
        assert_eq!(plan.batch_of(2, Stream::root(1)).len(), 1);
        let plan = OfflinePlan { shuffled: false, ..plan };
        let batches = [0, 1, 2, 3].map(|step| plan.batch_of(step, Stream::root(1)));
        assert_eq!(batches, [vec![0, 1, 2], vec![3, 4, 5], vec![6], vec![0, 1, 2]]);
    }

    #[test]
    fn steps_are_those_of_the_epochs_unless_there_is_a_smaller_limit() {
        assert_eq!([0, 5, 500].map(|most| steps_of(7, 3, 4, most)), [12, 5, 12]);
    }
}
