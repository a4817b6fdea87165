//! Direct preference optimisation on pairs of answers (Rafailov et al. 2023, DPO).
//!
//! 1. A record has a prompt, an answer that is preferred and one that is not, in TRL's format.
//! 2. Before the first update, the policy's own log-probabilities of all answers are written down: it is
//!    the reference model, and no copy of it is kept in memory.
//! 3. An update raises the log-probability of preferred answers beside the reference, and lowers that of
//!    the others. Its gradient is `Σ ∂loss/∂(Σ log p) · ∂(Σ log p)`: the first factors come from a pass
//!    without a gradient, so that memory is that of SFT on as many tokens.
//!
//! Departures from TRL's `DPOTrainer`: prompts that are texts are laid out by the chat template, as
//! messages of the user; pairs that are too long are left out and named, not cut.

mod data;
mod error;
mod loss;
mod reference;
mod settings;

pub use error::PreferError;
pub use loss::{PairLogProbs, PairLoss, PreferenceLoss};
pub use settings::PreferSettings;

use crate::checkpoint::policy;
use crate::checkpoint::source::PolicySource;
use crate::generate::sample::Sampling;
use crate::run::settings::Checked;
use crate::run::stop::{RunEnd, Stop};
use crate::run::view::Stages;
use crate::text::template::ChatTemplate;
use crate::train::batch::TrainSequence;
use crate::train::harness::{Earlier, Validation};
use crate::train::learner::{Learner, LearnerError, TrainingLoss, WeightSet};
use crate::train::native::NativeLearner;
use crate::train::offline::{self, OfflineContext, OfflineLoss, OfflinePlan, cosine, steps_of};
use camino::Utf8Path;
use data::{Pair, Pairs};
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;
use tch::Device;

/// What metrics say of a batch of pairs besides the loss. Rewards are DPO's: `β (log p - log p_ref)` of
/// an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairMetrics {
    /// Mean reward of preferred answers.
    pub reward_chosen: f64,
    /// Mean reward of the others.
    pub reward_rejected: f64,
    /// Mean difference of the two.
    pub reward_margin: f64,
    /// Share of pairs whose preferred answer has the larger reward.
    pub accuracy: f64,
}

/// The same over pairs that are held out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct HeldOutMetrics {
    eval_reward_margin: f64,
    eval_accuracy: f64,
}

/// Trains on the user's pairs; `out` is the run's folder. Resumes a run that is there.
///
/// # Errors
/// [`PreferError`].
pub fn run(
    settings: &Checked<PreferSettings>,
    source: &PolicySource,
    out: &Utf8Path,
    device: Device,
    stages: &dyn Stages,
    stop: &Stop,
) -> Result<RunEnd, PreferError> {
    let root = Stream::root(settings.seed).child("prefer");
    let records = data::read(&settings.data)?;
    let earlier = Earlier::find(out, settings.keep)?;
    let kind = settings.dtype.kind();
    let (model, tokenizer) = match (earlier.folder(), source) {
        (Some(checkpoint), _) => policy::open(checkpoint, kind, device)?,
        (None, PolicySource::Folder(folder)) => {
            let stream = root.child("adapters");
            policy::open_to_train(folder, settings.lora.as_ref(), kind, device, stream)?
        }
        (None, PolicySource::BuiltIn(_)) => return Err(PreferError::NoPolicy),
    };
    let pairs =
        Pairs::new(records, settings, &ChatTemplate::new(&tokenizer)?, root.child("choice"))?;
    pairs.write_left_out(out, settings.context)?;
    tracing::info!(
        pairs = pairs.train.len(),
        held_out = pairs.held_out.len(),
        left_out = pairs.left_out.len(),
        "preferences"
    );
    let mut learner = NativeLearner::new(&model, &tokenizer, settings.adam, settings.memory);
    let is_begun = earlier.folder().is_some();
    let of_policy = |pairs: &[Pair]| log_probs(&learner, pairs);
    let reference = reference::take(out, is_begun, &pairs, &of_policy)?;
    let preference = Preference { pairs: &pairs, reference, loss: settings.loss() };
    let context = OfflineContext {
        plan: plan_of(settings, &pairs),
        order: root.child("order"),
        doing: "preferring",
        out,
        stages,
        stop,
    };
    offline::train(&preference, &mut learner, earlier, context)
}

