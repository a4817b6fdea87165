//! Many scripts in one start.

use crate::fixture::{TaskFolder, json, program, sandbox, text};
use serde_json::Value;
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn results_come_in_the_order_of_the_arguments_and_the_worst_code_counts() {
    let folder = TaskFolder::new();
    let task = folder.task();
    let submit = |wait: f64, rows: &str| {
        format!(
            "import os, time; time.sleep({wait}); print(os.listdir('.'))\n\
             open('submission.csv', 'w').write({rows:?})"
        )
    };
    let slow = folder.write("slow.py", &submit(1.5, "id,y\n3,0.9\n4,0.1\n"));
    let quick = folder.write("quick.py", &submit(0.0, "id,y\n3,0.9\n"));
    let none = folder.write("none.py", "pass");
    let saved = folder.path().join("saved/here");
    let arguments =
        ["run", task.as_str(), &slow, &quick, &none, "--json", "--grade", "--jobs", "2"];
    let output = sandbox(&[&arguments[..], &["--out-dir", saved.as_str()]].concat());
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = lines.iter().map(|line| line["script"].as_str().unwrap()).collect();
    assert_eq!(names, [&slow, &quick, &none]);
    assert_eq!(lines[0]["grade"]["score"], 1.0);
    assert_eq!(lines[1]["grade"]["valid"], false);
    assert_eq!(lines[2]["grade"], Value::Null);
    // Each had a work dir of its own.
    assert_eq!(lines[0]["run"]["stdout"], "['input']\n");
    assert_eq!(lines[1]["run"]["stdout"], "['input']\n");
    let mut files: Vec<_> =
        saved.read_dir_utf8().unwrap().map(|file| file.unwrap().file_name().to_owned()).collect();
    files.sort();
    assert_eq!(files, ["quick.csv", "slow.csv"]);

    let raises = folder.write("raises.py", "1 / 0");
    let output = sandbox(&["run", task.as_str(), &raises, &none]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    let heads: Vec<_> = said.lines().filter(|line| line.starts_with("=== ")).collect();
    assert_eq!(heads, [format!("=== {raises}"), format!("=== {none}")]);
}

#[test]
fn a_script_may_come_from_standard_input() {
    let folder = TaskFolder::new();
    let mut child = program()
        .args(["run", folder.task().as_str(), "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"print(6 * 7)").unwrap();
    let output = child.wait_with_output().unwrap();
    let report = json(&output);
    assert_eq!(
        (report["script"].as_str(), report["run"]["stdout"].as_str()),
        (Some("-"), Some("42\n"))
    );
    let twice = sandbox(&["run", folder.task().as_str(), "-", "-"]);
    assert_eq!(twice.status.code(), Some(2));
}

#[test]
fn submissions_that_would_overwrite_each_other_are_refused() {
    let folder = TaskFolder::new();
    let (one, two) = (folder.write("a/solve.py", "pass"), folder.write("b/solve.py", "pass"));
    let saved = folder.path().join("saved");
    let output = sandbox(&["run", folder.task().as_str(), &one, &two, "--out-dir", saved.as_str()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("saved/solve.csv"), "{}", text(&output.stderr));
}
