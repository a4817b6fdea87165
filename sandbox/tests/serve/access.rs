//! Who gets in, and who does not.

use crate::fixture::{PythonClient, SandboxServer, ServedCorpus, ping, sandbox};
use serde_json::json;

const TOKEN: &str = "0123456789abcdef";

#[test]
fn full_server_refuses_sessions_until_one_ends() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--max-episodes", "2"]);
    let said = server.play("capacity", &[]);
    let refusal = said["refusal"].as_str().unwrap();
    assert!(refusal.contains("all 2 places are taken"), "{refusal}");
    assert!(refusal.contains("CAPACITY_REACHED"), "{refusal}");
    assert_eq!(said["then"], 0);
}

#[test]
fn without_the_token_only_health_is_answered() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--token", TOKEN]);
    assert_eq!(server.page("/health").0, 200);
    for path in
        ["/metrics", "/metadata", "/schema", "/openapi.json", "/ws", "/mcp", "/list_environments"]
    {
        assert_eq!(server.page(path).0, 401, "{path}");
    }
    assert_eq!(server.post("/mcp", &[], &ping()).0, 401);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(server.post("/mcp", &[("Authorization", bearer.as_str())], &ping()).0, 200);
    let from = |user: &str| {
        PythonClient::start(&format!("{user}{}", server.address), "connect", &[]).end()
    };
    for wrong in ["", "agent:fedcba9876543210@"] {
        assert!(from(wrong).as_str().unwrap().contains("401"), "{wrong}");
    }
    assert_eq!(from(&format!("agent:{TOKEN}@")), "alpha");
}

#[test]
fn requests_of_web_pages_are_refused() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    assert_eq!(server.play("page", &[]), json!(403));
    let origin = [("Origin", "http://evil.example")];
    assert_eq!(server.post("/mcp", &origin, &ping()).0, 403);
}

#[test]
fn invalid_settings_are_refused_at_the_start() {
    let corpus = ServedCorpus::new();
    let tasks = corpus.tasks();
    let records = corpus.path().join("records");
    for (flags, code, words) in [
        (&["--listen", "0.0.0.0:0"][..], 2, "set a token"),
        (&["--token", "short"], 2, "at least 16 characters"),
        (&["--step-limit", "60s"], 2, "`--answer-limit`"),
        (&["--max-episodes", "0"], 2, "1 to 4096"),
        (&["--feedback-share", "1"], 2, "less than 1"),
        (&["--step-limit", "0s"], 2, "1ms to 24h"),
        (&["--answer-limit", "0s"], 2, "`--answer-limit` is 0"),
        (&["--episode-limit", "0s"], 2, "`--episode-limit` is 0"),
        (&["--idle-limit", "0ms"], 2, "`--idle-limit` is 0"),
        (&["--session-limit", "0ms"], 2, "`--session-limit` is 0"),
        (&["--draw", "test"], 2, "train, val, all"),
        (&["--message-limit", "0"], 2, "`--message-limit` is 0"),
        (&["--turns", "0"], 2, "`--turns` is 0"),
        (&["--episodes-per-task", "0"], 2, "`--episodes-per-task` is 0"),
        (&["--record-limit", "1KiB"], 2, "64KiB at least"),
        (&["--records-limit", "1MiB"], 2, "as much as one"),
        (&["--reveal", "all"], 2, "none, tier, score"),
    ] {
        let listen = if flags[0] == "--listen" { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let first = ["serve", tasks.as_str(), "--records", records.as_str()];
        let arguments: Vec<&str> = first.iter().chain(listen).chain(flags).copied().collect();
        let output = sandbox(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
        assert!(said.contains(words), "{flags:?}: {said}");
    }
}

#[test]
fn a_competition_is_served_with_the_feedback_that_it_allows() {
    let corpus = ServedCorpus::new();
    let root = corpus.tasks().join("spooky-author-identification/prepared");
    for (name, text) in [
        ("public/description.md", "Tell three authors apart.\n"),
        ("private/test.csv", "id,EAP,HPL,MWS\nid2,0,1,0\nid3,0,0,1\n"),
    ] {
        let path = root.join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    let tasks = corpus.tasks();
    let output = sandbox(&["serve", tasks.as_str(), "--listen", "127.0.0.1:0"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("serve it with `--feedback validate`"), "{said}");
    let server = SandboxServer::start(&corpus, &["--feedback", "validate"]);
    assert!(server.page("/metadata").1.contains("4 tasks"));
}
