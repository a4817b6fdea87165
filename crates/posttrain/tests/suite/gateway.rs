//! The gateway to chat models: what comes through, what is refused, and its caps.

use crate::fixture::until;
use crate::gate::{Gate, KEY, TOKEN, error, whole};
use fs_err as fs;
use llm::MicroUsd;
use posttrain::gateway::Caps;
use serde_json::{Value, json};
use std::time::Duration;
use support::provider::{Piece, USAGE, anthropic_events, openai_events, stream};

#[test]
fn answer_comes_through_the_operators_key_and_is_counted() {
    let gate = Gate::new(|_, _| whole());
    let open = gate.open();
    let (status, _, text) =
        open.chat(&json!({"tools": [{"type": "function", "function": {"name": "f"}}], "x": 1}));
    assert_eq!(status, 200, "{text}");
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "hello");
    let seen = &gate.provider.seen()[0];
    assert!(seen.head.starts_with("post /v1/chat/completions "), "{}", seen.head);
    assert!(seen.head.contains(&format!("authorization: bearer {}", KEY.to_lowercase())));
    assert!(!seen.head.contains(TOKEN), "{}", seen.head);
    let sent: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!((&sent["x"], &sent["tools"][0]["type"]), (&json!(1), &json!("function")));

    let [began, ended] = gate.lines().try_into().unwrap();
    assert_eq!(
        (&began["event"], &began["request"], &began["used_ms"]),
        (&json!("began"), &json!(1), &json!(4_100))
    );
    assert_eq!(
        (&ended["status"], &ended["outcome"], &ended["model"]),
        (&json!(200), &json!("stop"), &json!("fake:m"))
    );
    assert_eq!((&ended["usage"]["input"], &ended["usage"]["output"]), (&json!(9), &json!(5)));
    // Nine at a dollar and five at ten dollars a million.
    assert_eq!(ended["cost_micro"], 59);
    assert_eq!((&ended["answered_by"], &ended["request_id"]), (&json!("m-1"), &json!("r-1")));
    assert!(ended["milliseconds"].is_u64());
    assert!(began["most_micro"].as_u64().unwrap() >= 59);
    let text = fs::read_to_string(gate.file()).unwrap();
    for hidden in [KEY, TOKEN, "secret words", "hello"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    assert!(!gate.folder.path().join("recording.jsonl").exists());
}

