//! Requests that somebody else wrote, passed on as they are.

use crate::{KEY, endpoint};
use llm::{PassedEnd, PassedFault, PassedPart, PassedRequest, Relay};
use std::time::Duration;
use support::provider::{
    FakeProvider, Piece, USAGE, answer, anthropic_events, openai_events, stream,
};

/// Passes a request on; the parts that were handed over, and the end.
fn pass_on(provider: &FakeProvider, protocol: &str, body: &str) -> (Vec<PassedPart>, PassedEnd) {
    let relay = Relay::new(endpoint(provider, protocol, "")).unwrap();
    let request = PassedRequest {
        body: body.to_owned(),
        headers: vec![("x-own".to_owned(), "yes".to_owned())],
        streams: true,
        tokens: 1,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut parts = Vec::new();
    let end = runtime.block_on(relay.pass_on(request, |part| parts.push(part)));
    (parts, end)
}

fn fault(provider: &FakeProvider) -> PassedFault {
    pass_on(provider, "openai", "{}").1.result.unwrap_err()
}

#[test]
fn body_is_passed_on_with_the_key_and_the_last_part_is_kept_back() {
    let provider = FakeProvider::start(|_, _| {
        vec![Piece::Bytes(stream(&openai_events(&["he", "llo"], USAGE)))]
    });
    let body = r#"{"model":"m","anything":{"goes":1}}"#;
    let (parts, end) = pass_on(&provider, "openai", body);
    let seen = &provider.seen()[0];
    assert_eq!(seen.body, body);
    assert!(seen.head.contains(&KEY.to_ascii_lowercase()) && seen.head.contains("x-own: yes"));
    assert_eq!(parts.len(), 4);
    let answer = end.result.unwrap();
    assert!(matches!(answer.last, Some(PassedPart::Event(event)) if event.data == "[DONE]"));
    assert_eq!((answer.usage.input, answer.usage.output), (9, 5));
    assert_eq!(answer.completion.unwrap().text, "hello");
    let provider =
        FakeProvider::start(|_, _| vec![Piece::Bytes(stream(&anthropic_events(&["he", "llo"])))]);
    let (_, end) = pass_on(&provider, "anthropic", "{}");
    let answer = end.result.unwrap();
    assert!(matches!(answer.last, Some(PassedPart::Event(event)) if event.name == "message_stop"));
    assert_eq!((answer.usage.input, answer.answered_by.as_str()), (9, "m-1"));
}

#[test]
fn answer_with_several_tools_is_passed_on_and_counted() {
    let body = r#"{"model":"m-1","choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[
        {"index":0,"function":{"name":"a","arguments":"{}"}},
        {"index":1,"function":{"name":"b","arguments":"{}"}}]}}],
        "usage":{"prompt_tokens":9,"completion_tokens":5}}"#;
    let provider = FakeProvider::start(move |_, _| {
        vec![Piece::Bytes(answer(200, &[("content-type", "application/json")], body))]
    });
    let (parts, end) = pass_on(&provider, "openai", "{}");
    let answer = end.result.unwrap();
    assert_eq!((parts, answer.completion), (Vec::new(), None));
    assert_eq!((answer.usage.output, answer.last), (5, Some(PassedPart::Whole(body.to_owned()))));
}

#[test]
fn faults_say_what_may_be_billed_and_nothing_is_sent_twice() {
    for (pieces, name, may_be_billed) in [
        (vec![Piece::Bytes(answer(500, &[], "no"))], "status_500", false),
        (vec![Piece::Bytes(answer(200, &[], "no"))], "malformed", true),
        (vec![Piece::Wait(Duration::from_secs(1)), Piece::Close], "cut", true),
        (vec![Piece::Close], "cut", true),
    ] {
        let provider = FakeProvider::start(move |_, _| pieces.clone());
        let fault = fault(&provider);
        assert_eq!((fault.name.as_str(), fault.may_be_billed), (name, may_be_billed), "{fault:?}");
        assert_eq!(provider.count(), 1, "{name}");
    }
    let provider =
        FakeProvider::start(|_, _| vec![Piece::Bytes(answer(429, &[("retry-after", "7")], "{}"))]);
    let fault = fault(&provider);
    assert_eq!((fault.status, fault.retry_after), (Some(429), Some(Duration::from_secs(7))));
}

#[test]
fn key_that_comes_in_pieces_is_never_whole() {
    let provider = FakeProvider::start(|_, _| {
        let pieces = ["the key is tEsT-pRiV", "aTe-0123", "456789!"];
        vec![Piece::Bytes(stream(&openai_events(&pieces, USAGE)))]
    });
    let (parts, end) = pass_on(&provider, "openai", "{}");
    assert_eq!(parts.len(), 2, "{parts:?}");
    let fault = end.result.unwrap_err();
    assert!(fault.message.contains("holds the key") && !format!("{fault:?}").contains(KEY));
}
