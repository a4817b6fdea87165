//! One Python process that answers a list of questions.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// The answers of `sandbox/tests/reference/mlebench.py`, in the order of the questions.
pub(crate) fn ask(requests: Vec<Value>) -> Vec<Value> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or(format!("{root}/.venv/bin/python"));
    let mut python = Command::new(python)
        .arg(format!("{root}/sandbox/tests/reference/mlebench.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment that this test compares with");
    let mut stdin = python.stdin.take().unwrap();
    let count = requests.len();
    let writer = std::thread::spawn(move || {
        for request in requests {
            writeln!(stdin, "{request}").unwrap();
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
