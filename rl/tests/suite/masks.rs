//! What is masked gets no gradient at all, and micro-batches change nothing.

use rl::batch::{Micro, Sample, micro_batches};
use rl::loss::{self, Aggregation, Clip, Kl, Objective, Tokens, surrogate};
use rl::model::{Qwen3, Qwen3Config};
use rl::sample::Sampling;
use sandbox::stream::Stream;
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
fn sample(start: i64, lengths: [i64; 5]) -> Sample {
    let mut sample = Sample::default();
    let mut next = start;
    for (piece, length) in lengths.into_iter().enumerate() {
        let ids: Vec<i64> = (next..next + length).collect();
        sample.push(&ids, piece % 2 == 1);
        next += length;
    }
    sample
}

fn backward(model: &Qwen3, samples: &[Sample], advantages: &[f64], budget: usize) -> f64 {
    let counts: Vec<usize> = samples.iter().map(Sample::trained_count).collect();
    let weights = Aggregation::SeqMeanTokenMean.weights(&counts);
    let mut total = 0.0;
    for chosen in micro_batches(samples, budget) {
        let micro = Micro::new(samples, &chosen, Device::Cpu);
        let new = micro.log_probs(model, &Sampling::default());
        let old = new.detach() + 0.01;
        let (a, w) =
            (micro.spread(|index| advantages[index]), micro.spread(|index| weights[index]));
        let loss = surrogate(&new, &old, &a, &w, Clip::default()).loss;
        loss.backward();
        total += loss.double_value(&[]);
    }
    total
}

fn gradients(model: &Qwen3) -> Vec<(String, Tensor)> {
    model.parameters().into_iter().map(|p| (p.name, p.tensor.grad().copy())).collect()
}

#[test]
fn padding_and_what_follows_the_last_turn_change_nothing() {
    let model = model(false);
    let samples = [sample(0, [4, 5, 3, 4, 6]), sample(22, [2, 3, 2, 2, 3])];
    backward(&model, &samples, &[1.0, -0.7], 1000);
    let full = gradients(&model);

    // Cutting what follows the last trained token, and changing which samples share a batch,
    // changes nothing; so neither padding nor the trailing environment carries gradient.
    let mut cut = samples.clone();
    for sample in &mut cut {
        let keep = sample.trained.iter().rposition(|&trained| trained).unwrap() + 1;
        sample.ids.truncate(keep);
        sample.trained.truncate(keep);
    }
    for parameter in &mut model.parameters() {
        parameter.tensor.zero_grad();
    }
    backward(&model, &cut, &[1.0, -0.7], 1);
    for ((name, a), (_, b)) in full.iter().zip(gradients(&model)) {
        let gap = (a - &b).abs().max().double_value(&[]);
        assert!(gap < 1e-6, "{name}: {gap}");
    }
}

#[test]
fn masked_positions_have_gradient_exactly_zero() {
    let samples = [sample(0, [4, 5, 3, 4, 6]), sample(22, [2, 3, 2, 2, 3])];
    let micro = Micro::new(&samples, &[0, 1], Device::Cpu);
    let plain = Objective { clip: Clip::default(), kl: Kl::default(), importance_cap: 0.0 };
    let all = Objective {
        clip: Clip { dual: 3.0, ..Clip::default() },
        kl: Kl { beta: 0.1, ..Kl::default() },
        importance_cap: 2.0,
    };
    for objective in [plain, all] {
        // Logits of all positions as the leaf, the model left out: [B T, V].
        let (rows, width, vocab) = (2, 15, 50);
        let leaf = Tensor::randn([rows * width, vocab], (Kind::Float, Device::Cpu))
            .set_requires_grad(true);
        let new = loss::log_probs(&micro.predicting(&leaf), micro.targets(), &Sampling::default());
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
        for (row, sample) in samples.iter().enumerate() {
            for place in 0..width as usize {
                let trained = sample.trained.get(place + 1).copied().unwrap_or(false);
                let found = pushed[row * width as usize + place];
                assert_eq!(found, trained, "sample {row}, place {place}, {objective:?}");
            }
        }
    }
}

#[test]
fn advantage_zero_means_gradient_zero() {
    let model = model(true);
    let samples = [sample(0, [4, 5, 3, 4, 6]), sample(22, [2, 3, 2, 2, 3])];
    backward(&model, &samples, &[0.0, 0.0], 1000);
    for (name, gradient) in gradients(&model) {
        assert_eq!(gradient.abs().max().double_value(&[]).to_bits(), 0.0_f64.to_bits(), "{name}");
    }
}

#[test]
fn any_budget_gives_the_same_loss() {
    let model = model(true);
    let samples: Vec<Sample> = (0..6).map(|i| sample(i, [2 + i % 3, 1 + i, 2, 3, 1])).collect();
    let advantages = [1.0, -1.0, 0.5, 0.25, -2.0, 1.5];
    let whole = backward(&model, &samples, &advantages, 10_000);
    for budget in [1, 20, 50] {
        let parts = backward(&model, &samples, &advantages, budget);
        assert!((whole - parts).abs() < 1e-5, "{budget}: {parts} is not {whole}");
    }
}
