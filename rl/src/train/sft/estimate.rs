//! What a run of `rl sft` on the user's data would take, before anything is written.

use super::{Imitation, Prepared, SftError, SftSettings, data, plan_of, prepare, root_of};
use crate::checkpoint::source::PolicySource;
use crate::run::device;
use crate::run::settings::Checked;
use crate::train::batch::TrainSequence;
use crate::train::learner::Learner as _;
use crate::train::native::NativeLearner;
use crate::train::offline::OfflineLoss as _;
use crate::train::plan::{MemoryPlan, Updates};
use serde::Serialize;
use std::fmt;
use std::time::Instant;
use tch::Device;

/// What a run would take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SftEstimate {
    /// Examples that would be trained on.
    pub examples: usize,
    /// Examples that would be held out.
    pub held_out: usize,
    /// Examples that are longer than the context, and left out.
    pub over_long: usize,
    /// Their share of all, in [0, 1].
    pub over_long_share: f64,
    /// Names of the first of them, with their lengths in tokens.
    pub longest_left_out: Vec<(String, usize)>,
    /// Tokens of the examples that would be trained on.
    pub tokens: TokenCounts,
    /// Updates in all.
    pub updates: u64,
    /// Passes over the examples, whole or in part.
    pub epochs: f64,
    /// The most memory that updates would need, in bytes, by the plan of `rl plan`.
    pub memory_bytes: u64,
    /// What the device has free, in bytes, where that is known.
    pub memory_free_bytes: Option<u64>,
    /// Seconds of an update: measured on one of them.
    pub seconds_per_update: f64,
    /// Seconds of all updates and validations. Loading, checkpoints and the first update, which takes
    /// longer, are not in it.
    pub seconds: f64,
}

/// Lengths of samples, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TokenCounts {
    /// All together.
    pub total: usize,
    /// Those that are imitated, all together.
    pub trained: usize,
    /// Mean length.
    pub mean: f64,
    /// Median length.
    pub median: usize,
    /// The length that 95 % of samples do not exceed.
    pub p95: usize,
    /// The longest.
    pub longest: usize,
}

impl TokenCounts {
    /// Of at least one sample.
    fn of(samples: &[TrainSequence]) -> Self {
        let mut lengths: Vec<usize> = samples.iter().map(|sample| sample.ids.len()).collect();
        lengths.sort_unstable();
        let total = lengths.iter().sum();
        // The nearest rank.
        let at = |percent: usize| lengths[(lengths.len() * percent).div_ceil(100).max(1) - 1];
        Self {
            total,
            trained: samples.iter().map(TrainSequence::trained_count).sum(),
            mean: total as f64 / lengths.len() as f64,
            median: at(50),
            p95: at(95),
            longest: at(100),
        }
    }
}

/// Most names of examples that are too long.
const NAMED: usize = 5;

