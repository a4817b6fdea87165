//! `agents guide replay`: what there is to see afterwards, and how it ends.

use crate::guide::{GUIDANCE, Server, end, exchange, folder, open, piece, program};
use camino::Utf8Path;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

const RUN: &str = "/api/v1/conversations/run";

/// A run of 40 turns with all kinds of events that a person can cause.
fn record(store: &Utf8Path) -> Server {
    let server = Server::start(store);
    open(&server);
    let call = |method: &str, path: &str, body: Option<Value>| {
        let (mut status, mut answer) = (429, Value::Null);
        // A person posts one piece a second.
        while status == 429 {
            std::thread::sleep(Duration::from_millis(if answer.is_null() { 0 } else { 100 }));
            (status, answer) = server.call(method, &format!("{RUN}{path}"), body.as_ref());
        }
        assert!(status < 300, "{method} {path}: {answer}");
    };
    let (_, answer) = server.call("POST", GUIDANCE, Some(&piece("first", "Look at the data.")));
    assert_eq!(answer["state"], json!("queued"));
    let have = exchange(&server, 0, 0).guidance[0].seq;
    for turn in 1..40 {
        exchange(&server, turn, have);
    }
    call("PUT", "/draft", Some(json!({ "text": "not done" })));
    call("POST", "/hold", None);
    call("DELETE", "/hold", None);
    call("POST", "/marks", Some(json!({ "turn": 3, "note": "here it turns" })));
    call("PUT", "/verdicts/4", Some(json!({ "verdict": "drop", "reason": "a guess" })));
    call("POST", "/guidance", Some(piece("gone", "Never mind.")));
    call("DELETE", "/guidance/gone", None);
    call("POST", "/guidance", Some(piece("late", "Too late.")));
    call("POST", "/close", Some(json!({ "have": have, "end": end() })));
    server
}

/// All that the page shows of a run.
fn states(server: &Server) -> Vec<Value> {
    let paths = ["", "?from=10&to=20", "/context/5", "/context/39", "/proposals", "/journal"];
    let paths = paths.map(|path| format!("{RUN}{path}")).into_iter();
    let paths = paths.chain(["/api/v1/conversations".to_owned()]);
    let read = |path: String| {
        let (status, answer) = server.call("GET", &path, None);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    };
    paths.map(read).collect()
}

/// The headline of the run, once `is_there` is true of it.
fn headline(server: &Server, is_there: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let (_, answer) = server.call("GET", RUN, None);
        if is_there(&answer["headline"]) {
            return answer["headline"].clone();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn interrupt(server: &mut Server) -> std::process::ExitStatus {
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    server.child.wait().unwrap()
}

#[test]
fn replay_shows_what_was_recorded_and_nobody_changes_it() {
    let (_kept, store) = folder();
    let mut server = record(&store);
    let recorded = states(&server);
    server.kill();
    let journal = store.join("conversations/run/journal.jsonl");
    let before = fs_err::read(&journal).unwrap();

    let mut replay = Server::replay(&store, &["--speed", "1000"]);
    headline(&replay, |line| {
        line["state"] == json!("ended") && line["seq"] == recorded[0]["headline"]["seq"]
    });
    assert_eq!(states(&replay), recorded);
    assert_eq!(replay.call("GET", "/api/v1/me", None).1["advises"], json!(false));
    for (method, path, body) in [
        ("POST", "/guidance", piece("new", "Stop.")),
        ("PUT", "/draft", json!({ "text": "a" })),
        ("POST", "/hold", json!({})),
        ("PUT", "/verdicts/1", json!({ "verdict": "drop" })),
        ("POST", "/close", json!({ "have": 0, "end": end() })),
    ] {
        let (status, answer) = replay.call(method, &format!("{RUN}{path}"), Some(&body));
        assert_eq!((status, &answer["code"]), (403, &json!("replay")), "{path}: {answer}");
    }
    assert!(interrupt(&mut replay).success());
    assert_eq!(fs_err::read(&journal).unwrap(), before, "the store is only read");
}

#[test]
fn replay_keeps_pauses_and_ends_amid_them() {
    let (_kept, store) = folder();
    drop(record(&store));
    // A thousand times as slow as it was: a pause of a millisecond takes a second.
    let mut replay = Server::replay(&store, &["--speed", "0.001", "--longest-pause", "1h"]);
    let began = headline(&replay, |line| line["state"] == json!("open"));
    assert_eq!(began["turns"], json!(0));
    std::thread::sleep(Duration::from_millis(300));
    let line = headline(&replay, |_| true);
    assert!(line["seq"].as_u64().unwrap() < 10, "{line}");
    let asked = Instant::now();
    assert!(interrupt(&mut replay).success());
    assert!(asked.elapsed() < Duration::from_secs(5));
}

#[test]
fn replay_of_nothing_and_bad_speeds_are_refused() {
    let (_kept, store) = folder();
    drop(record(&store));
    for (id, flags, words) in [
        ("other", ["--speed", "20"], "has no conversation `other`"),
        ("run", ["--speed", "0"], "a speed is a number above 0"),
        ("run", ["--speed", "inf"], "a speed is a number above 0"),
        ("run", ["--longest-pause", "5"], "5"),
    ] {
        let mut command = program();
        command.args(["guide", "replay", id, "--store", store.as_str()]).args(flags);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{said}");
    }
}
