//! Continuous against static batching: conversations of unequal length whose tools take 0.1 to
//! 3 s, the same ones with the same token counts both ways.
//!
//! ```text
//! cargo bench -p rl --bench batching -- [--conversations 48] [--rows 16] [--seeds 3] [--json FILE]
//! ```
//! *Continuous* is what rollouts do: a conversation whose tool runs leaves the batch, and comes
//! back when the tool has ended; one that is over gives its row to the next. *Static* is a batch
//! that starts together and ends together: every turn lasts until the longest has been said and
//! the slowest tool has ended. Tools are a clock and use no processor; with tools that take no
//! time at all, what is left of the difference is that of lengths alone.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use anyhow::{Result, ensure};
use camino::Utf8PathBuf;
use clap::Parser;
use rand::RngExt as _;
use rl::generate::engine::{Engine, Finished, RowId, TurnOptions};
use rl::generate::sample::Sampling;
use rl::model::{Qwen3, Qwen3Config};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};
use tasks::stream::Stream;
use tch::{Device, Kind};

/// Tokens that a row holds: 240 of the prompt, then six turns of 200 and five answers of 60.
const CAPACITY: usize = 1800;

#[derive(Debug, Parser)]
struct BatchingArgs {
    /// Conversations in all.
    #[arg(long, default_value_t = 48)]
    conversations: usize,
    /// Of which generate at once.
    #[arg(long, default_value_t = 16)]
    rows: usize,
    /// Different draws of lengths and times.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Seconds of the longest tool call; the shortest takes 0.1.
    #[arg(long, default_value_t = 3.0)]
    slowest: f64,
    /// Where to write everything that was measured.
    #[arg(long)]
    json: Option<Utf8PathBuf>,
    /// Cargo passes this.
    #[arg(long, hide = true)]
    bench: bool,
}

/// One exchange: the model says so many tokens, then a tool runs and answers.
struct ToolExchange {
    said: usize,
    runs: Duration,
    answer: Vec<i64>,
}

/// The tool of the last exchange is not waited for.
struct ScriptedConversation {
    prompt: Vec<i64>,
    exchanges: Vec<ToolExchange>,
}

#[derive(Debug, Serialize)]
struct BatchingResult {
    seed: u64,
    tools: bool,
    tokens: u64,
    continuous_seconds: f64,
    static_seconds: f64,
    ratio: f64,
}

fn main() -> Result<()> {
    let args = BatchingArgs::parse();
    ensure!(args.rows > 0 && args.slowest >= 0.1, "at least a row, and 0.1 s");
    let model =
        Qwen3::random(&Qwen3Config::tiny(1500, 1, 2), Kind::Float, Device::Cpu, Stream::root(1));
    // As rollouts of the tiny policy do.
    tch::set_num_threads(1);
    let BatchingArgs { conversations, rows, slowest, .. } = args;
    println!("{conversations} conversations, {rows} rows, tools of 0.1 to {slowest} s\n");
    println!("seed  tools  tokens  continuous s  static s  ratio");
    let mut lines = Vec::new();
    for seed in 0..args.seeds {
        for tools in [true, false] {
            let wanted = draw(seed, conversations, if tools { slowest } else { 0.0 });
            let (continuous_seconds, tokens) = timed(&model, rows, &wanted, &continuous)?;
            let (static_seconds, same) = timed(&model, rows, &wanted, &in_batches)?;
            ensure!(tokens == same, "{tokens} and {same} tokens: not the same work");
            let ratio = static_seconds / continuous_seconds;
            println!(
                "{seed:4}  {:5}  {tokens:6}  {continuous_seconds:12.2}  {static_seconds:8.2}  {ratio:5.2}",
                if tools { "yes" } else { "no" }
            );
            lines.push(BatchingResult {
                seed,
                tools,
                tokens,
                continuous_seconds,
                static_seconds,
                ratio,
            });
        }
    }
    if let Some(path) = &args.json {
        tasks::files::write_json(path, &lines)?;
    }
    Ok(())
}

