//! Clients of the worse sort, beside honest ones.

use crate::fixture::{Corpus, Server};
use crate::play::assert_whole;

#[test]
fn who_vanishes_floods_sends_garbage_or_stalls_harms_nobody() {
    let corpus = Corpus::new();
    let flags = ["--max-episodes", "12", "--answer-limit", "10m", "--message-limit", "64KiB"];
    let server = Server::start(&corpus, &flags);
    let found = server.play("worse", &["2"]);
    assert_eq!(found["oversized"], "closed");
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
