//! Tokens a second with many conversations at once, their contexts nearly full.

use super::floor::{DecodeStep, Speed};
use super::job::{BenchError, random_ids, warm_up};
use super::machine::{Gauge, timed};
use super::report::Figures;
use super::sizes::{BenchSizes, train_settings};
use crate::generate::engine::{Engine, TurnOptions};
use crate::generate::sample::{Draw, Sampling, draw};
use crate::model::{LoraSettings, Qwen3, Qwen3Config, signed};
use crate::train::plan::{MemoryPhase, MemoryPlan};
use crate::train::presets::Dtype;
use std::collections::BTreeMap;
use std::hint::black_box;
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor};

/// Steps before the clock runs: the first reads the prompts.
const WARM: usize = 4;

/// Reads prompts of random ids, different ones for every row, then times single steps of the
/// engine, sampling included, up to `sizes.context` tokens a row.
pub(super) fn measure(
    model: &Qwen3,
    dtype: Dtype,
    sizes: &BenchSizes,
    gauge: &mut Gauge,
    stream: Stream,
) -> Result<Figures, BenchError> {
    let BenchSizes { rows, context, steps, .. } = *sizes;
    let (config, device) = (model.config(), model.device());
    warm_up(model)?;
    let prompt = context.saturating_sub(WARM + steps + 1).max(1);
    let mut engine = Engine::new(model, rows, context + WARM + steps + 1);
    for row in 0..rows {
        let stream = stream.index(row as u64);
        let turn = TurnOptions {
            sampling: Sampling::default(),
            stream: stream.child("draws"),
            max_tokens: usize::MAX,
            ignore_eos: true,
        };
        engine.admit(&random_ids(config, prompt, stream), turn)?;
    }
    let (read, reading) = timed(device, || engine.step());
    read?;
    gauge.mark();
    for _ in 1..WARM {
        engine.step()?;
    }
    let mut seconds = Vec::with_capacity(steps);
    for _ in 0..steps {
        let (stepped, took) = timed(device, || engine.step());
        stepped?;
        seconds.push(took);
    }
    gauge.mark();
    drop(engine);

    let total: f64 = seconds.iter().sum();
    let value = (rows * steps) as f64 / total;
    let mean_context = prompt as f64 + WARM as f64 + steps as f64 / 2.0;
    let step = DecodeStep::new(config, dtype.kind(), rows, mean_context);
    let speed = Speed::measure(dtype.kind(), device);
    seconds.sort_by(f64::total_cmp);
    let at = |share: usize| seconds[(seconds.len() - 1) * share / 100] * 1e3;
    let details = BTreeMap::from([
        ("step_ms_p50".to_owned(), at(50)),
        ("step_ms_p95".to_owned(), at(95)),
        ("floor_ms".to_owned(), step.seconds(speed) * 1e3),
        ("drawing_ms".to_owned(), drawing(config, device, rows, stream) * 1e3),
        ("weights_gb".to_owned(), step.weights / 1e9),
        ("keys_and_values_gb".to_owned(), step.cache / 1e9),
        ("prefill_tokens_per_second".to_owned(), (rows * prompt) as f64 / reading),
        ("bandwidth_gb_per_second".to_owned(), speed.bandwidth / 1e9),
        ("product_tflops".to_owned(), speed.operations / 1e12),
    ]);
    Ok(Figures {
        value,
        unit: "tokens/s".into(),
        at_floor: Some(rows as f64 / step.seconds(speed)),
        memory: gauge.seen(Some(planned(config, dtype, sizes, device))),
        details,
    })
}

/// Seconds that it takes to draw one token for each of `rows` from logits that are there.
fn drawing(config: &Qwen3Config, device: Device, rows: usize, stream: Stream) -> f64 {
    let logits = Tensor::zeros([signed(rows), config.vocab_size], (Kind::Float, device));
    let mut rng = stream.child("drawing").rng();
    let draws: Vec<Draw> = (0..rows).map(|_| Sampling::default().next(&mut rng)).collect();
    // The first time a device loads what it needs.
    black_box(draw(&logits, &draws));
    timed(device, || black_box(draw(&logits, &draws))).1
}

/// The memory of weights and generation by `rl plan`, without training.
fn planned(config: &Qwen3Config, dtype: Dtype, sizes: &BenchSizes, device: Device) -> u64 {
    // Adapters of rank zero need nothing: what is left beside the weights is generation.
    let none = LoraSettings { rank: 0, ..LoraSettings::default() };
    let mut settings = train_settings(config, dtype, Some(none));
    settings.rollout.max_num_seqs = sizes.rows;
    settings.rollout.max_model_len = sizes.context;
    settings.rollout.merge_adapters = Some(false);
    let mut plan = MemoryPlan::new(&settings, config, device);
    plan.items.retain(|item| item.phase != MemoryPhase::Update);
    plan.peak()
}
