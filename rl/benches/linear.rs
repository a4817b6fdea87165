//! Linear layers in f32 on the CPU: MKL beside oneDNN with packed weights, taking turns.
//!
//! ```text
//! cargo bench -p rl --bench linear -- [--shape tiny] [--threads 1] [--rows 8,32] [--only steps]
//! ```
//! First every product of a policy by itself, in the fewest microseconds of several turns, with a
//! star where `rollout.cpu_linear = "auto"` takes oneDNN. Then the same products with their gradients,
//! as updates compute them, rows converted for oneDNN and back included. Then whole steps of
//! generation with each value of that setting, in tokens per second. On a processor for which the rule of
//! `model::cpu_linear` is wrong, this shows it; `MKL_ENABLE_INSTRUCTIONS=AVX2` shows on Intel's
//! processors what MKL has for those of other makers.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod shape;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use rl::generate::engine::{Capacity, Engine, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{CpuLinear, PackedWeight, Qwen3, Qwen3Config};
use shape::BenchShape;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tch::{Device, Kind, Tensor, no_grad_guard};

/// Tokens of a prompt, and how many follow it.
const PROMPT: usize = 200;
const ANSWER: usize = 60;
/// How often each side takes its turn in steps of generation.
const TURNS: usize = 3;

#[derive(Debug, Parser)]
struct LinearArgs {
    /// Only this shape.
    #[arg(long)]
    shape: Option<BenchShape>,
    /// Only this.
    #[arg(long)]
    only: Option<Only>,
    /// Threads of libtorch.
    #[arg(long, default_value_t = 1)]
    threads: i32,
    /// Rows of a product.
    #[arg(long, value_delimiter = ',', default_value = "1,4,8,12,16,32,64,1024")]
    rows: Vec<i64>,
    /// Milliseconds for each product.
    #[arg(long, default_value_t = 100)]
    milliseconds: u64,
    /// Cargo passes this.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Products,
    Updates,
    Steps,
}

/// Rows that generate at once.
fn rows(shape: BenchShape) -> &'static [usize] {
    match shape {
        BenchShape::Tiny => &[8, 32, 64],
        BenchShape::Medium => &[8, 12, 32],
    }
}

fn main() -> Result<()> {
    let args = LinearArgs::parse();
    tch::set_num_threads(args.threads);
    let _guard = no_grad_guard();
    for shape in [BenchShape::Tiny, BenchShape::Medium] {
        if args.shape.is_some_and(|only| only != shape) {
            continue;
        }
        // No id ends a turn, so that every row generates its full share.
        let config = Qwen3Config { eos_token_ids: Vec::new(), ..shape.config() };
        println!("{shape:?}, {} parameters, {} threads", config.parameter_count(), args.threads);
        let wants = |what| args.only.is_none_or(|only| only == what);
        if wants(Only::Products) {
            products(&config, &args);
        }
        if wants(Only::Updates) {
            updates(&config, &args);
        }
        if wants(Only::Steps) {
            steps(&config, rows(shape))?;
        }
    }
    Ok(())
}

