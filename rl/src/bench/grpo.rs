//! A GRPO step as in `rl train`, without the sandbox: conversations of several turns are
//! generated, get random rewards, and are trained on.

use super::floor::{DecodeStep, Speed, UpdateShape, reading};
use super::job::{BenchError, host, limit, random_ids, warm_up};
use super::machine::{Gauge, timed};
use super::report::Figures;
use super::sft::RATE;
use super::sizes::{BenchSizes, train_settings};
use crate::generate::engine::{Engine, RowId, TurnOptions};
use crate::model::{Gradients, LoraSettings, Qwen3, Qwen3Config};
use crate::optim::AdamW;
use crate::train::advantage::{Inclusion, advantages};
use crate::train::batch::TrainSequence;
use crate::train::grpo::TrainSettings;
use crate::train::learner;
use crate::train::plan::{self, MemoryPlan};
use crate::train::presets::Dtype;
use rand::RngExt;
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tch::Device;

/// The parts of a conversation, in tokens: a prompt, then turns, each of sampled tokens and, except
/// for the last turn, an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ConversationShape {
    prompt: usize,
    /// Sampled tokens of a turn.
    sampled: usize,
    /// Tokens of an observation.
    observed: usize,
    turns: usize,
}

impl ConversationShape {
    /// A quarter is prompt; two thirds of the rest are sampled.
    fn from_sizes(sizes: &BenchSizes) -> Self {
        let turns = sizes.turns.max(1);
        let prompt = (sizes.conversation / 4).max(1);
        let turn = ((sizes.conversation - prompt) / turns).max(3);
        Self { prompt, sampled: turn * 2 / 3, observed: turn - turn * 2 / 3, turns }
    }

    /// Sampled tokens of all turns.
    fn sampled_tokens(&self) -> usize {
        self.sampled * self.turns
    }

    fn tokens(&self) -> usize {
        self.prompt + self.sampled_tokens() + self.observed * (self.turns - 1)
    }

    /// How many tokens a conversation has when the middle one of those that are sampled comes.
    fn mean_context(&self) -> f64 {
        self.prompt as f64 + (self.tokens() - self.prompt) as f64 / 2.0
    }
}

/// The settings that fit the device, and what they need by `rl plan`. Fewer rows than
/// conversations only mean that some wait until others have ended.
pub(super) fn settings(
    config: &Qwen3Config,
    dtype: Dtype,
    lora: Option<LoraSettings>,
    sizes: &BenchSizes,
    device: Device,
) -> Result<(TrainSettings, MemoryPlan), BenchError> {
    let mut settings = train_settings(config, dtype, lora);
    let tokens = ConversationShape::from_sizes(sizes).tokens();
    settings.rollout.max_num_seqs = sizes.rows;
    settings.rollout.max_model_len = tokens + 1;
    settings.memory.max_tokens_per_micro_batch =
        settings.memory.max_tokens_per_micro_batch.min(sizes.rows * tokens).max(tokens);
    Ok(plan::choose(&settings, config, device, limit(device)?, host())?)
}

/// Conversations, with the sampler's log-probabilities of their tokens.
#[derive(Debug, Default)]
struct SampledConversations {
    samples: Vec<TrainSequence>,
    log_probs: Vec<Vec<f32>>,
}

