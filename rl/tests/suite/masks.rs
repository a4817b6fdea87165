//! What is masked gets no gradient at all, and micro-batches change nothing.

use proptest::prelude::*;
use rl::generate::sample::Sampling;
use rl::model::{Gradients, Qwen3, Qwen3Config};
use rl::train::batch::{Memory, MicroBatch, TrainSequence, micro_batches};
use rl::train::loss::{self, Aggregation, Clip, Kl, Objective, Tokens, surrogate};
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor};

fn model(tied: bool) -> Qwen3 {
    let config = Qwen3Config {
        hidden_size: 16,
        intermediate_size: 24,
        num_hidden_layers: 2,
        head_dim: 4,
        tie_word_embeddings: tied,
        initializer_range: 0.2,
        ..Qwen3Config::tiny(50, 48, 49)
    };
    Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(4))
}

/// Prompt, model, environment, model, environment; every token of its own, so that the gradient
/// of an output row belongs to one target.
fn sample(start: i64, lengths: [i64; 5]) -> TrainSequence {
    let mut sample = TrainSequence::default();
    let mut next = start;
    for (piece, length) in lengths.into_iter().enumerate() {
        let ids: Vec<i64> = (next..next + length).collect();
        sample.push(&ids, piece % 2 == 1);
        next += length;
    }
    sample
}

const WHOLE: Memory = Memory {
    max_tokens_per_micro_batch: 10_000,
    logit_tokens: 10_000,
    gradient_checkpointing: false,
    share_prefixes: false,
};

fn backward(
    model: &Qwen3,
    samples: &[TrainSequence],
    advantages: &[f64],
    memory: &Memory,
) -> (f64, Gradients) {
    let counts: Vec<usize> = samples.iter().map(TrainSequence::trained_count).collect();
    let weights = Aggregation::SeqMeanTokenMean.weights(&counts);
    let mut total = 0.0;
    let mut gradients = Gradients::default();
    for chosen in micro_batches(samples, 0..samples.len(), memory) {
        let micro = MicroBatch::new(samples, &chosen, memory, Device::Cpu);
        let (a, w) =
            (micro.spread(|index| advantages[index]), micro.spread(|index| weights[index]));
        let sampling = Sampling::default();
        micro.backward(model, &sampling, memory, &mut gradients, &mut |new, range| {
            let part = |all: &Tensor| all.narrow(0, range.start as i64, range.len() as i64);
            let old = new.detach() + 0.01;
            let loss = surrogate(new, &old, &part(&a), &part(&w), Clip::default()).loss;
            total += loss.double_value(&[]);
            loss
        });
    }
    (total, gradients)
}

/// The largest difference between two sets of gradients.
fn gap(a: &Gradients, b: &Gradients) -> f64 {
    assert_eq!(a.iter().count(), b.iter().count());
    let gaps = a.iter().zip(b.iter()).map(|((name, a), (other, b))| {
        assert_eq!(name, other);
        (a - b).abs().max().double_value(&[])
    });
    gaps.fold(0.0, f64::max)
}

#[test]
fn what_follows_the_last_turn_changes_nothing() {
    let model = model(false);
    let samples = [sample(0, [4, 5, 3, 4, 6]), sample(22, [2, 3, 2, 2, 3])];
    let (_, full) = backward(&model, &samples, &[1.0, -0.7], &WHOLE);
    let mut cut = samples;
    for sample in &mut cut {
        let keep = sample.trained.iter().rposition(|&trained| trained).unwrap() + 1;
        sample.ids.truncate(keep);
        sample.trained.truncate(keep);
    }
    let (_, cut) = backward(&model, &cut, &[1.0, -0.7], &WHOLE);
    assert_eq!(gap(&full, &cut).to_bits(), 0.0_f64.to_bits());
}

