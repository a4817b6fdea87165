//! The gateway to chat models when something goes wrong: at the provider, at the client, at a restart; and
//! recordings.

use crate::fixture::until;
use crate::gate::{Gate, KEY, TOKEN, error, failing, whole};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use posttrain::gateway::Caps;
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;
use support::provider::{Piece, USAGE, answer, openai_events, stream};

#[test]
fn failures_of_the_provider_are_passed_on_and_booked_as_what_they_are() {
    let gate = Gate::new(|number, _| match number {
        0 => failing(429, &[("retry-after", "7")]),
        1 => failing(401, &[]),
        2 => failing(500, &[]),
        3 => failing(307, &[("location", "http://example.org/")]),
        4 => failing(400, &[]),
        5 => vec![Piece::Bytes(answer(200, &[("content-type", "application/json")], "<html>"))],
        6 => vec![Piece::Close],
        _ => whole(),
    });
    let open = gate.open();
    for (status, outcome, is_billed) in [
        (429, "status_429", false),
        (502, "status_401", false),
        (500, "status_500", false),
        (502, "status_307", false),
        (400, "status_400", false),
        (502, "malformed", true),
        (502, "cut", true),
    ] {
        let got = open.chat(&json!({}));
        assert_eq!(got.0, status, "{outcome}: {got:?}");
        let last = gate.last();
        assert_eq!((&last["status"], &last["outcome"]), (&json!(status), &json!(outcome)));
        let most = gate.lines()[gate.lines().len() - 2]["most_micro"].clone();
        assert_eq!(last["cost_micro"], if is_billed { most } else { json!(0) }, "{outcome}");
        assert_eq!(last["usage"]["input"].as_u64().unwrap() > 0, is_billed, "{outcome}");
        match status {
            429 => assert_eq!(
                (&got.1["retry-after"], &error(&got)["code"]),
                (&"7".parse().unwrap(), &json!("c"))
            ),
            400 => assert_eq!(error(&got)["message"], "no"),
            _ => {}
        }
    }
    assert_eq!(open.chat(&json!({})).0, 200, "the gateway goes on");
    let down = open.chat(&json!({"model": "d"}));
    assert_eq!((down.0, &gate.last()["outcome"]), (502, &json!("unreachable")));
    assert_eq!(gate.provider.count(), 8, "nothing is sent twice");
}

