//! The device against the CPU: the same small random models, the same tokens, every way through
//! the model that a run takes.
//!
//! The reference is the plain pass over each sequence alone, in f32 on the CPU, which the tests
//! compare with transformers. In bf16 the reference differs by rounding, so there the device is
//! allowed what the CPU itself loses to that type.
//!
//! libtorch multiplies f32 matrices exactly by default, not in TF32, and nothing here asks for
//! anything else; the first check would fail by orders of magnitude if it did.

use super::job::BenchError;
use crate::generate::engine::{Engine, TurnOptions};
use crate::generate::sample::Sampling;
use crate::model::{
    Family, Gradients, Lora, LoraSettings, Mixture, Packed, Qwen3, Qwen3Config, signed,
};
use crate::optim::{AdamConfig, AdamW, MomentStore};
use crate::train::batch::{Memory, TrainSequence};
use crate::train::native::imitate;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor, no_grad_guard};

/// A comparison of the device with the CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The quantity that is compared.
    pub name: String,
    /// How far the two are apart.
    pub found: f64,
    /// How far they may be.
    pub limit: f64,
}

impl Check {
    /// A distance that is no number, or infinite, counts as the largest that there is.
    fn new(name: String, found: f64, limit: f64) -> Self {
        let found = if found.is_finite() { found } else { f64::MAX };
        Self { name, found, limit }
    }

    /// Whether they are near enough.
    pub fn holds(&self) -> bool {
        self.found <= self.limit
    }
}

/// Logits and log-probabilities in f32, as everywhere.
const EXACT: f64 = 1e-4;
/// Norms of gradients' differences, relative to the gradients.
const GRADIENT: f64 = 1e-4;
/// The same for what an optimizer makes of them. Its quotient amplifies the rounding of
/// gradients that are nearly zero, and 8-bit codes may fall to either side.
const UPDATE: f64 = 0.02;
/// How much more than the CPU the device may lose to a narrow type: which way the last bit falls
/// is chance, and an expert that is chosen or not by it makes a large difference.
const NARROW: f64 = 2.0;

const VOCAB: i64 = 512;

/// Small, but with heads and widths that a GPU's fast kernels accept.
fn shapes() -> Vec<(&'static str, Qwen3Config)> {
    let tied = Qwen3Config {
        hidden_size: 128,
        intermediate_size: 256,
        num_hidden_layers: 3,
        num_attention_heads: 8,
        num_key_value_heads: 2,
        head_dim: 64,
        max_position_embeddings: 512,
        initializer_range: 0.08,
        ..Qwen3Config::tiny(VOCAB, 1, 2)
    };
    let untied = Qwen3Config {
        num_attention_heads: 4,
        head_dim: 128,
        tie_word_embeddings: false,
        ..tied.clone()
    };
    let mixture = Mixture {
        experts: 8,
        per_token: 2,
        intermediate_size: 64,
        normalise: true,
        sparse_step: 1,
        dense_layers: vec![0],
    };
    let experts = Qwen3Config { mixture: Some(mixture), ..untied.clone() };
    let biased = Qwen3Config { family: Family::Qwen2, ..tied.clone() };
    vec![
        ("dense, tied", tied),
        ("dense, untied", untied),
        ("Qwen2.5", biased),
        ("experts", experts),
    ]
}

/// Runs all comparisons on `device`. On the CPU they compare its ways with each other.
///
/// # Errors
/// [`BenchError`] if something cannot be computed at all.
pub(super) fn measure(device: Device, stream: Stream) -> Result<Vec<Check>, BenchError> {
    let mut checks = Vec::new();
    for (name, config) in shapes() {
        compare(name, &config, device, stream.child(name), &mut checks)?;
    }
    Ok(checks)
}

