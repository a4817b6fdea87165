//! Budgets over whole runs, against a provider that counts in its own way.

use crate::{endpoint, request};
use camino::Utf8Path;
use llm::{
    CallRecord, ChatClient, ChatError, ChatModel as _, MicroUsd, PriceList, Purpose, Request,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::provider::{FakeProvider, Piece, answer, openai_events, stream};

pub(crate) const PRICES: &str = "[[price]]\nmodel = \"m\"\ninput = \"1\"\noutput = \"10\"\n";
/// What is reserved for a call of these tests, which generates at most 50 tokens: 500 for those, and
/// less than 600 for what it reads.
const MOST_OF_A_CALL: u64 = 1_100;

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

/// A record of calls that keeps a budget.
fn record(folder: &Utf8Path, limit: MicroUsd) -> Arc<CallRecord> {
    let prices = PriceList::from_toml(PRICES).unwrap();
    Arc::new(CallRecord::open(&folder.join("calls.jsonl"), prices, Some(limit)).unwrap())
}

/// Spends a budget as [`spend`] does, and returns what the provider billed and what was booked. `output` is the count of generated tokens that the provider states for a call.
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
    let record = record(Utf8Path::from_path(dir.path()).unwrap(), limit);
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
    for seed in 0..runs {
        let salt = draw(seed, 0);
        // A call of 50 generated tokens costs 500 and more.
        let limit = 1_500 + draw(seed, 1) % 10_500;
        let output = move |number: u64| draw(salt, number) % 51;
        let (billed, spent, reasons) = run(MicroUsd(limit), output);
        assert!(billed <= spent && spent <= limit, "seed {seed}: {billed} {spent} {limit}");
        assert!(reasons.contains("go on with a higher budget"), "{reasons}");
        // What calls in flight had reserved was waited for.
        assert!(limit - spent < MOST_OF_A_CALL, "seed {seed}: stopped at {spent} of {limit}");
    }
}

/// A provider that answers after `pause` and bills 70 + 10.
fn cheap_provider(pause: Duration) -> FakeProvider {
    let usage = r#"{"prompt_tokens":70,"completion_tokens":1}"#;
    FakeProvider::start(move |_, _| {
        vec![Piece::Wait(pause), Piece::Bytes(stream(&openai_events(&["hello"], usage)))]
    })
}

#[test]
fn calls_without_room_wait_for_those_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    // Room for two calls at a time, and for what 20 of them cost.
    let record = record(Utf8Path::from_path(dir.path()).unwrap(), MicroUsd(3_000));
    let provider = cheap_provider(Duration::from_millis(20));
    let client =
        ChatClient::new(endpoint(&provider, "openai", ""), Some(Arc::clone(&record))).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let client = &client;
            scope.spawn(move || {
                for call in 0..5 {
                    let asked = request(&format!("{thread} {call}"));
                    client.complete(&asked, &Purpose::default()).unwrap();
                }
            });
        }
    });
    assert_eq!((record.totals().answers, record.totals().spent), (20, MicroUsd(20 * 80)));
}

#[test]
fn waiting_call_leaves_its_place_to_one_with_room() {
    let dir = tempfile::tempdir().unwrap();
    let record = record(Utf8Path::from_path(dir.path()).unwrap(), MicroUsd(4_000));
    let slow = cheap_provider(Duration::from_millis(350));
    let quick = cheap_provider(Duration::ZERO);
    let client = |provider, more| {
        ChatClient::new(endpoint(provider, "openai", more), Some(Arc::clone(&record))).unwrap()
    };
    let (slow, quick) = (client(&slow, ""), client(&quick, "concurrency = 1"));
    let large = Request { max_tokens: 200, ..request("large") };
    let small = Request { max_tokens: 1, ..request("small") };
    let ask = |client: &ChatClient, request| client.complete(request, &Purpose::default()).unwrap();
    let answers = || record.totals().answers;
    std::thread::scope(|scope| {
        scope.spawn(|| ask(&slow, &large));
        while record.totals().tries < 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let waiting = scope.spawn(|| ask(&quick, &large));
        std::thread::sleep(Duration::from_millis(100));
        ask(&quick, &small);
        assert_eq!(answers(), 1, "the slow call is in flight, and the large one waits");
        waiting.join().unwrap();
        assert_eq!(answers(), 3, "what the slow call did not cost was free again");
    });
}

#[test]
fn reservation_that_is_never_settled_does_not_hold_others_forever() {
    let dir = tempfile::tempdir().unwrap();
    let record = record(Utf8Path::from_path(dir.path()).unwrap(), MicroUsd(1_500));
    let lost = record.reserve(&request("lost"), &Purpose::default(), 0, false).unwrap().unwrap();
    let provider = cheap_provider(Duration::ZERO);
    let mut there = endpoint(&provider, "openai", "");
    there.timeouts.all = Duration::from_millis(200);
    let client = ChatClient::new(there, Some(record)).unwrap();
    let error = client.complete(&request("hi"), &Purpose::default()).unwrap_err();
    assert!(error.to_string().contains("none of them has ended within 0.2 s"), "{error}");
    assert_eq!(provider.count(), 0);
    drop(lost);
}

#[test]
fn provider_that_counts_three_times_as_much_stops_the_run() {
    let (_, spent, reasons) = run(MicroUsd(1_000_000), |_| 50 * 3);
    assert!(reasons.contains("check the provider's counts"), "{reasons}");
    // Four calls may have been under way.
    assert!(spent <= 4 * (100 + 10 * 150), "{spent}");
}