/// Conversations of one to six turns of 20 to 200 tokens, with tools of 0.1 to `slowest` seconds,
/// or of none.
fn draw(seed: u64, count: usize, slowest: f64) -> Vec<ScriptedConversation> {
    let mut rng = Stream::root(seed).child("batching").rng();
    let mut conversation = || {
        let prompt: usize = rng.random_range(120..240);
        let turns = rng.random_range(1..=6);
        let exchange = |_| {
            let said = rng.random_range(20..=200);
            let share: f64 = rng.random();
            let seconds = if slowest > 0.0 { 0.1 + share * (slowest - 0.1) } else { 0.0 };
            let answer = ids(rng.random_range(10..60));
            ToolExchange { said, runs: Duration::from_secs_f64(seconds), answer }
        };
        let exchanges = (0..turns).map(exchange).collect();
        ScriptedConversation { prompt: ids(prompt), exchanges }
    };
    (0..count).map(|_| conversation()).collect()
}

fn ids(count: usize) -> Vec<i64> {
    (3..).step_by(5).take(count).collect()
}

/// A way to hold conversations in an engine with some rows.
type ServeConversations = dyn Fn(&mut Engine, usize, &[ScriptedConversation]) -> Result<()>;

/// Seconds and tokens.
fn timed(
    model: &Qwen3,
    rows: usize,
    conversations: &[ScriptedConversation],
    way: &ServeConversations,
) -> Result<(f64, u64)> {
    let mut engine = Engine::new(model, rows, CAPACITY);
    let begin = Instant::now();
    way(&mut engine, rows, conversations)?;
    Ok((begin.elapsed().as_secs_f64(), engine.generated()))
}

/// A turn of as many tokens as its exchange wants.
fn turn(conversation: &ScriptedConversation, index: usize) -> TurnOptions {
    TurnOptions {
        sampling: Sampling::default(),
        stream: Stream::root(9).index(index as u64),
        max_tokens: conversation.exchanges[index].said,
        ignore_eos: true,
    }
}

/// Whoever can generate does; it sleeps only when nobody can.
fn continuous(engine: &mut Engine, rows: usize, all: &[ScriptedConversation]) -> Result<()> {
    let mut waiting: BinaryHeap<Reverse<(Instant, RowId)>> = BinaryHeap::new();
    let mut playing: BTreeMap<RowId, (&ScriptedConversation, usize)> = BTreeMap::new();
    let mut next = all.iter();
    loop {
        while playing.len() < rows
            && let Some(conversation) = next.next()
        {
            let row = engine.admit(&conversation.prompt, turn(conversation, 0))?;
            playing.insert(row, (conversation, 0));
        }
        if playing.is_empty() {
            return Ok(());
        }
        if engine.is_idle()
            && let Some(Reverse((due, _))) = waiting.peek()
        {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        while waiting.peek().is_some_and(|Reverse((due, _))| *due <= Instant::now())
            && let Some(Reverse((_, row))) = waiting.pop()
            && let Some((conversation, index)) = playing.get_mut(&row)
        {
            let answer = &conversation.exchanges[*index].answer;
            *index += 1;
            engine.extend(row, answer, turn(conversation, *index))?;
        }
        for Finished { row, .. } in engine.step()? {
            let (conversation, index) = playing[&row];
            if index + 1 == conversation.exchanges.len() {
                engine.release(row)?;
                playing.remove(&row);
            } else {
                let due = Instant::now() + conversation.exchanges[index].runs;
                waiting.push(Reverse((due, row)));
            }
        }
    }
}

/// A batch starts together, and each of its turns waits for all.
fn in_batches(engine: &mut Engine, rows: usize, all: &[ScriptedConversation]) -> Result<()> {
    for batch in all.chunks(rows) {
        let mut playing = Vec::new();
        for conversation in batch {
            playing
                .push((engine.admit(&conversation.prompt, turn(conversation, 0))?, conversation));
        }
        for index in 0.. {
            while !engine.is_idle() {
                engine.step()?;
            }
            let (over, going): (Vec<_>, Vec<_>) = playing
                .into_iter()
                .partition(|(_, conversation)| index + 1 == conversation.exchanges.len());
            for (row, _) in over {
                engine.release(row)?;
            }
            let runs = going.iter().map(|(_, conversation)| conversation.exchanges[index].runs);
            let Some(slowest) = runs.max() else { break };
            std::thread::sleep(slowest);
            for (row, conversation) in &going {
                let answer = &conversation.exchanges[index].answer;
                engine.extend(*row, answer, turn(conversation, index + 1))?;
            }
            playing = going;
        }
    }
    Ok(())
}
