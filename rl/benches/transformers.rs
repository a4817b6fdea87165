//! Generation and training beside transformers and PyTorch: the same weights, prompts, lengths
//! and trajectories, in one run, the two sides taking turns.
//!
//! ```text
//! cargo bench -p rl --bench transformers -- [--shape tiny] [--repeats 5] [--json FILE]
//! ```
//! The other side is `peer.py`, on the Python of `MLE_PYTHON` or `.venv`. Before anything counts,
//! each side tries its ways of doing a thing once and keeps the fastest: for us the number of
//! threads; for them also `generate` or a loop over `forward`, a cache that grows or is laid out
//! once, eager or fused attention; in training how many padded tokens go at once. Training has
//! several contests, from what `Trainer` does by default to logits for trained tokens alone.
//! `torch.compile` is not among the ways.
//!
//! That both do the same work is checked: greedy answers must agree for most rows (random weights
//! have near ties, which rounding decides), and the losses of all updates to 1e-4.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

mod shape;

use anyhow::{Context as _, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{Parser, ValueEnum};
use rand::RngExt as _;
use rl::generate::engine::{Engine, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{Gradients, Qwen3, Qwen3Config, Weights, save_folder};
use rl::optim::{AdamConfig, AdamW};
use rl::train::batch::{Memory, TrainSequence};
use rl::train::native::imitate;
use rl::train::presets::{Dtype, Scale};
use serde::{Deserialize, Serialize};
use serde_json::json;
use shape::BenchShape;
use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;
use tasks::stream::Stream;
use tch::{Device, Kind};

/// Tokens of a prompt, and how many follow it.
const PROMPT: usize = 200;
const ANSWER: usize = 150;
/// Tokens that follow while ways are compared.
const TRIAL: usize = 30;
/// Small, so that rounding is not magnified from one update to the next.
const RATE: f64 = 1e-5;
/// Largest difference between the two sides' losses, in nats.
const SAME_LOSS: f64 = 1e-4;

/// Padded tokens that go at once; with a budget of one each trajectory goes alone, and nothing is
/// padded.
const PADDED: &[usize] = &[2048, 4096, 8192];
const ALONE: &[usize] = &[1];
const ANY: &[usize] = &[1, 2048, 4096, 8192];

/// What our updates are held against: a name, the order of trajectories, which tokens have logits,
/// and the budgets that are tried. `Trainer` pads, in random order or grouped by length, or has
/// batches of one; the last is written by hand.
const CONTESTS: [(&str, &str, &str, &[usize]); 4] = [
    ("padded", "random", "all", PADDED),
    ("padded by length", "grouped", "all", PADDED),
    ("one at a time", "grouped", "all", ALONE),
    ("by hand", "grouped", "trained", ANY),
];

#[derive(Debug, Parser)]
struct TransformersArgs {
    /// Only this shape.
    #[arg(long)]
    shape: Option<BenchShape>,
    /// Only this.
    #[arg(long)]
    only: Option<Only>,
    /// Turns of each side.
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Threads that either side may use; all, unless told otherwise.
    #[arg(long)]
    threads: Option<i32>,
    /// Where to write everything that was measured.
    #[arg(long)]
    json: Option<Utf8PathBuf>,
    /// Cargo passes this.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Decode,
    Train,
}

/// Rows that generate at once.
fn rows(shape: BenchShape) -> &'static [usize] {
    match shape {
        BenchShape::Tiny => &[8, 32, 64],
        BenchShape::Medium => &[8, 32],
    }
}

/// Trajectories of an update.
fn trajectories_of(shape: BenchShape) -> usize {
    match shape {
        BenchShape::Tiny => 64,
        BenchShape::Medium => 12,
    }
}

fn main() -> Result<()> {
    // Cargo has tests side by side wait asleep; outside of it nobody sets this, and libtorch reads
    // it when it is loaded.
    if std::env::var_os("OMP_WAIT_POLICY").is_some() {
        let this = std::env::current_exe()?;
        let plain = Command::new(this)
            .args(std::env::args_os().skip(1))
            .env_remove("OMP_WAIT_POLICY")
            .status()?;
        ensure!(plain.success(), "see above");
        return Ok(());
    }
    let args = TransformersArgs::parse();
    let mut peer = TransformersProcess::start()?;
    let work = tempfile::tempdir()?;
    let work = Utf8Path::from_path(work.path()).context("a folder with a name in UTF-8")?;
    let threads = args.threads.unwrap_or_else(tch::get_num_threads);
    println!(
        "{threads} threads, {} turns of each side; tokens/s, median (least-most)\n",
        args.repeats
    );
    println!("{:30} {:>24} {:>24} {:>18}  their way", "", "ours", "theirs", "ratio");
    let mut lines = Vec::new();
    for shape in [BenchShape::Tiny, BenchShape::Medium] {
        if args.shape.is_some_and(|only| only != shape) {
            continue;
        }
        let folder = work.join(format!("{shape:?}"));
        fs_err::create_dir(&folder)?;
        let config = shape.config();
        let random = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(1));
        save_folder(&random, &folder)?;
        let mut bench =
            ShapeBench { shape, folder, threads, repeats: args.repeats, peer: &mut peer };
        if args.only != Some(Only::Train) {
            lines.extend(bench.decode(Dtype::F32)?);
        }
        if args.only != Some(Only::Decode) {
            lines.extend(bench.train()?);
        }
        if args.only != Some(Only::Train) && shape == BenchShape::Medium {
            lines.extend(bench.decode(Dtype::Bf16)?);
        }
    }
    if let Some(path) = &args.json {
        tasks::files::write_json(path, &lines)?;
    }
    Ok(())
}

