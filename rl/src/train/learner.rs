//! What a training loop needs of whatever holds the weights: gradients of a loss, optimizer steps,
//! log-probabilities, and checkpoints.
//!
//! Nothing here knows tasks, rewards or settings of a loop.

use crate::checkpoint::{self, Checkpoint, CheckpointError};
use crate::generate::sample::Sampling;
use crate::model::{Gradients, Qwen3};
use crate::optim::{AdamConfig, AdamW, OptimError};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::{Memory, Micro, Sample, micro_batches};
use crate::train::update::{Learnt, Update, imitate};
use camino::Utf8Path;

/// A loss over trajectories.
#[derive(Debug, Clone, Copy)]
pub enum Loss<'a> {
    /// Cross-entropy: the mean of -log p over all trained tokens of these samples.
    CrossEntropy(&'a [Sample]),
    /// GRPO's surrogate.
    Surrogate(Update<'a>),
}

/// Which weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    /// Those that are trained, as they are now.
    Current,
    /// The reference model's: those that training started from.
    Reference,
}

/// Why a learner cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// The update could not be made.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// The learner was made without a reference model.
    #[error("log-probabilities of the reference model were asked for, and there is none")]
    NoReference,
}

/// Weights in training. The native learner is one; a learner behind a network, with the weights on
/// other machines, is another one.
pub trait Learner {
    /// Adds the gradient of `loss` to what the next [`Self::step`] uses, and returns the loss and
    /// its statistics. Calls `beat` after every micro-batch.
    ///
    /// # Errors
    /// [`LearnerError`] if the gradient cannot be computed.
    fn accumulate(
        &mut self,
        loss: &Loss<'_>,
        beat: &mut dyn FnMut(),
    ) -> Result<Learnt, LearnerError>;

    /// One optimizer step at this learning rate with the gradient since the last one. Returns the
    /// gradient's norm before it was clipped.
    ///
    /// # Errors
    /// [`LearnerError::Optim`] if the gradient is not finite; the weights stay.
    fn step(&mut self, rate: f64) -> Result<f64, LearnerError>;

    /// Log-probabilities of every trained token under `weights`, in nats, sample by sample, as
    /// drawn with `sampling`. Calls `beat` after every micro-batch.
    ///
    /// # Errors
    /// [`LearnerError::NoReference`] if there is no such model.
    fn log_probs(
        &self,
        weights: Weights,
        samples: &[Sample],
        sampling: &Sampling,
        beat: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<f32>>, LearnerError>;

    /// Writes into `folder` what a checkpoint needs to go on, and returns how many updates were
    /// made.
    ///
    /// # Errors
    /// [`CheckpointError`] if a file cannot be written.
    fn save(&self, folder: &Utf8Path) -> Result<u64, CheckpointError>;

    /// Restores the optimizer's state from a checkpoint whose weights this learner has.
    ///
    /// # Errors
    /// [`CheckpointError`] if the state is of another model.
    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError>;

    /// Makes the current weights available to generators as this version.
    ///
    /// # Errors
    /// [`LearnerError`] if they cannot be handed over.
    fn publish(&mut self, version: u64) -> Result<(), LearnerError>;
}

/// The learner of this process: one device, `AdamW`.
#[derive(Debug)]
pub struct NativeLearner<'m> {
    model: &'m Qwen3,
    tokenizer: &'m Tokenizer,
    reference: Option<&'m Qwen3>,
    memory: Memory,
    optimizer: AdamW,
    gradients: Gradients,
}

impl<'m> NativeLearner<'m> {
    /// A learner that changes the weights of `model`.
    pub fn new(
        model: &'m Qwen3,
        tokenizer: &'m Tokenizer,
        adam: AdamConfig,
        memory: Memory,
    ) -> Self {
        let (optimizer, gradients) = (AdamW::new(model, adam), Gradients::default());
        Self { model, tokenizer, reference: None, memory, optimizer, gradients }
    }

    /// The same with a reference model, if there is one.
    #[must_use]
    pub fn with_reference(self, reference: Option<&'m Qwen3>) -> Self {
        Self { reference, ..self }
    }
}

impl Learner for NativeLearner<'_> {
    fn accumulate(
        &mut self,
        loss: &Loss<'_>,
        beat: &mut dyn FnMut(),
    ) -> Result<Learnt, LearnerError> {
        let (model, memory, gradients) = (self.model, &self.memory, &mut self.gradients);
        match loss {
            Loss::CrossEntropy(samples) => {
                let (loss, tokens) = imitate(model, samples, memory, gradients);
                beat();
                Ok(Learnt { loss, tokens, ..Learnt::default() })
            }
            Loss::Surrogate(update) => Ok(update.differentiate(model, memory, gradients, beat)),
        }
    }

    fn step(&mut self, rate: f64) -> Result<f64, LearnerError> {
        let mut gradients = std::mem::take(&mut self.gradients);
        Ok(self.optimizer.step(&mut gradients, rate)?)
    }

    fn log_probs(
        &self,
        weights: Weights,
        samples: &[Sample],
        sampling: &Sampling,
        beat: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        let model = match weights {
            Weights::Current => self.model,
            Weights::Reference => self.reference.ok_or(LearnerError::NoReference)?,
        };
        let mut scores = vec![Vec::new(); samples.len()];
        for chosen in micro_batches(samples, 0..samples.len(), self.memory.micro_tokens) {
            let micro = Micro::new(samples, &chosen, model.device());
            let found = micro.log_probs(model, sampling, &self.memory);
            let mut values = vec![0.0; found.numel()];
            found.copy_data(&mut values, found.numel());
            let mut values = values.into_iter();
            for &(index, count) in micro.members() {
                scores[index] = values.by_ref().take(count).collect();
            }
            beat();
        }
        Ok(scores)
    }

    fn save(&self, folder: &Utf8Path) -> Result<u64, CheckpointError> {
        checkpoint::write(folder, self.model, self.tokenizer, &self.optimizer)
    }

    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        checkpoint.restore(&mut self.optimizer)
    }

    fn publish(&mut self, _version: u64) -> Result<(), LearnerError> {
        // A generator of this process samples with the very tensors that are trained.
        Ok(())
    }
}
