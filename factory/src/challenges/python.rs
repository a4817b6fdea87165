//! Runs the Python that challenges record, in tests.

use super::challenge::{Answer, DrawnRow};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Answers to the rows of `b`, whose answers are not shown, given those of `a`.
const DRIVER: &str = "
import json, sys
import pandas as pd
a, b = (pd.DataFrame(rows) for rows in json.load(sys.stdin))
a.columns = b.columns = [*(f'c{n}' for n in range(a.shape[1] - 1)), 'answer']
print(json.dumps(list(answers(a, b.drop(columns='answer'), 'answer'))))
";

/// What recorded code answers to the rows behind the first ones, which are known.
pub(super) fn answers(code: &str, known: usize, rows: &[DrawnRow]) -> Vec<String> {
    let row = |row: &DrawnRow| {
        let truth = match &row.truth {
            Answer::Text(text) => text.clone(),
            Answer::Ids(names) => names.join(" "),
        };
        let cells = ["0"].into_iter().chain(row.cells.iter().map(String::as_str));
        cells.chain([truth.as_str()]).map(|cell| json!(cell)).collect::<Vec<Value>>()
    };
    let tables = [&rows[..known], &rows[known..]];
    let tables = tables.map(|rows| rows.iter().map(row).collect::<Vec<_>>());
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or_else(|_| format!("{root}/.venv/bin/python"));
    let mut child = Command::new(python)
        .args(["-c", &format!("{code}{DRIVER}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!(tables).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
