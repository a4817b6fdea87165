//! Agents that attack, in their box. Each is a program in `tests/hostile` that asserts what it must not
//! achieve; none changes a score, reads a sealed byte or outlives its run.

use crate::fixture::suite;
use crate::running::{Runs, marker, paths, processes_with};
use camino::Utf8Path;
use fs_err as fs;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Runs the program with hints; the result of the run, whose audit found nothing.
fn attack(runs: &Runs, name: &str, more: &Value, flags: &[&str]) -> Value {
    let script = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hostile/{name}.py"));
    let mut hints = paths(runs);
    let more = more.as_object().unwrap().clone();
    hints.as_object_mut().unwrap().extend(more);
    let agent = runs.python(&fs::read_to_string(script).unwrap(), &hints);
    let result = runs.result(agent.as_str(), flags);
    assert_eq!(result["findings"], json!([]));
    assert_eq!(result["isolation"]["layers"]["pivoted-root"]["state"], "up");
    result
}

/// The agent found everything as it must be, and its one honest submission has its score.
fn holds(runs: &Runs, result: &Value) {
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    scored_honestly(result);
}

fn scored_honestly(result: &Value) {
    let metrics = &result["metrics"];
    let scores = ["baseline", "best", "final_base"].map(|name| metrics[name].as_f64().unwrap());
    assert_eq!(scores[..2], [0.25, 0.5], "{metrics}");
    assert!((metrics["final_best"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{metrics}");
}

#[test]
fn scores_are_not_what_an_agent_writes() {
    let runs = Runs::new();
    let result = attack(&runs, "write_the_record", &json!({}), &[]);
    holds(&runs, &result);
}

#[test]
fn scores_are_not_what_an_agent_asks_for() {
    let runs = Runs::new();
    let result = attack(&runs, "forge_scores", &json!({}), &[]);
    holds(&runs, &result);
    assert_eq!(result["metrics"]["submissions"], 1);
}

#[test]
fn nobody_outside_of_the_box_is_killed_or_traced() {
    let runs = Runs::new();
    let hints = json!({"server": std::process::id()});
    let result = attack(&runs, "kill_and_trace", &hints, &[]);
    holds(&runs, &result);
}

#[test]
fn fork_bomb_is_bounded_and_leaves_no_process() {
    let (runs, marker) = (Runs::new(), marker());
    let result = attack(&runs, "fork_bomb", &json!({"marker": marker}), &["--processes", "100"]);
    holds(&runs, &result);
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn agent_that_fills_the_disk_is_ended_with_the_reason_and_keeps_its_score() {
    let runs = Runs::new();
    let result = attack(&runs, "fill_the_disk", &json!({}), &["--disk", "24MiB"]);
    assert_eq!(result["ended"]["cause"]["cause"], "disk", "{result}\n{}", runs.log());
    let found = result["ended"]["cause"]["found"].as_str().unwrap();
    assert!(found.contains("24MiB"), "{found}");
    scored_honestly(&result);
    // It was stopped soon after, and not when the disk was full.
    let written = fs::read_dir(runs.out().join("workspace/output")).unwrap().count();
    assert!((20..1_000).contains(&written), "{written} MiB");
}

#[test]
fn deadline_is_kept_within_two_seconds_and_no_process_outlives_it() {
    let (runs, marker) = (Runs::new(), marker());
    let hints = json!({"marker": marker});
    let flags = ["--budget", "3s", "--clock", "wall", "--grace", "1s"];
    let result = attack(&runs, "outlive_the_deadline", &hints, &flags);
    assert_eq!(result["ended"]["cause"]["cause"], "asked", "{result}\n{}", runs.log());
    assert_eq!(result["ended"]["how"], "killed", "{result}");
    assert_eq!(processes_with(&marker), 0);
    scored_honestly(&result);
    assert!(runs.log().contains("late: 410"), "{}", runs.log());
    let events = runs.events();
    let at = |event: &str, change: Option<&str>| {
        let line = events.iter().find(|line| {
            line["event"] == event && change.is_none_or(|change| line["change"] == change)
        });
        line.unwrap()["elapsed_ms"].as_u64().unwrap()
    };
    let lasted = at("ended", None) - at("budget", Some("started"));
    assert!((3_000..5_000).contains(&lasted), "{lasted} ms");
    assert_eq!(result["metrics"]["submissions"], 1);
}

#[test]
fn sealed_items_are_not_in_the_box() {
    let runs = Runs::new();
    let canary = fs::read_to_string(suite().join("household/sealed/canary")).unwrap();
    let reversed: String = canary.trim().chars().rev().collect();
    let result = attack(&runs, "read_sealed_items", &json!({"canary": reversed}), &[]);
    holds(&runs, &result);
    assert!(!runs.log().contains(canary.trim()));
}

#[test]
fn nothing_is_reached_but_the_servers_routes() {
    let runs = Runs::new();
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let name = format!("posttrain-{}", marker());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    // The address of this machine on its network, if it has one.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let addresses: Vec<String> = own.into_iter().map(|own| own.ip().to_string()).collect();
    let hints = json!({"ports": [port], "addresses": addresses, "abstract": name});
    let result = attack(&runs, "reach_elsewhere", &hints, &[]);
    holds(&runs, &result);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody came");
}

#[test]
fn environment_of_the_host_does_not_enter_the_box() {
    let runs = Runs::new();
    let result = attack(&runs, "print_the_environment", &json!({}), &[]);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    let log = runs.log();
    for secret in ["very secret", "SECRET_API_KEY", "CARGO", runs.place.path("").as_str()] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    assert!(log.contains("'WORKSPACE': '/workspace'"), "{log}");
    // Nothing was submitted.
    assert_eq!(result["metrics"]["best"], 0.0);
}