/// The comparisons of one shape.
fn compare(
    name: &str,
    config: &Qwen3Config,
    device: Device,
    stream: Stream,
    checks: &mut Vec<Check>,
) -> Result<(), BenchError> {
    let pair = ModelPair::new(config, device, stream);
    let mut check = |what: &str, found: f64, limit: f64| {
        checks.push(Check::new(format!("{name}: {what}"), found, limit));
    };
    pair.passes(&mut check);
    pair.engine(&mut check)?;
    check("greedy tokens that differ", pair.greedy()?, 0.0);
    pair.gradients(&mut check);
    pair.updates(&mut check)?;
    pair.adapters(&mut check)?;
    pair.narrow(&mut check)
}

type OnDifference<'a> = dyn FnMut(&str, f64, f64) + 'a;

/// The same weights on the CPU and on the device, and some sequences.
struct ModelPair {
    config: Qwen3Config,
    stream: Stream,
    cpu: Qwen3,
    device: Device,
    other: Qwen3,
    sequences: Vec<Vec<i64>>,
    /// The CPU's logits of every sequence alone, and its gradients.
    logits: Tensor,
    gradients: Gradients,
}

impl ModelPair {
    fn new(config: &Qwen3Config, device: Device, stream: Stream) -> Self {
        let weights = stream.child("weights");
        let sequences: Vec<Vec<i64>> = [3_usize, 64, 17, 129, 40]
            .iter()
            .enumerate()
            .map(|(index, &length)| {
                let mut rng = stream.child("sequences").index(index as u64).rng();
                (0..length).map(|_| rng.random_range(3..VOCAB)).collect()
            })
            .collect();
        let cpu = Qwen3::random(config, Kind::Float, Device::Cpu, weights);
        Self {
            config: config.clone(),
            stream,
            logits: plain(&cpu, &sequences),
            gradients: gradient(&cpu, &sequences, &WHOLE),
            cpu,
            device,
            other: Qwen3::random(config, Kind::Float, device, weights),
            sequences,
        }
    }

    fn packed(&self, model: &Qwen3) -> Tensor {
        let sequences = self.sequences.iter().map(Vec::as_slice);
        model.forward(&Packed::new(sequences, model.device())).to_device(Device::Cpu)
    }

    fn passes(&self, check: &mut OnDifference<'_>) {
        let alone = plain(&self.other, &self.sequences);
        check("logits of plain passes", largest(&alone, &self.logits), EXACT);
        check("logits of a packed pass", largest(&self.packed(&self.other), &self.logits), EXACT);
    }

    /// Rows that join one after the other and have two turns each: the engine's log-probabilities
    /// against those of the plain pass over what it made.
    fn engine(&self, check: &mut OnDifference<'_>) -> Result<(), BenchError> {
        let found = self.converse(&self.other, Sampling::default())?;
        check("log-probabilities of cached rows", worst(&found, &self.cpu, largest), EXACT);
        Ok(())
    }

    /// The conversations that an engine over `model` generates from the sequences as prompts: all
    /// ids of each, with the positions and log-probabilities of those that were sampled.
    fn converse(
        &self,
        model: &Qwen3,
        sampling: Sampling,
    ) -> Result<Vec<SampledSequence>, BenchError> {
        let turn = |row: usize, number: u64| TurnOptions {
            sampling,
            stream: self.stream.child("draws").index(row as u64).index(number),
            max_tokens: 24,
            ignore_eos: true,
        };
        let mut engine = Engine::new(model, 3, 200);
        let mut made: Vec<SampledSequence> =
            self.sequences.iter().map(|ids| SampledSequence::new(ids)).collect();
        let mut playing = BTreeMap::new();
        let mut next = 0;
        while next < made.len() || !playing.is_empty() {
            if next < made.len() && playing.len() < 3 {
                playing.insert(engine.admit(&self.sequences[next], turn(next, 0))?, (next, 0));
                next += 1;
            }
            for finished in engine.step()? {
                let (row, number) = playing[&finished.row];
                made[row].sampled(&finished.ids, &finished.log_probs);
                if number == 1 {
                    engine.release(finished.row)?;
                    playing.remove(&finished.row);
                } else {
                    let answer = &self.sequences[(row + 1) % 3][..3];
                    made[row].ids.extend(answer);
                    engine.extend(finished.row, answer, turn(row, 1))?;
                    playing.insert(finished.row, (row, 1));
                }
            }
        }
        Ok(made)
    }

