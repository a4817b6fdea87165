//! Trajectories packed for the trainer.
//!
//! The model sees whole sequences, padded on the right and cut behind the last token that is
//! trained on. The output layer, whose cost is the vocabulary's size, sees only the positions
//! that predict a trained token: what the prompt and the environment wrote is context, never a
//! target.

use crate::loss;
use crate::model::Qwen3;
use crate::sample::Sampling;
use tch::{Device, Tensor};

/// One trajectory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample {
    /// All tokens, in order.
    pub ids: Vec<i64>,
    /// Which of them the model itself wrote and is trained on; as long as `ids`. The first token
    /// has nothing before it and cannot be trained on.
    pub trained: Vec<bool>,
}

impl Sample {
    /// Appends a piece that is all trained on, or not at all.
    pub fn push(&mut self, ids: &[i64], trained: bool) {
        self.ids.extend_from_slice(ids);
        self.trained.resize(self.ids.len(), trained);
    }

    /// The places of trained tokens.
    fn places(&self) -> impl Iterator<Item = usize> {
        // Nothing predicts the first token.
        self.trained
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, trained)| **trained)
            .map(|(place, _)| place)
    }

    /// How many tokens are trained on.
    pub fn trained_count(&self) -> usize {
        self.places().count()
    }

    /// How many tokens the model must read to predict the last trained one; 0 if there is none.
    fn read_length(&self) -> usize {
        self.places().last().unwrap_or(0)
    }
}

/// Groups samples into micro-batches of at most `budget` tokens, padding included, or of one
/// sample that alone is longer. Samples with nothing to train on are left out. Longest first, so
/// that neighbours are of similar length and a batch that is too large fails at once.
pub fn micro_batches(samples: &[Sample], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> =
        (0..samples.len()).filter(|&index| samples[index].read_length() > 0).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(samples[index].read_length()), index));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut width = 0;
    for index in order {
        match batches.last_mut() {
            Some(batch) if (batch.len() + 1) * width <= budget => batch.push(index),
            _ => {
                width = samples[index].read_length();
                batches.push(vec![index]);
            }
        }
    }
    batches
}

/// A micro-batch on the device, with N trained tokens.
#[derive(Debug)]
pub struct Micro {
    ids: Tensor,     // [B, T]
    places: Tensor,  // [N], into B T: where a trained token is predicted
    targets: Tensor, // [N]
    members: Vec<(usize, usize)>,
}

impl Micro {
    /// Packs the samples at `chosen`.
    pub fn new(samples: &[Sample], chosen: &[usize], device: Device) -> Self {
        let width = chosen.iter().map(|&index| samples[index].read_length()).max().unwrap_or(0);
        let (mut ids, mut places, mut targets, mut members) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, &index) in chosen.iter().enumerate() {
            let sample = &samples[index];
            let length = sample.read_length();
            ids.extend_from_slice(&sample.ids[..length]);
            ids.extend(std::iter::repeat_n(0, width - length));
            places.extend(sample.places().map(|place| signed(row * width + place - 1)));
            targets.extend(sample.places().map(|place| sample.ids[place]));
            members.push((index, sample.trained_count()));
        }
        let tensor = |values: &[i64]| Tensor::from_slice(values).to_device(device);
        Self {
            ids: tensor(&ids).view([signed(chosen.len()), signed(width)]),
            places: tensor(&places),
            targets: tensor(&targets),
            members,
        }
    }

    /// The samples in here and how many tokens each brings, in the order of packed tokens.
    pub fn members(&self) -> &[(usize, usize)] {
        &self.members
    }

    /// A value per sample, spread over its tokens: `[N]`.
    pub fn spread(&self, value: impl Fn(usize) -> f64) -> Tensor {
        #[expect(clippy::cast_possible_truncation, reason = "losses are f32")]
        let values: Vec<f32> = self
            .members
            .iter()
            .flat_map(|&(index, count)| std::iter::repeat_n(value(index) as f32, count))
            .collect();
        Tensor::from_slice(&values).to_device(self.ids.device())
    }

    /// Values per trained token of each sample, packed: `[N]`.
    pub fn pack<'a>(&self, values: impl Fn(usize) -> &'a [f32]) -> Tensor {
        let values: Vec<f32> =
            self.members.iter().flat_map(|&(index, _)| values(index)).copied().collect();
        Tensor::from_slice(&values).to_device(self.ids.device())
    }

    /// Log-probabilities of the trained tokens under the model, drawn from as `sampling` says:
    /// `[N]`, in f32.
    pub fn log_probs(&self, model: &Qwen3, sampling: &Sampling) -> Tensor {
        let hidden = model.forward(&self.ids); // [B, T, C]
        let hidden = self.predicting(&hidden.view([-1, model.config().hidden_size]));
        loss::log_probs(&model.logits(&hidden), &self.targets, sampling)
    }

    /// The rows of `[B T, ..]` from which a trained token is predicted: `[N, ..]`.
    pub fn predicting(&self, rows: &Tensor) -> Tensor {
        rows.index_select(0, &self.places)
    }

    /// The trained tokens: `[N]`.
    pub fn targets(&self) -> &Tensor {
        &self.targets
    }
}

/// libtorch counts in i64. Counts of tokens are far below its limit.
fn signed(count: usize) -> i64 {
    i64::try_from(count).expect("a count of tokens fits in i64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(pieces: &[(&[i64], bool)]) -> Sample {
        let mut sample = Sample::default();
        for (ids, trained) in pieces {
            sample.push(ids, *trained);
        }
        sample
    }

    #[test]
    fn only_what_predicts_is_read_and_only_what_is_trained_is_predicted() {
        let samples = [
            sample(&[
                (&[1, 2], false),
                (&[3, 4], true),
                (&[5], false),
                (&[6], true),
                (&[7, 8, 9], false),
            ]),
            sample(&[(&[10, 11], true)]),
        ];
        let micro = Micro::new(&samples, &[0, 1], Device::Cpu);
        let list = |tensor: &Tensor| Vec::<i64>::try_from(tensor.view([-1])).unwrap();
        assert_eq!(list(&micro.ids), [1, 2, 3, 4, 5, 10, 0, 0, 0, 0]);
        assert_eq!(list(&micro.places), [1, 2, 4, 5]);
        assert_eq!(list(&micro.targets), [3, 4, 6, 11]);
        assert_eq!(micro.members(), [(0, 3), (1, 1)]);
    }

    proptest! {
        #[test]
        fn every_trainable_sample_is_in_exactly_one_batch_within_budget(
            lengths in prop::collection::vec(0_usize..40, 0..30), budget in 1_usize..200,
        ) {
            let samples: Vec<Sample> = lengths.iter().map(|&n| sample(&[(&vec![1; n], true)])).collect();
            let batches = micro_batches(&samples, budget);
            let mut seen: Vec<usize> = batches.iter().flatten().copied().collect();
            seen.sort_unstable();
            let expected: Vec<usize> = (0..lengths.len()).filter(|&index| lengths[index] > 1).collect();
            prop_assert_eq!(seen, expected);
            for batch in batches {
                let width = batch.iter().map(|&index| lengths[index] - 1).max().unwrap();
                prop_assert!(batch.len() == 1 || batch.len() * width <= budget);
            }
        }
    }
}