#[test]
fn stream_comes_through_and_its_count_only_if_it_was_asked_for() {
    let gate = Gate::new(|_, _| vec![Piece::Bytes(stream(&openai_events(&["he", "llo"], USAGE)))]);
    let open = gate.open();
    let (status, headers, text) = open.chat(&json!({"stream": true}));
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/event-stream"));
    assert!(text.contains(r#""content":"llo""#) && text.ends_with("data: [DONE]\n\n"), "{text}");
    assert!(!text.contains("prompt_tokens"), "{text}");
    assert_eq!(gate.last()["usage"]["output"], 5);
    let sent: Value = serde_json::from_str(&gate.provider.seen()[0].body).unwrap();
    assert_eq!(sent["stream_options"]["include_usage"], true);
    let asked = json!({"stream": true, "stream_options": {"include_usage": true}});
    let (_, _, text) = open.chat(&asked);
    assert!(text.contains("prompt_tokens"), "{text}");
    assert_eq!(gate.totals().tokens(), 28);
}

#[test]
fn messages_of_anthropics_protocol_come_through_with_their_headers() {
    let gate = Gate::new(|_, _| vec![Piece::Bytes(stream(&anthropic_events(&["he", "llo"])))]);
    let open = gate.open();
    let body = json!({"model": "a", "max_tokens": 50, "stream": true,
        "messages": [{"role": "user", "content": "u"}]});
    let headers =
        [("x-api-key", TOKEN), ("anthropic-version", "2023-06-01"), ("anthropic-beta", "b-1")];
    let (status, _, text) = open.send("/v1/messages", &headers, Some(body.to_string().as_bytes()));
    assert_eq!(status, 200, "{text}");
    assert!(text.starts_with("event: message_start\ndata: {"), "{text}");
    assert!(text.contains("event: message_stop\n"), "{text}");
    let seen = &gate.provider.seen()[0];
    assert!(seen.head.starts_with("post /v1/messages "), "{}", seen.head);
    assert!(seen.head.contains(&format!("x-api-key: {}", KEY.to_lowercase())), "{}", seen.head);
    assert!(seen.head.contains("anthropic-beta: b-1"), "{}", seen.head);
    let ended = gate.last();
    assert_eq!((&ended["usage"]["input"], &ended["usage"]["output"]), (&json!(9), &json!(5)));
    assert_eq!(ended["cost_micro"], Value::Null, "its price is unknown");
    let totals = gate.totals();
    assert_eq!((totals.unpriced, totals.cost()), (1, None));
}

#[test]
fn models_are_listed_and_nothing_else_is_reached() {
    let gate = Gate::new(|_, _| whole());
    let open = gate.open();
    let bearer = format!("Bearer {TOKEN}");
    let own = [("authorization", bearer.as_str())];
    let (status, _, text) = open.send("/v1/models", &own, None);
    let body: Value = serde_json::from_str(&text).unwrap();
    let ids: Vec<&Value> =
        body["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!((status, ids), (200, vec![&json!("m"), &json!("a"), &json!("d")]));
    assert_eq!(open.send("/v1/models/m", &own, None).0, 200);
    assert_eq!(open.send("/v1/models/other/model", &own, None).0, 403);

    let user = json!([{"role": "user", "content": "u"}]);
    let chat = "/v1/chat/completions";
    for (path, body, status, code) in [
        (chat, json!({"model": "gpt-9", "messages": user}), 403, "model"),
        (chat, json!({"model": "fake:other", "messages": user}), 403, "model"),
        (chat, json!({"model": "a", "messages": user}), 400, "protocol"),
        ("/v1/messages", json!({"model": "m", "messages": user}), 400, "protocol"),
        (chat, json!({"messages": user}), 400, "form"),
        (chat, json!({"model": "m", "messages": user, "web_search_options": {}}), 400, "feature"),
        ("/v1/embeddings", json!({"model": "m", "input": "x"}), 404, "form"),
        ("/v1/files", json!({}), 404, "form"),
    ] {
        let got = open.ask(path, &body);
        assert_eq!((got.0, &error(&got)["code"]), (status, &json!(code)), "{path} {body}: {got:?}");
        assert_eq!(
            (&gate.last()["event"], &gate.last()["code"]),
            (&json!("refused"), &json!(code))
        );
    }
    assert_eq!(gate.lines()[1]["model"], "gpt-9", "what was asked for is known");
    // As a client asks that takes the gateway for its proxy.
    for line in
        ["POST http://example.org/v1/chat/completions HTTP/1.1", "CONNECT example.org:443 HTTP/1.1"]
    {
        let request = format!(
            "{line}\r\nhost: example.org\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
        let text = open.raw(&request);
        assert!(text.starts_with("HTTP/1.1 403 ") && text.contains("no proxy"), "{line}: {text}");
    }
    assert_eq!(gate.provider.count(), 0);
}

#[test]
fn requests_without_the_token_from_pages_too_large_or_garbled_are_turned_away() {
    let gate = Gate::new(|_, _| whole());
    let open = gate.open();
    let body = json!({"model": "m", "messages": []}).to_string();
    let bearer = format!("Bearer {TOKEN}");
    for headers in [
        vec![],
        vec![("authorization", "Bearer another token")],
        vec![("x-api-key", "another token")],
        vec![("authorization", TOKEN)],
    ] {
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/none"] {
            let got = open.send(path, &headers, Some(body.as_bytes()));
            assert_eq!((got.0, &error(&got)["code"]), (401, &json!("token")), "{headers:?}");
        }
        assert_eq!(open.send("/v1/models", &headers, None).0, 401);
    }
    let page = [("authorization", bearer.as_str()), ("origin", "http://example.org")];
    assert_eq!(open.send("/v1/chat/completions", &page, Some(body.as_bytes())).0, 403);
    let own = [("authorization", bearer.as_str())];
    let large =
        json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(10 << 20)}]});
    let got = open.send("/v1/chat/completions", &own, Some(large.to_string().as_bytes()));
    assert_eq!((got.0, &error(&got)["code"]), (413, &json!("size")));
    for garbage in [&b"\xff\xfe"[..], b"{", b"[1]", b"\"m\""] {
        let got = open.send("/v1/chat/completions", &own, Some(garbage));
        assert_eq!((got.0, &error(&got)["code"]), (400, &json!("form")));
    }
    assert_eq!(gate.provider.count(), 0);
    assert!(gate.totals().refused > 16);

    let over = gate.try_open(&["fake:m"], false).unwrap();
    assert_eq!(over.chat(&json!({})).0, 410);
}

