//! Gradients of the two losses, cross-entropy and GRPO's surrogate, over trajectories.

use crate::generate::sample::Sampling;
use crate::model::{Gradients, Qwen3, signed};
use crate::train::batch::{Memory, Micro, Sample, micro_batches};
use crate::train::loss::{Aggregation, Objective, Tokens};
use std::ops::Range;
use tch::{Kind, Tensor};

/// What the loss needs to know about trajectories, each list in their order.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// Their tokens.
    pub samples: &'a [Sample],
    /// The sampler's log-probabilities of their trained tokens.
    pub sampler: &'a [Vec<f32>],
    /// The trainer's before the first update; `None` where they are the sampler's, or today's.
    pub old: Option<&'a [Vec<f32>]>,
    /// The reference policy's, where there is a pull towards it.
    pub reference: Option<&'a [Vec<f32>]>,
    /// Advantages.
    pub advantages: &'a [f64],
    /// How many tokens of each count in this update; 0 for those that are no part of it.
    pub counts: &'a [usize],
    /// How token losses become one.
    pub aggregation: Aggregation,
    /// How a token's loss is made.
    pub objective: Objective,
    /// How tokens were drawn.
    pub sampling: Sampling,
}

/// What updates came to, summed over tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Learnt {
    /// Loss, summed over updates.
    pub loss: f64,
    /// Tokens whose ratio was clipped.
    pub clipped: f64,
    /// KL to the reference policy, in nats.
    pub distance: f64,
    /// Importance weights.
    pub importance: f64,
    /// The largest difference between the sampler's log-probabilities and today's, in nats.
    pub gap: f64,
    /// Tokens.
    pub tokens: usize,
}

impl Learnt {
    /// Adds what another update came to.
    pub fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.clipped += other.clipped;
        self.distance += other.distance;
        self.importance += other.importance;
        self.gap = self.gap.max(other.gap);
        self.tokens += other.tokens;
    }
}

/// The largest difference between two lists of log-probabilities `[n]`.
fn largest_gap(new: &Tensor, old: &Tensor) -> f64 {
    (new.detach() - old).abs().max().double_value(&[])
}

impl Update<'_> {
    /// Adds to `gradients` those of the loss over the trajectories that have an advantage, or over
    /// all that count where there is a reference model: the others' are exactly zero. Calls `beat`
    /// after every micro-batch.
    pub fn differentiate(
        &self,
        model: &Qwen3,
        memory: &Memory,
        gradients: &mut Gradients,
        beat: &mut dyn FnMut(),
    ) -> Learnt {
        let weights = self.aggregation.weights(self.counts);
        let teaching = (0..self.samples.len()).filter(|&index| {
            let pulls = self.reference.is_some() || self.advantages[index].abs() > 0.0;
            self.counts[index] > 0 && pulls
        });
        let mut learnt = Learnt::default();
        for chosen in micro_batches(self.samples, teaching, memory.micro_tokens) {
            let micro = Micro::new(self.samples, &chosen, model.device());
            let of = |values: &[Vec<f32>]| micro.pack(|index| &values[index]);
            let (sampler, old) = (of(self.sampler), self.old.map(of));
            let reference = self.reference.map(of);
            let advantages = micro.spread(|index| self.advantages[index]);
            let weights = micro.spread(|index| weights[index]);
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
                learnt.add(&Learnt {
                    loss: value(&loss.loss),
                    clipped: value(&loss.clipped),
                    distance: loss.distance.as_ref().map_or(0.0, value),
                    importance: loss.importance.as_ref().map_or(0.0, value),
                    gap: largest_gap(new, &tokens.sampler),
                    tokens: range.len(),
                });
                loss.loss
            };
            micro.differentiate(model, &self.sampling, memory, gradients, &mut loss);
            beat();
        }
        learnt
    }
}

/// Adds up the gradient of the mean loss over target tokens; returns that loss and their number.
pub fn imitate(
    model: &Qwen3,
    samples: &[Sample],
    memory: &Memory,
    gradients: &mut Gradients,
) -> (f64, usize) {
    let tokens: usize = samples.iter().map(Sample::trained_count).sum();
    let mut total = 0.0;
    for chosen in micro_batches(samples, 0..samples.len(), memory.micro_tokens) {
        let micro = Micro::new(samples, &chosen, model.device());
        micro.differentiate(model, &Sampling::default(), memory, gradients, &mut |log_probs, _| {
            let loss = -log_probs.sum(Kind::Float) / tokens as f64;
            total += loss.double_value(&[]);
            loss
        });
    }
    (total, tokens)
}
