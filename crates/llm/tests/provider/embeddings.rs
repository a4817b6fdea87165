//! Vectors of texts: the request, every order of the answer, faults.

use super::{client, endpoint};
use camino::Utf8Path;
use llm::{CallRecord, ChatClient, ChatError, EmbeddingModel as _, PriceList};
use std::sync::Arc;
use support::provider::{FakeProvider, Piece, answer};

const GOOD: &str = r#"{"object":"list","model":"m-1","usage":{"prompt_tokens":9,"total_tokens":9},
    "data":[{"index":1,"embedding":[0,1.5]},{"index":0,"embedding":[-1,0.25]}]}"#;

fn whole(status: u16, body: &str) -> Vec<Piece> {
    vec![Piece::Bytes(answer(status, &[("content-type", "application/json")], body))]
}

#[test]
fn vectors_come_in_the_order_of_texts() {
    let provider = FakeProvider::start(|_, _| whole(200, GOOD));
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().join("calls.jsonl");
    let calls = Arc::new(CallRecord::open(&path, PriceList::default(), None).unwrap());
    let client = client(&provider, "openai").booked_in(Arc::clone(&calls));
    let vectors = client.embed("m", &["a", "b"]).unwrap();
    assert_eq!(vectors, [[-1.0, 0.25], [0.0, 1.5]]);
    let seen = provider.seen();
    assert!(seen[0].head.starts_with("post /base/embeddings "), "{}", seen[0].head);
    assert!(seen[0].head.contains("authorization: bearer "));
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(
        body,
        serde_json::json!({"model": "m", "input": ["a", "b"], "encoding_format": "float"})
    );
    assert_eq!((calls.totals().answers, calls.totals().usage.input), (1, 9));
    assert!(client.embed("m", &[]).unwrap().is_empty() && provider.count() == 1);
}

#[test]
fn faults_are_repeated_and_then_told() {
    let provider = FakeProvider::start(|number, _| match number {
        0 => whole(429, r#"{"error":{"message":"slow down","code":"rate_limit"}}"#),
        1 => whole(200, "<html><b>Welcome</b></html>"),
        2 => vec![
            Piece::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"data\"".to_vec()),
            Piece::Close,
        ],
        3 => whole(200, &GOOD.replace("\"index\":1", "\"index\":0")),
        4 => whole(200, &GOOD.replace(r#"{"index":1,"embedding":[0,1.5]},"#, "")),
        5 => whole(503, "busy"),
        _ => whole(200, GOOD),
    });
    assert_eq!(client(&provider, "openai").embed("m", &["a", "b"]).unwrap().len(), 2);
    assert_eq!(provider.count(), 7);

    let html = FakeProvider::start(|_, _| whole(200, "<html>"));
    let error = client(&html, "openai").embed("m", &["a"]).unwrap_err();
    assert!(
        matches!(&error, ChatError::Unavailable { tries: 8, last } if last.contains("malformed"))
    );
    let rejected = FakeProvider::start(|_, _| {
        whole(400, r#"{"error":{"message":"no such model","param":"model"}}"#)
    });
    let error = client(&rejected, "openai").embed("m", &["a"]).unwrap_err();
    assert!(matches!(error, ChatError::Rejected { status: 400, .. }), "{error}");
    assert_eq!(rejected.count(), 1);
}

#[test]
fn what_no_provider_takes_is_not_sent() {
    let provider = FakeProvider::start(|_, _| whole(200, GOOD));
    let anthropic = ChatClient::new(endpoint(&provider, "anthropic", ""), None).unwrap();
    assert!(matches!(anthropic.embed("m", &["a"]), Err(ChatError::Invalid { .. })));
    let empty = client(&provider, "openai").embed("m", &["a", ""]);
    assert!(matches!(empty, Err(ChatError::Invalid { .. })));
    assert_eq!(provider.count(), 0);
}