/// One shape on both sides.
struct ShapeBench<'p> {
    shape: BenchShape,
    folder: Utf8PathBuf,
    threads: i32,
    repeats: usize,
    peer: &'p mut TransformersProcess,
}

impl ShapeBench<'_> {
    fn load(&mut self, dtype: Dtype) -> Result<Qwen3> {
        let name = match dtype {
            Dtype::F32 => "float32",
            Dtype::Bf16 => "bfloat16",
        };
        let load = json!({"do": "load", "folder": self.folder, "dtype": name});
        let loaded: Loaded = self.peer.ask(&load)?;
        let config = Qwen3Config::open(&self.folder)?;
        ensure!(loaded.parameters == config.parameter_count(), "the sides load different models");
        Ok(Qwen3::load(&config, &Weights::open(&self.folder)?, dtype.kind(), Device::Cpu)?)
    }

    /// Reading prompts and answering them.
    fn decode(&mut self, dtype: Dtype) -> Result<Vec<ComparisonResult>> {
        let model = self.load(dtype)?;
        let mut lines = Vec::new();
        for &rows in rows(self.shape) {
            let prompts = prompts(rows, model.config().vocab_size);
            let best = |tried: Vec<(f64, i32)>| {
                tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1, |(_, way)| way)
            };
            let tried = (1..=self.threads).map(|threads| {
                (generate(&model, &prompts, TRIAL, threads, Sampling::greedy()).decode, threads)
            });
            let threads = best(tried.collect());
            let way = self.their_decode(&prompts)?;
            for sampling in [Sampling::greedy(), Sampling::default()] {
                let sampled = !sampling.is_greedy();
                let (mut prefill, mut decode, mut same) = (Pairs::default(), Pairs::default(), 0);
                let ask = json!({
                    "do": "decode", "way": way, "prompts": prompts, "tokens": ANSWER,
                    "sampled": sampled,
                });
                for _ in 0..self.repeats {
                    let ours = generate(&model, &prompts, ANSWER, threads, sampling);
                    let theirs: GeneratedAnswers = self.peer.ask(&ask)?;
                    prefill.push(rows * PROMPT, ours.prefill, rows * PROMPT, theirs.prefill);
                    // Our first step already makes two tokens.
                    let tokens = [rows * (ANSWER - 2), rows * (ANSWER - 1)];
                    decode.push(tokens[0], ours.decode, tokens[1], theirs.decode);
                    let pairs = ours.answers.iter().zip(&theirs.answers);
                    same = pairs.filter(|(ours, theirs)| ours == theirs).count();
                }
                let kind = if sampled { "sampled" } else { "greedy" };
                if dtype == Dtype::F32 && !sampled {
                    ensure!(10 * same >= 9 * rows, "only {same} of {rows} answers agree");
                }
                for (what, pairs) in [("prefill", prefill), ("decode", decode)] {
                    // Prompts are read the same way, whatever follows.
                    if what == "decode" || !sampled {
                        let what = format!("{what}, {kind}, {rows} rows");
                        lines.push(self.line(dtype, what, pairs, &way, &format!("{threads}")));
                    }
                }
            }
        }
        Ok(lines)
    }

    /// The fastest of their ways to generate.
    fn their_decode(&mut self, prompts: &[Vec<i64>]) -> Result<Decode> {
        let mut best: Option<(f64, Decode)> = None;
        for loop_ in ["generate", "forward"] {
            for cache in ["dynamic", "static"] {
                for attention in ["sdpa", "eager"] {
                    for threads in 1..=self.threads {
                        let way = Decode { loop_, cache, attention, threads };
                        let ask = json!({
                            "do": "decode", "way": way, "prompts": prompts, "tokens": TRIAL,
                            "sampled": false,
                        });
                        let GeneratedAnswers { decode, .. } = self.peer.ask(&ask)?;
                        if best.as_ref().is_none_or(|(least, _)| decode < *least) {
                            best = Some((decode, way));
                        }
                    }
                }
            }
        }
        Ok(best.context("there is a way")?.1)
    }

    /// Updates: forward, backward, clipping and `AdamW`.
    fn train(&mut self) -> Result<Vec<ComparisonResult>> {
        let vocab_size = self.shape.config().vocab_size;
        let samples = trajectories(trajectories_of(self.shape), vocab_size);
        let tokens: usize = samples.iter().map(|sample| sample.ids.len()).sum();
        tch::set_num_threads(self.threads);
        let memory = Scale::Tiny.memory();
        let mut lines = Vec::new();
        for (what, order, logits, budgets) in CONTESTS {
            let way = self.their_train(&samples, order, logits, budgets)?;
            let model = self.load(Dtype::F32)?;
            let mut optimizer = AdamW::new(&model, AdamConfig::default());
            let mut pairs = Pairs::default();
            for _ in 0..self.repeats {
                let ours = update(&model, &mut optimizer, &samples, &memory)?;
                let theirs = self.their_update(&way, &samples)?;
                let gap = (ours.loss - theirs.loss).abs();
                ensure!(gap <= SAME_LOSS, "losses {} and {} differ", ours.loss, theirs.loss);
                pairs.push(tokens, ours.seconds, tokens, theirs.seconds);
            }
            let what = format!("update, {what}");
            lines.push(self.line(Dtype::F32, what, pairs, &way, &format!("{}", self.threads)));
        }
        Ok(lines)
    }

    /// The fastest amount of padded tokens to go at once.
    fn their_train(
        &mut self,
        samples: &[TrainSequence],
        order: &'static str,
        logits: &'static str,
        budgets: &[usize],
    ) -> Result<Train> {
        self.load(Dtype::F32)?;
        let mut best: Option<(f64, Train)> = None;
        for &budget in budgets {
            let (attention, threads) = ("sdpa", self.threads);
            let way = Train { order, logits, budget, attention, threads };
            let Updated { seconds, .. } = self.their_update(&way, samples)?;
            if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
                best = Some((seconds, way));
            }
        }
        Ok(best.context("there is a way")?.1)
    }

    fn their_update(&mut self, way: &Train, samples: &[TrainSequence]) -> Result<Updated> {
        let sample = |sample: &TrainSequence| json!({"ids": sample.ids, "trained": sample.trained});
        let samples: Vec<_> = samples.iter().map(sample).collect();
        self.peer.ask(&json!({"do": "train", "way": way, "samples": samples, "rate": RATE}))
    }

    fn line(
        &self,
        dtype: Dtype,
        what: String,
        pairs: Pairs,
        way: &(impl Serialize + fmt::Display),
        our_threads: &str,
    ) -> ComparisonResult {
        let line = ComparisonResult {
            shape: self.shape,
            dtype,
            what,
            ours: TimeSpread::new(pairs.ours.clone()),
            theirs: TimeSpread::new(pairs.theirs.clone()),
            ratio: TimeSpread::new(pairs.ratios()),
            their_way: json!(way),
            our_threads: our_threads.to_owned(),
            pairs,
        };
        let dtype = if dtype == Dtype::Bf16 { " bf16" } else { "" };
        let name = format!("{:?}{dtype} {}", self.shape, line.what).to_lowercase();
        let (ours, theirs) = (line.ours.text(0), line.theirs.text(0));
        println!("{name:34} {ours:>22} {theirs:>22} {:>18}  {way}", line.ratio.text(2));
        line
    }
}

