//! What is sent, and how whole answers are read.

use crate::{KEY, client, request};
use llm::{ChatModel as _, Finish, Purpose, Request};
use std::time::Duration;
use support::provider::{
    FakeProvider, Piece, USAGE, answer, anthropic_events, hello, openai_events, stream,
};

#[test]
fn openai_stream_is_answered() {
    let provider = FakeProvider::start(|_, _| hello());
    let client = client(&provider, "openai");
    let asked = Request { temperature: Some(0.5), ..request("hi") };
    for _ in 0..3 {
        let completion = client.complete(&asked, &Purpose::default()).unwrap();
        assert_eq!((completion.text.as_str(), completion.finish), ("hello", Finish::Stop));
        assert_eq!((completion.usage.input, completion.usage.output), (9, 5));
        assert_eq!((completion.model.as_str(), completion.id.as_str()), ("m-1", "i"));
    }
    let seen = provider.seen();
    assert!(seen[0].head.starts_with("post /base/chat/completions http/1.1"), "{}", seen[0].head);
    let authorization = format!("authorization: bearer {}", KEY.to_ascii_lowercase());
    assert!(seen[0].head.contains(&authorization));
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["stream"], true);
}

#[test]
fn anthropic_stream_is_answered() {
    let provider =
        FakeProvider::start(|_, _| vec![Piece::Bytes(stream(&anthropic_events(&["he", "llo"])))]);
    let completion =
        client(&provider, "anthropic").complete(&request("hi"), &Purpose::default()).unwrap();
    assert_eq!((completion.text.as_str(), completion.usage.output), ("hello", 5));
    let seen = provider.seen();
    assert!(seen[0].head.starts_with("post /base/v1/messages http/1.1"), "{}", seen[0].head);
    assert!(seen[0].head.contains(&format!("x-api-key: {}", KEY.to_ascii_lowercase())));
    assert!(seen[0].head.contains("anthropic-version: 2023-06-01"));
}

#[test]
fn answer_without_a_stream_is_read() {
    let body = r#"{"id":"i","model":"m-1","choices":[{"finish_reason":"stop","message":{"content":"hello"}}]}"#;
    let provider = FakeProvider::start(move |_, _| {
        vec![Piece::Bytes(answer(200, &[("content-type", "application/json")], body))]
    });
    let completion =
        client(&provider, "openai").complete(&request("hi"), &Purpose::default()).unwrap();
    assert_eq!(completion.text, "hello");
    assert!(completion.usage.estimated, "the server sent no usage");
}

#[test]
fn stream_cut_at_any_byte_is_asked_again() {
    for protocol in ["openai", "anthropic"] {
        let whole = match protocol {
            "openai" => stream(&openai_events(&["hé", "llo"], USAGE)),
            _ => stream(&anthropic_events(&["hé", "llo"])),
        };
        let length = whole.len();
        // Every second request gets its answer whole.
        let provider = FakeProvider::start(move |number, _| {
            let end = if number % 2 == 0 { number / 2 } else { length };
            vec![Piece::Bytes(whole[..end].to_vec()), Piece::Close]
        });
        let client = client(&provider, protocol);
        while provider.count() < 2 * length {
            let completion = client.complete(&request("hi"), &Purpose::default()).unwrap();
            assert_eq!((completion.text.as_str(), completion.usage.output), ("héllo", 5));
        }
    }
}

#[test]
fn stream_in_single_bytes_is_read() {
    let provider = FakeProvider::start(|_, _| {
        let bytes = stream(&openai_events(&["hé", "llo"], USAGE));
        bytes
            .into_iter()
            .flat_map(|byte| [Piece::Bytes(vec![byte]), Piece::Wait(Duration::from_micros(50))])
            .collect()
    });
    let completion =
        client(&provider, "openai").complete(&request("hi"), &Purpose::default()).unwrap();
    assert_eq!(completion.text, "héllo");
    assert_eq!(provider.count(), 1);
}

#[test]
fn wrong_or_missing_usage_is_estimated() {
    for usage in ["", "null", r#"{"prompt_tokens":"many"}"#, "[]"] {
        let provider = FakeProvider::start(move |_, _| {
            vec![Piece::Bytes(stream(&openai_events(&["hello"], usage)))]
        });
        let completion =
            client(&provider, "openai").complete(&request("hi"), &Purpose::default()).unwrap();
        assert!(completion.usage.estimated && completion.usage.input > 0, "{usage}");
        assert_eq!(completion.usage.output, 2);
    }
}
