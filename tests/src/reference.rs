//! The Python programs beside this file, which other tests ask what is right.

use serde_json::Value;
use std::fmt::Display;
use std::io::Write;
use std::process::{Command, Stdio};

/// Starts `program`, a path from the project's root, writes it one question per line and
/// returns what it answers, line by line.
pub fn ask<Q: Display + Send + 'static>(program: &str, questions: Vec<Q>) -> Vec<Value> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or(format!("{root}/.venv/bin/python"));
    let mut python = Command::new(python)
        .arg(format!("{root}/{program}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv-test` sets up the Python environment that this test compares with");
    let mut stdin = python.stdin.take().unwrap();
    let count = questions.len();
    // Beside reading, or both sides would wait for the other once the pipes are full.
    let writer = std::thread::spawn(move || {
        for question in questions {
            writeln!(stdin, "{question}").unwrap();
        }
    });
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), count);
    answers
}