#[test]
fn caps_hold_and_say_what_is_left() {
    let mut gate = Gate::new(|_, _| whole());
    gate.caps = Caps { tokens: Some(1_400), cost: None };
    let open = gate.open();
    let mut passed = 0;
    let refused = loop {
        let got = open.chat(&json!({}));
        if got.0 != 200 {
            break got;
        }
        passed += 1;
    };
    let (status, headers, _) = &refused;
    assert_eq!((*status, headers["x-should-retry"].to_str().unwrap()), (429, "false"));
    let error = error(&refused);
    assert_eq!((&error["cap"], &error["limit"]), (&json!("tokens"), &json!(1_400)));
    assert_eq!(error["used"], json!(14 * passed));
    assert_eq!(error["left"], json!(1_400 - 14 * passed));
    assert!(error["needed"].as_u64() > error["left"].as_u64(), "{error}");
    assert!(passed > 40, "what a request did not take is free again: {passed}");
    assert_eq!(gate.provider.count(), passed);
    assert!(gate.totals().tokens() <= 1_400);
    // A smaller request still fits.
    assert_eq!(open.chat(&json!({"max_tokens": 1})).0, 200);

    let mut gate = Gate::new(|_, _| whole());
    gate.caps = Caps { tokens: None, cost: Some(MicroUsd(1_000)) };
    let open = gate.try_open(&["fake:m"], true).unwrap();
    assert_eq!(open.chat(&json!({})).0, 429, "50 tokens and the question may cost more");
    assert_eq!(gate.provider.count(), 0);
    drop(open);
    gate.caps = Caps { tokens: None, cost: Some(MicroUsd(3_000)) };
    let open = gate.try_open(&["fake:m"], true).unwrap();
    assert_eq!(open.chat(&json!({})).0, 200);
    let refused = open.chat(&json!({"max_tokens": 290}));
    let error = self::error(&refused);
    assert_eq!((refused.0, &error["cap"], &error["limit"]), (429, &json!("cost"), &json!(0.003)));
    assert!(error["message"].as_str().unwrap().contains("$0.003000"), "{error}");

    let missing = gate.try_open(&["other:a"], true).err().unwrap().to_string();
    assert!(missing.contains("model = \"a\""), "{missing}");
}

#[test]
fn request_without_a_limit_gets_one_where_there_is_a_cap() {
    let mut gate = Gate::new(|_, _| whole());
    gate.caps = Caps { tokens: Some(100_000), cost: None };
    let open = gate.open();
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "u"}]});
    assert_eq!(open.ask("/v1/chat/completions", &body).0, 200);
    let sent: Value = serde_json::from_str(&gate.provider.seen()[0].body).unwrap();
    assert_eq!(sent["max_completion_tokens"], 16_384);
}

#[test]
fn requests_in_flight_hold_what_they_may_take() {
    let mut gate = Gate::new(|_, _| {
        let mut pieces = vec![Piece::Wait(Duration::from_secs(2))];
        pieces.extend(whole());
        pieces
    });
    gate.caps = Caps { tokens: Some(1_000), cost: None };
    let open = gate.open();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| open.chat(&json!({})));
        until("the first request", || gate.provider.count() == 1);
        let (status, headers, _) = open.chat(&json!({}));
        assert_eq!(status, 429);
        assert_eq!(headers["x-should-retry"], "true", "it fits once the first has ended");
        assert_eq!(headers["retry-after"], "1");
        assert_eq!(first.join().unwrap().0, 200);
    });
    assert_eq!(open.chat(&json!({})).0, 200);
}
