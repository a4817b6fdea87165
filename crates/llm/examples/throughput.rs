//! How much of the ideal time a client takes: calls of 50 ms at concurrency 32, and calls of which
//! a fifth is refused.
//!
//! ```sh
//! cargo run --release -p llm --features http --example throughput
//! ```

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use llm::{
    CallRecord, ChatClient, ChatModel as _, Endpoint, Endpoints, Message, PriceList, Purpose,
    Request, Role,
};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::provider::{FakeProvider, Piece, USAGE, answer, openai_events, stream};

const CALLS: u64 = 1000;
const CONCURRENCY: u64 = 32;
const CALL: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let provider = FakeProvider::start(|_, _| {
        vec![Piece::Wait(CALL), Piece::Bytes(stream(&openai_events(&["hello"], USAGE)))]
    });
    let dir = tempfile::tempdir()?;
    let path = camino::Utf8Path::from_path(dir.path()).ok_or("no UTF-8")?.join("calls.jsonl");
    let record = Arc::new(CallRecord::open(&path, PriceList::default(), None)?);
    let client = ChatClient::new(endpoint(&provider)?, Some(Arc::clone(&record)))?;
    let ideal = CALL.as_secs_f64() * CALLS.div_ceil(CONCURRENCY) as f64;
    let memory = resident_kib()?;
    for run in ["first", "second"] {
        let start = Instant::now();
        let lost = calls(&client);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{run} {CALLS} calls: {seconds:.3} s, ideal {ideal:.3} s, {:.1} % of it; {lost} lost",
            100.0 * ideal / seconds
        );
    }
    println!("memory: {} KiB more", resident_kib()?.saturating_sub(memory));

    let provider = FakeProvider::start(|number, _| {
        // A hash of the number refuses a fifth of the requests.
        let hash = blake3::hash(&number.to_le_bytes());
        if hash.as_bytes()[0] < 51 {
            return vec![Piece::Bytes(answer(429, &[], ""))];
        }
        vec![Piece::Wait(CALL), Piece::Bytes(stream(&openai_events(&["hello"], USAGE)))]
    });
    let client = ChatClient::new(endpoint(&provider)?, None)?;
    let start = Instant::now();
    let lost = calls(&client);
    let (seconds, requests) = (start.elapsed().as_secs_f64(), provider.count());
    println!("{CALLS} calls with refusals: {requests} requests, {seconds:.3} s, {lost} lost");
    Ok(())
}

fn endpoint(provider: &FakeProvider) -> Result<Endpoint, Box<dyn Error>> {
    let text = format!(
        "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{}\"\nconcurrency = {CONCURRENCY}",
        provider.address
    );
    Ok(Endpoints::from_toml(&text)?.endpoint("fake")?)
}

/// Makes all calls on as many threads as run at once, and returns how many failed.
fn calls(client: &ChatClient) -> u64 {
    let (next, lost) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENCY {
            scope.spawn(|| {
                loop {
                    let slot = next.fetch_add(1, Ordering::Relaxed);
                    if slot >= CALLS {
                        return;
                    }
                    let message = Message::new(Role::User, format!("call {slot}"));
                    let request = Request::new("m", vec![message], 50);
                    let purpose = Purpose { slot, ..Purpose::default() };
                    if client.complete(&request, &purpose).is_err() {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    lost.into_inner()
}

/// Memory of this process, the provider's threads included.
fn resident_kib() -> Result<u64, Box<dyn Error>> {
    let status = fs_err::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS")).ok_or("no VmRSS")?;
    let number = line.split_whitespace().nth(1).ok_or("no number")?;
    Ok(number.parse()?)
}
