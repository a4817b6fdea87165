//! Rollouts over servers of an inference engine: what a second server gives, and what the client
//! costs.
//!
//! ```text
//! cargo bench -p rl --bench engines -- [--conversations 64] [--turns 6] [--json FILE]
//! ```
//! The servers answer as vLLM does, from this process, after a fixed time per token; `--rows`
//! turns of each run at a time, the others wait. So what is measured is the client: how it spreads
//! conversations, and what it adds to a turn. Prompts grow as in episodes, and are sent whole.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use anyhow::{Context as _, Result, ensure};
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use camino::Utf8PathBuf;
use clap::Parser;
use rl::generate::engine::TurnOptions;
use rl::generate::remote::{EngineApi, EngineSettings, RemoteGenerator};
use rl::generate::sample::Sampling;
use rl::generate::{ConversationId, Generator, Publication, PublishedWeights};
use rl::model::Qwen3Config;
use rl::run::watchdog::Heartbeat;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Tokens of a prompt, and of what the environment answers.
const PROMPT: usize = 1000;
const ANSWER: usize = 100;

/// Tokens of a turn: 60 to 139, so that turns do not end all at once.
fn length_of(id: u64, turn: usize) -> usize {
    60 + (usize::try_from(id).unwrap_or(0) * 37 + turn * 11) % 80
}

#[derive(Debug, Parser)]
struct EnginesArgs {
    /// Conversations at a time.
    #[arg(long, default_value_t = 64)]
    conversations: u64,
    /// Turns of each.
    #[arg(long, default_value_t = 6)]
    turns: usize,
    /// Turns that a server samples at a time.
    #[arg(long, default_value_t = 32)]
    rows: usize,
    /// Milliseconds that a server takes for a token of a turn.
    #[arg(long, default_value_t = 5.0)]
    token_ms: f64,
    /// Where to write everything that was measured.
    #[arg(long)]
    json: Option<Utf8PathBuf>,
    /// Cargo passes this.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Serialize)]
struct EnginesResult {
    servers: usize,
    rows: usize,
    turns: usize,
    seconds: f64,
    turns_per_second: f64,
    /// What a turn takes beyond the server's own time, if no turn waits for another: mean and
    /// largest, in milliseconds.
    overhead_ms: Option<(f64, f64)>,
}

#[derive(Debug, Clone)]
struct FakeEngine {
    rows: Arc<Semaphore>,
    token: Duration,
}

#[derive(Debug, Deserialize)]
struct Asked {
    max_tokens: u32,
}

async fn complete(State(engine): State<FakeEngine>, Json(asked): Json<Asked>) -> Json<Value> {
    // It is never closed.
    let _row = engine.rows.acquire().await;
    tokio::time::sleep(engine.token * asked.max_tokens).await;
    let count = asked.max_tokens as usize;
    Json(json!({"choices": [{
        "finish_reason": "length",
        "token_ids": vec![5; count],
        "logprobs": {"token_logprobs": vec![-1.0; count]},
    }]}))
}

/// Starts a server; it ends with the runtime.
async fn serve(engine: FakeEngine) -> Result<String> {
    let models = Json(json!({"data": [{"id": "policy", "max_model_len": 40960}]}));
    let weights = Json(json!({"weight_version": "1"}));
    let done = || async { Json(json!({})) };
    let router = Router::new()
        .route("/health", get(done))
        .route("/v1/models", get(async move || models))
        .route("/weight_info", get(async move || weights))
        .route("/v1/completions", post(complete))
        .route("/pause", post(done))
        .route("/resume", post(done))
        .route("/collective_rpc", post(done))
        .route("/reset_prefix_cache", post(done))
        .route("/update_weight_version", post(done))
        .with_state(engine);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

fn play(args: &EnginesArgs, addresses: Vec<String>) -> Result<(f64, Vec<f64>)> {
    let config = Qwen3Config::tiny(1000, 1, 2);
    let settings = EngineSettings::new(EngineApi::Vllm, addresses);
    let conversations = usize::try_from(args.conversations)?;
    let mut generator = RemoteGenerator::new(&settings, &config, (conversations, 40_960), None)?;
    let weights = PublishedWeights::Folder { path: "/nowhere".into(), adapters: false };
    generator.publish(&Publication { version: 1, weights, probe: None })?;
    generator.begin(conversations)?;
    let options = |id, turn| TurnOptions {
        sampling: Sampling::default(),
        stream: Stream::root(id),
        max_tokens: length_of(id, turn),
        ignore_eos: true,
    };
    let began = Instant::now();
    let mut open = BTreeMap::new();
    for id in 0..args.conversations {
        let ids = vec![7; PROMPT];
        open.insert(ConversationId(id), (ids.clone(), 1, Instant::now()));
        generator.start(ConversationId(id), &ids, options(id, 1))?;
    }
    // Seconds of each turn beyond the server's own.
    let mut overheads = Vec::new();
    while !open.is_empty() {
        for ended in generator.poll(&Heartbeat::default())? {
            let id = ended.conversation;
            let (ids, turns, since) = open.get_mut(&id).context("no such conversation")?;
            let tokens = length_of(id.0, *turns);
            ensure!(ended.ids.len() == tokens, "a turn is cut");
            overheads.push(since.elapsed().as_secs_f64() - args.token_ms / 1e3 * tokens as f64);
            if *turns == args.turns {
                open.remove(&id);
                generator.end(id)?;
                continue;
            }
            ids.extend(ended.ids);
            ids.extend([9; ANSWER]);
            (*turns, *since) = (*turns + 1, Instant::now());
            generator.start(id, ids, options(id.0, *turns))?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    generator.finish()?;
    Ok((seconds, overheads))
}

fn measure(args: &EnginesArgs, servers: usize, rows: usize) -> Result<EnginesResult> {
    // Servers have threads of their own, as they have machines of their own.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let token = Duration::from_secs_f64(args.token_ms / 1e3);
    let engine = || FakeEngine { rows: Arc::new(Semaphore::new(rows)), token };
    let addresses: Vec<String> =
        (0..servers).map(|_| runtime.block_on(serve(engine()))).collect::<Result<_>>()?;
    let (seconds, overheads) = play(args, addresses)?;
    let waits = rows * servers < usize::try_from(args.conversations)?;
    let overhead_ms = (!waits).then(|| {
        let mean = overheads.iter().sum::<f64>() / overheads.len() as f64;
        (mean * 1e3, overheads.iter().copied().fold(0.0, f64::max) * 1e3)
    });
    let turns = overheads.len();
    let turns_per_second = turns as f64 / seconds;
    Ok(EnginesResult { servers, rows, turns, seconds, turns_per_second, overhead_ms })
}

fn main() -> Result<()> {
    let args = EnginesArgs::parse();
    let mut results = Vec::new();
    for servers in [1, 2, 4] {
        let found = measure(&args, servers, args.rows)?;
        println!(
            "{servers} servers of {} rows: {:.1} turns/s, {:.2} s",
            found.rows, found.turns_per_second, found.seconds
        );
        results.push(found);
    }
    println!("two servers: {:.2}x one", results[1].turns_per_second / results[0].turns_per_second);
    let roomy = measure(&args, 1, usize::try_from(args.conversations)?)?;
    if let Some((mean, largest)) = roomy.overhead_ms {
        println!("the client adds {mean:.2} ms to a turn in the mean, {largest:.2} at most");
    }
    results.push(roomy);
    if let Some(file) = &args.json {
        fs_err::write(file, serde_json::to_vec_pretty(&results)?)?;
    }
    Ok(())
}