/// How long the run is and what it keeps.
fn plan_of(settings: &PreferSettings, pairs: &Pairs) -> OfflinePlan {
    let PreferSettings { batch, epochs, max_steps, checkpoint_every, keep_best, .. } = *settings;
    let steps = steps_of(pairs.train.len(), batch, epochs, max_steps);
    let validation = Validation {
        every: settings.validate_every,
        keep_best,
        patience: settings.early_stopping_patience,
    };
    OfflinePlan {
        examples: pairs.train.len(),
        batch,
        shuffled: true,
        steps,
        schedule: cosine(settings.learning_rate, settings.warmup, steps),
        checkpoint_every,
        validation: (!pairs.held_out.is_empty()).then_some(validation),
    }
}

/// The policy's log-probabilities of both answers of each pair, each summed over its tokens.
fn log_probs(learner: &dyn Learner, pairs: &[Pair]) -> Result<Vec<PairLogProbs>, LearnerError> {
    let sides = sides(pairs);
    let found = learner.log_probs(WeightSet::Current, &sides, &Sampling::default(), &mut || ())?;
    let sum = |tokens: &Vec<f32>| tokens.iter().copied().map(f64::from).sum();
    let pair = |pair: &[Vec<f32>]| PairLogProbs { chosen: sum(&pair[0]), rejected: sum(&pair[1]) };
    Ok(found.chunks_exact(2).map(pair).collect())
}

/// The preferred answer and the other one of each pair, in turn.
fn sides(pairs: &[Pair]) -> Vec<TrainSequence> {
    pairs.iter().flat_map(|pair| [pair.chosen.clone(), pair.rejected.clone()]).collect()
}

/// The reference's log-probabilities of all pairs.
#[derive(Debug)]
struct ReferenceLogProbs {
    train: Vec<PairLogProbs>,
    held_out: Vec<PairLogProbs>,
}

/// The loss on pairs.
struct Preference<'a> {
    pairs: &'a Pairs,
    reference: ReferenceLogProbs,
    loss: PreferenceLoss,
}

impl OfflineLoss for Preference<'_> {
    type Update = PairMetrics;
    type Validation = HeldOutMetrics;
    type Error = PreferError;

    fn accumulate(
        &self,
        learner: &mut dyn Learner,
        chosen: &[usize],
        _step: u64,
    ) -> Result<(f64, usize, PairMetrics), PreferError> {
        let pairs: Vec<Pair> =
            chosen.iter().map(|&place| self.pairs.train[place].clone()).collect();
        let reference: Vec<PairLogProbs> =
            chosen.iter().map(|&place| self.reference.train[place]).collect();
        let found = self.loss.of(&log_probs(learner, &pairs)?, &reference, &counts(&pairs));
        let weights: Vec<f64> =
            found.gradient.iter().flat_map(|pair| [pair.chosen, pair.rejected]).collect();
        let samples = sides(&pairs);
        let loss = TrainingLoss::Weighted { samples: &samples, weights: &weights };
        let tokens = learner.accumulate(&loss, &mut || ())?.tokens;
        Ok((found.loss, tokens, found.metrics))
    }

    fn validate(&self, learner: &dyn Learner) -> Result<(f64, HeldOutMetrics), PreferError> {
        let pairs = &self.pairs.held_out;
        let now = log_probs(learner, pairs)?;
        let found = self.loss.of(&now, &self.reference.held_out, &counts(pairs));
        let PairMetrics { reward_margin, accuracy, .. } = found.metrics;
        let metrics = HeldOutMetrics { eval_reward_margin: reward_margin, eval_accuracy: accuracy };
        Ok((found.loss, metrics))
    }
}

/// Tokens of both answers of each pair.
fn counts(pairs: &[Pair]) -> Vec<[usize; 2]> {
    let both = |pair: &Pair| [pair.chosen.trained_count(), pair.rejected.trained_count()];
    pairs.iter().map(both).collect()
}