/// Measures one step.
pub(super) fn measure(
    model: &Qwen3,
    (settings, plan): (&TrainSettings, &MemoryPlan),
    sizes: &BenchSizes,
    gauge: &mut Gauge,
    stream: Stream,
) -> Result<Figures, BenchError> {
    let device = model.device();
    let shape = ConversationShape::from_sizes(sizes);
    let mut optimizer = AdamW::new(model, settings.adam);
    warm_up(model)?;
    let (played, rollout) = timed(device, || play(model, settings, sizes, shape, stream));
    let played = played?;
    gauge.mark();

    let mut rng = stream.child("rewards").rng();
    let mut worth = Vec::new();
    while worth.len() < played.samples.len() {
        let group: Vec<(f64, Inclusion)> =
            (0..settings.group_size).map(|_| (rng.random(), Inclusion::Trained)).collect();
        worth.extend(advantages(&group, settings.advantage));
    }
    let (mut gradients, differentiating) =
        timed(device, || backward(model, settings, &played, &worth));
    gauge.mark();
    let (norm, updating) = timed(device, || optimizer.step(&mut gradients, RATE));
    norm?;
    gauge.mark();
    drop((optimizer, gradients));

    let count = sizes.rows;
    let tokens = count * shape.tokens();
    let seconds = rollout + differentiating + updating;
    let speed = Speed::measure(model.kind(), device);
    let (generation, update) = floor(model.config(), settings, sizes, shape, speed);
    let details = BTreeMap::from([
        ("step_seconds".to_owned(), seconds),
        ("floor_seconds".to_owned(), generation + update),
        ("rollout_share".to_owned(), rollout / seconds),
        ("gradient_share".to_owned(), differentiating / seconds),
        ("optimizer_share".to_owned(), updating / seconds),
        ("sampled_tokens_per_second".to_owned(), (count * shape.sampled_tokens()) as f64 / rollout),
        (
            "sampled_at_floor_tokens_per_second".to_owned(),
            (count * shape.sampled_tokens()) as f64 / generation,
        ),
        ("update_tokens_per_second".to_owned(), tokens as f64 / (differentiating + updating)),
        ("update_at_floor_tokens_per_second".to_owned(), tokens as f64 / update),
        ("rows".to_owned(), settings.rollout.max_num_seqs as f64),
        ("bandwidth_gb_per_second".to_owned(), speed.bandwidth / 1e9),
        ("product_tflops".to_owned(), speed.operations / 1e12),
    ]);
    Ok(Figures {
        value: tokens as f64 / seconds,
        unit: "tokens/s".into(),
        at_floor: Some(tokens as f64 / (generation + update)),
        memory: gauge.seen(Some(plan.peak())),
        details,
    })
}

/// The least time of generation and of the update, in seconds.
fn floor(
    config: &Qwen3Config,
    settings: &TrainSettings,
    sizes: &BenchSizes,
    shape: ConversationShape,
    speed: Speed,
) -> (f64, f64) {
    let (count, rows) = (sizes.rows, settings.rollout.max_num_seqs);
    let step = DecodeStep::new(config, settings.dtype.kind(), rows, shape.mean_context());
    let steps = (count * shape.sampled_tokens()) as f64 / rows as f64;
    // A group reads its prompt once.
    let read = count.div_ceil(settings.group_size) * shape.prompt
        + count * shape.observed * (shape.turns - 1);
    let generation = steps * step.seconds(speed) + reading(config, read) / speed.operations;
    let lora = settings.lora.as_ref();
    let update = UpdateShape { config, lora, recompute: settings.memory.gradient_checkpointing };
    let operations =
        update.operations(&vec![shape.tokens(); count], count * shape.sampled_tokens());
    (generation, operations / speed.operations)
}

