//! What fleets of servers need: counts, health, and an end that loses nothing.

use crate::fixture::{SandboxServer, ServedCorpus};
use sandbox::env::CloseReason;
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

/// A client that speaks WebSocket and nothing else.
struct Client(WebSocket<TcpStream>);

impl Client {
    fn connect(server: &SandboxServer) -> Self {
        let stream = TcpStream::connect(&server.address).unwrap();
        let url = format!("ws://{}/ws", server.address);
        Self(tungstenite::client(url, stream).unwrap().0)
    }

    /// The type and the data of the answer.
    fn ask(&mut self, kind: &str, data: &Value) -> (String, Value) {
        let message = json!({"type": kind, "data": data}).to_string();
        self.0.send(Message::text(message)).unwrap();
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                let mut answer: Value = serde_json::from_str(&text).unwrap();
                return (answer["type"].as_str().unwrap().to_owned(), answer["data"].take());
            }
        }
    }

    /// Carries out an action in the words of records.
    fn act(&mut self, action: &Value) -> Value {
        let (kind, data) = self.ask("step", &json!({"type": "action", "action": action}));
        assert_eq!(kind, "observation", "{data}");
        data
    }

    fn reset(&mut self, task: &str) -> Value {
        let (kind, data) = self.ask("reset", &json!({"task": task}));
        assert_eq!(kind, "observation", "{data}");
        data
    }

    /// The code with which the server closes the connection.
    fn closed(mut self) -> Option<u16> {
        loop {
            match self.0.read() {
                Ok(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}

/// The value of a series on the page of metrics.
fn series(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is missing:\n{page}")).parse().unwrap()
}

fn metrics(server: &SandboxServer) -> String {
    let (status, page) = server.page("/metrics");
    assert_eq!(status, 200);
    page
}

/// Waits until `/health` has this status.
fn wait_for_health(server: &SandboxServer, status: u16) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let (found, page) = server.page("/health");
        if found == status {
            return serde_json::from_str(&page).unwrap();
        }
        assert!(Instant::now() < deadline, "{found}: {page}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const SUBMIT: &str = "rows = open('input/test.csv').read().split()[1:]\n\
                      ids = [row.split(',') for row in rows]\n\
                      with open('submission.csv', 'w') as file:\n    \
                      file.write('id,y\\n' + ''.join(f'{id},{int(x) % 2}\\n' for id, x in ids))";

#[test]
fn actions_of_records_are_carried_out_and_say_what_a_rollout_needs() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--reveal", "score", "--turns", "7"]);
    let mut client = Client::connect(&server);
    let start = client.reset("alpha");
    let about = &start["observation"]["metadata"];
    assert_eq!(about["rules"]["budget"], json!({"turns": 7, "wall_seconds": 1200}));
    assert_eq!((&about["answer_limit"], &about["reveal"]), (&json!("55s"), &json!("score")));
    assert_eq!(about["public_hash"].as_str().unwrap().len(), 16);
    let malformed = client.act(&json!({"tool": "malformed", "reason": "no call"}));
    assert_eq!(malformed["observation"]["result"], "malformed turn: no call");
    assert_eq!(malformed["observation"]["tool_name"], "malformed");
    let script = client.act(&json!({"tool": "python", "code": SUBMIT}));
    let observation = &script["observation"];
    assert_eq!(observation["metadata"]["outcome"], json!({"outcome": "finished"}));
    assert_eq!(observation["metadata"]["depends_on_time"], false);
    assert_eq!(observation["result"], "finished; submission.csv is there");
    let scored = client.act(&json!({"tool": "score"}));
    assert_eq!(scored["observation"]["result"], "valid submission; tier: gold");
    let last = client.act(&json!({"tool": "answer"}));
    let grade = &last["observation"]["metadata"]["finish"]["grade"];
    assert_eq!((&last["done"], grade), (&json!(true), &json!({"score": 1.0, "tier": "gold"})));
    // Rewards are those of calls: 0.9 for gold.
    let paid = [&malformed, &script, &scored, &last].map(|step| step["reward"].as_f64().unwrap());
    assert!((paid.iter().sum::<f64>() - 0.9).abs() < 1e-9, "{paid:?}");
    let (_, unknown) = client.ask("step", &json!({"type": "action", "action": {"tool": "bash"}}));
    assert_eq!(unknown["code"], "VALIDATION_ERROR", "{unknown}");
}

#[test]
fn metrics_count_episodes_scripts_and_refusals() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--max-episodes", "2"]);
    let fresh = metrics(&server);
    assert_eq!(series(&fresh, "sandbox_episodes_total{outcome=\"graded\"}"), 0.0);
    assert_eq!(series(&fresh, "sandbox_sessions_limit"), 2.0);
    let mut one = Client::connect(&server);
    one.reset("alpha");
    one.act(&json!({"tool": "python", "code": "raise ValueError"}));
    let mut other = Client::connect(&server);
    other.reset("beta");
    other.reset("gamma");
    let (kind, full) = Client::connect(&server).ask("reset", &json!({}));
    assert_eq!((kind.as_str(), &full["code"]), ("error", &json!("CAPACITY_REACHED")), "{full}");
    assert_eq!(full["retryable"], true);
    let page = metrics(&server);
    for (name, value) in [
        ("sandbox_episodes_open", 2.0),
        ("sandbox_sessions_open", 2.0),
        ("sandbox_episodes_total{outcome=\"reset\"}", 1.0),
        ("sandbox_scripts_total{outcome=\"raised\"}", 1.0),
        ("sandbox_script_seconds_count", 1.0),
        ("sandbox_slot_wait_seconds_count", 1.0),
        ("sandbox_steps_total", 1.0),
        ("sandbox_refused_total{reason=\"full\"}", 1.0),
        ("sandbox_draining", 0.0),
    ] {
        assert_eq!(series(&page, name), value, "{name}");
    }
    assert!(series(&page, "process_resident_memory_bytes") > 1e6);
    one.act(&json!({"tool": "answer"}));
    assert_eq!(series(&metrics(&server), "sandbox_episodes_total{outcome=\"graded\"}"), 1.0);
}

#[test]
fn draining_server_lets_open_episodes_finish_and_begins_no_others() {
    let corpus = ServedCorpus::new();
    let mut server = SandboxServer::start(&corpus, &["--drain-limit", "60s"]);
    assert_eq!(wait_for_health(&server, 200)["status"], "healthy");
    let mut player = Client::connect(&server);
    player.reset("alpha");
    let mut idle = Client::connect(&server);
    assert_eq!(idle.ask("state", &Value::Null).0, "state");
    server.signal("TERM");
    let health = wait_for_health(&server, 503);
    assert_eq!((&health["status"], &health["open_episodes"]), (&json!("draining"), &json!(1)));
    for mut client in [idle, Client::connect(&server)] {
        let (kind, refusal) = client.ask("reset", &json!({"task": "beta"}));
        assert_eq!((kind.as_str(), &refusal["retryable"]), ("error", &json!(true)), "{refusal}");
        assert!(refusal["message"].as_str().unwrap().contains("shutting down"), "{refusal}");
    }
    let step = player.act(&json!({"tool": "python", "code": SUBMIT}));
    assert_eq!(step["observation"]["result"], "finished; submission.csv is there");
    let last = player.act(&json!({"tool": "answer"}));
    assert_eq!(last["observation"]["metadata"]["finish"]["valid"], true, "{last}");
    // 1001: the server is going away.
    assert_eq!(player.closed(), Some(1001));
    assert_eq!(server.end(), Some(0));
    let records = corpus.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].1.ending, Some(CloseReason::Closed));
}