    /// How many tokens of greedy decoding are not those that the CPU finds most likely after the
    /// same tokens. Logits that differ by less than rounding may swap ranks.
    fn greedy(&self) -> Result<f64, BenchError> {
        let made = self.converse(&self.other, Sampling::greedy())?;
        let mut differing = 0.0;
        for conversation in made {
            let packed = Packed::new([conversation.ids.as_slice()], Device::Cpu);
            let logits = self.cpu.forward(&packed);
            for position in conversation.positions {
                let row = logits.get(signed(position) - 1);
                let lost = row.max() - row.get(conversation.ids[position]);
                let lost = lost.double_value(&[]);
                if lost.is_nan() || lost > 2.0 * EXACT {
                    differing += 1.0;
                }
            }
        }
        Ok(differing)
    }

    fn gradients(&self, check: &mut OnDifference<'_>) {
        for (what, memory) in [("kept activations", WHOLE), ("recomputed activations", PIECES)] {
            let found = gradient(&self.other, &self.sequences, &memory);
            check(&format!("gradients, {what}"), relative(&found, &self.gradients), GRADIENT);
        }
    }

    /// How far two optimizers come apart in two steps, relative to how far they went. Where moments
    /// lie changes nothing, so the CPU's full ones are also what offloaded ones are compared with.
    fn updates(&self, check: &mut OnDifference<'_>) -> Result<(), BenchError> {
        let (full, eight) = (MomentStore::Full, MomentStore::EightBit);
        let plain = self.moved(Device::Cpu, full, &WHOLE)?;
        let coded = self.moved(Device::Cpu, eight, &WHOLE)?;
        for (what, moments, expected) in [
            ("full", full, &plain),
            ("offloaded", MomentStore::Offload, &plain),
            ("8-bit", eight, &coded),
        ] {
            let found = self.moved(self.device, moments, &PIECES)?;
            check(&format!("updates, {what} moments"), self.apart(&found, expected), UPDATE);
        }
        Ok(())
    }

    /// The weights after two steps.
    fn moved(
        &self,
        device: Device,
        moments: MomentStore,
        memory: &Memory,
    ) -> Result<BTreeMap<String, Tensor>, BenchError> {
        let weights = self.stream.child("weights");
        let model = Qwen3::random(&self.config, Kind::Float, device, weights);
        let mut optimizer =
            AdamW::new(&model, AdamConfig { optim: moments, ..AdamConfig::default() });
        for _ in 0..2 {
            optimizer.step(&mut gradient(&model, &self.sequences, memory), 1e-3)?;
        }
        let wide = |tensor: Tensor| tensor.to_device(Device::Cpu).to_kind(Kind::Double);
        Ok(model.published().into_iter().map(|(name, tensor)| (name, wide(tensor))).collect())
    }

    /// The distance of weights that have moved, relative to their way from where they began.
    fn apart(&self, found: &BTreeMap<String, Tensor>, expected: &BTreeMap<String, Tensor>) -> f64 {
        let square = |tensor: Tensor| tensor.square().sum(Kind::Double).double_value(&[]);
        let (mut apart, mut gone) = (0.0, 0.0);
        for (name, before) in self.cpu.published() {
            apart += square(&found[&name] - &expected[&name]);
            gone += square(&expected[&name] - before.to_kind(Kind::Double));
        }
        (apart / gone).sqrt()
    }