/// How they generate.
#[derive(Debug, Serialize)]
struct Decode {
    #[serde(rename = "loop")]
    loop_: &'static str,
    cache: &'static str,
    attention: &'static str,
    threads: i32,
}

impl fmt::Display for Decode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loop_, cache, attention, threads } = self;
        write!(f, "{loop_}, {cache} cache, {attention}, {threads} threads")
    }
}

/// How they train.
#[derive(Debug, Serialize)]
struct Train {
    order: &'static str,
    logits: &'static str,
    budget: usize,
    attention: &'static str,
    threads: i32,
}

impl fmt::Display for Train {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.budget {
            1 => write!(f, "one at a time"),
            budget => write!(f, "{budget} padded tokens at once"),
        }
    }
}

/// Tokens per second of both sides, turn by turn.
#[derive(Debug, Default, Serialize)]
struct Pairs {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Pairs {
    fn push(&mut self, our_tokens: usize, ours: f64, their_tokens: usize, theirs: f64) {
        self.ours.push(our_tokens as f64 / ours);
        self.theirs.push(their_tokens as f64 / theirs);
    }

    fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }
}

#[derive(Debug, Serialize)]
struct TimeSpread {
    least: f64,
    median: f64,
    most: f64,
}

impl TimeSpread {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (count, at) = (values.len(), |index: usize| values.get(index).copied().unwrap_or(0.0));
        let median = f64::midpoint(at((count - 1) / 2), at(count / 2));
        Self { least: at(0), median, most: at(count - 1) }
    }

    fn text(&self, digits: usize) -> String {
        let Self { least, median, most } = self;
        format!("{median:.digits$} ({least:.digits$}-{most:.digits$})")
    }
}

