//! The format of tool calls from demonstrations to evaluation: set once, then known by the policy.

use crate::corpus;
use crate::killed::{command, finish};
use agents::grammar::{ToolCallFormat, python_turn};
use agents::trajectory::{self, Source, Tool, Trajectory};
use camino::Utf8Path;
use fs_err as fs;
use rl::checkpoint::source::{PolicySource, locate, tool_call_format};
use serde_json::Value;

const HERMES: &str = "rules.tool_call_format=hermes";

fn is_hermes(run: &Utf8Path) -> bool {
    let settings = fs::read_to_string(run.join("settings.toml")).unwrap();
    settings.contains("tool_call_format = \"hermes\"")
}

/// The turns of the model that called a tool, and the tools.
fn calls(played: &[Trajectory]) -> Vec<(&str, Tool)> {
    let mut calls = Vec::new();
    for episode in played {
        let turns = episode.segments.iter().filter(|segment| segment.source == Source::Model);
        let turns = turns.zip(&episode.turns);
        calls.extend(turns.map(|(segment, record)| (segment.text.as_str(), record.tool)));
    }
    calls
}

#[test]
fn format_of_calls_is_kept_from_demonstrations_to_evaluation() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let [tasks, sft, train, eval] = ["tasks", "sft", "train", "eval"].map(|name| dir.join(name));
    corpus::write(&tasks);
    let sizes = ["--set", "batch=4", "--set", "vocab_size=500"];
    let arguments = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "40"];
    finish(&[&arguments[..], &sizes, &["--set", HERMES]].concat(), &sft);
    assert!(is_hermes(&sft));
    assert!(fs::read_to_string(sft.join("README.md")).unwrap().contains("from_pretrained"));
    let shown = trajectory::read(&sft.join("demonstrations.jsonl")).unwrap();
    let scripts: Vec<&str> = calls(&shown)
        .into_iter()
        .filter_map(|(turn, tool)| (tool == Tool::Python).then_some(turn))
        .collect();
    assert!(scripts.len() >= shown.len(), "{scripts:?}");
    assert!(scripts.iter().all(|turn| turn.contains("{\"name\": \"python\", \"arguments\": ")));

    // A run that trains the policy, and one that evaluates a copy of it elsewhere.
    let small = ["--steps", "1", "--tasks-per-step", "2", "--group-size", "2"];
    let arguments = ["train", "--model", sft.as_str(), "--tasks", tasks.as_str()];
    finish(&[&arguments[..], &small, &["--set", "validate_every=0"]].concat(), &train);
    assert!(is_hermes(&train));
    let PolicySource::Folder(checkpoint) = locate(train.as_str()).unwrap() else {
        panic!("a run has checkpoints")
    };
    let copy = dir.join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in checkpoint.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
    }
    assert_eq!(tool_call_format(&copy).unwrap(), Some(ToolCallFormat::Hermes));
    let policy = format!("copy={copy}");
    let arguments =
        ["eval", "--policy", &policy, "--scripted", "--tasks", tasks.as_str(), "--attempts", "1"];
    finish(&arguments, &eval);
    assert!(is_hermes(&eval));
    let played = trajectory::read(&eval.join("episodes/copy.jsonl")).unwrap();
    let tools: Vec<Tool> = calls(&played).into_iter().map(|(_, tool)| tool).collect();
    assert!(tools.iter().any(|tool| matches!(tool, Tool::Python | Tool::Answer)), "{tools:?}");
    let scripted = trajectory::read(&eval.join("episodes/scripted/linear.jsonl")).unwrap();
    assert!(calls(&scripted).iter().all(|(_, tool)| *tool != Tool::Malformed), "{scripted:?}");

    // Policies of different formats do not share rules, unless they are told what to write.
    let other = dir.join("other");
    fs::create_dir(&other).unwrap();
    for entry in copy.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), other.join(entry.file_name())).unwrap();
    }
    let path = other.join("tokenizer_config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["response_template"] =
        serde_json::from_str(include_str!("../../src/text/template/response_code.json")).unwrap();
    fs::write(&path, config.to_string()).unwrap();
    let second = format!("other={other}");
    let out = dir.join("both");
    let arguments = ["eval", "--policy", &policy, "--policy", &second, "--tasks", tasks.as_str()];
    assert_eq!(command(&arguments, &out).status().unwrap().code(), Some(1));
    let error = fs::read_to_string(out.with_extension("log")).unwrap();
    assert!(
        error.contains("`copy` writes its tool calls as `hermes` and `other` as `code`"),
        "{error}"
    );
}

#[test]
fn demonstrations_of_another_format_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (tasks, out) = (dir.join("tasks"), dir.join("run"));
    corpus::write(&tasks);
    corpus::demonstrate(&tasks, &out, &python_turn("Try.", "print(1)"));
    let arguments = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--set", HERMES];
    assert_eq!(command(&arguments, &out).status().unwrap().code(), Some(1));
    let error = fs::read_to_string(out.with_extension("log")).unwrap();
    assert!(error.contains("`code`") && error.contains("rules.tool_call_format"), "{error}");
}
