//! `posttrain report` on runs of every kind.

use crate::fixture::{PROGRAM, until};
use crate::running::{Runs, marker, processes_with};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Command, Output};

fn command(runs: &Runs, flags: &[&str]) -> Output {
    Command::new(PROGRAM).args(["report", runs.out().as_str()]).args(flags).output().unwrap()
}

/// The report of a run as JSON.
pub(crate) fn report(runs: &Runs, flags: &[&str]) -> Value {
    let output = command(runs, &[flags, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn run_without_a_submission_says_why_it_has_no_score() {
    let runs = Runs::new();
    runs.result("scripted/noop", &[]);
    let report = report(&runs, &[]);
    let run = &report["runs"][0];
    assert_eq!(run["metrics"]["state"], "finished");
    assert_eq!(run["metrics"]["failure"]["failure"], "unknown");
    assert_eq!((&run["metrics"]["route"], &run["iterations"]), (&json!("none"), &json!([])));
    assert_eq!(run["metrics"]["clean"], true);
    let crashed = Runs::new();
    let agent = crashed.python("raise KeyError('prompt')\n", &json!({}));
    crashed.result(agent.as_str(), &[]);
    let failure = &self::report(&crashed, &[])["runs"][0]["metrics"]["failure"];
    assert_eq!(failure["failure"], "code_error");
    assert!(failure["because"].as_str().unwrap().contains("KeyError: 'prompt'"), "{failure}");
}

#[test]
fn refused_and_copied_submissions_are_named() {
    let broken = Runs::new();
    broken.result("scripted/broken", &[]);
    let run = &report(&broken, &[])["runs"][0];
    let classes: Vec<&Value> = run["iterations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["failure"]["failure"])
        .collect();
    assert_eq!(classes, [&json!("not_evaluable"); 4]);
    assert_eq!(run["metrics"]["failure"]["failure"], "not_evaluable");
    let copy = Runs::new();
    copy.result("scripted/copy", &[]);
    let run = &report(&copy, &[])["runs"][0];
    assert_eq!(run["metrics"]["route"], "copy");
    assert_eq!(run["iterations"][0]["failure"]["failure"], "copy_fallback");
    let output = command(&copy, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("finished") && text.contains("copy"), "{text}");
}

#[test]
fn run_that_goes_on_and_one_that_was_interrupted_are_reported_and_left_alone() {
    let (runs, marker) = (Runs::new(), marker());
    let script = format!(
        "import subprocess\n\
         from common import model, submit\n\
         print(submit(model('step-1', 0.5)))\n\
         subprocess.run(['sleep', '{marker}'])\n"
    );
    let agent = runs.python(&script, &json!({}));
    let mut child = runs.start(agent.as_str(), &[]);
    until("the agent", || processes_with(&marker) == 1);
    let going = report(&runs, &[]);
    assert_eq!(going["runs"][0]["metrics"]["state"], "unfinished");
    assert_eq!(going["runs"][0]["iterations"][0]["score"], 0.5);
    assert_eq!(going["runs"][0]["compliance"]["isolation"], "asked for t2");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let before = fs::read(runs.out().join("sealed/ledger.jsonl")).unwrap();
    let stopped = report(&runs, &[]);
    assert_eq!(stopped["runs"][0]["metrics"]["state"], "interrupted");
    assert_eq!(stopped["groups"][0]["finished"], 0);
    assert_eq!(fs::read(runs.out().join("sealed/ledger.jsonl")).unwrap(), before);
}

#[test]
fn changed_ledger_and_forbidden_words_are_not_clean() {
    let runs = Runs::new();
    let agent = runs.python(
        "from common import model, submit\n\
         open('train.py', 'w').write('# oracle\\nplan = expert_plan(item)\\n')\n\
         submit(model('step-1', 0.5))\n",
        &json!({}),
    );
    runs.result(agent.as_str(), &[]);
    let compliance = &report(&runs, &[])["runs"][0]["compliance"];
    assert_eq!(compliance["clean"], false);
    assert_eq!(compliance["findings"], json!(["train.py:2: the code has `expert_plan`"]));
    let path = runs.out().join("sealed/ledger.jsonl");
    let text = fs::read_to_string(&path).unwrap().replacen("0.5", "0.9", 1);
    fs::write(&path, text).unwrap();
    let run = &report(&runs, &[])["runs"][0];
    assert_eq!(run["metrics"]["state"], "untrusted", "nothing is read from it");
    assert!(run["compliance"]["findings"][0].as_str().unwrap().contains("ledger.jsonl"), "{run}");
}

#[test]
fn several_runs_are_reported_together_and_a_folder_without_one_is_refused() {
    let runs = Runs::new();
    let all = runs.place.path("all");
    for (name, seed) in [("one", "1"), ("two", "2")] {
        runs.result("scripted/copy", &["--seed", seed]);
        fs::create_dir_all(&all).unwrap();
        fs::rename(runs.out(), all.join(name)).unwrap();
    }
    let output = Command::new(PROGRAM).args(["report", all.as_str()]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let read = |name: &str| fs::read_to_string(all.join("report").join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(report["groups"][0]["runs"], json!(["one", "two"]));
    assert_eq!(report["groups"][0]["interval"], json!([0.0, 0.0]));
    let csv = read("results.csv");
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.starts_with("run_id,timestamp,task,agent,driver_model,base_model,baseline,"));
    let page = read("index.html");
    assert!(!page.contains("anecdote"), "two seeds");
    for refused in ["http:", "https:", "src=", "href=", "<script"] {
        assert!(!page.contains(refused), "{refused}");
    }
    let none = Command::new(PROGRAM).args(["report", runs.place.path("base").as_str()]).output();
    let none = none.unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8(none.stderr).unwrap().contains("no run.toml"));
}
