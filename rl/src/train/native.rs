//! The learner of this process: one model on one device, gradients layer by layer, `AdamW`.

use crate::checkpoint::{self, Checkpoint, CheckpointError};
use crate::generate::Publication;
use crate::generate::sample::Sampling;
use crate::model::{Gradients, Qwen3, signed};
use crate::optim::{AdamConfig, AdamW};
use crate::text::tokenizer::Tokenizer;
use crate::train::batch::{Memory, MicroBatch, TrainSequence, micro_batches};
use crate::train::learner::{
    GrpoInputs, Learner, LearnerError, TrainingLoss, UpdateStats, WeightSet,
};
use crate::train::loss::Tokens;
use crate::train::publisher::Publisher;
use camino::Utf8Path;
use std::ops::Range;
use tch::{Kind, Tensor};

/// The learner of this process.
#[derive(Debug)]
pub struct NativeLearner<'m> {
    model: &'m Qwen3,
    tokenizer: &'m Tokenizer,
    reference: Option<&'m Qwen3>,
    memory: Memory,
    optimizer: AdamW,
    gradients: Gradients,
    publisher: Option<Publisher>,
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
        let (reference, publisher) = (None, None);
        Self { model, tokenizer, reference, memory, optimizer, gradients, publisher }
    }

    /// The same with a reference model, if there is one.
    #[must_use]
    pub fn with_reference(self, reference: Option<&'m Qwen3>) -> Self {
        Self { reference, ..self }
    }

    /// The same, which publishes its weights for generators of other processes.
    #[must_use]
    pub fn with_publisher(self, publisher: Publisher) -> Self {
        Self { publisher: Some(publisher), ..self }
    }
}

