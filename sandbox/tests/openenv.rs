//! The package `openenv` 0.10 and the reference client of MCP, unchanged, against `sandbox serve`.
//!
//! Not part of `make test`, because the package has an environment of its own: `make test-openenv`.
//! The tests in `serve` play with `openenv-core` 0.3.
#![expect(clippy::unwrap_used, reason = "tests: a failure should stop the test")]

#[expect(dead_code, reason = "the helpers of the other tests")]
#[path = "serve/fixture.rs"]
mod fixture;

use fixture::{PythonClient, SandboxServer, ServedCorpus};
use sandbox::env::CloseReason;
use serde_json::{Value, json};
use std::process::Command;

/// A program of the environment.
fn program(name: &str) -> String {
    let path = format!("{}/../.venv-openenv/bin/{name}", env!("CARGO_MANIFEST_DIR"));
    assert!(
        std::path::Path::new(&path).is_file(),
        "there is no {path}: run `make test-openenv`, which makes it"
    );
    path
}

/// What a scenario of `play.py` found.
fn play(server: &SandboxServer, scenario: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openenv/play.py");
    let url = format!("http://{}", server.address);
    PythonClient::run(&program("python"), &[script, &url, scenario]).end()
}

/// Runs `openenv validate` and checks that it is content.
fn validate(arguments: &[&str]) {
    let output = Command::new(program("openenv")).arg("validate").args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn tool_clients_play_episodes() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--max-episodes", "1"]);
    let said = play(&server, "tools");
    assert_eq!(said["task"], "beta");
    assert_eq!(said["tools"], json!([["python", ["code"]], ["score", []], ["submit", []]]));
    assert!(said["ran"].as_str().unwrap().contains("[stdout]\nwrote 40"), "{said}");
    assert!(said["unknown"].as_str().unwrap().contains("there is no tool `bash`"), "{said}");
    assert_eq!(said["scored"][0], "valid submission; tier: gold");
    assert!((said["scored"][1].as_f64().unwrap() - 0.9).abs() < 1e-12, "{said}");
    assert_eq!((&said["scored"][2], &said["steps"]), (&json!(false), &json!(2)));
    assert_eq!(
        (&said["last"][1], &said["last"][2]["grade"]["tier"]),
        (&json!(true), &json!("gold"))
    );
    assert_eq!(said["again"], "alpha");
    // The only place is free again.
    play(&server, "generic");
    let endings: Vec<_> = corpus.records().into_iter().map(|(_, record)| record.ending).collect();
    let (closed, left) = (Some(CloseReason::Closed), Some(CloseReason::Left));
    assert_eq!(endings, [left, closed, closed]);
}

#[test]
fn generic_clients_play_episodes() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    let said = play(&server, "generic");
    assert_eq!(said["task"], "beta");
    assert!(said["ran"].as_str().unwrap().contains("wrote 40"), "{said}");
    assert!((said["last"][0].as_f64().unwrap() - 0.9).abs() < 1e-12, "{said}");
    assert_eq!((&said["last"][1], &said["state"][0]), (&json!(true), &json!(2)));
}

#[test]
fn sixteen_tool_clients_play_at_once() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &["--max-episodes", "16", "--answer-limit", "5m"]);
    let rewards = play(&server, "many");
    let rewards: Vec<_> =
        rewards.as_array().unwrap().iter().flat_map(|of| of.as_array().unwrap()).collect();
    assert_eq!(rewards.len(), 32);
    assert!(rewards.iter().all(|reward| (reward.as_f64().unwrap() - 0.9).abs() < 1e-12));
}

#[test]
fn the_reference_client_of_mcp_plays_an_episode() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    let said = play(&server, "mcp");
    assert!(said["instructions"].as_str().unwrap().starts_with("# gamma"), "{said}");
    assert_eq!(said["tools"], json!(["python", "score", "submit"]));
    assert!(said["ran"][0].as_str().unwrap().contains("wrote 40"), "{said}");
    assert_eq!((&said["ran"][1], &said["done"]), (&json!(false), &json!(true)));
    assert_eq!(said["scored"][0], "valid submission; tier: gold");
    assert!(said["late"].as_str().unwrap().contains("the episode is over"), "{said}");
    // The client ends its session when it leaves.
    let (_, record) = corpus.records().remove(0);
    assert_eq!(record.ending, Some(CloseReason::Closed));
}

#[test]
fn servers_and_the_package_for_the_hub_are_valid() {
    let corpus = ServedCorpus::new();
    let server = SandboxServer::start(&corpus, &[]);
    validate(&["--url", &format!("http://{}", server.address)]);
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/openenv");
    validate(&[package, "--level", "static", "--skip-build"]);
}
