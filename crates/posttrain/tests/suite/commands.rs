//! The other commands of the program.

use crate::fixture::{PROGRAM, Place, TOKEN, suite, winning};
use serde_json::Value;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).env("GRADING_TOKEN", TOKEN).output().unwrap()
}

#[test]
fn suite_is_listed_and_never_overwritten() {
    let suite = suite();
    let listed = run(&["tasks", suite.as_str()]);
    let text = String::from_utf8(listed.stdout).unwrap();
    for task in ["arithmetic", "household", "shop", "search"] {
        assert!(text.contains(task), "{text}");
    }
    let listed = run(&["tasks", suite.as_str(), "--json"]);
    let tasks: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(tasks.as_array().unwrap().len(), 6);
    let made = run(&["make", "--out", suite.as_str()]);
    assert_eq!(made.status.code(), Some(1));
    assert!(String::from_utf8(made.stderr).unwrap().contains("exists already"));
}

#[test]
fn submit_prints_the_answer_and_its_exit_code_says_whether_there_is_a_score() {
    let place = Place::new();
    let model = place.model("step-1", &winning(0.5));
    let server = place.serve(&[]);
    server.started();
    let submit = |model: &str, flags: &[&str]| {
        let mut arguments = vec!["submit", model, "--url", server.url.as_str()];
        arguments.extend(flags);
        let output = run(&arguments);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), answer)
    };
    let (code, answer) = submit(&model, &["--wait", "--note", "first"]);
    assert_eq!((code, &answer["score"], &answer["note"]), (0, &0.5.into(), &"first".into()));
    let (code, answer) = submit("output/none", &[]);
    assert_eq!((code, &answer["code"]), (3, &"missing".into()));
    let without =
        Command::new(PROGRAM).args(["submit", &model]).env_remove("GRADING_TOKEN").output();
    assert_eq!(without.unwrap().status.code(), Some(2));
}

#[test]
fn folder_without_a_ledger_is_not_audited() {
    let place = Place::new();
    let output = run(&["audit", place.path("output").as_str()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("has no ledger.jsonl"));
}