#[test]
fn masked_positions_have_gradient_exactly_zero() {
    let samples = [sample(0, [4, 5, 3, 4, 6]), sample(22, [2, 3, 2, 2, 3])];
    let micro = MicroBatch::new(&samples, &[0, 1], &WHOLE, Device::Cpu);
    let targets = Tensor::from_slice(micro.targets());
    let plain = Objective { clip: Clip::default(), kl: Kl::default(), tis_cap: 0.0 };
    let all = Objective {
        clip: Clip { dual: 3.0, ..Clip::default() },
        kl: Kl { beta: 0.1, ..Kl::default() },
        tis_cap: 2.0,
    };
    for objective in [plain, all] {
        // Logits of everything that is read as the leaf, the model left out: [N, V].
        let (read, vocab) = (15 + 8, 50);
        let leaf = Tensor::randn([read, vocab], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let predicting = leaf.index_select(0, &Tensor::from_slice(micro.target_positions()));
        let new = loss::log_probs(&predicting, &targets, &Sampling::default());
        let tokens = Tokens {
            sampler: new.detach() - 0.1,
            old: None,
            reference: Some(new.detach() + 0.2),
            advantages: micro.spread(|_| 1.0),
            weights: micro.spread(|_| 1.0),
            new,
        };
        objective.loss(&tokens).loss.backward();
        let sums = leaf.grad().abs().sum_dim_intlist([1_i64].as_slice(), false, Kind::Double);
        let pushed: Vec<bool> =
            Vec::<f64>::try_from(sums).unwrap().into_iter().map(|sum| sum > 0.0).collect();
        let mut place = 0;
        for (row, sample) in samples.iter().enumerate() {
            let last = sample.trained.iter().rposition(|&trained| trained).unwrap();
            for next in 1..=last {
                let found = pushed[place];
                assert_eq!(found, sample.trained[next], "{row}, before {next}, {objective:?}");
                place += 1;
            }
        }
        assert_eq!(place, pushed.len());
    }
}

#[test]
fn advantage_zero_means_gradient_zero() {
    let model = model(true);
    let samples = [sample(0, [4, 5, 3, 4, 6]), sample(22, [2, 3, 2, 2, 3])];
    let (_, gradients) = backward(&model, &samples, &[0.0, 0.0], &WHOLE);
    assert!(!gradients.is_empty());
    for (name, gradient) in gradients.iter() {
        assert_eq!(gradient.abs().max().double_value(&[]).to_bits(), 0.0_f64.to_bits(), "{name}");
    }
}

/// What a micro-batch has, what is there once, what is recomputed and how many logits exist at
/// once change memory and speed, and nothing else but rounding. Tokens that are trained on in one
/// sequence are context in another that begins alike.
#[test]
fn memory_settings_do_not_change_gradients() {
    let model = model(true);
    proptest!(ProptestConfig::with_cases(24), |(
        lengths in prop::collection::vec((0_i64..3, [1_i64..24, 0..6, 0..5, 0..5, 0..4]), 1..7),
        max_tokens_per_micro_batch in 1_usize..120, logit_tokens in 1_usize..30,
        gradient_checkpointing: bool, share_prefixes: bool,
    )| {
        let samples: Vec<TrainSequence> =
            lengths.iter().map(|&(start, lengths)| sample(start, lengths)).collect();
        let advantages: Vec<f64> = (0..samples.len()).map(|i| [1.0, -0.5, 2.0][i % 3]).collect();
        let (loss, gradients) = backward(&model, &samples, &advantages, &WHOLE);
        let memory = Memory {
            max_tokens_per_micro_batch, logit_tokens, gradient_checkpointing, share_prefixes,
        };
        let (found, in_parts) = backward(&model, &samples, &advantages, &memory);
        prop_assert!((loss - found).abs() < 1e-5, "{} is not {}", found, loss);
        if !gradients.is_empty() {
            prop_assert!(gap(&gradients, &in_parts) < 1e-5);
        }
    });
}