    /// Adapters that already do something: logits, and gradients.
    fn adapters(&self, check: &mut OnDifference<'_>) -> Result<(), BenchError> {
        let adapted = |device| {
            let weights = self.stream.child("weights");
            let mut model = Qwen3::random(&self.config, Kind::Float, device, weights);
            let settings = LoraSettings { rank: 8, alpha: 16.0, ..LoraSettings::default() };
            let lora = Lora { settings, base: "base".into() };
            lora.attach(&mut model, self.stream.child("adapters"))?;
            let _guard = no_grad_guard();
            for mut parameter in model.parameters() {
                let mut rng = self.stream.child(&parameter.name).rng();
                let count = parameter.tensor.numel();
                let values: Vec<f32> =
                    (0..count).map(|_| rng.random_range(-0.1_f32..0.1)).collect();
                parameter.tensor.copy_(&Tensor::from_slice(&values).view_as(&parameter.tensor));
            }
            Ok::<_, BenchError>(model)
        };
        let (cpu, other) = (adapted(Device::Cpu)?, adapted(self.device)?);
        let distance = largest(&self.packed(&other), &plain(&cpu, &self.sequences));
        check("logits with adapters", distance, EXACT);
        let of = |model, memory| gradient(model, &self.sequences, memory);
        let distance = relative(&of(&other, &PIECES), &of(&cpu, &WHOLE));
        check("gradients of adapters", distance, GRADIENT);
        Ok(())
    }

    /// The same in bf16, each beside what the CPU loses to that type.
    fn narrow(&self, check: &mut OnDifference<'_>) -> Result<(), BenchError> {
        let weights = self.stream.child("weights");
        let of = |device| Qwen3::random(&self.config, Kind::BFloat16, device, weights);
        let (cpu, other) = (of(Device::Cpu), of(self.device));
        let limit = NARROW * mean(&plain(&cpu, &self.sequences), &self.logits);
        check("bf16: logits, mean", mean(&self.packed(&other), &self.logits), limit);

        // In the type itself: sampler against trainer.
        let apart = |model: &Qwen3| {
            let made = self.converse(model, Sampling::default())?;
            Ok::<_, BenchError>(worst(&made, model, mean))
        };
        let limit = NARROW * apart(&cpu)?;
        // Two CPU ways can agree by luck; no type can do better than a unit in its last place.
        let limit = limit.max(BF16_UNIT);
        check("bf16: log-probabilities of cached rows, mean", apart(&other)?, limit);

        let lost =
            |model, memory| relative(&gradient(model, &self.sequences, memory), &self.gradients);
        check("bf16: gradients", lost(&other, &PIECES), NARROW * lost(&cpu, &WHOLE));
        Ok(())
    }
}

/// bf16 has eight bits: what a log-probability near one is known to.
const BF16_UNIT: f64 = 1.0 / 256.0;

/// Everything at once, and nothing made again.
const WHOLE: Memory = Memory {
    max_tokens_per_micro_batch: 4096,
    logit_tokens: 4096,
    gradient_checkpointing: false,
    share_prefixes: false,
};
/// In small pieces, and everything made again.
const PIECES: Memory = Memory {
    max_tokens_per_micro_batch: 100,
    logit_tokens: 32,
    gradient_checkpointing: true,
    share_prefixes: true,
};

/// Logits of every sequence alone: `[N, V]` in all, on the CPU.
fn plain(model: &Qwen3, sequences: &[Vec<i64>]) -> Tensor {
    let alone = |ids: &Vec<i64>| {
        model.forward(&Packed::new([ids.as_slice()], model.device())).to_device(Device::Cpu)
    };
    Tensor::cat(&sequences.iter().map(alone).collect::<Vec<_>>(), 0)
}

/// The gradients of the mean loss over the last two thirds of every sequence.
fn gradient(model: &Qwen3, sequences: &[Vec<i64>], memory: &Memory) -> Gradients {
    let sample = |ids: &Vec<i64>| {
        let mut sample = TrainSequence::default();
        let third = ids.len() / 3;
        sample.push(&ids[..third], false);
        sample.push(&ids[third..], true);
        sample
    };
    let samples: Vec<TrainSequence> = sequences.iter().map(sample).collect();
    let mut gradients = Gradients::default();
    imitate(model, &samples, memory, &mut gradients);
    gradients
}