/// Generates all conversations, as many at a time as there are rows.
fn play(
    model: &Qwen3,
    settings: &TrainSettings,
    sizes: &BenchSizes,
    shape: ConversationShape,
    stream: Stream,
) -> Result<SampledConversations, BenchError> {
    let config = model.config();
    let count = sizes.rows;
    let turn = |conversation: usize, number: usize| TurnOptions {
        sampling: settings.rollout.sampling,
        stream: stream.child("draws").index(conversation as u64).index(number as u64),
        max_tokens: shape.sampled,
        ignore_eos: true,
    };
    let mut engine = Engine::with_capacity(model, settings.rollout.capacity())?;
    let mut played = SampledConversations {
        samples: vec![TrainSequence::default(); count],
        log_probs: vec![Vec::new(); count],
    };
    let mut turns = vec![0; count];
    let mut playing: BTreeMap<RowId, usize> = BTreeMap::new();
    let mut next = 0;
    while next < count || !playing.is_empty() {
        while next < count && playing.len() < settings.rollout.max_num_seqs {
            let group = (next / settings.group_size) as u64;
            let ids = random_ids(config, shape.prompt, stream.child("prompts").index(group));
            playing.insert(engine.admit(&ids, turn(next, 0))?, next);
            played.samples[next].push(&ids, false);
            next += 1;
        }
        for finished in engine.step()? {
            let conversation = playing[&finished.row];
            played.samples[conversation].push(&finished.ids, true);
            played.log_probs[conversation].extend(finished.log_probs);
            turns[conversation] += 1;
            if turns[conversation] == shape.turns {
                engine.release(finished.row)?;
                playing.remove(&finished.row);
            } else {
                let number = turns[conversation];
                let answers = stream.child("answers").index(conversation as u64);
                let ids = random_ids(config, shape.observed, answers.index(number as u64));
                played.samples[conversation].push(&ids, false);
                engine.extend(finished.row, &ids, turn(conversation, number))?;
            }
        }
    }
    Ok(played)
}

/// The gradient of the loss over all conversations.
fn backward(
    model: &Qwen3,
    settings: &TrainSettings,
    played: &SampledConversations,
    advantages: &[f64],
) -> Gradients {
    let SampledConversations { samples, log_probs } = played;
    let counts: Vec<usize> = samples.iter().map(TrainSequence::trained_count).collect();
    let weights = settings.aggregation.weights(&counts);
    let update = learner::GrpoInputs {
        samples,
        sampler: log_probs,
        old: None,
        reference: None,
        advantages,
        weights: &weights,
        objective: settings.objective(),
        sampling: settings.rollout.sampling,
    };
    let mut gradients = Gradients::default();
    update.backward(model, &settings.memory, &mut gradients, &mut || ());
    gradients
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::presets::Scale;
    use proptest::prelude::*;
    use tch::Kind;

    proptest! {
        #[test]
        fn conversations_have_the_tokens_that_were_asked_for(
            conversation in 40_usize..5000, turns in 1_usize..9,
        ) {
            let (sizes, _) = BenchSizes::defaults(Scale::Tiny);
            let sizes = BenchSizes { conversation, turns, ..sizes };
            let shape = ConversationShape::from_sizes(&sizes);
            // The environment does not answer the last turn, and divisions round down.
            prop_assert!(shape.tokens() <= conversation);
            prop_assert!(shape.tokens() + shape.observed + turns > conversation);
            prop_assert!(shape.sampled > 0 && shape.observed > 0);
        }
    }

    #[test]
    fn every_conversation_is_played_to_its_end_in_any_number_of_rows() {
        let config = Qwen3Config::tiny(40, 1, 2);
        let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
        let (sizes, _) = BenchSizes::defaults(Scale::Tiny);
        let sizes = BenchSizes { rows: 6, conversation: 40, turns: 2, ..sizes };
        let shape = ConversationShape::from_sizes(&sizes);
        let mut settings = train_settings(&config, Dtype::F32, None);
        settings.rollout.max_model_len = shape.tokens() + 1;
        for rows in [2, 6] {
            settings.rollout.max_num_seqs = rows;
            let played = play(&model, &settings, &sizes, shape, Stream::root(2)).unwrap();
            for (sample, log_probs) in played.samples.iter().zip(&played.log_probs) {
                assert_eq!(sample.ids.len(), shape.tokens());
                assert_eq!(sample.trained_count(), shape.sampled_tokens());
                assert_eq!(log_probs.len(), shape.sampled_tokens());
            }
            // The samples of a group share their prompt, and nothing else.
            let prompt = |index: usize| &played.samples[index].ids[..shape.prompt];
            assert_eq!(prompt(0), prompt(3));
            assert_ne!(prompt(0), prompt(4));
            assert_ne!(played.samples[0].ids, played.samples[1].ids);
        }
    }
}
