//! The command line: what it prints and how it ends.

use crate::fixture::{CANARY, SuiteCorpus};
use std::process::{Command, Output};

fn sandbox(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sandbox")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_script_is_run_saved_and_graded() {
    let corpus = SuiteCorpus::new();
    let task = corpus.path().join("alpha");
    let write = |name: &str, code: &str| {
        let path = corpus.path().join(name);
        fs_err::write(&path, code).unwrap();
        path
    };
    let good = write("good.py", "open('submission.csv', 'w').write('id,y\\n3,0.9\\nalpha,0.1\\n')");
    let out = corpus.path().join("saved.csv");
    let answer =
        sandbox(&["run", task.as_str(), good.as_str(), "--json", "--grade", "--out", out.as_str()]);
    assert_eq!(answer.status.code(), Some(0), "{}", text(&answer.stderr));
    let report: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(report["run"]["outcome"], "finished");
    assert_eq!(report["grade"]["score"], 1.0);
    assert_eq!(report["protection"]["seccomp"]["state"], "up");
    assert!(fs_err::read_to_string(&out).unwrap().starts_with("id,y\n"));
    assert!(!text(&answer.stdout).contains(CANARY));

    let graded = sandbox(&["grade", task.as_str(), out.as_str(), "--json"]);
    assert_eq!(graded.status.code(), Some(0), "{}", text(&graded.stderr));
    let grade: serde_json::Value = serde_json::from_slice(&graded.stdout).unwrap();
    assert_eq!((grade["valid"].as_bool(), grade["tier"].as_str()), (Some(true), Some("gold")));

    let bad = write("bad.csv", "id,y\n3,0.9\n");
    let refused = sandbox(&["grade", task.as_str(), bad.as_str()]);
    assert_eq!(refused.status.code(), Some(4), "{}", text(&refused.stdout));

    let slow = write("slow.py", "import time; time.sleep(30)");
    let late = sandbox(&["run", task.as_str(), slow.as_str(), "--time-limit", "300ms"]);
    assert_eq!(late.status.code(), Some(3));
    assert!(text(&late.stdout).contains("timed out"), "{}", text(&late.stdout));
}

#[test]
fn mistakes_are_explained() {
    let corpus = SuiteCorpus::new();
    let task = corpus.path().join("alpha");
    let script = corpus.path().join("script.py");
    fs_err::write(&script, "pass").unwrap();

    let answer = sandbox(&["run", corpus.path().as_str(), script.as_str()]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("the folder that holds `task.json`"));

    let answer = Command::new(env!("CARGO_BIN_EXE_sandbox"))
        .args(["run", task.as_str(), script.as_str()])
        .env("MLE_PYTHON", "/nonexistent/python")
        .output()
        .unwrap();
    assert_eq!(answer.status.code(), Some(1));
    assert!(text(&answer.stderr).contains("make venv"), "{}", text(&answer.stderr));

    // More than any host has.
    let answer = sandbox(&["run", task.as_str(), script.as_str(), "--gpus", "0,4000"]);
    assert_eq!(answer.status.code(), Some(1));
    let said = text(&answer.stderr);
    assert!(said.contains("no fault of the script") && said.contains("is not there"), "{said}");

    let answer = sandbox(&["run", task.as_str(), script.as_str(), "--gpus", "some"]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("`none`, `all`"), "{}", text(&answer.stderr));

    let answer = sandbox(&["run", task.as_str(), script.as_str(), "--time-limit", "10"]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("`250ms`, `90s`"), "{}", text(&answer.stderr));
}

#[test]
fn check_lists_every_layer() {
    let answer = sandbox(&["check"]);
    assert_eq!(answer.status.code(), Some(0), "{}", text(&answer.stderr));
    let lines = text(&answer.stdout);
    assert!(lines.starts_with("tier t1\n") || lines.starts_with("tier t2\n"), "{lines}");
    for layer in jail::isolation::Layer::ALL {
        assert!(lines.lines().any(|line| line.starts_with(layer.name())), "{layer}: {lines}");
    }
    assert!(lines.lines().any(|line| line.starts_with("gpus ")), "{lines}");
    let answer = sandbox(&["check", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    let gpus = &report["gpus"];
    let found = gpus["indices"].as_array().unwrap().len();
    assert!(found > 0 || !gpus["obstacles"].as_array().unwrap().is_empty(), "{report}");
}

/// Runs `sandbox check` as root of a user namespace with a single user, after `preparation`.
fn check_in_a_user_namespace(preparation: &str) -> Output {
    let command = format!("{preparation} exec \"$0\" check");
    Command::new("unshare")
        .args(["-Ur", "sh", "-c", &command, env!("CARGO_BIN_EXE_sandbox")])
        .output()
        .unwrap()
}

#[test]
fn a_host_without_user_namespaces_is_refused_with_the_reason() {
    let answer = check_in_a_user_namespace("echo 0 > /proc/sys/user/max_user_namespaces;");
    assert_eq!(answer.status.code(), Some(5), "{}", text(&answer.stderr));
    let said = text(&answer.stdout);
    assert!(said.contains("user-namespace") && said.contains("max_user_namespaces"), "{said}");
    assert!(said.contains("--allow-tier t3"), "{said}");
    // Root of such a namespace, with no other user to become, is treated like anybody else.
    let answer = check_in_a_user_namespace("");
    let (said, why) = (text(&answer.stdout), text(&answer.stderr));
    assert_eq!(answer.status.code(), Some(0), "{said}{why}");
}
