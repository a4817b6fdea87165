//! Tokens a second of an SFT step: gradients of long sequences, then the optimizer.

use super::floor::{Speed, UpdateShape};
use super::job::{BenchError, host, limit, random_ids};
use super::machine::{Gauge, timed};
use super::report::Figures;
use super::sizes::{BenchSizes, train_settings};
use crate::model::{Gradients, LoraSettings, Qwen3, Qwen3Config};
use crate::optim::AdamW;
use crate::train::batch::TrainSequence;
use crate::train::grpo::TrainSettings;
use crate::train::native::imitate;
use crate::train::plan::{self, MemoryPlan};
use crate::train::presets::Dtype;
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tch::Device;

/// The learning rate of a large policy. Its value does not change the time of a step.
pub(super) const RATE: f64 = 1e-6;

/// The settings that fit the device, and what they need by `rl plan`.
pub(super) fn settings(
    config: &Qwen3Config,
    dtype: Dtype,
    lora: Option<LoraSettings>,
    sizes: &BenchSizes,
    device: Device,
) -> Result<(TrainSettings, MemoryPlan), BenchError> {
    let mut settings = train_settings(config, dtype, lora);
    settings.memory.max_tokens_per_micro_batch = settings
        .memory
        .max_tokens_per_micro_batch
        .min(sizes.sequences * sizes.length)
        .max(sizes.length);
    // Nothing is generated.
    (settings.rollout.max_num_seqs, settings.rollout.max_model_len) = (1, 1);
    Ok(plan::choose(&settings, config, device, limit(device)?, host())?)
}

/// Times updates on sequences of random ids, all of which are trained on.
pub(super) fn measure(
    model: &Qwen3,
    (settings, plan): (&TrainSettings, &MemoryPlan),
    sizes: &BenchSizes,
    gauge: &mut Gauge,
    stream: Stream,
) -> Result<Figures, BenchError> {
    let (config, device) = (model.config(), model.device());
    let samples: Vec<TrainSequence> = (0..sizes.sequences)
        .map(|sequence| {
            let mut sample = TrainSequence::default();
            // One more than is read, for the last one to predict.
            let ids = random_ids(config, sizes.length + 1, stream.index(sequence as u64));
            sample.push(&ids, true);
            sample
        })
        .collect();
    let mut optimizer = AdamW::new(model, settings.adam);
    let (mut differentiating, mut updating) = (0.0, 0.0);
    for update in 0..=sizes.updates {
        let mut gradients = Gradients::default();
        let (_, first) =
            timed(device, || imitate(model, &samples, &settings.memory, &mut gradients));
        let (norm, second) = timed(device, || optimizer.step(&mut gradients, RATE));
        norm?;
        gauge.mark();
        // The first one warms up.
        if update > 0 {
            differentiating += first;
            updating += second;
        }
    }
    drop(optimizer);

    let lengths = vec![sizes.length; sizes.sequences];
    let tokens: usize = lengths.iter().sum();
    let seconds = (differentiating + updating) / sizes.updates as f64;
    let speed = Speed::measure(model.kind(), device);
    let recompute = settings.memory.gradient_checkpointing;
    let work = UpdateShape { config, lora: settings.lora.as_ref(), recompute };
    let operations = work.operations(&lengths, tokens);
    let details = BTreeMap::from([
        ("step_seconds".to_owned(), seconds),
        ("floor_seconds".to_owned(), operations / speed.operations),
        ("optimizer_share".to_owned(), updating / (differentiating + updating)),
        ("achieved_tflops".to_owned(), operations / seconds / 1e12),
        ("product_tflops".to_owned(), speed.operations / 1e12),
    ]);
    Ok(Figures {
        value: tokens as f64 / seconds,
        unit: "tokens/s".into(),
        at_floor: Some(tokens as f64 * speed.operations / operations),
        memory: gauge.seen(Some(plan.peak())),
        details,
    })
}
