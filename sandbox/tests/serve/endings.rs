//! How sessions and servers end, and what the records say then.

use crate::fixture::{SandboxServer, ServedCorpus, ping};
use sandbox::env::CloseReason;
use serde_json::json;
use std::time::{Duration, Instant};

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

/// Waits until the only episode so far has ended.
fn ending(corpus: &ServedCorpus) -> CloseReason {
    for _ in 0..500 {
        if let Some(ending) = corpus.records().first().and_then(|(_, record)| record.ending) {
            return ending;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the episode did not end");
}

#[test]
fn an_idle_episode_is_ended_and_its_session_goes_on_for_a_while() {
    let corpus = ServedCorpus::new();
    let flags = ["--idle-limit", "1s", "--session-limit", "5s"];
    let server = SandboxServer::start(&corpus, &flags);
    let said = server.play("dawdler", &[]);
    let late = said["late"]["message"].as_str().unwrap();
    assert!(late.contains("ended after 1s without a message (`--idle-limit`)"), "{said}");
    assert_eq!(said["again"], "alpha");
    // 1008: nothing was heard for the session limit.
    assert_eq!(said["closed"], 1008);
    let records = corpus.records();
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|(_, record)| record.ending == Some(CloseReason::Idle)));
}

#[test]
fn a_session_without_a_socket_ends_by_the_idle_limit() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--idle-limit", "3s", "--max-episodes", "1"]);
    let (id, _) = server.initialize("");
    let called = server.rpc(Some(&id), "tools/call", &json!({"name": "score"}));
    assert_eq!(called["result"]["isError"], false, "{called}");
    let full = server.rpc(None, "openenv/session/create", &json!({}));
    assert_eq!(full["error"]["code"], -32000, "{full}");
    assert_eq!(full["error"]["data"], json!({"active_sessions": 1, "max_sessions": 1}), "{full}");
    assert_eq!(ending(&corpus), CloseReason::Idle);
    // Its record is written before it is forgotten.
    let is_lost = || {
        let (status, _, lost) = server.post("/mcp", &[("Mcp-Session-Id", &id)], &ping());
        (status, &lost["error"]["code"]) == (404, &json!(-32000))
    };
    let patience = Instant::now() + Duration::from_secs(5);
    while !is_lost() {
        assert!(Instant::now() < patience, "the session is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_stopped_server_ends_sessions_without_a_socket() {
    let corpus = ServedCorpus::new();
    let mut server = SandboxServer::start(&corpus, &[]);
    let (id, _) = server.initialize("");
    server.rpc(Some(&id), "tools/call", &json!({"name": "score"}));
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
    assert_eq!(ending(&corpus), CloseReason::Drained);
}
