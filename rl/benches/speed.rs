//! Tokens per second of the tiny policy: generation by batch size, and training.
//!
//! `cargo bench -p rl` prints one line per case.
#![expect(
    clippy::print_stdout,
    clippy::cast_possible_wrap,
    reason = "a benchmark prints, and its sizes are small"
)]

use rl::generate::engine::{Engine, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{Gradients, Qwen3, Qwen3Config};
use rl::optim::{AdamConfig, AdamW};
use rl::train::batch::{Memory, TrainSequence};
use rl::train::native::imitate;
use rl::train::presets::Scale;
use std::time::Instant;
use tasks::stream::Stream;
use tch::{Device, Kind};

const VOCAB: i64 = 1500;

fn main() {
    // No id ends a turn, so that every row generates its full share.
    let config = Qwen3Config { eos_token_ids: Vec::new(), ..Qwen3Config::tiny(VOCAB, 1, 2) };
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
    println!("{} parameters, {} threads", config.parameter_count(), tch::get_num_threads());
    for (threads, rows) in [(1, 8), (2, 8), (1, 32), (2, 32), (1, 64), (2, 64)] {
        tch::set_num_threads(threads);
        print!("threads={threads} ");
        generate(&model, rows, 300, 200);
    }
    for budget in [2048, 4096, 8192, 16384] {
        train(&model, 64, 600, budget);
    }
    for (prompt, own) in [(200, 400), (600, 400), (1200, 600)] {
        train_groups(&model, prompt, own);
    }
}

/// Different prompts of `prompt` tokens, `tokens` sampled for each.
fn generate(model: &Qwen3, rows: usize, prompt: usize, tokens: usize) {
    let mut engine = Engine::new(model, rows, prompt + tokens + 1);
    for row in 0..rows {
        let ids: Vec<i64> = (0..prompt).map(|i| ((row * 31 + i * 7) % 1400) as i64).collect();
        let stream = Stream::root(7).index(row as u64);
        let sampling = Sampling::default();
        let turn = TurnOptions { sampling, stream, max_tokens: tokens, ignore_eos: false };
        engine.admit(&ids, turn).expect("there is room");
    }
    let start = Instant::now();
    engine.step().expect("finite");
    let prefill = start.elapsed().as_secs_f64();
    let (start, mut steps) = (Instant::now(), 0);
    while !engine.is_idle() {
        engine.step().expect("finite");
        steps += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "generate rows={rows}: prefill {:.0} tokens/s; {:.0} steps/s, {:.0} tokens/s",
        (rows * prompt) as f64 / prefill,
        f64::from(steps) / seconds,
        f64::from(steps) * rows as f64 / seconds
    );
}

/// One update on `count` trajectories of about `length` tokens, a third of them trained on.
fn train(model: &Qwen3, count: usize, length: usize, budget: usize) {
    let samples: Vec<TrainSequence> = (0..count)
        .map(|row| {
            let mut sample = TrainSequence::default();
            let length = length - 100 + (row * 37) % 200;
            let ids: Vec<i64> = (0..length).map(|i| ((row * 31 + i * 7) % 1400) as i64).collect();
            sample.push(&ids[..length / 2], false);
            sample.push(&ids[length / 2..length * 5 / 6], true);
            sample.push(&ids[length * 5 / 6..], false);
            sample
        })
        .collect();
    let memory = Memory {
        max_tokens_per_micro_batch: budget,
        logit_tokens: budget,
        gradient_checkpointing: false,
        share_prefixes: false,
    };
    update(model, &samples, &memory, &format!("budget={budget}"));
}

/// One update on eight groups of eight episodes, which share a prompt of `prompt` tokens and have as many
/// as `own` of their own; the prompts begin with the same three quarters. Both ways, in turn.
fn train_groups(model: &Qwen3, prompt: usize, own: usize) {
    let samples: Vec<TrainSequence> = (0..64)
        .map(|row| {
            let (group, same) = (row / 8, prompt * 3 / 4);
            let id = |seed: usize, i: usize| ((seed * 131 + i * 7) % 1400) as i64;
            let mut sample = TrainSequence::default();
            let asked: Vec<i64> =
                (0..prompt).map(|i| id(if i < same { 0 } else { group + 1 }, i)).collect();
            sample.push(&asked, false);
            for turn in 0..own / 50 {
                let piece: Vec<i64> = (0..50).map(|i| id(row + 100, turn * 50 + i)).collect();
                sample.push(&piece[..12], true);
                sample.push(&piece[12..], false);
            }
            sample
        })
        .collect();
    for share_prefixes in [false, true, false, true] {
        let memory = Memory { share_prefixes, ..Scale::Tiny.memory() };
        let case = format!("groups of prompt={prompt} own={own} share_prefixes={share_prefixes}");
        update(model, &samples, &memory, &case);
    }
}

fn update(model: &Qwen3, samples: &[TrainSequence], memory: &Memory, case: &str) {
    let mut optimizer = AdamW::new(model, AdamConfig::default());
    let tokens: usize = samples.iter().map(|sample| sample.ids.len()).sum();
    let start = Instant::now();
    let mut gradients = Gradients::default();
    imitate(model, samples, memory, &mut gradients);
    optimizer.step(&mut gradients, 1e-5).expect("finite");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "train {tokens} tokens, {case}: {seconds:.2} s, {:.0} tokens/s",
        tokens as f64 / seconds
    );
}
