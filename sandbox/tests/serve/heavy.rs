//! Many sessions that have very large files scored at once.

use crate::fixture::{PythonClient, SandboxServer, ServedCorpus};

/// Sessions, unless `HEAVY_SESSIONS` in the environment says how many.
const SESSIONS: &str = "6";
/// What the server may take, in KiB.
const MEMORY: u64 = 1 << 20;

#[test]
fn sessions_that_score_huge_files_at_once_neither_fill_the_server_nor_end() {
    let count = std::env::var("HEAVY_SESSIONS").unwrap_or(SESSIONS.to_owned());
    let corpus = ServedCorpus::new();
    let flags = ["--max-episodes", "64", "--answer-limit", "5m", "--step-limit", "60s"];
    let server = SandboxServer::start(&corpus, &flags);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/heavy.py");
    let found = PythonClient::program(&[program, &server.address, &count]).end();
    let sessions = found.as_array().unwrap();
    assert_eq!(sessions.len().to_string(), count);
    for answers in sessions {
        let answers: Vec<&str> =
            answers.as_array().unwrap().iter().map(|answer| answer.as_str().unwrap()).collect();
        assert!(answers[0].contains("submission.csv is there"), "{answers:?}");
        let refused = |answer: &&str| answer.starts_with("invalid submission: ");
        assert!(answers[1..].iter().all(refused), "{answers:?}");
        assert!(answers.iter().all(|answer| answer.len() < 500), "{answers:?}");
    }
    let peak = server.peak_memory();
    eprintln!("{count} sessions: {peak} KiB at most");
    assert!(peak < MEMORY, "{peak} KiB");
    let whole = server.play("play", &["1"]);
    assert_eq!(whole.as_array().unwrap().len(), 1, "the server goes on");
}