impl Learner for NativeLearner<'_> {
    fn accumulate(
        &mut self,
        loss: &TrainingLoss<'_>,
        beat: &mut dyn FnMut(),
    ) -> Result<UpdateStats, LearnerError> {
        let (model, memory, gradients) = (self.model, &self.memory, &mut self.gradients);
        match loss {
            TrainingLoss::CrossEntropy(samples) => {
                let (loss, tokens) = imitate(model, samples, memory, gradients);
                beat();
                Ok(UpdateStats { loss, tokens, ..UpdateStats::default() })
            }
            TrainingLoss::Imitation { samples, weight } => {
                let (loss, tokens) = imitate_times(*weight, model, samples, memory, gradients);
                beat();
                Ok(UpdateStats { loss, tokens, ..UpdateStats::default() })
            }
            TrainingLoss::Weighted { samples, weights } => {
                let (loss, tokens) = weigh(model, samples, weights, memory, gradients);
                beat();
                Ok(UpdateStats { loss, tokens, ..UpdateStats::default() })
            }
            TrainingLoss::Surrogate(update) => Ok(update.backward(model, memory, gradients, beat)),
        }
    }

    fn step(&mut self, rate: f64) -> Result<f64, LearnerError> {
        let mut gradients = std::mem::take(&mut self.gradients);
        Ok(self.optimizer.step(&mut gradients, rate)?)
    }

    fn log_probs(
        &self,
        weights: WeightSet,
        samples: &[TrainSequence],
        sampling: &Sampling,
        beat: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<f32>>, LearnerError> {
        let model = match weights {
            WeightSet::Current => self.model,
            WeightSet::Reference => self.reference.ok_or(LearnerError::NoReference)?,
        };
        let mut scores = vec![Vec::new(); samples.len()];
        let memory = &self.memory;
        for chosen in micro_batches(samples, 0..samples.len(), memory) {
            let micro = MicroBatch::new(samples, &chosen, memory, model.device());
            let found = micro.log_probs(model, sampling, memory);
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

    fn publish(&mut self, version: u64, probe: &[i64]) -> Result<Publication, LearnerError> {
        match &mut self.publisher {
            // A generator of this process samples with the very tensors that are trained.
            None => Ok(Publication::shared(version)),
            Some(publisher) => publisher
                .publish(version, self.model, &self.memory, probe)
                .map_err(|source| LearnerError::Publish { version, source }),
        }
    }
}

/// The largest difference between two lists of log-probabilities `[n]`, and the sum of all.
fn gaps(new: &Tensor, old: &Tensor) -> (f64, f64) {
    let gaps = (new.detach() - old).abs();
    (gaps.max().double_value(&[]), gaps.sum(Kind::Double).double_value(&[]))
}

impl GrpoInputs<'_> {
    /// Adds to `gradients` those of the loss over the sequences that have an advantage, or over
    /// all that count where there is a reference model: the others' are exactly zero. Calls `beat`
    /// after every micro-batch.
    pub fn backward(
        &self,
        model: &Qwen3,
        memory: &Memory,
        gradients: &mut Gradients,
        beat: &mut dyn FnMut(),
    ) -> UpdateStats {
        let teaching = (0..self.samples.len()).filter(|&index| {
            let pulls = self.reference.is_some() || self.advantages[index].abs() > 0.0;
            self.weights[index] > 0.0 && pulls
        });
        let mut stats = UpdateStats::default();
        for chosen in micro_batches(self.samples, teaching, memory) {
            let micro = MicroBatch::new(self.samples, &chosen, memory, model.device());
            let of = |values: &[Vec<f32>]| micro.pack(|index| &values[index]);
            let (sampler, old) = (of(self.sampler), self.old.map(of));
            let reference = self.reference.map(of);
            let advantages = micro.spread(|index| self.advantages[index]);
            let weights = micro.spread(|index| self.weights[index]);
            let mut loss = |new: &Tensor, range: Range<usize>| {
                let part = |all: &Tensor| all.narrow(0, signed(range.start), signed(range.len()));
                let tokens = Tokens {
                    new: new.shallow_clone(),
                    sampler: part(&sampler),
                    old: old.as_ref().map(part),
                    reference: reference.as_ref().map(part),
                    advantages: part(&advantages),
                    weights: part(&weights),
                };
                let loss = self.objective.loss(&tokens);
                let value = |tensor: &Tensor| tensor.double_value(&[]);
                let (gap, gaps) = gaps(new, &tokens.sampler);
                stats.add(&UpdateStats {
                    loss: value(&loss.loss),
                    clipped: value(&loss.clipped),
                    kl: loss.kl.as_ref().map_or(0.0, value),
                    importance: loss.importance.as_ref().map_or(0.0, value),
                    gap,
                    gaps,
                    tokens: range.len(),
                });
                loss.loss
            };
            micro.backward(model, &self.sampling, memory, gradients, &mut loss);
            beat();
        }
        stats
    }
}

/// Adds up the gradient of the mean loss over target tokens; returns that loss and their number.
pub fn imitate(
    model: &Qwen3,
    samples: &[TrainSequence],
    memory: &Memory,
    gradients: &mut Gradients,
) -> (f64, usize) {
    imitate_times(1.0, model, samples, memory, gradients)
}

/// The same with the gradient times `weight`.
fn imitate_times(
    weight: f64,
    model: &Qwen3,
    samples: &[TrainSequence],
    memory: &Memory,
    gradients: &mut Gradients,
) -> (f64, usize) {
    let tokens: usize = samples.iter().map(TrainSequence::trained_count).sum();
    let mut total = 0.0;
    for chosen in micro_batches(samples, 0..samples.len(), memory) {
        let micro = MicroBatch::new(samples, &chosen, memory, model.device());
        micro.backward(model, &Sampling::default(), memory, gradients, &mut |log_probs, _| {
            let loss = -log_probs.sum(Kind::Float) / tokens as f64;
            total += loss.double_value(&[]);
            loss * weight
        });
    }
    (total, tokens)
}

/// Adds up the gradient of `Σ weight · log p` over the trained tokens of samples with a weight each;
/// returns that sum and the number of tokens.
pub fn weigh(
    model: &Qwen3,
    samples: &[TrainSequence],
    weights: &[f64],
    memory: &Memory,
    gradients: &mut Gradients,
) -> (f64, usize) {
    let (mut total, mut tokens) = (0.0, 0);
    for chosen in micro_batches(samples, 0..samples.len(), memory) {
        let micro = MicroBatch::new(samples, &chosen, memory, model.device());
        let weights = micro.spread(|index| weights[index]);
        micro.backward(model, &Sampling::default(), memory, gradients, &mut |log_probs, range| {
            tokens += range.len();
            let weights = weights.narrow(0, signed(range.start), signed(range.len()));
            let loss = (log_probs * weights).sum(Kind::Float);
            total += loss.double_value(&[]);
            loss
        });
    }
    (total, tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::policy::tests::small;
    use crate::checkpoint::{Checkpoints, policy};
    use crate::model::{ADAPTERS, LoraSettings, save_folder};
    use crate::train::presets::Scale;
    use fs_err as fs;
    use tasks::stream::Stream;
    use tch::Device;

    fn learner<'m>(model: &'m Qwen3, tokenizer: &'m Tokenizer) -> NativeLearner<'m> {
        NativeLearner::new(model, tokenizer, AdamConfig::default(), Scale::Tiny.memory())
    }

    fn sample(ids: [i64; 3]) -> TrainSequence {
        let mut sample = TrainSequence::default();
        sample.push(&ids, true);
        sample
    }

    fn train(learner: &mut dyn Learner, steps: Range<i64>) -> Vec<u64> {
        steps
            .map(|step| {
                let samples = [sample([step, step + 1, step + 2])];
                let loss = TrainingLoss::CrossEntropy(&samples);
                let learnt = learner.accumulate(&loss, &mut || ()).unwrap();
                learner.step(1e-2).unwrap();
                learnt.loss.to_bits()
            })
            .collect()
    }

    #[test]
    fn a_resumed_run_continues_to_the_last_bit() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let checkpoints = Checkpoints::new(dir, 2);
        let (model, tokenizer) = small();
        let mut learner = learner(&model, &tokenizer);
        train(&mut learner, 0..4);
        checkpoints.save(4, &|folder| learner.save(folder), &"seen", None).unwrap();
        let straight = train(&mut learner, 4..8);

        let latest = checkpoints.latest().unwrap().unwrap();
        assert_eq!((latest.step(), latest.state::<String>().unwrap().as_str()), (4, "seen"));
        let (model, _) = policy::open(latest.folder(), Kind::Float, Device::Cpu).unwrap();
        let mut learner = self::learner(&model, &tokenizer);
        learner.restore(&latest).unwrap();
        assert_eq!(train(&mut learner, 4..8), straight);
    }

    #[test]
    fn adapters_resume_to_the_last_bit_and_need_their_base() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let base = dir.join("base");
        fs::create_dir(&base).unwrap();
        let (model, tokenizer) = small();
        save_folder(&model, &base).unwrap();
        tokenizer.save(&base).unwrap();
        let settings = LoraSettings { rank: 2, alpha: 4.0, ..LoraSettings::default() };
        let open = |folder: &Utf8Path, settings| {
            policy::open_to_train(folder, settings, Kind::Float, Device::Cpu, Stream::root(3))
        };
        let (model, tokenizer) = open(&base, Some(&settings)).unwrap();
        let mut learner = learner(&model, &tokenizer);
        let frozen = model.published()["model.embed_tokens.weight"].copy();
        train(&mut learner, 0..4);
        assert_eq!(model.published()["model.embed_tokens.weight"], frozen);
        let run = dir.join("run");
        let checkpoints = Checkpoints::new(&run, 2);
        checkpoints.save(4, &|folder| learner.save(folder), &(), None).unwrap();
        let straight = train(&mut learner, 4..8);

        let latest = checkpoints.latest().unwrap().unwrap();
        let (model, tokenizer) = open(latest.folder(), Some(&settings)).unwrap();
        let mut learner = self::learner(&model, &tokenizer);
        learner.restore(&latest).unwrap();
        assert_eq!(train(&mut learner, 4..8), straight);

        let wider = LoraSettings { rank: 3, ..settings.clone() };
        let error = open(latest.folder(), Some(&wider)).unwrap_err().to_string();
        assert!(error.contains("another shape"), "{error}");
        fs::remove_file(latest.folder().join(ADAPTERS)).unwrap();
        assert!(checkpoints.latest().is_err(), "a checkpoint without its adapters is damaged");
        fs::remove_dir_all(&base).unwrap();
        let error = open(latest.folder(), None).unwrap_err().to_string();
        assert!(error.contains("base_model_name_or_path"), "{error}");
    }

    #[test]
    fn gradients_accumulate_and_the_reference_model_is_constant() {
        let (model, tokenizer) = small();
        let (reference, _) = small();
        let mut learner = learner(&model, &tokenizer);
        let samples = [sample([3, 4, 5]), sample([6, 7, 8])];
        let sampling = Sampling::default();
        let log_probs = |learner: &NativeLearner<'_>, weights| {
            learner.log_probs(weights, &samples, &sampling, &mut || ())
        };
        let missing = log_probs(&learner, WeightSet::Reference);
        assert!(matches!(missing, Err(LearnerError::NoReference)));
        learner = learner.with_reference(Some(&reference));
        let before = log_probs(&learner, WeightSet::Current).unwrap();
        assert_eq!(before, log_probs(&learner, WeightSet::Reference).unwrap());
        assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);

        let mut norms = Vec::new();
        for calls in 1..=2 {
            for _ in 0..calls {
                learner.accumulate(&TrainingLoss::CrossEntropy(&samples), &mut || ()).unwrap();
            }
            // No step at all: the norm is what is asked for.
            norms.push(learner.step(0.0).unwrap());
        }
        assert!((norms[1] / norms[0] - 2.0).abs() < 1e-5, "{norms:?}");
        // An imitation is the same loss times its weight, and is added to what is there.
        let imitate = |learner: &mut NativeLearner<'_>, weight| {
            let loss = TrainingLoss::Imitation { samples: &samples, weight };
            learner.accumulate(&loss, &mut || ()).unwrap()
        };
        let plain = learner.accumulate(&TrainingLoss::CrossEntropy(&samples), &mut || ()).unwrap();
        let stats = imitate(&mut learner, 0.5);
        assert_eq!((stats, stats.tokens), (plain, 4), "told before the weight");
        assert!((learner.step(0.0).unwrap() / norms[0] - 1.5).abs() < 1e-5);
        imitate(&mut learner, 0.25);
        assert!((learner.step(0.0).unwrap() / norms[0] - 0.25).abs() < 1e-5);
        learner.accumulate(&TrainingLoss::CrossEntropy(&samples), &mut || ()).unwrap();
        learner.step(1e-2).unwrap();
        assert_ne!(before, log_probs(&learner, WeightSet::Current).unwrap());
        assert_eq!(before, log_probs(&learner, WeightSet::Reference).unwrap());
    }
}
