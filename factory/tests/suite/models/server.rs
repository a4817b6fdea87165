//! A provider that answers from a recording, with faults.

use fs_err as fs;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;
use support::provider::{FakeProvider, Piece, answer, hello, openai_events, stream};

/// Texts and usage by the messages that they answer.
type Answers = BTreeMap<String, (String, String)>;

/// The answers of a recording.
fn answers(recording: &camino::Utf8Path) -> Answers {
    let text = fs::read_to_string(recording).unwrap();
    let exchange = |line: &str| {
        let exchange: Value = serde_json::from_str(line).unwrap();
        let usage = &exchange["completion"]["usage"];
        let usage = serde_json::json!({
            "prompt_tokens": usage["input"],
            "completion_tokens": usage["output"],
        });
        let text = exchange["completion"]["text"].as_str().unwrap().to_owned();
        (messages(&exchange["request"]), (text, usage.to_string()))
    };
    text.lines().map(exchange).collect()
}

/// The messages of a request as one text, the same for a recorded and a sent one.
fn messages(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap().iter();
    let text = |part: &Value| part.as_str().unwrap().to_owned();
    let parts: Vec<String> =
        messages.map(|m| format!("{}: {}\n", text(&m["role"]), text(&m["content"]))).collect();
    parts.concat()
}

/// What goes wrong with the `number`-th request, if it is to go wrong.
fn fault(number: usize, whole: &[u8]) -> Option<Vec<Piece>> {
    let status = |status, headers: &[(&str, &str)], body: &str| {
        Some(vec![Piece::Bytes(answer(status, headers, body))])
    };
    match number % 11 {
        2 => status(429, &[("retry-after", "0.01")], r#"{"error":{"code":"rate_limit_exceeded"}}"#),
        4 => status(503, &[], "<html>busy</html>"),
        6 => Some(vec![Piece::Bytes(whole[..whole.len() / 2].to_vec()), Piece::Close]),
        8 => status(200, &[("content-type", "application/json")], "{\"choices\": [{\"mess"),
        9 => Some(vec![Piece::Close]),
        _ => None,
    }
}

/// Starts a provider that answers from `recording` after `pause`; with faults, each request that is
/// answered with one is answered well when it is made again.
pub(crate) fn provider(
    recording: &camino::Utf8Path,
    pause: Duration,
    faults: bool,
) -> FakeProvider {
    let answers = answers(recording);
    let failed: Mutex<BTreeSet<String>> = Mutex::default();
    FakeProvider::start(move |number, request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let asked = messages(&body);
        if asked.contains("Answer with the word: yes") {
            return hello();
        }
        let Some((text, usage)) = answers.get(&asked) else {
            let body = serde_json::json!({ "error": { "message": "not in the recording" } });
            return vec![Piece::Bytes(answer(400, &[], &body.to_string()))];
        };
        // Two pieces, cut within a word.
        let middle = text.floor_char_boundary(text.len() / 2);
        let whole = stream(&openai_events(&[&text[..middle], &text[middle..]], usage));
        let mut pieces = vec![Piece::Wait(pause)];
        match fault(number, &whole) {
            Some(fault) if faults && failed.lock().unwrap().insert(asked) => pieces.extend(fault),
            _ => pieces.push(Piece::Bytes(whole)),
        }
        pieces
    })
}
