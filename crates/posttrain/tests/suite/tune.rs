//! `posttrain tune` on a user's files, with a trainer and a grader that answer as `rl` does.

use crate::fixture::{self, PROGRAM};
use crate::ft_fixture::trainer_command;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use support::folders::TemporaryFolder;

const SCORER: &str = "
import json, sys

for line in sys.stdin:
    item = json.loads(line)
    score = float(item['prediction'].split()[-1:] == [item['truth']])
    print(json.dumps({'id': item['id'], 'score': score, 'tags': [] if score else ['wrong']}))
";

/// A user's files, and a base.
struct Desk(TemporaryFolder);

impl Desk {
    fn new() -> Self {
        let desk = Self(TemporaryFolder::new());
        fs::create_dir_all(desk.path("data/notes")).unwrap();
        fs::create_dir_all(desk.path("control")).unwrap();
        fs::write(desk.path("objective.md"), "Say the word that was asked for.\n").unwrap();
        fs::write(desk.path("scorer.py"), SCORER).unwrap();
        let mut items: Vec<Value> = (0..40)
            .map(|number| json!({"prompt": format!("What is word {number}?"), "truth": format!("w{number}")}))
            .collect();
        for item in &mut items[..3] {
            item["answer"] = format!("I looked it up: {}", item["truth"].as_str().unwrap()).into();
        }
        write_lines(&desk.path("data/items.jsonl"), &items);
        let rows: Vec<Value> = (100..400)
            .map(|number| json!({"question": format!("Which is word {number}?"), "answer": format!("I looked it up: w{number}")}))
            .collect();
        write_lines(&desk.path("data/notes/rows.jsonl"), &rows);
        let mut config = fixture::config();
        config["max_position_embeddings"] = 512.into();
        fixture::save(&desk.path("base"), &fixture::base_weights(), &config);
        desk
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["tune", "--loops", "2", "--device", "cpu"]);
        for (flag, name) in [
            ("--objective", "objective.md"),
            ("--scorer", "scorer.py"),
            ("--data", "data"),
            ("--base", "base"),
            ("--out", "run"),
        ] {
            command.args([flag, self.path(name).as_str()]);
        }
        command.args(flags).arg("--").args(trainer_command(&self.path("control")));
        command
    }

    fn tune(&self, flags: &[&str]) -> Output {
        self.command(flags).output().unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("control/log")).unwrap_or_default()
    }
}

