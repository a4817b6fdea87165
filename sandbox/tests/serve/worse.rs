//! Clients of the worse sort, beside honest ones.

use crate::fixture::{SandboxServer, ServedCorpus};
use crate::play::assert_whole;
use camino::Utf8Path;
use sandbox::env::CloseReason;
use serde_json::json;
use std::time::{Duration, Instant};

/// Waits until it holds, for as long as there is time; returns how long it took.
fn wait_until(what: &str, time: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < time, "{what}: not within {time:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    started.elapsed()
}

#[test]
fn misbehaving_clients_do_not_affect_others() {
    let corpus = ServedCorpus::new();
    let flags = ["--max-episodes", "12", "--answer-limit", "10m", "--message-limit", "64KiB"];
    let server = SandboxServer::start(&corpus, &flags);
    let found = server.play("worse", &["2"]);
    // 1009: the message was too large.
    assert_eq!(found["oversized"], json!([1009, "a message may have 64KiB (`--message-limit`)"]));
    let codes: Vec<&str> =
        found["garbage"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    // As many mistakes in a row as are put up with.
    assert_eq!(codes.len(), 32);
    let expected = ["INVALID_JSON", "VALIDATION_ERROR", "INVALID_JSON", "UNKNOWN_TYPE"];
    assert_eq!(codes[..4], expected);
    for (episodes, count) in [("episodes", 4), ("after", 12)] {
        let episodes = found[episodes].as_array().unwrap();
        assert_eq!(episodes.len(), count);
        episodes.iter().for_each(assert_whole);
    }
    // Of those too there are records, and all of them can be read.
    let records = corpus.records();
    assert!(records.len() >= 16 + 2 * 4, "{}", records.len());
    assert!(records.iter().all(|(_, record)| record.ending.is_some()));
}

#[test]
fn script_of_a_lost_client_ends_at_once() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--slots", "1"]);
    let enough = Duration::from_secs(20);
    let mut at_rest = 0;
    wait_until("the server is at rest", enough, || {
        let before = std::mem::replace(&mut at_rest, server.processes());
        std::thread::sleep(Duration::from_millis(200));
        before == at_rest && at_rest > 0
    });
    let ways = [
        ("reset", CloseReason::Vanished),
        ("end", CloseReason::Vanished),
        ("frame", CloseReason::Left),
        ("close", CloseReason::Left),
        ("oversized", CloseReason::TooLarge),
    ];
    for (number, (how, ending)) in ways.into_iter().enumerate() {
        let mut client = server.client("gone", &[how]);
        client.wait_for("begun");
        wait_until("its script runs", enough, || server.processes() >= at_rest + 2);
        let soon = Duration::from_secs(2);
        let leaves = Instant::now();
        client.go_on();
        client.wait_for("gone");
        wait_until("its processes are gone", soon, || server.processes() <= at_rest);
        let took = leaves.elapsed();
        println!("{how}: gone after {took:?}");
        assert!(took < soon, "{how}: {took:?}");
        // Those of `alpha` are of this kind of client, and files are named for when they began.
        let records = || {
            let mut records = corpus.records();
            records.retain(|(path, _)| path.as_str().contains("/alpha/"));
            records.sort_by(|(left, _), (right, _)| left.cmp(right));
            records
        };
        wait_until("its record has an end", soon, || {
            records().last().is_some_and(|(_, record)| record.ending.is_some())
        });
        let records = records();
        let (_, record) = records.last().unwrap();
        assert_eq!(records.len(), number + 1);
        assert_eq!((record.ending, record.turns.len()), (Some(ending), 1), "{how}");
        assert_eq!(record.turns[0].step, None);
        // The only place is free again.
        assert_eq!(server.play("quick", &[]), "finished; no submission.csv yet\n[stdout]\n1");
        wait_until("the server is at rest", enough, || server.processes() <= at_rest);
        client.go_on();
        assert_eq!(client.end(), how);
    }
}

#[test]
fn client_with_too_many_resets_is_refused() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--episodes-per-task", "5"]);
    let said = server.play("endless", &["5"]);
    let refusals = said["refusals"].as_array().unwrap();
    assert_eq!(refusals.len(), 3);
    for refusal in refusals {
        assert_eq!(refusal["code"], "CAPACITY_REACHED");
        let message = refusal["message"].as_str().unwrap();
        assert!(message.starts_with("5 episodes of the task alpha were begun"), "{message}");
        assert!(message.contains("`--episodes-per-task`"), "{message}");
    }
    let result = said["step"]["observation"]["result"].as_str().unwrap();
    assert!(result.ends_with("[stdout]\n1"), "{result}");
    assert_eq!(said["other"], "observation");
    assert_eq!(corpus.records().len(), 6);
}

#[test]
fn records_stay_within_their_bounds_and_whole() {
    let corpus = ServedCorpus::new();
    let flags = ["--record-limit", "100KiB", "--records-limit", "300KiB"];
    let server = SandboxServer::start(&corpus, &flags);
    let said = server.play("full_records", &[]);
    let refusal = &said["refusal"];
    assert_eq!(refusal["code"], "CAPACITY_REACHED", "{said}");
    assert!(refusal["message"].as_str().unwrap().contains("`--records-limit`"), "{refusal}");

    let records = corpus.records();
    let told = said["told"].as_array().unwrap();
    assert_eq!((told.len(), records.len()), (3, 3));
    for (path, record) in &records {
        let size = path.metadata().unwrap().len();
        assert!((80_000..102_400 + 1000).contains(&size), "{size}");
        // Two calls fit, the third did not; the last, which is short, did.
        assert_eq!((record.turns.len(), record.ending), (3, Some(CloseReason::Closed)));
    }
    for steps in told {
        let error = &steps[2]["observation"]["error"];
        assert_eq!(error["error_type"], "execution_error", "{steps}");
        assert!(error["message"].as_str().unwrap().contains("submit, or begin another"), "{error}");
        assert_eq!(steps[2]["observation"]["metadata"]["turn"], 2);
        assert_eq!(steps[3]["done"], true);
    }
    let folder: u64 = records.iter().map(|(path, _)| path.metadata().unwrap().len()).sum();
    assert!(folder <= 300 * 1024, "{folder}");

    // A server that begins with a full folder begins no episode.
    drop(server);
    let server = SandboxServer::start(&corpus, &flags);
    let said = server.play("full_records", &[]);
    assert_eq!((said["told"].as_array().unwrap().len(), corpus.records().len()), (0, 3));
    // Nothing is left half made.
    let folder = corpus.path().join("records/alpha");
    let files = Utf8Path::read_dir_utf8(&folder).unwrap().count();
    assert_eq!(files, 3);
}
