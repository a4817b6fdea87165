//! Budgets over whole runs, against a provider that counts in its own way.

use crate::{endpoint, request};
use camino::Utf8Path;
use llm::{CallRecord, ChatClient, ChatError, ChatModel as _, MicroUsd, PriceList, Purpose};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::provider::{FakeProvider, Piece, answer, openai_events, stream};

pub(crate) const PRICES: &str = "[[price]]\nmodel = \"m\"\ninput = \"1\"\noutput = \"10\"\n";

/// Makes calls on 4 threads until the budget ends them, and returns the reasons that it gave.
pub(crate) fn spend(client: &ChatClient) -> String {
    let calls = |thread: usize| {
        for call in 0.. {
            let asked = request(&format!("{thread} {call}"));
            match client.complete(&asked, &Purpose::default()) {
                Ok(_) | Err(ChatError::Unavailable { .. }) => {}
                Err(ChatError::Budget { reason }) => return reason,
                Err(error) => panic!("{error}"),
            }
        }
        unreachable!("the budget ends the calls")
    };
    std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|thread| scope.spawn(move || calls(thread)));
        threads.map(|thread| thread.join().unwrap()).concat()
    })
}

/// Spends a budget as [`spend`] does, and returns what the provider billed and
/// what was booked. `output` is the count of generated tokens that the provider states for a call.
fn run(limit: MicroUsd, output: impl Fn(u64) -> u64 + Send + Sync + 'static) -> (u64, u64, String) {
    let billed = Arc::new(AtomicU64::new(0));
    let bill = Arc::clone(&billed);
    let provider = FakeProvider::start(move |number, _| {
        let number = number as u64;
        if number % 5 == 3 {
            return vec![Piece::Bytes(answer(503, &[], ""))];
        }
        let (input, output) = (60 + number % 40, output(number));
        bill.fetch_add(input + 10 * output, Ordering::SeqCst);
        let usage = format!(r#"{{"prompt_tokens":{input},"completion_tokens":{output}}}"#);
        vec![Piece::Bytes(stream(&openai_events(&["hello"], &usage)))]
    });
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("calls.jsonl");
    let prices = PriceList::from_toml(PRICES).unwrap();
    let record = Arc::new(CallRecord::open(&path, prices, Some(limit)).unwrap());
    let client =
        ChatClient::new(endpoint(&provider, "openai", ""), Some(Arc::clone(&record))).unwrap();
    let reasons = spend(&client);
    (billed.load(Ordering::SeqCst), record.totals().spent.0, reasons)
}

/// A number that looks random, the same for the same arguments.
fn draw(seed: u64, index: u64) -> u64 {
    let hash = blake3::hash(&[seed.to_le_bytes(), index.to_le_bytes()].concat());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap())
}

#[test]
fn random_runs_never_exceed_their_budgets() {
    let runs = std::env::var("BUDGET_RUNS").map_or(40, |runs| runs.parse().unwrap());
    let mut most_used = 0.0_f64;
    for seed in 0..runs {
        let salt = draw(seed, 0);
        // A call of 50 generated tokens costs 500 and more.
        let limit = 1_500 + draw(seed, 1) % 10_500;
        let output = move |number: u64| draw(salt, number) % 51;
        let (billed, spent, reasons) = run(MicroUsd(limit), output);
        assert!(billed <= spent && spent <= limit, "seed {seed}: {billed} {spent} {limit}");
        assert!(reasons.contains("of"), "{reasons}");
        most_used = most_used.max(spent as f64 / limit as f64);
    }
    assert!(most_used > 0.5, "the runs stopped far too early: {most_used}");
}

#[test]
fn provider_that_counts_three_times_as_much_stops_the_run() {
    let (_, spent, reasons) = run(MicroUsd(1_000_000), |_| 50 * 3);
    assert!(reasons.contains("check the provider's counts"), "{reasons}");
    // Four calls may have been under way.
    assert!(spent <= 4 * (100 + 10 * 150), "{spent}");
}
