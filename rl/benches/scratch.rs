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
        engine.step().unwrap();
        let pre = t.elapsed().as_secs_f64();
        let t = Instant::now();
        let mut k = 0;
        let mut times = vec![];
        while !engine.is_idle() {
            let u = Instant::now();
            engine.step().unwrap();
            times.push(u.elapsed().as_secs_f64());
            k += 1;
        }
        let d = t.elapsed().as_secs_f64();
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