#[test]
fn episodes_that_outlast_the_drain_limit_are_ended() {
    let corpus = ServedCorpus::new();
    let mut server = SandboxServer::start(&corpus, &["--drain-limit", "1s"]);
    let mut player = Client::connect(&server);
    player.reset("alpha");
    let began = Instant::now();
    server.signal("TERM");
    assert_eq!(player.closed(), Some(1001));
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.end(), Some(0));
    assert_eq!(corpus.records()[0].1.ending, Some(CloseReason::Drained));
}

#[test]
fn second_signal_ends_a_draining_server_at_once() {
    let corpus = ServedCorpus::new();
    let mut server = SandboxServer::start(&corpus, &["--drain-limit", "10m"]);
    let mut player = Client::connect(&server);
    player.reset("alpha");
    server.signal("TERM");
    wait_for_health(&server, 503);
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn an_episode_that_is_only_asked_about_ends_after_its_wall_time() {
    let corpus = ServedCorpus::new();
    let flags = ["--episode-limit", "1s", "--idle-limit", "2s"];
    let server = SandboxServer::start(&corpus, &flags);
    let mut client = Client::connect(&server);
    client.reset("alpha");
    let began = Instant::now();
    while series(&metrics(&server), "sandbox_episodes_open") > 0.0 {
        // It is heard all the time, so it is not idle.
        assert_eq!(client.ask("state", &Value::Null).0, "state");
        assert!(began.elapsed() < Duration::from_mins(1), "the episode does not end");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(began.elapsed() >= Duration::from_secs(3));
    let (_, error) = client.ask("step", &json!({"code": "print(1)"}));
    assert!(error["message"].as_str().unwrap().contains("`--episode-limit`"), "{error}");
    assert_eq!(corpus.records()[0].1.ending, Some(CloseReason::Overdue));
    client.reset("beta");
}
