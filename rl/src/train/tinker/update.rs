//! Gradients on a server: losses as examples with weights, old log-probabilities and advantages.

use super::datum::{Example, narrow, pieces};
use super::error::TinkerError;
use super::learner::TinkerLearner;
use super::loss::{TrajectoryTokens, importance};
use super::model::{Passed, ServerLoss};
use super::settings::LossFunction;
use crate::generate::sample::Sampling;
use crate::train::batch::TrainSequence;
use crate::train::learner::{GrpoInputs, UpdateStats};

/// Most tokens of one request. Sixteen bytes travel for each, and fewer come back.
const MOST_TOKENS: usize = 1 << 20;
/// How far the server's loss may be from what its log-probabilities come to, relative to the sum of
/// the tokens' absolute losses. Both are f32 sums over thousands of tokens.
const LOSS_TOLERANCE: f64 = 1e-3;

impl TinkerLearner<'_> {
    /// Log-probabilities of the trained tokens of `samples` under the current weights.
    pub(super) fn score(
        &self,
        samples: &[&TrainSequence],
        beat: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<f32>>, TinkerError> {
        let examples: Vec<Example<'_>> =
            samples.iter().map(|sample| Example::scored(sample)).collect();
        let mut scores = Vec::with_capacity(samples.len());
        for piece in pieces(&examples, MOST_TOKENS) {
            scores.extend(self.model.pass(piece, ServerLoss::CROSS_ENTROPY, true)?.log_probs);
            beat();
        }
        Ok(scores)
    }

    /// What the sum over sequences is multiplied by to undo the server's mean over `count` of them.
    fn scale(&self, count: usize) -> f64 {
        if self.start.settings.backend.averages() { count as f64 } else { 1.0 }
    }

    /// Before a gradient is added up over sequences.
    fn begin(&mut self) -> Result<(), TinkerError> {
        if self.has_gradient && self.start.settings.backend.averages() {
            return Err(TinkerError::TwoLosses);
        }
        self.has_gradient = true;
        Ok(())
    }

    /// The gradient of the mean of -log p over all trained tokens.
    pub(super) fn imitate(
        &mut self,
        samples: &[TrainSequence],
        beat: &mut dyn FnMut(),
    ) -> Result<UpdateStats, TinkerError> {
        let samples: Vec<&TrainSequence> =
            samples.iter().filter(|sample| sample.trained_count() > 0).collect();
        let tokens: usize = samples.iter().map(|sample| sample.trained_count()).sum();
        if samples.is_empty() {
            return Ok(UpdateStats::default());
        }
        let examples: Vec<Example<'_>> = if self.start.settings.backend.averages() {
            // Its cross-entropy is a mean for each sequence, whatever the weights. Where the old
            // log-probabilities are today's, the surrogate has the same gradient and any weights.
            let scale = self.scale(samples.len());
            let scores = self.score(&samples, beat)?;
            let pairs = samples.iter().zip(scores);
            pairs
                .map(|(sample, old)| {
                    let count = old.len() as f64;
                    let advantage = narrow(scale * count / tokens as f64);
                    let advantages = vec![advantage; old.len()];
                    Example { sample, weight: 1.0 / count, surrogate: Some((old, advantages)) }
                })
                .collect()
        } else {
            let weight = 1.0 / tokens as f64;
            samples.iter().map(|sample| Example { weight, ..Example::scored(sample) }).collect()
        };
        self.begin()?;
        let averages = self.start.settings.backend.averages();
        let loss = if averages {
            ServerLoss { name: LossFunction::ImportanceSampling.name(), config: [None; 2] }
        } else {
            ServerLoss::CROSS_ENTROPY
        };
        let mut total = 0.0;
        for piece in pieces(&examples, MOST_TOKENS) {
            let passed = self.model.pass(piece, loss, false)?;
            let found = passed.log_probs.iter().flatten().map(|&value| -f64::from(value));
            let part = found.sum::<f64>() / tokens as f64;
            let count: usize = passed.log_probs.iter().map(Vec::len).sum();
            let expected = if averages {
                -self.scale(samples.len()) * count as f64 / tokens as f64
            } else {
                part
            };
            self.compare(&passed, expected, expected.abs())?;
            total += part;
            beat();
        }
        Ok(UpdateStats { loss: total, tokens, ..UpdateStats::default() })
    }

    /// The gradient of the surrogate over the trajectories that have an advantage.
    pub(super) fn surrogate(
        &mut self,
        update: &GrpoInputs<'_>,
        beat: &mut dyn FnMut(),
    ) -> Result<UpdateStats, TinkerError> {
        expressible(update)?;
        let weights = update.weights;
        let chosen: Vec<usize> = (0..update.samples.len())
            .filter(|&index| {
                let counts = weights[index] > 0.0 && update.samples[index].trained_count() > 0;
                counts && update.advantages[index].abs() > 0.0
            })
            .collect();
        if chosen.is_empty() {
            return Ok(UpdateStats::default());
        }
        let pick = |values: &[Vec<f32>]| -> Vec<Vec<f32>> {
            chosen.iter().map(|&index| values[index].clone()).collect()
        };
        let old = match (update.objective.tis_cap > 0.0, update.old) {
            (false, _) => pick(update.sampler),
            (true, Some(old)) => pick(old),
            // Before the first update they are today's.
            (true, None) => {
                let samples: Vec<&TrainSequence> =
                    chosen.iter().map(|&index| &update.samples[index]).collect();
                self.score(&samples, beat)?
            }
        };
        self.begin()?;
        let scale = self.scale(chosen.len());
        let examples: Vec<Example<'_>> = chosen
            .iter()
            .zip(&old)
            .map(|(&index, old)| {
                // Weights of one sequence add up to 1, so that a server which divides by their sum
                // computes the same as one that does not.
                let count = old.len() as f64;
                let whole = update.advantages[index] * weights[index] * count * scale;
                let importance = importance(old, &update.sampler[index], update.objective.tis_cap);
                let advantages = importance.iter().map(|weight| narrow(whole * weight)).collect();
                let surrogate = Some((old.clone(), advantages));
                Example { sample: &update.samples[index], weight: 1.0 / count, surrogate }
            })
            .collect();
        let function = self.start.settings.loss;
        let clip = update.objective.clip;
        let config = match function {
            LossFunction::Ppo => [
                Some(("clip_low_threshold", 1.0 - clip.low)),
                Some(("clip_high_threshold", 1.0 + clip.high)),
            ],
            LossFunction::ImportanceSampling => [None; 2],
        };
        let loss = ServerLoss { name: function.name(), config };
        let mut stats = UpdateStats::default();
        let mut place = 0;
        for piece in pieces(&examples, MOST_TOKENS) {
            let passed = self.model.pass(piece, loss, false)?;
            let (mut expected, mut magnitude) = (0.0, 0.0);
            for new in &passed.log_probs {
                let index = chosen[place];
                let tokens = TrajectoryTokens {
                    new,
                    old: &old[place],
                    sampler: &update.sampler[index],
                    advantage: update.advantages[index],
                    weight: weights[index],
                };
                let found = tokens.stats(&update.objective, function);
                expected += scale * found.loss;
                magnitude += scale * found.loss.abs();
                stats.add(&found);
                place += 1;
            }
            self.compare(&passed, expected, magnitude)?;
            beat();
        }
        Ok(stats)
    }

    /// Whether the server's loss is what the log-probabilities that it returned come to. If not, or
    /// if it tells no loss in the way of its backend, it was started with another one, whose
    /// gradients have another scale.
    fn compare(&self, passed: &Passed, ours: f64, magnitude: f64) -> Result<(), TinkerError> {
        let connection = self.model.client().connection();
        let (theirs, name) = if self.start.settings.backend.averages() {
            // Those that add up tell this one for cross-entropy alone, and the sum always.
            (passed.elementwise.filter(|_| passed.total.is_none()), "elementwise_loss")
        } else {
            (passed.total, "total_loss:sum")
        };
        let Some(theirs) = theirs else {
            let backend = self.start.settings.backend;
            let why = format!(
                "it does not tell the loss as `{name}` alone, as a server with `{backend}` does; is \
                 `learner.backend` the one that the server was started with?"
            );
            return Err(connection.unusable("forward_backward", &why));
        };
        if (theirs - ours).abs() <= LOSS_TOLERANCE * magnitude + 1e-6 {
            return Ok(());
        }
        Err(TinkerError::OtherLoss { server: connection.server(), theirs, ours })
    }
}

/// Refuses what no loss function of the server is.
fn expressible(update: &GrpoInputs<'_>) -> Result<(), TinkerError> {
    if update.reference.is_some() || update.objective.kl.beta > 0.0 {
        return Err(TinkerError::Unsupported("the server's losses have no KL penalty"));
    }
    if update.objective.clip.dual > 0.0 {
        return Err(TinkerError::Unsupported("the server's losses have no dual clip"));
    }
    scorable(&update.sampling)
}

/// Refuses distributions that the server does not score.
pub(super) fn scorable(sampling: &Sampling) -> Result<(), TinkerError> {
    if sampling.scale() == 1.0 && sampling.min_p == 0.0 {
        return Ok(());
    }
    Err(TinkerError::Unsupported("the server scores tokens at temperature 1 and without min-p"))
}
