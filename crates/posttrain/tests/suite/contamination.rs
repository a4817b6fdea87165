//! Sealed items in texts: found by the command, by a run and in its report.

use crate::fixture::{PROGRAM, suite};
use crate::reports::report;
use crate::running::Runs;
use fs_err as fs;
use serde_json::{Value, json};
use std::process::Command;
use support::folders::TemporaryFolder;
use tasks::task::TaskId;
use worlds::Suite;

/// A test item of `household`, what betrays it, and the public half of its task.
fn sealed_item() -> (TaskId, String, String) {
    let task = Suite::open(&suite()).unwrap().task("household").unwrap();
    let test = task.sealed().unwrap().test().unwrap();
    let item = test.items()[3].clone();
    let evidence = test.evidence(&item).unwrap();
    let public = fs::read_to_string(task.public().join("train.jsonl")).unwrap();
    (item, evidence, public)
}

/// Searches a path by the command: the exit code and what it said.
fn scan(paths: &[&str], flags: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.arg("scan").arg(suite()).args(paths).args(flags).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn sealed_items_are_found_by_file_and_line_and_public_ones_are_none() {
    let (item, evidence, public) = sealed_item();
    let folder = TemporaryFolder::new();
    let (clean, pasted) = (folder.path().join("clean.jsonl"), folder.path().join("data"));
    fs::write(&clean, &public).unwrap();
    for task in Suite::open(&suite()).unwrap().tasks() {
        let train = suite().join(task.id.as_str()).join("public/train.jsonl");
        let (code, said) = scan(&[train.as_str()], &[]);
        assert_eq!(code, Some(0), "{said}");
    }

    fs::create_dir(&pasted).unwrap();
    let text = format!("{{\"a\": 1}}\n{{\"b\": \"so: {}\"}}\n", evidence.to_uppercase());
    fs::write(pasted.join("made.jsonl"), text).unwrap();
    // Neither what is no text nor what a link leads to is read.
    fs::write(pasted.join("weights"), [evidence.as_bytes(), b"\0"].concat()).unwrap();
    std::os::unix::fs::symlink(pasted.join("made.jsonl"), pasted.join("link")).unwrap();
    let (code, said) = scan(&[clean.as_str(), pasted.as_str()], &[]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains(&format!("made.jsonl:2: has the sealed item `{item}`")), "{said}");
    assert!(said.ends_with("1 sealed items in 2 files\n"), "{said}");

    // Lines of a text are none in JSON.
    let escaped = folder.path().join("escaped.jsonl");
    fs::write(&escaped, json!({ "a": evidence.replace(' ', "\n") }).to_string()).unwrap();
    assert_eq!(scan(&[escaped.as_str()], &[]).0, Some(4));

    let (code, said) = scan(&[pasted.as_str()], &["--task", "arithmetic"]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = scan(&["/nowhere"], &[]);
    assert!(code == Some(2) && said.contains("there is no `/nowhere`"), "{said}");
}

#[test]
fn run_whose_agent_has_a_sealed_item_is_not_clean() {
    let (item, evidence, _) = sealed_item();
    let runs = Runs::new();
    let script = "
from common import hint, model, submit
open('notes.txt', 'w').write('first\\n' + hint('text'))
print(submit(model('step-1', 0.5)))
";
    let agent = runs.python(script, &json!({ "text": evidence }));
    let output = runs.run(agent.as_str(), &[]);
    assert_eq!(output.status.code(), Some(4), "{output:?}\n{}", runs.log());
    let result = runs.read("result.json");
    let expected = json!([{"file": "code/notes.txt", "line": 2, "item": item}]);
    assert_eq!(result["contamination"]["found"], expected, "{}", runs.log());
    assert_eq!(result["findings"], json!([]));
    let report = report(&runs, &[]);
    let compliance = &report["runs"][0]["compliance"];
    assert_eq!(compliance["clean"], Value::Bool(false));
    assert!(compliance["findings"][0].as_str().unwrap().contains("code/notes.txt:2"));
}
