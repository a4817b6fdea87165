//! What an agent achieves that does not play fair.

use crate::fixture::{Place, TOKEN, started, until, winning};
use fs_err as fs;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn requests_without_the_token_from_pages_or_too_large_are_turned_away() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    let body = json!({"model_path": model}).to_string();
    let right = format!("Bearer {TOKEN}");
    let post =
        |headers: &[(&str, &str)], body: &[u8]| server.send("/v1/submit", headers, Some(body)).0;
    for wrong in ["", "Bearer", "Bearer a token", "Bearer a token that is long enougH", TOKEN] {
        assert_eq!(post(&[("authorization", wrong)], body.as_bytes()), 401, "{wrong}");
    }
    assert_eq!(post(&[], body.as_bytes()), 401);
    for path in ["/v1/submissions", "/v1/time", "/v1/task", "/time", "/nothing"] {
        assert_eq!(server.send(path, &[], None).0, 401, "{path}");
    }
    let page = [("authorization", right.as_str()), ("origin", "http://localhost:5000")];
    assert_eq!(post(&page, body.as_bytes()), 403);
    let me = [("authorization", right.as_str()), ("content-type", "application/json")];
    assert_eq!(post(&me, &vec![b' '; 10 << 20]), 413);
    for body in [
        "",
        "{",
        "[]",
        "null",
        r#"{"model_path": 1}"#,
        r#"{"score": 1.0}"#,
        r#"{"model_path": "output/step-1", "score": 1.0}"#,
    ] {
        assert_eq!(post(&me, body.as_bytes()), 400, "{body}");
    }
    let form = [("authorization", right.as_str()), ("content-type", "text/plain")];
    assert_eq!(post(&form, body.as_bytes()), 415);
    let note = json!({"model_path": model, "note": "x".repeat(2_001)}).to_string();
    assert_eq!(post(&me, note.as_bytes()), 400);
    let long = json!({"model_path": format!("output/{}", "x".repeat(2_000))}).to_string();
    assert_eq!(post(&me, long.as_bytes()), 400);
    for path in ["/v1/ledger", "/state", "/pause", "/end", "/v1/submissions/1/score"] {
        assert_eq!(server.get(path).0, 404, "{path}");
        assert_eq!(server.post(path, &json!({})).0, 404, "{path}");
    }
    assert_eq!(server.get("/v1/submissions").1["submissions"], json!([]), "nothing was submitted");
    assert_eq!(server.submit(&model).0, 200);
}

#[test]
fn flood_of_refused_submissions_fills_nothing_and_ends_at_its_limit() {
    let place = Place::new();
    let server = started(&place, &["--refusals", "20"]);
    let statuses: Vec<u16> = (0..60).map(|_| server.submit("output/none").0).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 422).count(), 20);
    assert_eq!(statuses[20..], [429; 40]);
    assert!(place.lines() < 30);
}

#[test]
fn slow_and_many_connections_do_not_keep_others_out() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut slow: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let begun: &[u8] = if number % 2 == 0 {
                b"POST /v1/submit HTTP/1.1\r\nhost: x\r\nauthorization: Bearer a token that is long \
                  enough\r\ncontent-length: 1000\r\n\r\n{"
            } else {
                b"POST /v1/submit HT"
            };
            stream.write_all(begun).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.submit(&model).0, 200);
    let mut text = String::new();
    slow[0].set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = slow[0].read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
}

#[test]
fn client_that_goes_away_has_submitted_all_the_same() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let body = json!({"model_path": model, "wait": true}).to_string();
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "POST /v1/submit HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    until("the line", || place.events().iter().any(|line| line["event"] == "submitted"));
    drop(stream);
    until("the grade", || server.get("/v1/submissions/1").1["score"] == 0.5);
}

#[test]
fn what_an_agent_writes_anywhere_it_can_changes_nothing() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = started(&place, &[]);
    for name in ["scores.json", "run_meta.json", "ledger.jsonl", "metrics.json", "results.json"] {
        let score = json!([{"submission_id": 1, "score": 1.0}]).to_string();
        fs::write(place.path("output").join(name), &score).unwrap();
        fs::write(place.path("output/step-1").join(name), &score).unwrap();
    }
    let (_, entry) = server.submit(&model);
    assert_eq!(entry["score"], 0.5);
    let left_out: Vec<&str> = entry["facts"]["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(
        left_out,
        ["ledger.jsonl", "metrics.json", "results.json", "run_meta.json", "scores.json"]
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(place.path("sealed")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn views_follow_the_state_and_are_never_read() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let views = place.path("views");
    let server = started(&place, &["--views", views.as_str(), "--budget", "10m"]);
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(views.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("scores.json"), json!([]));
    fs::write(views.join("scores.json"), r#"[{"score": 1.0}]"#).unwrap();
    fs::write(views.join("run_meta.json"), r#"{"start_time": 0, "timeout_s": 1e9}"#).unwrap();
    assert_eq!(server.submit(&model).1["score"], 0.5);
    assert_eq!(server.get("/time").1["timeout_s"], 600.0);
    until("the views", || read("run_meta.json")["timeout_s"] == 600.0);
    assert_eq!(read("scores.json")[0]["score"], 0.5);
    assert!(read("run_meta.json")["last_submit_time"].is_u64());
}
