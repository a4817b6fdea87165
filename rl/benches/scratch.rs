#![allow(warnings)]
use rl::engine::{Engine, Turn};
use rl::model::{Qwen3, Qwen3Config};
use rl::sample::Sampling;
use sandbox::stream::Stream;
use std::time::Instant;
use tch::{Device, Kind};
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let rows: usize = words[0].parse().unwrap();
    let threads: i32 = words[1].parse().unwrap();
    let n: usize = words[2].parse().unwrap();
    let s = match words[3].as_str() {
        "g" => Sampling::greedy(),
        "s" => Sampling::default(),
        _ => Sampling { min_p: 0.02, ..Sampling::default() },
    };
    let config = Qwen3Config::tiny(1500, 1, 2);
    let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
    tch::set_num_threads(threads);
    if words[3] == "t" {
        return train::run(&model, n, rows);
    }
    for _ in 0..n {
        let mut engine = Engine::new(&model, rows, 351);
        for r in 0..rows {
            let p: Vec<i64> = (0..200).map(|i| ((r * 31 + i * 7) % 1400) as i64).collect();
            engine
                .admit(
                    &p,
                    Turn {
                        sampling: s,
                        stream: Stream::root(7).index(r as u64),
                        max_tokens: 150,
                        ignore_eos: true,
                    },
                )
                .unwrap();
        }
        let t = Instant::now();
        let c0 = cpu();
        engine.step().unwrap();
        let pre = t.elapsed().as_secs_f64();
        let t = Instant::now();
        let c1 = cpu();
        let mut k = 0;
        let mut times = vec![];
        while !engine.is_idle() {
            let u = Instant::now();
            engine.step().unwrap();
            times.push(u.elapsed().as_secs_f64());
            k += 1;
        }
        let d = t.elapsed().as_secs_f64();
        let c2 = cpu();
        println!(
            "cpu: prefill {:.0}/s, decode {:.0}/s, step {:.2} ms",
            rows as f64 * 200.0 / (c1 - c0),
            (k * rows) as f64 / (c2 - c1),
            (c2 - c1) / k as f64 * 1e3
        );
        times.sort_by(f64::total_cmp);
        println!(
            "prefill {:.0}/s, decode {:.0}/s, step mean {:.2} ms, p10 {:.2} ms",
            rows as f64 * 200.0 / pre,
            (k * rows) as f64 / d,
            d / k as f64 * 1e3,
            times[times.len() / 10] * 1e3
        );
    }
}
fn cpu() -> f64 {
    std::fs::read_to_string("/proc/self/schedstat")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e9
}
mod train {
    use super::*;
    use rand::RngExt as _;
    use rl::batch::{Memory, Micro, Sample, micro_batches};
    use rl::model::{Gradients, Packed, Pass};
    use rl::optim::{AdamConfig, AdamW};
    pub fn trajectories(count: usize, vocab_size: i64) -> Vec<Sample> {
        let mut rng = Stream::root(3).rng();
        let mut piece = |length: usize| -> Vec<i64> {
            (0..length).map(|_| rng.random_range(3..vocab_size)).collect()
        };
        let mut lengths = Stream::root(4).rng();
        let trajectory = |_| {
            let mut sample = Sample::default();
            sample.push(&piece(lengths.random_range(60..240)), false);
            for turn in 0..lengths.random_range(1..6) {
                if turn > 0 {
                    sample.push(&piece(lengths.random_range(20..120)), false);
                }
                sample.push(&piece(lengths.random_range(40..160)), true);
            }
            sample
        };
        (0..count).map(trajectory).collect()
    }
    pub fn run(model: &Qwen3, n: usize, budget: usize) {
        let samples = trajectories(64, 1500);
        let tokens: usize = samples.iter().map(|s| s.ids.len()).sum();
        if n == 99 {
            println!(
                "{}",
                serde_json::to_string(
                    &samples.iter().map(|s| (s.ids.clone(), s.trained.clone())).collect::<Vec<_>>()
                )
                .unwrap()
            );
            return;
        }
        let mut optimizer = AdamW::new(model, AdamConfig::default());
        for _ in 0..n {
            let a = cpu();
            let mut g = Gradients::default();
            let memory = Memory { micro_tokens: budget, logit_tokens: budget, recompute: false };
            let (loss, _) = rl::sft::imitate(model, &samples, &memory, &mut g);
            let b = cpu();
            optimizer.step(&mut g, 1e-5).unwrap();
            let c = cpu();
            println!(
                "{tokens} tokens, budget {budget}: loss {loss:.5}, cpu {:.3} s + optimizer {:.3} s = {:.0} tokens/cpu-s",
                b - a,
                c - b,
                tokens as f64 / (c - a)
            );
        }
    }
}