/// Lays out the user's data and measures an update. Nothing is written, and the weights that are
/// changed are thrown away.
///
/// # Errors
/// [`SftError`], as of a run.
pub fn estimate(
    settings: &Checked<SftSettings>,
    source: &PolicySource,
    device: Device,
) -> Result<SftEstimate, SftError> {
    let examples = data::read(&settings.data)?;
    let Prepared { model, tokenizer, samples } = prepare(settings, source, None, examples, device)?;
    let plan = plan_of(settings, &samples);
    let tokens = TokenCounts::of(&samples.train);
    let lora = settings.lora.clone().map(|lora| lora.fitted(model.config()));
    let updates = Updates {
        dtype: settings.dtype,
        lora: lora.as_ref(),
        memory: settings.memory,
        moments: settings.adam.optim,
        longest: tokens.longest,
    };
    let memory_bytes = MemoryPlan::of_updates(&updates, model.config(), device).peak();
    let memory_free_bytes = device::free_memory(device);

    let root = root_of(settings);
    let imitation = Imitation {
        samples: &samples,
        context_noise: settings.context_noise,
        vocab_size: tokenizer.vocab_size(),
        noise: root.child("noise"),
    };
    let mut learner = NativeLearner::new(&model, &tokenizer, settings.adam, settings.memory);
    let read = |chosen: &[usize]| -> usize {
        chosen.iter().map(|&place| samples.train[place].ids.len()).sum()
    };
    // The first one also allocates memory and makes kernels.
    let (mut seconds, mut of_update) = (0.0, 0);
    for step in [0, 1] {
        let chosen = plan.batch_of(step.min(plan.steps - 1), root.child("order"));
        let began = Instant::now();
        imitation.accumulate(&mut learner, &chosen, step)?;
        learner.step(plan.schedule.rate(step))?;
        device::synchronize(device);
        (seconds, of_update) = (began.elapsed().as_secs_f64(), read(&chosen));
    }
    let per_token = seconds / of_update.max(1) as f64;
    let epochs = plan.steps as f64 / plan.per_epoch() as f64;
    let trained_on = epochs * tokens.total as f64;
    // A pass without a gradient is a third of one with.
    let validations = plan.validation.map_or(0, |it| 1 + plan.steps.div_ceil(it.every));
    let held_out: usize = samples.held_out.iter().map(|sample| sample.ids.len()).sum();
    let validated_on = validations as f64 * held_out as f64 / 3.0;
    let all = samples.train.len() + samples.held_out.len() + samples.left_out.len();
    let named = samples.left_out.iter().take(NAMED);
    Ok(SftEstimate {
        examples: samples.train.len(),
        held_out: samples.held_out.len(),
        over_long: samples.left_out.len(),
        over_long_share: samples.left_out.len() as f64 / all as f64,
        longest_left_out: named.map(|it| (it.example.clone(), it.tokens)).collect(),
        tokens,
        updates: plan.steps,
        epochs,
        memory_bytes,
        memory_free_bytes,
        seconds_per_update: per_token * trained_on / plan.steps as f64,
        seconds: per_token * (trained_on + validated_on),
    })
}

impl fmt::Display for SftEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let TokenCounts { total, trained, mean, median, p95, longest } = self.tokens;
        writeln!(f, "examples        {} to train on, {} held out", self.examples, self.held_out)?;
        let share = 100.0 * self.over_long_share;
        writeln!(f, "too long        {} ({share:.1} %), left out", self.over_long)?;
        for (name, tokens) in &self.longest_left_out {
            writeln!(f, "                {name}: {tokens} tokens")?;
        }
        writeln!(f, "tokens          {total}, of which {trained} are imitated")?;
        writeln!(
            f,
            "of an example   mean {mean:.0}, median {median}, 95 % up to {p95}, longest {longest}"
        )?;
        writeln!(f, "updates         {} ({:.2} epochs)", self.updates, self.epochs)?;
        let free = self.memory_free_bytes;
        let free =
            free.map_or_else(|| "unknown".to_owned(), |free| format!("{:.2} GiB", gib(free)));
        writeln!(f, "memory          {:.2} GiB; free: {free}", gib(self.memory_bytes))?;
        writeln!(
            f,
            "seconds         {:.0}, {:.2} an update, as measured on one",
            self.seconds, self.seconds_per_update
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_samples() {
        let sample = |length: usize| {
            let mut sample = TrainSequence::default();
            sample.push(&vec![1; length - 1], false);
            sample.push(&[2], true);
            sample
        };
        let samples: Vec<TrainSequence> = (1..=20).rev().map(|i| sample(10 * i)).collect();
        let found = TokenCounts::of(&samples);
        let expected = TokenCounts {
            total: 2100,
            trained: 20,
            mean: 105.0,
            median: 100,
            p95: 190,
            longest: 200,
        };
        assert_eq!(found, expected);
        assert_eq!(TokenCounts::of(&samples[19..]).p95, 10);
    }
}
