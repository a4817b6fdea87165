//! The interface between a training loop and the weights: gradients of a loss, optimizer steps,
//! log-probabilities, and checkpoints.
//!
//! Nothing here knows tasks, rewards or settings of a loop.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::generate::Publication;
use crate::generate::sample::Sampling;
use crate::optim::OptimError;
use crate::remote::ServerError;
use crate::train::batch::TrainSequence;
use crate::train::loss::Objective;
use crate::train::tinker::TinkerError;
use camino::Utf8Path;

/// The inputs of the GRPO loss: one entry per sequence in each list, in the same order. A trajectory is
/// one sequence, or several where its conversation was summarised.
#[derive(Debug, Clone, Copy)]
pub struct GrpoInputs<'a> {
    /// The tokens of each sequence.
    pub samples: &'a [TrainSequence],
    /// The sampler's log-probabilities of their trained tokens.
    pub sampler: &'a [Vec<f32>],
    /// The trainer's before the first update; `None` where they are the sampler's, or today's.
    pub old: Option<&'a [Vec<f32>]>,
    /// The reference model's, if there is a KL penalty.
    pub reference: Option<&'a [Vec<f32>]>,
    /// The advantage of each one's trajectory.
    pub advantages: &'a [f64],
    /// The weight in the loss of each token of a sequence; 0 for sequences that are no part of this
    /// update.
    pub weights: &'a [f64],
    /// How a token's loss is made.
    pub objective: Objective,
    /// How tokens were drawn.
    pub sampling: Sampling,
}

/// Statistics of updates, summed over tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct UpdateStats {
    /// Loss, summed over updates.
    pub loss: f64,
    /// Number of tokens whose ratio was clipped; over `tokens` it is the clip fraction.
    pub clipped: f64,
    /// KL divergence to the reference model, in nats; 0 without one.
    pub kl: f64,
    /// Weights of truncated importance sampling.
    pub importance: f64,
    /// The largest difference between the sampler's log-probabilities and the current ones, in
    /// nats.
    pub gap: f64,
    /// The same differences, summed.
    pub gaps: f64,
    /// Number of tokens that were trained on.
    pub tokens: usize,
}

impl UpdateStats {
    /// Adds the statistics of another update.
    pub fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.clipped += other.clipped;
        self.kl += other.kl;
        self.importance += other.importance;
        self.gap = self.gap.max(other.gap);
        self.gaps += other.gaps;
        self.tokens += other.tokens;
    }
}

/// A loss over trajectories.
#[derive(Debug, Clone, Copy)]
pub enum TrainingLoss<'a> {
    /// Cross-entropy: the mean of -log p over all trained tokens of these samples.
    CrossEntropy(&'a [TrainSequence]),
    /// The same times a weight, to be added to another loss.
    Imitation {
        /// What is imitated.
        samples: &'a [TrainSequence],
        /// The weight. Statistics are those of the loss before it.
        weight: f64,
    },
    /// `Σ weight · log p` over the trained tokens of each sample: any loss of sequences' summed
    /// log-probabilities, by its derivative with respect to each of these sums.
    Weighted {
        /// The sequences.
        samples: &'a [TrainSequence],
        /// A weight for each.
        weights: &'a [f64],
    },
    /// GRPO's clipped surrogate with its KL penalty.
    Surrogate(GrpoInputs<'a>),
}

/// The weights that log-probabilities are computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightSet {
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
    /// The weights could not be handed over to generators.
    #[error("failed to publish the weights of step {version}")]
    Publish {
        /// Their version.
        version: u64,
        /// What went wrong.
        #[source]
        source: CheckpointError,
    },
    /// The server that holds the weights failed.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server that trains over the Tinker protocol failed.
    #[error(transparent)]
    Tinker(#[from] TinkerError),
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
        loss: &TrainingLoss<'_>,
        beat: &mut dyn FnMut(),
    ) -> Result<UpdateStats, LearnerError>;

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
        weights: WeightSet,
        samples: &[TrainSequence],
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

    /// Makes the current weights available to generators as this version. Those of earlier versions
    /// may be gone afterwards. `probe` is a known conversation of at least two tokens: generators
    /// with copies of the weights must agree with this learner on it.
    ///
    /// # Errors
    /// [`LearnerError`] if they cannot be handed over.
    fn publish(&mut self, version: u64, probe: &[i64]) -> Result<Publication, LearnerError>;
}