/// The largest `distance` between the sampled log-probabilities and those of a plain pass of
/// `model`.
fn worst(
    made: &[SampledSequence],
    model: &Qwen3,
    distance: impl Fn(&Tensor, &Tensor) -> f64,
) -> f64 {
    let apart = |conversation: &SampledSequence| {
        let packed = Packed::new([conversation.ids.as_slice()], model.device());
        let log_probs = model.forward(&packed).log_softmax(-1, Kind::Float);
        let (before, targets): (Vec<i64>, Vec<i64>) = conversation
            .positions
            .iter()
            .map(|&position| (signed(position) - 1, conversation.ids[position]))
            .unzip();
        let tensor = |values: &[i64]| Tensor::from_slice(values).to_device(model.device());
        let expected = log_probs
            .index_select(0, &tensor(&before))
            .gather(-1, &tensor(&targets).unsqueeze(-1), false)
            .squeeze_dim(-1)
            .to_device(Device::Cpu);
        distance(&Tensor::from_slice(&conversation.log_probs), &expected)
    };
    made.iter().map(apart).fold(0.0, worse)
}

/// All ids of a conversation, and which of them were sampled.
#[derive(Debug)]
struct SampledSequence {
    ids: Vec<i64>,
    positions: Vec<usize>,
    log_probs: Vec<f32>,
}

impl SampledSequence {
    fn new(prompt: &[i64]) -> Self {
        Self { ids: prompt.to_vec(), positions: Vec::new(), log_probs: Vec::new() }
    }

    fn sampled(&mut self, ids: &[i64], log_probs: &[f32]) {
        self.positions.extend(self.ids.len()..self.ids.len() + ids.len());
        self.ids.extend_from_slice(ids);
        self.log_probs.extend_from_slice(log_probs);
    }
}

/// The larger of two distances, of which one that is not a number is the largest.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn largest(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

fn mean(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().mean(Kind::Double).double_value(&[])
}

/// The largest distance of any parameter's gradients, relative to the norm of the expected one. A
/// gradient that only one of them has is infinitely far away.
fn relative(found: &Gradients, expected: &Gradients) -> f64 {
    let wide = |tensor: &Tensor| tensor.to_device(Device::Cpu).to_kind(Kind::Double);
    let found: BTreeMap<&str, &Tensor> = found.iter().collect();
    let norm = |tensor: &Tensor| tensor.norm().double_value(&[]);
    let apart = |(name, expected): (&str, &Tensor)| {
        found.get(name).map_or(f64::INFINITY, |found| {
            norm(&(wide(found) - wide(expected))) / norm(&wide(expected))
        })
    };
    let all = if found.len() == expected.iter().count() { 0.0 } else { f64::INFINITY };
    expected.iter().map(apart).fold(all, worse)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The other shapes are compared where the script for GPUs is tested.
    #[test]
    fn the_ways_of_the_cpu_agree() {
        for (name, config) in shapes().split_off(2) {
            let mut checks = Vec::new();
            compare(name, &config, Device::Cpu, Stream::root(0), &mut checks).unwrap();
            for check in &checks {
                assert!(check.holds(), "{check:?}");
            }
            assert_eq!(checks.len(), 14);
        }
    }

    #[test]
    fn parity_fails_for_other_weights() {
        let (_, config) = shapes().remove(0);
        let mut pair = ModelPair::new(&config, Device::Cpu, Stream::root(0));
        pair.other = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
        let mut failed = Vec::new();
        let mut check = |what: &str, found, limit| {
            if !Check::new(what.to_owned(), found, limit).holds() {
                failed.push(what.to_owned());
            }
        };
        pair.passes(&mut check);
        pair.engine(&mut check).unwrap();
        pair.gradients(&mut check);
        assert_eq!(failed.len(), 5, "{failed:?}");
        assert!(pair.greedy().unwrap() > 0.0);
    }

    #[test]
    fn check_of_nan_does_not_hold() {
        let check = |found| Check::new(String::new(), found, 1.0).holds();
        assert!(check(1.0) && !check(1.1) && !check(f64::NAN) && !check(f64::INFINITY));
        assert!(worse(f64::NAN, 1.0).is_nan() && worse(1.0, f64::NAN).is_nan());
    }
}
