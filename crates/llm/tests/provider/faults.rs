//! Every way in which a provider fails.

use crate::{client, endpoint, request};
use llm::{
    AnswerSchema, ChatClient, ChatError, ChatModel as _, Endpoint, Purpose, Request, RetryPolicy,
    SchemaMode,
};
use std::time::{Duration, Instant};
use support::provider::{FakeProvider, Piece, USAGE, answer, hello, openai_events, stream};

/// Answers the first request with `bytes` and the others well.
fn first(bytes: Vec<u8>) -> FakeProvider {
    FakeProvider::start(move |number, _| match number {
        0 => vec![Piece::Bytes(bytes.clone())],
        _ => hello(),
    })
}

/// The error of a provider that always answers with `bytes`, and the number of requests.
fn always(bytes: Vec<u8>) -> (ChatError, usize) {
    let provider = FakeProvider::start(move |_, _| vec![Piece::Bytes(bytes.clone())]);
    let error =
        client(&provider, "openai").complete(&request("hi"), &Purpose::default()).unwrap_err();
    (error, provider.count())
}

fn error_body(error: &str) -> String {
    format!(r#"{{"error":{error}}}"#)
}

#[test]
fn retried_faults_are_survived() {
    let message = error_body(r#"{"message":"busy"}"#);
    let json = [("content-type", "application/json")];
    let html = [("content-type", "text/html")];
    let in_stream = |data: &str| stream(&[format!("data: {data}\n\n")]);
    let long = format!("data: {}\n\n", "x".repeat(5 << 20));
    for (name, bytes) in [
        ("408", answer(408, &json, &message)),
        ("429", answer(429, &json, &message)),
        ("429 in seconds", answer(429, &[("retry-after", "0.01")], &message)),
        ("429 in milliseconds", answer(429, &[("retry-after-ms", "10")], &message)),
        (
            "429 with a past date",
            answer(429, &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], ""),
        ),
        ("429 with nonsense", answer(429, &[("retry-after", "later")], "")),
        ("500", answer(500, &[], "")),
        ("502 in HTML", answer(502, &html, "<html>Bad gateway</html>")),
        ("529", answer(529, &json, &message)),
        ("404 that asks to retry", answer(404, &[("x-should-retry", "true")], &message)),
        ("200 in HTML", answer(200, &html, "<html>Log in</html>")),
        ("200 with half a JSON", answer(200, &json, r#"{"choices":[{"mess"#)),
        ("200 with an error", answer(200, &json, &error_body(r#"{"message":"m","code":500}"#))),
        ("empty stream", stream(&[])),
        ("overloaded in a stream", in_stream(r#"{"error":{"message":"m","type":"server_error"}}"#)),
        ("a stream that is no JSON", in_stream("{")),
        ("an event without end", stream(&[long])),
    ] {
        let provider = first(bytes);
        let completion = client(&provider, "openai").complete(&request("hi"), &Purpose::default());
        assert_eq!(completion.unwrap().text, "hello", "{name}");
        assert_eq!(provider.count(), 2, "{name}");
    }
}

#[test]
fn retry_after_a_date_waits_for_it() {
    let provider = FakeProvider::start(|number, _| {
        if number > 0 {
            return hello();
        }
        let date = std::time::SystemTime::now() + Duration::from_millis(2500);
        let date = httpdate::fmt_http_date(date);
        vec![Piece::Bytes(answer(429, &[("retry-after", &date)], ""))]
    });
    let start = Instant::now();
    client(&provider, "openai").complete(&request("hi"), &Purpose::default()).unwrap();
    assert!(start.elapsed() > Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn long_retry_after_pauses_the_endpoint_and_uses_no_try() {
    let provider = FakeProvider::start(|number, _| match number {
        0..3 => vec![Piece::Bytes(answer(429, &[("retry-after-ms", "100")], ""))],
        _ => hello(),
    });
    let retry = RetryPolicy {
        tries: 1,
        longest_named: Duration::from_millis(50),
        longest_pause: Duration::from_secs(1),
        ..RetryPolicy::default()
    };
    let paused = Endpoint { retry, ..endpoint(&provider, "openai", "") };
    let start = Instant::now();
    let client = ChatClient::new(paused.clone(), None).unwrap();
    client.complete(&request("hi"), &Purpose::default()).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(300));
    let provider =
        FakeProvider::start(|_, _| vec![Piece::Bytes(answer(429, &[("retry-after", "3600")], ""))]);
    let paused = Endpoint { retry, ..endpoint(&provider, "openai", "") };
    let error =
        ChatClient::new(paused, None).unwrap().complete(&request("hi"), &Purpose::default());
    assert!(matches!(error, Err(ChatError::Unavailable { tries: 1, .. })));
}

#[test]
fn remaining_zero_holds_the_next_call() {
    let provider = FakeProvider::start(|_, _| {
        let body = r#"{"choices":[{"finish_reason":"stop","message":{"content":"hello"}}]}"#;
        let headers =
            [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "200ms")];
        vec![Piece::Bytes(answer(200, &headers, body))]
    });
    let client = client(&provider, "openai");
    let start = Instant::now();
    for _ in 0..3 {
        client.complete(&request("hi"), &Purpose::default()).unwrap();
    }
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
}

#[test]
fn stalled_provider_is_given_up_and_asked_again() {
    let whole = stream(&openai_events(&["he", "llo"], USAGE));
    let half = whole.len() / 2;
    let stall = Piece::Wait(Duration::from_secs(3));
    for (name, pieces) in [
        ("before the first byte", vec![stall.clone()]),
        ("within the head", vec![Piece::Bytes(whole[..20].to_vec()), stall.clone()]),
        ("within the stream", vec![Piece::Bytes(whole[..half].to_vec()), stall]),
        ("reset before the head", vec![Piece::Close]),
    ] {
        let provider = FakeProvider::start(move |number, _| match number {
            0 => pieces.clone(),
            _ => hello(),
        });
        let start = Instant::now();
        let completion = client(&provider, "openai").complete(&request("hi"), &Purpose::default());
        assert_eq!(completion.unwrap().text, "hello", "{name}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn connection_that_stays_open_after_the_answer_delays_little() {
    let mut bytes = stream(&openai_events(&["hello"], USAGE));
    bytes.truncate(bytes.len() - b"0\r\n\r\n".len());
    let provider = FakeProvider::start(move |_, _| {
        vec![Piece::Bytes(bytes.clone()), Piece::Wait(Duration::from_secs(4))]
    });
    let start = Instant::now();
    client(&provider, "openai").complete(&request("hi"), &Purpose::default()).unwrap();
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn provider_that_never_recovers_is_unavailable_after_all_tries() {
    let (error, requests) = always(answer(503, &[], "down for maintenance"));
    assert_eq!(requests, 8);
    let said = error.to_string();
    assert!(matches!(error, ChatError::Unavailable { tries: 8, .. }));
    assert!(said.contains("status 503: down for maintenance"), "{said}");
}

#[test]
fn unreachable_provider_is_unavailable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let provider = FakeProvider::start(|_, _| hello());
    let base_url = format!("http://{address}/").parse().unwrap();
    let nowhere = Endpoint { base_url, ..endpoint(&provider, "openai", "") };
    let client = ChatClient::new(nowhere, None).unwrap();
    let error = client.complete(&request("hi"), &Purpose::default()).unwrap_err();
    assert!(matches!(error, ChatError::Unavailable { .. }));
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn errors_that_stay_are_not_retried() {
    type Check = fn(&ChatError) -> bool;
    let cases: [(Vec<u8>, Check); 8] = [
        (answer(401, &[], ""), |error| matches!(error, ChatError::Unauthorised { .. })),
        (answer(403, &[], ""), |error| matches!(error, ChatError::Unauthorised { .. })),
        (answer(402, &[], ""), |error| matches!(error, ChatError::Quota { .. })),
        (
            answer(429, &[], &error_body(r#"{"code":"insufficient_quota","message":"m"}"#)),
            |error| matches!(error, ChatError::Quota { .. }),
        ),
        (answer(404, &[], ""), |error| matches!(error, ChatError::Rejected { status: 404, .. })),
        (answer(503, &[("x-should-retry", "false")], ""), |error| {
            matches!(error, ChatError::Rejected { status: 503, .. })
        }),
        (
            answer(400, &[], &error_body(r#"{"code":"context_length_exceeded","message":"m"}"#)),
            |error| matches!(error, ChatError::ContextTooLong { .. }),
        ),
        (
            answer(307, &[("location", "http://127.0.0.1:1/other")], ""),
            |error| matches!(error, ChatError::Rejected { status: 307, said } if said.contains("http://127.0.0.1:1/other")),
        ),
    ];
    for (bytes, check) in cases {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let (error, requests) = always(bytes);
        assert!(check(&error), "{shown}: {error}");
        assert_eq!(requests, 1, "{shown}");
    }
}

#[test]
fn refused_parameters_are_healed_for_the_whole_run() {
    let provider = FakeProvider::start(|_, request| {
        let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
        for parameter in ["temperature", "max_completion_tokens", "response_format", "tools"] {
            if body.get(parameter).is_some() {
                let error = format!(r#"{{"message":"Unsupported parameter: '{parameter}'"}}"#);
                return vec![Piece::Bytes(answer(400, &[], &error_body(&error)))];
            }
        }
        hello()
    });
    let client = client(&provider, "openai");
    let json = serde_json::json!({"type": "object"});
    let asked = Request {
        temperature: Some(0.5),
        schema: Some(AnswerSchema { name: "s".to_owned(), json }),
        ..request("hi")
    };
    client.complete(&asked, &Purpose::default()).unwrap();
    let left = client.capabilities();
    assert!(!left.temperature && left.old_max_tokens);
    assert_eq!(left.schema, SchemaMode::Text);
    // Temperature, limit, schema, tool, object.
    assert_eq!(provider.count(), 6);
    client.complete(&asked, &Purpose::default()).unwrap();
    assert_eq!(provider.count(), 7);
}

#[test]
fn invalid_request_is_not_sent() {
    let provider = FakeProvider::start(|_, _| hello());
    let invalid = Request { max_tokens: 0, ..request("hi") };
    let error = client(&provider, "openai").complete(&invalid, &Purpose::default());
    assert!(matches!(error, Err(ChatError::Invalid { .. })));
    assert!(provider.seen().is_empty());
}

#[test]
fn many_calls_with_random_refusals_all_arrive() {
    // A fifth of the requests is refused, by a hash of their number.
    let provider = FakeProvider::start(|number, _| {
        if (number * 2_654_435_761) % 4_294_967_296 % 5 == 0 {
            return vec![Piece::Bytes(answer(429, &[], ""))];
        }
        hello()
    });
    let client = ChatClient::new(endpoint(&provider, "openai", "concurrency = 16"), None).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let client = &client;
            scope.spawn(move || {
                for call in 0..20 {
                    let purpose = Purpose { slot: thread, ..Purpose::default() };
                    let asked = request(&format!("{thread} {call}"));
                    assert_eq!(client.complete(&asked, &purpose).unwrap().text, "hello");
                }
            });
        }
    });
}
