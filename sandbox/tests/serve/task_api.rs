//! Which tasks there are, and which are drawn.

use crate::fixture::{SandboxServer, ServedCorpus};
use serde_json::{Value, json};

/// A corpus whose task `beta` is held out.
fn corpus() -> ServedCorpus {
    let corpus = ServedCorpus::new();
    corpus.hold_out("beta");
    corpus
}

#[test]
fn tasks_are_listed_by_split() {
    let corpus = corpus();
    let server = SandboxServer::start(&corpus, &[]);
    assert_eq!(server.page("/list_environments"), (200, "[\"sandbox\"]".to_owned()));
    let splits: Value = serde_json::from_str(&server.page("/Sandbox/splits").1).unwrap();
    let expected =
        json!([{"name": "train", "type": "train"}, {"name": "val", "type": "validation"}]);
    assert_eq!(splits, expected);
    let ask = |what: &str, body: Value| {
        let (status, _, answer) = server.post(&format!("/sandbox/{what}"), &[], &body);
        assert_eq!(status, 200, "{answer}");
        answer
    };
    let train = json!([
        {"task": "alpha", "split": "train", "index": 0},
        {"task": "gamma", "split": "train", "index": 1},
    ]);
    let listed = json!({"tasks": train, "env_name": "sandbox"});
    assert_eq!(ask("tasks", json!({"split": "train"})), listed);
    assert_eq!(ask("num_tasks", json!({"split": "validation"})), json!({"num_tasks": 1}));
    let task = json!({
        "task": "gamma", "split": "train", "index": 1, "description": "# gamma\nodd or even?\n",
    });
    assert_eq!(ask("task", json!({"split": "train", "index": 1})), json!({"task": task}));
    let range = ask("task_range", json!({"split": "train", "start": -1}));
    assert_eq!(range, json!({"tasks": [task]}));
    let all = ask("task_range", json!({"split": "train"}));
    assert_eq!(all["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn requests_for_what_is_not_there_say_so() {
    let corpus = corpus();
    let server = SandboxServer::start(&corpus, &[]);
    for (path, body, status, words) in [
        ("/other/tasks", json!({"split": "train"}), 404, "there is no environment `other`"),
        ("/sandbox/tasks", json!({"split": "test"}), 400, "there is no split `test`"),
        ("/sandbox/tasks", json!({}), 422, "missing field `split`"),
        ("/sandbox/task", json!({"split": "val", "index": 1}), 400, "there are 1"),
        ("/sandbox/task", json!({"split": "val", "index": -1}), 400, "counted from 0"),
    ] {
        let (found, _, answer) = server.post(path, &[], &body);
        assert_eq!(found, status, "{path} {answer}");
        assert!(answer["detail"].as_str().unwrap().contains(words), "{answer}");
    }
    assert_eq!(server.page("/other/splits").0, 404);
}

#[test]
fn held_out_tasks_are_served_only_to_who_asks_for_them() {
    let corpus = corpus();
    let server = SandboxServer::start(&corpus, &[]);
    let said = server.play("draws", &[]);
    assert_eq!(said["drawn"], json!(["alpha", "gamma"]));
    assert_eq!(said["named"], "beta");
    assert_eq!(said["of split"], json!(["beta", "beta", "beta"]));
    assert_eq!(said["row"], json!(["gamma", ["description", "index"], "train"]));
    for (name, words) in [
        ("wrong split", "the task `beta` is of the split `val`, not `train`"),
        ("no split", "there are `train` and `val`"),
        ("no index", "there are 2, counted from 0"),
    ] {
        assert!(said[name].as_str().unwrap().contains(words), "{said}");
    }
    for (draw, expected) in [("val", json!(["beta"])), ("all", json!(["alpha", "beta", "gamma"]))] {
        let server = SandboxServer::start(&corpus, &["--draw", draw]);
        assert_eq!(server.play("draws", &[])["drawn"], expected);
    }
}

#[test]
fn a_corpus_without_training_tasks_is_served_by_name() {
    let corpus = ServedCorpus::new();
    for task in ["alpha", "beta", "gamma"] {
        corpus.hold_out(task);
    }
    let server = SandboxServer::start(&corpus, &[]);
    let said = server.play("draws", &[]);
    assert!(said["drawn"].as_str().unwrap().contains("serve with another `--draw`"), "{said}");
    assert_eq!(said["named"], "beta");
}
