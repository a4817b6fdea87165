//! How sessions and servers end, and what the records say then.

use crate::fixture::{SandboxServer, ServedCorpus};
use sandbox::env::CloseReason;
use serde_json::json;
use std::time::Duration;

#[test]
fn stopped_server_finishes_running_steps() {
    for signal in ["TERM", "INT"] {
        let corpus = ServedCorpus::new();
        let mut server = SandboxServer::start(&corpus, &[]);
        let mut waiter = server.client("waiter", &[]);
        waiter.wait_for("waiting");
        let mut sleeper = server.client("sleeper", &[]);
        sleeper.wait_for("asleep");
        server.signal(signal);
        let said = sleeper.end();
        assert!(said["result"].as_str().unwrap().contains("slept"), "{said}");
        // 1001: the server is going away.
        assert_eq!(said["closed"], 1001);
        assert_eq!(waiter.end(), json!({"closed": 1001}));
        assert_eq!(server.end(), Some(0));
        let records = corpus.records();
        assert_eq!(records.len(), 2);
        for (_, record) in &records {
            assert_eq!(record.ending, Some(CloseReason::Drained));
        }
        let steps = records.iter().flat_map(|(_, record)| &record.turns);
        assert_eq!(steps.filter(|turn| turn.step.is_some()).count(), 1);
    }
}

#[test]
fn a_killed_server_leaves_whole_records() {
    let corpus = ServedCorpus::new();
    let mut server = SandboxServer::start(&corpus, &[]);
    let mut sleeper = server.client("sleeper", &[]);
    sleeper.wait_for("asleep");
    server.signal("KILL");
    assert_eq!(server.end(), None);
    assert_eq!(sleeper.end(), json!({"closed": null}));
    let records = corpus.records();
    let (path, record) = &records[0];
    assert_eq!((record.ending, record.turns.len()), (None, 1));
    assert_eq!(record.turns[0].step, None);
    let text = fs_err::read_to_string(path).unwrap();
    assert!(text.ends_with('\n') && text.lines().count() == 2, "{text}");
    // The next server does not trip over them.
    let server = SandboxServer::start(&corpus, &[]);
    assert_eq!(server.play("connect", &[]), "alpha");
}

#[test]
fn an_idle_session_is_ended() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--idle-limit", "2s"]);
    let mut waiter = server.client("waiter", &[]);
    waiter.wait_for("waiting");
    // 1008: it did not keep to the rules.
    assert_eq!(waiter.end(), json!({"closed": 1008}));
    for _ in 0..200 {
        if corpus.records()[0].1.ending.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(corpus.records()[0].1.ending, Some(CloseReason::Idle));
}
