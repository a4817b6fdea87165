//! What needs a process of its own: calls that are killed, and proxies from the environment.

use crate::budget::{PRICES, spend};
use crate::{endpoint, request};
use camino::Utf8Path;
use llm::{
    CallRecord, ChatClient, ChatModel as _, Endpoint, MicroUsd, PriceList, Purpose, RetryPolicy,
};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::provider::{FakeProvider, Piece, answer, hello, openai_events, stream};

const LIMIT: MicroUsd = MicroUsd(300_000);

/// What this process is to do as the child of a test.
fn order() -> Option<String> {
    std::env::var("LLM_TEST_CHILD").ok()
}

/// This test program again, for one test, with orders.
fn child(test: &str, order: &str, variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("LLM_TEST_CHILD", order)
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Spends the budget of a record of calls at a provider; `order` has the address of the one and the
/// path of the other.
fn spend_there(order: &str) {
    let (address, path) = order.split_once(' ').unwrap();
    let provider = FakeProvider::start(|_, _| hello());
    let base_url = format!("http://{address}/").parse().unwrap();
    let there = Endpoint { base_url, ..endpoint(&provider, "openai", "") };
    let prices = PriceList::from_toml(PRICES).unwrap();
    let record = Arc::new(CallRecord::open(Utf8Path::new(path), prices, Some(LIMIT)).unwrap());
    spend(&ChatClient::new(there, Some(record)).unwrap());
}

#[test]
fn budget_kills_at_any_moment_is_never_exceeded() {
    if let Some(order) = order() {
        return spend_there(&order);
    }
    let billed = Arc::new(AtomicU64::new(0));
    let bill = Arc::clone(&billed);
    // The provider bills each request as soon as it has it, whatever becomes of the answer.
    let provider = FakeProvider::start(move |number, _| {
        let (input, output) = (100 + number as u64 % 300, number as u64 % 50);
        bill.fetch_add(input + 10 * output, Ordering::SeqCst);
        let usage = format!(r#"{{"prompt_tokens":{input},"completion_tokens":{output}}}"#);
        let whole = stream(&openai_events(&["hello"], &usage));
        let pause = Piece::Wait(Duration::from_millis(3));
        match number % 7 {
            3 => vec![pause, Piece::Bytes(whole[..whole.len() / 2].to_vec()), Piece::Close],
            _ => vec![pause, Piece::Bytes(whole)],
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("calls.jsonl");
    let order = format!("{} {path}", provider.address);
    let test = "child::budget_kills_at_any_moment_is_never_exceeded";
    for kill in 0..10 {
        let mut child = child(test, &order, &[]);
        std::thread::sleep(Duration::from_millis(40 + 17 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(billed.load(Ordering::SeqCst) <= LIMIT.0);
    }
    let status = child(test, &order, &[]).wait().unwrap();
    assert!(status.success());
    let billed = billed.load(Ordering::SeqCst);
    let prices = PriceList::from_toml(PRICES).unwrap();
    let totals = CallRecord::open(&path, prices, Some(LIMIT)).unwrap().totals();
    assert!(billed <= totals.spent.0 && totals.spent <= LIMIT, "{billed} {totals:?}");
    assert!(totals.answers > 20, "{totals:?}");
    // Each call that a kill interrupted is booked.
    let text = fs_err::read_to_string(&path).unwrap();
    assert!(text.contains("\"lost\""), "no kill hit a call in flight");
}

/// Asks a host that exists only behind a proxy.
fn ask_through_proxy() {
    let provider = FakeProvider::start(|_, _| hello());
    let base_url = "http://model.invalid/v1/".parse().unwrap();
    let retry = RetryPolicy { tries: 1, ..RetryPolicy::default() };
    let there = Endpoint { base_url, key: None, retry, ..endpoint(&provider, "openai", "") };
    let completion =
        ChatClient::new(there, None).unwrap().complete(&request("hi"), &Purpose::default());
    assert_eq!(completion.unwrap().text, "hello");
    // Loopback is reached without the proxy.
    let here = endpoint(&provider, "openai", "");
    ChatClient::new(here, None).unwrap().complete(&request("hi"), &Purpose::default()).unwrap();
    assert_eq!(provider.count(), 1);
}

#[test]
fn proxy_of_the_environment_is_used_except_for_loopback() {
    if order().is_some() {
        return ask_through_proxy();
    }
    let test = "child::proxy_of_the_environment_is_used_except_for_loopback";
    let proxy = FakeProvider::start(|_, request| {
        if request.head.starts_with("post http://model.invalid/v1/chat/completions") {
            return hello();
        }
        vec![Piece::Bytes(answer(400, &[], "not for a proxy"))]
    });
    let url = format!("http://user:secret@{}", proxy.address);
    let url = url.as_str();
    let status = child(
        test,
        "proxy",
        &[("HTTP_PROXY", url), ("http_proxy", url), ("NO_PROXY", ""), ("no_proxy", "")],
    )
    .wait()
    .unwrap();
    assert!(status.success());
    assert_eq!(proxy.count(), 1);
    assert!(proxy.seen()[0].head.contains("proxy-authorization: basic"));
    let exempt = [
        ("HTTP_PROXY", url),
        ("http_proxy", url),
        ("NO_PROXY", "model.invalid"),
        ("no_proxy", "model.invalid"),
    ];
    let status = child(test, "proxy", &exempt).wait().unwrap();
    assert!(!status.success(), "the host is exempt, and nothing else reaches it");
    assert_eq!(proxy.count(), 1);
}
