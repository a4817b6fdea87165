//! Episodes by methods of JSON-RPC: MCP over HTTP, and OpenEnv's sessions.

use crate::fixture::{SandboxServer, ServedCorpus, ping};
use sandbox::env::CloseReason;
use serde_json::{Value, json};

const GOOD: &str = "rows = [line.split(',') for line in open('input/test.csv').read().split()[1:]]
open('submission.csv', 'w').write('id,y\\n' + ''.join(f'{id},{int(x) % 2}\\n' for id, x in rows))
";

#[test]
fn an_mcp_client_plays_an_episode() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--turns", "5"]);
    let (id, about) = server.initialize("?task=beta");
    assert_eq!(about["protocolVersion"], "2025-06-18");
    assert_eq!(about["capabilities"], json!({"tools": {"listChanged": false}}));
    let instructions = about["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("# beta\nodd or even?"), "{instructions}");
    assert!(instructions.ends_with("At most 5 calls of tools; a script may run for 30s."));
    // No episode begins for a client that only looks around.
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let headers = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-06-18")];
    assert_eq!(server.post("/mcp", &headers, &initialized).0, 202);
    let listed = server.rpc(Some(&id), "tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"][0]["inputSchema"]["required"], json!(["code"]));
    assert!(corpus.records().is_empty());

    let call = |name: &str, arguments: Value| {
        server.rpc(Some(&id), "tools/call", &json!({"name": name, "arguments": arguments}))
    };
    let ran = call("python", json!({"code": GOOD}));
    assert!(ran["result"]["data"].as_str().unwrap().starts_with("finished; "), "{ran}");
    assert_eq!(ran["result"]["content"][0]["text"], ran["result"]["data"]);
    let wrong = call("python", json!({"script": "1"}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    let scored = &call("score", json!({}))["result"];
    assert_eq!(scored["data"], "valid submission; tier: gold");
    let meta = &scored["_meta"];
    assert!((meta["reward"].as_f64().unwrap() - 0.9).abs() < 1e-12, "{meta}");
    assert_eq!(
        (&meta["turn"], &meta["turns_left"], &meta["done"]),
        (&json!(3), &json!(2), &json!(false))
    );
    let last = &call("submit", json!({}))["result"]["_meta"];
    assert_eq!((&last["done"], &last["finish"]["grade"]["tier"]), (&json!(true), &json!("gold")));
    let late = call("score", json!({}));
    assert_eq!(late["error"]["code"], -32603);
    assert!(
        late["error"]["message"].as_str().unwrap().starts_with("the episode is over"),
        "{late}"
    );

    let headers = [("Mcp-Session-Id", id.as_str())];
    assert_eq!(server.ask("DELETE", "/mcp", &headers, "").0, 204);
    assert_eq!(server.post("/mcp", &headers, &ping()).0, 404);
    let (_, record) = corpus.records().remove(0);
    assert_eq!((record.task.as_str(), record.ending), ("beta", Some(CloseReason::Closed)));
}

#[test]
fn clients_without_a_session_may_look_and_not_call() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    assert_eq!(server.rpc(None, "ping", &json!({}))["result"], json!({}));
    let listed = server.rpc(None, "tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 3);
    let called = server.rpc(None, "tools/call", &json!({"name": "score"}));
    assert_eq!(called["error"]["code"], -32600);
    assert!(called["error"]["message"].as_str().unwrap().contains("`initialize`"), "{called}");
    // There is no stream of messages from the server.
    let (status, head, _) = server.ask("GET", "/mcp", &[], "");
    assert_eq!(status, 405);
    assert!(head.to_lowercase().contains("allow: post,delete"), "{head}");
    assert_eq!(server.ask("DELETE", "/mcp", &[], "").0, 400);
}

#[test]
fn mistakes_have_the_codes_of_json_rpc() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--message-limit", "4KiB"]);
    let code = |body: &str| {
        let (status, _, answer) = server.ask("POST", "/mcp", &[], body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str::<Value>(&answer).unwrap()["error"]["code"].as_i64().unwrap()
    };
    for (body, expected) in [("{}", -32600), ("{", -32700), ("[]", -32600)] {
        assert_eq!(code(body), expected, "{body}");
    }
    for (method, params, expected, words) in [
        ("resources/list", json!({}), -32601, "there is no method `resources/list`"),
        ("tools/call", json!({"name": "score", "session_id": "x"}), -32602, "no session `x`"),
        ("tools/list", json!({"session_id": 3}), -32602, "is no text"),
        ("openenv/session/close", json!({}), -32602, "`session_id` is missing"),
        ("openenv/session/close", json!({"session_id": "x"}), -32602, "no session `x`"),
        ("initialize", json!({}), -32602, "`protocolVersion` is missing"),
    ] {
        let answer = server.rpc(None, method, &params);
        assert_eq!(answer["error"]["code"], expected, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
    }
    let params = json!({"protocolVersion": "2025-06-18"});
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let (_, _, answer) = server.post("/mcp?task=omega", &[], &request);
    assert!(answer["error"]["message"].as_str().unwrap().contains("no task `omega`"), "{answer}");
    let (status, _, _) = server.post("/mcp", &[("MCP-Protocol-Version", "1999-01-01")], &ping());
    assert_eq!(status, 400);
    let (status, _, answer) = server.post("/mcp", &[], &json!("x".repeat(5000)));
    assert_eq!(status, 413);
    assert!(answer["error"]["message"].as_str().unwrap().contains("4KiB"), "{answer}");
}

#[test]
fn an_unknown_version_is_answered_with_the_best_one() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    let answer = server.rpc(None, "initialize", &json!({"protocolVersion": "2024-11-05"}));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn one_session_is_played_by_requests_and_by_a_socket() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--max-episodes", "1"]);
    let said = server.play("attach", &[]);
    let message = |name: &str| said[name]["message"].as_str().unwrap();
    assert!(message("early").contains("there is no episode; reset to begin one"), "{said}");
    assert_eq!(said["listed"], json!(["python", "score", "submit"]));
    assert!(said["called"]["data"].as_str().unwrap().contains("wrote 40"), "{said}");
    assert_eq!(said["unknown tool"]["code"], -32602, "{said}");
    assert_eq!(said["no code"]["isError"], true, "{said}");
    assert_eq!(said["score"]["data"], "valid submission; tier: gold");
    assert!(message("second").contains("already has an attached WebSocket"), "{said}");
    assert_eq!(said["within"]["result"]["_meta"]["turn"], 4, "{said}");
    assert_eq!(said["own"]["error"]["code"], -32600, "{said}");
    assert_eq!(
        (&said["state"]["step_count"], &said["state"]["task"]),
        (&json!(4), &json!("alpha"))
    );
    assert_eq!(
        (&said["closing"]["closed"], &said["closing"]["closing"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(said["still"], 4);
    // The session had ended with its socket.
    assert_eq!(said["closed"]["code"], -32602, "{said}");
    assert_eq!(said["gone"]["code"], "SESSION_ERROR", "{said}");
    let (_, record) = corpus.records().remove(0);
    assert_eq!((record.turns.len(), record.ending), (4, Some(CloseReason::Left)));
}
