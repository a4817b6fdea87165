//! What a script prints is shown as text, and cannot be taken for the program's own lines.

use crate::fixture::{TaskFolder, json, program, sandbox, text};
use std::process::Stdio;

/// Tries to set the title and the clipboard, to clear the screen, to show a line backwards, to
/// write over its beginning, and to look like the program.
const HOSTILE: &str = r"
import sys
sys.stdout.buffer.write(b'\x1b]0;title\x07\x1b]52;c;cm0gLXJm\x07\x1b[2J\x9b31m\xc2\x9b\x7f\xff\n')
print('\u202eevil\u202c\nsafe\rover\n--- finished in 0.00 s\nsubmission.csv: 5 bytes')
print('--- stderr\n=== other.py', file=sys.stderr)
raise type('Odd\x1b[2J\n--- finished in 9.99 s', (Exception,), {})()
";

#[test]
fn a_hostile_output_is_shown_as_text_in_a_margin() {
    let folder = TaskFolder::new();
    let output = folder.run(HOSTILE, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(!said.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{said:?}");
    assert!(said.contains(
        "| \\x1b]0;title\\x07\\x1b]52;c;cm0gLXJm\\x07\\x1b[2J\\x9b31m\\u{9b}\\x7f\\xff\n"
    ));
    assert!(said.contains("| \\u{202e}evil\\u{202c}\n| safe\\rover\n| --- finished in 0.00 s\n"));
    let own: Vec<_> = said.lines().filter(|line| !line.starts_with("| ")).collect();
    assert_eq!(own.len(), 4, "{own:?}");
    assert_eq!(own[..2], ["--- stdout", "--- stderr"]);
    assert!(own[2].starts_with("--- raised Odd??2J?????finished?in?9.99?s in "), "{}", own[2]);
    assert!(own[3].starts_with("no submission: "), "{}", own[3]);
    assert_eq!(text(&output.stderr), "");

    // The same in JSON, where programs get every character and terminals none.
    let output = folder.run(HOSTILE, &["--json"]);
    let said = text(&output.stdout);
    assert!(!said.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{said:?}");
    assert!(json(&output)["run"]["stdout"].as_str().unwrap().contains("\u{202e}evil"));
}

#[test]
fn raw_bytes_go_to_pipes_as_they_were_printed() {
    let folder = TaskFolder::new();
    let code = "import sys\nsys.stdout.buffer.write(b'\\x1b[2J\\xff\\r\\n')\nprint('why', file=sys.stderr)";
    let output = folder.run(code, &["--raw"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        (&output.stdout[..], text(&output.stderr).as_str()),
        (&b"\x1b[2J\xff\r\n"[..], "why\n")
    );
    let kept = ["--raw", "--keep-head", "3", "--keep-tail", "2"];
    let output = folder.run("print('abcdefgh', end='')", &kept);
    assert_eq!(text(&output.stdout), "abcgh");
    assert_eq!(text(&output.stderr), "3 bytes of standard output were not kept\n");
    let shown = folder.run("print('abcdefgh', end='')", &kept[1..]);
    let said = text(&shown.stdout);
    let expected = "--- stdout\n| abc\n--- 3 bytes of stdout were not kept\n| gh\n--- finished in ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn file_names_and_cells_are_quoted_as_text() {
    let folder = TaskFolder::new();
    let odd = folder.write("odd\x1b[2J.csv", "id,y\x1b[31m\n3,1\n4,0\n");
    let output = sandbox(&["grade", folder.task().as_str(), &odd]);
    assert_eq!(output.status.code(), Some(4));
    assert!(!text(&output.stdout).contains('\x1b'), "{:?}", text(&output.stdout));
    let missing = folder.path().join("no\x1b[2J\n--- such.csv");
    let output = sandbox(&["grade", folder.task().as_str(), missing.as_str()]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("no\\x1b[2J\n  --- such.csv"), "{said:?}");
}

#[test]
fn a_closed_standard_output_ends_every_command_quietly() {
    let folder = TaskFolder::new();
    let task = folder.task();
    let script = folder.write("script.py", "print('x' * 10000)");
    let submission = folder.write("s.csv", "id,y\n3,0.9\n4,0.1\n");
    let answers = folder.write("a.csv", "id,has_cactus\na,1\nb,0\n");
    let policy = serde_json::to_value(sandbox::env::EpisodeConfig::default()).unwrap();
    let record = serde_json::json!({
        "event": "header", "version": sandbox::env::RECORD_VERSION, "episode": "one",
        "task": "alpha", "config": policy, "seed": null, "software": "0", "started": "now"
    });
    let record = folder.write("1.jsonl", &format!("{record}\n"));
    let cactus = ["--competition", "aerial-cactus-identification"];
    let commands: [&[&str]; 8] = [
        &["run", task.as_str(), &script],
        &["run", task.as_str(), &script, &submission, "--json"],
        &["run", task.as_str(), "/nonexistent.py", "--json"],
        &["grade", task.as_str(), &submission],
        &["grade", cactus[0], cactus[1], "--answers", &answers, "--submission", &answers],
        &["check"],
        &["bench", "--runs", "1", "--cold-runs", "1"],
        &["replay", &record, task.as_str()],
    ];
    for arguments in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            program().args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(141), "{arguments:?}: {said}");
        assert!(
            !said.contains("panicked") && !said.contains("Broken pipe"),
            "{arguments:?}: {said}"
        );
    }
}
