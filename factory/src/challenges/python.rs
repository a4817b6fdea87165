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

/// Answers to the positions of the rows of `b`, by their ids.
const ALONG: &str = "
import sys
import pandas as pd
print(json.dumps(answers(pd.DataFrame(json.load(sys.stdin)))))
";

/// What recorded code answers to the rows behind the first ones, which are known.
pub(super) fn answers(code: &str, known: usize, rows: &[DrawnRow]) -> Vec<String> {
    let row = |row: &DrawnRow| {
        let truth = match &row.truth {
            Answer::Text(text) => text.clone(),
            Answer::Ids(names) => names.join(" "),
            Answer::Each(_) => String::new(),
        };
        let cells = ["0"].into_iter().chain(row.cells.iter().map(String::as_str));
        cells.chain([truth.as_str()]).map(|cell| json!(cell)).collect::<Vec<Value>>()
    };
    let tables = [&rows[..known], &rows[known..]];
    let tables = tables.map(|rows| rows.iter().map(row).collect::<Vec<_>>());
    serde_json::from_value(run(code, DRIVER, &json!(tables))).unwrap()
}

/// What recorded code answers to the positions of sequences, which are named by their places; an
/// answer has one entry per target.
pub(super) fn along(code: &str, rows: &[DrawnRow]) -> Value {
    let row = |(place, row): (usize, &DrawnRow)| {
        let name = place.to_string();
        let cells = std::iter::once(name.as_str()).chain(row.cells.iter().map(String::as_str));
        cells.map(|cell| json!(cell)).collect::<Vec<Value>>()
    };
    let table: Vec<Vec<Value>> = rows.iter().enumerate().map(row).collect();
    run(code, ALONG, &json!(table))
}

/// What code and a driver print, given some input.
fn run(code: &str, driver: &str, input: &Value) -> Value {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or_else(|_| format!("{root}/.venv/bin/python"));
    let mut child = Command::new(python)
        .args(["-c", &format!("{code}{driver}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