fn write_lines(path: &Utf8Path, rows: &[Value]) {
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn two_files_and_a_folder_become_a_better_model_and_the_same_command_tells_it_again() {
    let desk = Desk::new();
    let first = desk.tune(&[]);
    let (out, err) = texts(&first);
    assert!(first.status.success(), "{out}{err}");
    assert!(out.contains("1  from nothing: ") && out.contains("accepted"), "{out}");
    let result: Value =
        serde_json::from_slice(&fs::read(desk.path("run/result.json")).unwrap()).unwrap();
    assert!(result["test"][1].as_f64().unwrap() > result["test"][0].as_f64().unwrap(), "{result}");
    assert_eq!(result["contains"], json!([]));
    let model = Utf8Path::new(result["model"].as_str().unwrap());
    assert!(model.join("model.safetensors").is_file(), "{model}");
    // Samples are in the form that the scorer asks for.
    let data = fs::read_to_string(desk.path("run/agent/experiments/001/data.json")).unwrap();
    let samples: Vec<Value> = serde_json::from_str(&data).unwrap();
    assert!(samples.iter().all(|it| it["system"] == "Say the word that was asked for."));
    assert_eq!(samples.len(), 300);

    // Told again without any more work.
    let log = desk.log();
    let again = desk.tune(&[]);
    let (told, err) = texts(&again);
    assert!(again.status.success(), "{err}");
    assert!(out.ends_with(&told), "{out}\n{told}");
    assert_eq!(desk.log(), log);
    let other = desk.tune(&["--seed", "0", "--budget", "1h"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(texts(&other).1.contains("is over, and had other flags"), "{}", texts(&other).1);
    let other = desk.tune(&["--eval-items", "5"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(texts(&other).1.contains("name another --out"), "{}", texts(&other).1);
}

#[test]
fn score_that_the_scorer_makes_of_all_items_decides_and_has_no_interval() {
    let desk = Desk::new();
    let aggregate = |body: &str| {
        let scorer = format!("{SCORER}\ndef aggregate(items):\n    return {body}\n");
        fs::write(desk.path("scorer.py"), scorer).unwrap();
    };
    aggregate("items[0]['label']");
    let refused = desk.tune(&[]);
    let (_, said) = texts(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("the `aggregate` of the scorer of task failed: KeyError"), "{said}");
    assert!(!desk.log().contains("train "), "{}", desk.log());

    fs::remove_dir_all(desk.path("run")).unwrap();
    aggregate("(sum(item['score'] for item in items) / len(items)) ** 2");
    let output = desk.tune(&[]);
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("test  base") && !out.contains("items in pairs"), "{out}");
    let result: Value =
        serde_json::from_slice(&fs::read(desk.path("run/result.json")).unwrap()).unwrap();
    assert_eq!(result["interval"], Value::Null);
    let is_square = |score: &Value| {
        // Of 18 items.
        let root = score.as_f64().unwrap().sqrt() * 18.0;
        (root - root.round()).abs() < 1e-9
    };
    assert!(result["test"].as_array().unwrap().iter().all(is_square), "{result}");
    assert!(result["test"][1].as_f64().unwrap() > result["test"][0].as_f64().unwrap(), "{result}");
}

#[test]
fn interrupted_run_goes_on_and_pays_for_nothing_twice() {
    let desk = Desk::new();
    let mut child = desk.command(&[]).spawn().unwrap();
    let began = Instant::now();
    // The first full training has begun: the mini-run is the training before it.
    while desk.log().matches("train ").count() < 2 {
        assert!(began.elapsed() < Duration::from_mins(2), "{}", desk.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    let is_done = desk.path("run/result.json").is_file();
    assert!(code == Some(5) || is_done, "{code:?}");
    let trained = desk.log();
    let after = desk.tune(&[]);
    let (out, err) = texts(&after);
    assert!(after.status.success(), "{out}{err}");
    assert!(desk.log().starts_with(&trained));
    // The training that was under way is gone on with, and no other one.
    let log = desk.log();
    let full = log.lines().filter(|it| it.starts_with("train ") && !it.contains("/mini"));
    let full: Vec<&str> = full.collect();
    assert!(full.len() <= 3, "{log}");
    assert_eq!(full.iter().collect::<BTreeSet<_>>().len(), 2, "{log}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let desk = Desk::new();
    let refused = |expected: &str| {
        let output = desk.tune(&[]);
        let (_, said) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
    };
    fs::write(desk.path("data/rows.csv"), "question,answer\n").unwrap();
    refused("put it into one, such as");
    fs::remove_file(desk.path("data/rows.csv")).unwrap();
    let items = fs::read_to_string(desk.path("data/items.jsonl")).unwrap();
    fs::write(desk.path("data/items.jsonl"), format!("{items}{{\"prompt\": 1}}\n")).unwrap();
    refused("line 41 is no item");
    fs::write(desk.path("data/items.jsonl"), items.replace("\"answer\"", "\"system\"")).unwrap();
    refused("no item has an `answer`");
    fs::remove_file(desk.path("data/items.jsonl")).unwrap();
    refused("items.jsonl");
    fs::write(desk.path("data/items.jsonl"), &items).unwrap();
    fs::rename(desk.path("data/notes"), desk.path("notes")).unwrap();
    refused("no folder with raw data");
    fs::remove_dir_all(desk.path("run")).unwrap();
    fs::rename(desk.path("notes"), desk.path("data/notes")).unwrap();
    let output = desk.tune(&["--max-model-len", "1024"]);
    assert!(texts(&output).1.contains("the base reads 512"), "{}", texts(&output).1);
    let output = desk.tune(&["--max-tokens", "512"]);
    assert!(
        texts(&output).1.contains("--max-tokens must be from 1 to 511"),
        "{}",
        texts(&output).1
    );
}

#[test]
fn scorer_that_disagrees_with_the_examples_is_found_before_anything_is_trained() {
    let desk = Desk::new();
    fs::write(desk.path("scorer.py"), SCORER.replace("== [item", "!= [item")).unwrap();
    let output = desk.tune(&[]);
    let (_, said) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the example `task-train-00000`, which is to earn 1"), "{said}");
    assert!(!desk.log().contains("train "), "{}", desk.log());
}