/// Every matrix of a layer, and that of the output layer: its name, outputs and inputs.
fn weights(config: &Qwen3Config) -> [(&'static str, i64, i64); 5] {
    let (c, d, f) = (config.hidden_size, config.head_dim, config.intermediate_size);
    let (q, k) = (config.num_attention_heads * d, config.num_key_value_heads * d);
    [
        ("qkv_proj", q + 2 * k, c),
        ("o_proj", c, q),
        ("gate_up_proj", 2 * f, c),
        ("down_proj", c, f),
        ("lm_head", config.vocab_size, c),
    ]
}

/// Every product of a step of generation.
fn products(config: &Qwen3Config, args: &LinearArgs) {
    println!("{:14} {:>6} {:>12} {:>12} {:>7}", "weight", "rows", "MKL, us", "oneDNN, us", "ratio");
    for (name, outputs, inputs) in weights(config) {
        let weight = normal([outputs, inputs]) * 0.05;
        // Of fewer than 512 inputs oneDNN is never asked.
        let Some(packed) = PackedWeight::new(&weight, CpuLinear::Onednn) else {
            println!("{name:14} {:>6}", "MKL");
            continue;
        };
        let auto = PackedWeight::new(&weight, CpuLinear::Auto);
        for &rows in &args.rows {
            let x = normal([rows, inputs]);
            let (mkl, onednn) = turns(
                Duration::from_millis(args.milliseconds),
                || x.linear(&weight, None::<&Tensor>),
                || packed.forward(&x),
            );
            let star = if auto.as_ref().is_some_and(|auto| auto.takes(&x)) { "*" } else { "" };
            println!(
                "{name:14} {rows:6} {:12.1} {:12.1} {:6.2}x {star}",
                mkl * 1e6,
                onednn * 1e6,
                mkl / onednn
            );
        }
    }
}

/// Every product of whole sequences, with the gradients of rows and weight.
fn updates(config: &Qwen3Config, args: &LinearArgs) {
    println!("with gradients");
    for (name, outputs, inputs) in weights(config) {
        if outputs.min(inputs) < 512 {
            println!("{name:14} {:>6}", "MKL");
            continue;
        }
        let weight = (normal([outputs, inputs]) * 0.05).set_requires_grad(true);
        for &rows in &args.rows {
            let x = normal([rows, inputs]).set_requires_grad(true);
            let gradient = normal([rows, outputs]);
            let differentiate = |y: Tensor| {
                let loss = (y * &gradient).sum(Kind::Float);
                Tensor::run_backward(&[loss], &[&x, &weight], false, false)
            };
            let (mkl, onednn) = turns(
                Duration::from_millis(args.milliseconds),
                || tch::with_grad(|| differentiate(x.linear(&weight, None::<&Tensor>))),
                || {
                    tch::with_grad(|| {
                        let y = x.to_mkldnn().mkldnn_linear(&weight, None::<&Tensor>);
                        differentiate(y.to_dense(None, false))
                    })
                },
            );
            println!(
                "{name:14} {rows:6} {:12.1} {:12.1} {:6.2}x",
                mkl * 1e6,
                onednn * 1e6,
                mkl / onednn
            );
        }
    }
}

/// The fewest seconds of both, which take turns.
fn turns<T>(
    budget: Duration,
    mut one: impl FnMut() -> T,
    mut other: impl FnMut() -> T,
) -> (f64, f64) {
    let mut least = [f64::INFINITY; 2];
    let (begin, mut count) = (Instant::now(), 0);
    // The first turns fill caches and make kernels.
    while count < 7 || begin.elapsed() < budget {
        for (side, least) in least.iter_mut().enumerate() {
            let begin = Instant::now();
            let _ = black_box(if side == 0 { one() } else { other() });
            *least = least.min(begin.elapsed().as_secs_f64());
        }
        count += 1;
    }
    (least[0], least[1])
}

/// Tokens per second of generation with each value of the setting.
fn steps(config: &Qwen3Config, rows: &[usize]) -> Result<()> {
    const CHOICES: [CpuLinear; 3] = [CpuLinear::Mkl, CpuLinear::Onednn, CpuLinear::Auto];
    let model = Qwen3::random(config, Kind::Float, Device::Cpu, Stream::root(1));
    println!("generation, tokens/s, the most of {TURNS} turns");
    for &rows in rows {
        let mut most = [0.0_f64; 3];
        let mut said = Vec::new();
        for _ in 0..TURNS {
            for (most, choice) in most.iter_mut().zip(CHOICES) {
                let (speed, ids) = generate(&model, rows, choice)?;
                *most = most.max(speed);
                said.push(ids);
            }
        }
        // Rounding decides near ties, after which a row says something else.
        let same = |ids: &Vec<Vec<i64>>| ids.iter().zip(&said[0]).filter(|(a, b)| a == b).count();
        ensure!(said.iter().all(|ids| 10 * same(ids) >= 8 * rows), "answers differ");
        let [mkl, onednn, auto] = most;
        println!(
            "{rows:4} rows: mkl {mkl:8.0}  onednn {onednn:8.0} ({:.2}x)  auto {auto:8.0} ({:.2}x)",
            onednn / mkl,
            auto / mkl
        );
    }
    Ok(())
}

/// Tokens per second after the prompts were read, and what was said.
fn generate(model: &Qwen3, rows: usize, choice: CpuLinear) -> Result<(f64, Vec<Vec<i64>>)> {
    let capacity = Capacity { cpu_linear: choice, ..Capacity::new(rows, PROMPT + ANSWER + 1) };
    let mut engine = Engine::with_capacity(model, capacity)?;
    for (row, number) in (0..rows as u64).zip(0_i64..) {
        let ids: Vec<i64> = (0..).map(|i| (number * 31 + i * 7) % 1400).take(PROMPT).collect();
        let (sampling, stream) = (Sampling::default(), Stream::root(7).index(row));
        let turn = TurnOptions { sampling, stream, max_tokens: ANSWER, ignore_eos: true };
        engine.admit(&ids, turn)?;
    }
    // Reads the prompts; the next step makes kernels for this many rows.
    engine.step()?;
    engine.step()?;
    let (begin, before) = (Instant::now(), engine.generated());
    let mut finished = Vec::new();
    while !engine.is_idle() {
        finished.extend(engine.step()?);
    }
    let tokens = engine.generated() - before;
    let speed = tokens as f64 / begin.elapsed().as_secs_f64();
    finished.sort_by_key(|finished| finished.row);
    Ok((speed, finished.into_iter().map(|finished| finished.ids).collect()))
}

fn normal(shape: [i64; 2]) -> Tensor {
    Tensor::empty(shape, (Kind::Float, Device::Cpu)).normal_(0.0, 1.0)
}