#[test]
fn stream_that_is_cut_ends_with_an_error_and_counts_what_may_be_billed() {
    let gate = Gate::new(|number, _| {
        let events = openai_events(&["he", "llo"], USAGE);
        let mut bytes = stream(&events[..2]);
        bytes.truncate(bytes.len() - "0\r\n\r\n".len());
        match number {
            0 => {}
            1 => bytes.extend(b"8\r\ndata: {\n\r\n2\r\n\n\n\r\n0\r\n\r\n"),
            _ => {
                let error = "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n";
                bytes.extend(format!("{:x}\r\n{error}\r\n0\r\n\r\n", error.len()).into_bytes());
            }
        }
        vec![Piece::Bytes(bytes), Piece::Close]
    });
    let open = gate.open();
    for outcome in ["cut", "malformed", "status_503"] {
        let (status, _, text) = open.chat(&json!({"stream": true}));
        assert_eq!(status, 200, "it had begun");
        assert!(text.contains(r#""content":"he""#), "{text}");
        let last = text.trim_end().lines().last().unwrap().strip_prefix("data: ").unwrap();
        let last: Value = serde_json::from_str(last).unwrap();
        assert_eq!(last["type"], "error", "{outcome}: {text}");
        let ended = gate.last();
        assert_eq!(ended["outcome"], outcome);
        assert_eq!(ended["usage"]["estimated"], true);
        assert!(ended["cost_micro"].as_u64().unwrap() > 0);
    }
}

#[test]
fn answer_whose_client_has_gone_is_counted() {
    let gate = Gate::new(|_, _| {
        let mut pieces = vec![Piece::Wait(Duration::from_millis(500))];
        pieces.extend(whole());
        pieces
    });
    let open = gate.open();
    let body = json!({"model": "m", "messages": [], "max_tokens": 5}).to_string();
    let mut client = TcpStream::connect(open.address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).unwrap();
    until("the request", || gate.provider.count() == 1);
    drop(client);
    until("its line", || gate.last()["event"] == "ended");
    assert_eq!(gate.last()["usage"]["output"], 5);
}

#[test]
fn counts_go_on_over_restarts_and_what_was_in_flight_counts_in_full() {
    let mut gate = Gate::new(|number, _| match number {
        1 => vec![Piece::Wait(Duration::from_mins(1)), Piece::Close],
        _ => whole(),
    });
    gate.caps = Caps { tokens: Some(1_400), cost: None };
    let open = gate.open();
    assert_eq!(open.chat(&json!({})).0, 200);
    let body = json!({"model": "m", "messages": [], "max_tokens": 100}).to_string();
    let mut client = TcpStream::connect(open.address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).unwrap();
    until("the request", || gate.provider.count() == 2);
    open.handle.stop();
    let most = gate.last()["most_tokens"].as_u64().unwrap();
    assert_eq!((gate.last()["event"].clone(), gate.totals().tokens()), (json!("began"), 14 + most));

    let open = gate.open();
    let lost = gate.last();
    assert_eq!((&lost["outcome"], &lost["status"]), (&json!("lost"), &Value::Null));
    let refused = error(&open.chat(&json!({"max_tokens": 1_000})));
    assert_eq!(refused["used"], json!(14 + most));
    assert_eq!(open.chat(&json!({"max_tokens": 1})).0, 200);
    assert_eq!(gate.last()["request"], 4, "numbers go on");
}

#[test]
fn key_quoted_by_the_provider_reaches_neither_the_agent_nor_a_file() {
    let error =
        format!(r#"{{"error":{{"message":"bad key {KEY}","type":"{KEY}","code":"{KEY}"}}}}"#);
    let gate = Gate::new(move |number, _| {
        let said = |text: &str| {
            json!({"choices": [{"finish_reason": "stop", "message": {"content": text}}]})
                .to_string()
        };
        let json = [("content-type", "application/json"), ("x-request-id", KEY)];
        vec![Piece::Bytes(match number {
            0 => answer(401, &json, &error),
            1 => answer(500, &json, &error),
            2 => answer(200, &json, &said(KEY)),
            3 => answer(200, &json, KEY),
            4 => stream(&openai_events(&["the key is ", KEY], USAGE)),
            5 => stream(&[format!("data: {error}\n\n")]),
            // In two pieces, which no event holds whole.
            _ => stream(&openai_events(&["the key is tEsT-pRiV", "aTe-0123456789!"], USAGE)),
        })]
    });
    let open = gate.open();
    for number in 0..7 {
        let (_, headers, text) = open.chat(&json!({"stream": number > 3}));
        let all = format!("{headers:?} {text}");
        assert!(!all.contains(KEY) && !all.contains("aTe-0123456789"), "{number}: {all}");
    }
    assert_eq!(gate.provider.count(), 7);
    assert!(!fs::read_to_string(gate.file()).unwrap().contains(KEY));
}

#[test]
fn recording_answers_the_same_conversation_without_a_provider() {
    let mut gate = Gate::new(|_, request| {
        let text = if request.body.contains("second") { "two" } else { "one" };
        vec![Piece::Bytes(stream(&openai_events(&[text], USAGE)))]
    });
    gate.is_recorded = true;
    let open = gate.open();
    let first = json!([{"role": "user", "content": "it is 10:07"}]);
    let second = |time: &str| {
        json!([{"role": "user", "content": format!("it is {time}")},
            {"role": "assistant", "content": "one"}, {"role": "user", "content": format!("second, at {time}")}])
    };
    for messages in [&first, &second("10:07")] {
        assert_eq!(open.chat(&json!({"messages": messages, "stream": true})).0, 200);
        assert_eq!(gate.last()["recorded"], true);
    }
    let tools = json!({"tools": [{"type": "function", "function": {"name": "f"}}], "stream": true});
    assert_eq!(open.chat(&tools).0, 200);
    assert_eq!(gate.last()["recorded"], false, "more than a plain conversation");
    drop(open);

    let replayed = Gate::new(|_, _| Vec::new());
    let model = format!("replay:{}", gate.folder.path().join("recording.jsonl"));
    let open = replayed.try_open(&[&model], true).unwrap();
    let ask = |messages: &Value, streams: bool| {
        open.chat(&json!({"model": "replay", "messages": messages, "stream": streams}))
    };
    let (status, _, text) = ask(&second("11:00"), true);
    assert_eq!(status, 200, "{text}");
    assert!(text.contains(r#""content":"two""#) && text.ends_with("[DONE]\n\n"), "{text}");
    let (_, _, text) = ask(&first, false);
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "one");
    assert_eq!(
        (&body["usage"]["prompt_tokens"], &replayed.last()["cost_micro"]),
        (&json!(9), &json!(0))
    );
    let unknown = json!([{"role": "user", "content": "u"}, {"role": "assistant", "content": "another"},
        {"role": "user", "content": "v"}]);
    let got = ask(&unknown, false);
    assert_eq!((got.0, &error(&got)["code"]), (422, &json!("not_recorded")));
    assert_eq!(replayed.totals().tokens(), 28);
    assert_eq!(replayed.provider.count(), 0);
}

#[test]
fn openais_own_client_talks_to_it() {
    let mut gate = Gate::new(|number, _| match number {
        0 | 3 => whole(),
        1 => vec![Piece::Bytes(stream(&openai_events(&["he", "llo"], USAGE)))],
        _ => failing(429, &[("retry-after-ms", "1")]),
    });
    gate.caps = Caps { tokens: Some(3_000), cost: None };
    let open = gate.open();
    let named = std::env::var("MLE_PYTHON").ok().map(Utf8PathBuf::from);
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let places = [".venv-test/bin/python", ".venv/bin/python"].map(|place| root.join(place));
    let python = named.into_iter().chain(places).find(|path| path.is_file());
    let python = python.expect("no Python environment: run `make test`, which sets one up");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/openai_client.py");
    let output = Command::new(python)
        .args(["-I", script, &format!("http://{}/v1", open.address), TOKEN])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(gate.provider.count(), 4, "the client repeats what the provider was too busy for");
}