#[derive(Debug, Serialize)]
struct ComparisonResult {
    shape: BenchShape,
    dtype: Dtype,
    what: String,
    ours: TimeSpread,
    theirs: TimeSpread,
    ratio: TimeSpread,
    our_threads: String,
    their_way: serde_json::Value,
    pairs: Pairs,
}

/// Answers, and the seconds that prompts and answers took.
#[derive(Debug, Deserialize)]
struct GeneratedAnswers {
    prefill: f64,
    decode: f64,
    answers: Vec<Vec<i64>>,
}

/// One update.
#[derive(Debug, Deserialize)]
struct Updated {
    seconds: f64,
    loss: f64,
}

#[derive(Debug, Deserialize)]
struct Loaded {
    parameters: i64,
}

/// Different prompts of one length, so that nobody has to pad.
fn prompts(rows: usize, vocab_size: i64) -> Vec<Vec<i64>> {
    let mut rng = Stream::root(2).rng();
    (0..rows).map(|_| (0..PROMPT).map(|_| rng.random_range(3..vocab_size)).collect()).collect()
}

/// Trajectories of 100 to 1400 tokens, as episodes are: a prompt, then turns of the model and
/// answers of the environment, a turn of the model last.
fn trajectories(count: usize, vocab_size: i64) -> Vec<TrainSequence> {
    let mut rng = Stream::root(3).rng();
    let mut piece = |length: usize| -> Vec<i64> {
        (0..length).map(|_| rng.random_range(3..vocab_size)).collect()
    };
    let mut lengths = Stream::root(4).rng();
    let trajectory = |_| {
        let mut sample = TrainSequence::default();
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

/// `tokens` tokens for each prompt.
fn generate(
    model: &Qwen3,
    prompts: &[Vec<i64>],
    tokens: usize,
    threads: i32,
    sampling: Sampling,
) -> GeneratedAnswers {
    tch::set_num_threads(threads);
    let start = |tokens: usize| {
        let mut engine = Engine::new(model, prompts.len(), PROMPT + tokens + 1);
        for (prompt, row) in prompts.iter().zip(0..) {
            let stream = Stream::root(7).index(row);
            let turn = TurnOptions { sampling, stream, max_tokens: tokens, ignore_eos: true };
            engine.admit(prompt, turn).expect("there is room");
        }
        engine
    };
    let begin = Instant::now();
    start(1).step().expect("finite");
    let prefill = begin.elapsed().as_secs_f64();
    let mut engine = start(tokens);
    engine.step().expect("finite");
    let begin = Instant::now();
    let mut finished = Vec::new();
    while !engine.is_idle() {
        finished.extend(engine.step().expect("finite"));
    }
    let decode = begin.elapsed().as_secs_f64();
    finished.sort_by_key(|finished| finished.row);
    let answers = finished.into_iter().map(|finished| finished.ids).collect();
    GeneratedAnswers { prefill, decode, answers }
}

/// One update on all `samples`.
fn update(
    model: &Qwen3,
    optimizer: &mut AdamW,
    samples: &[TrainSequence],
    memory: &Memory,
) -> Result<Updated> {
    let begin = Instant::now();
    let mut gradients = Gradients::default();
    let (loss, _) = imitate(model, samples, memory, &mut gradients);
    optimizer.step(&mut gradients, RATE)?;
    Ok(Updated { seconds: begin.elapsed().as_secs_f64(), loss })
}

/// The other side: a process that answers requests.
struct TransformersProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl TransformersProcess {
    fn start() -> Result<Self> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let python = std::env::var("MLE_PYTHON").unwrap_or(format!("{root}/.venv/bin/python"));
        let mut child = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start Python; `make venv` sets one up")?;
        let stdin = child.stdin.take().context("no pipe")?;
        let stdout = BufReader::new(child.stdout.take().context("no pipe")?);
        Ok(Self { child, stdin, stdout })
    }

    fn ask<A: serde::de::DeserializeOwned>(&mut self, request: &serde_json::Value) -> Result<A> {
        writeln!(self.stdin, "{request}")?;
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        serde_json::from_str(&line).context("the other side gave no answer; see above")
    }
}

impl Drop for TransformersProcess {
    fn drop(&mut self) {
        // It ends with its input; one that hangs is not waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
