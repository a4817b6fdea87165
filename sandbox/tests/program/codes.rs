//! Each exit code, and the object that goes with a failure. Code 5 is the subject of
//! `a_host_without_user_namespaces_is_refused_with_the_reason`, 6 of the tests of the server, 130
//! and 143 of [`crate::interrupt`], 141 of [`crate::output`].

use crate::fixture::{TaskFolder, json, program, sandbox, text};

#[test]
fn scripts_and_submissions_have_their_codes() {
    let folder = TaskFolder::new();
    let submit = |text: &str| format!("open('submission.csv', 'w').write({text:?})");
    for (code, arguments, expected) in [
        ("pass".to_owned(), &[][..], 0),
        (submit("id,y\n3,0.9\n4,0.1\n"), &["--grade"], 0),
        (submit("id,y\n3,0.9\n"), &["--grade"], 4),
        ("pass".to_owned(), &["--grade"], 4),
        ("pass".to_owned(), &["--out", "saved.csv"], 4),
        ("1 / 0".to_owned(), &[], 3),
        ("import time; time.sleep(30)".to_owned(), &["--time-limit", "300ms"], 3),
    ] {
        let output = folder.run(&code, arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{code} {arguments:?}: {said}");
    }
}

#[test]
fn usage_errors_and_faults_have_different_codes() {
    let folder = TaskFolder::new();
    let task = folder.task();
    let task = task.as_str();
    let script = folder.write("script.py", "pass");
    let binary = folder.path().join("binary.py").into_string();
    fs_err::write(&binary, b"\xff\xfe").unwrap();
    let nowhere = folder.path().join("nowhere").into_string();
    for (arguments, words) in [
        (&["run", &nowhere, &script][..], "is no task"),
        (&["run", task, &nowhere], "failed to read the script"),
        (&["run", task, &binary], "failed to read the script"),
        (&["run", task, &script, &script, "--out", "x.csv"], "`--out-dir`"),
        (&["run", task, &script, "--out", &format!("{nowhere}/x.csv")], "there is no folder"),
        (&["run", task, &script, "--policy", &nowhere], "failed to read the policy"),
        (&["grade", task, &nowhere], "failed to read the submission"),
        (&["grade", &nowhere, &script], "is no task"),
    ] {
        let output = sandbox(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        let fault = &json(&output)["fault"];
        assert_eq!(fault["kind"], "usage", "{arguments:?}");
        assert!(fault["message"].as_str().unwrap().contains(words), "{fault}");
        assert!(text(&output.stderr).contains(words));
    }
    for arguments in [&["replay", &nowhere, task][..], &["replay", &script, task]] {
        assert_eq!(sandbox(arguments).status.code(), Some(2), "{arguments:?}");
    }
    for arguments in [
        &["run", task][..],
        &["run", task, &script, "--time-limit", "0s"],
        &["run", task, &script, "--jobs", "0"],
        &["run", task, &script, "--raw", "--json"],
        &["serve", task, "--step-limit", "0s"],
    ] {
        assert_eq!(sandbox(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let output = sandbox(&["run", task, &script, "--time-limit", "0s"]);
    let said = text(&output.stderr);
    assert!(said.contains("'0s' for '--time-limit <TIME>': it must be 1ms to 24h"), "{said}");
}

#[test]
fn faults_have_a_kind_and_a_hint() {
    let folder = TaskFolder::new();
    let script = folder.write("script.py", "pass");
    let task = folder.task();
    let arguments = ["run", task.as_str(), &script, "--json"];
    let of = |output: &std::process::Output| {
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let fault = json(output)["fault"].clone();
        assert!(text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
        (fault["kind"].as_str().unwrap().to_owned(), fault["hint"].as_str().unwrap().to_owned())
    };
    let (kind, hint) =
        of(&program().args(arguments).env("MLE_PYTHON", "/nonexistent").output().unwrap());
    assert!(kind == "python" && hint.contains("make venv"), "{kind}: {hint}");
    let (kind, hint) = of(&sandbox(&[&arguments[..], &["--gpus", "4000"]].concat()));
    assert!(kind == "gpus" && hint.contains("sandbox check"), "{kind}: {hint}");
    let empty = folder.path().join("bin");
    fs_err::create_dir(&empty).unwrap();
    fs_err::copy(env!("CARGO_BIN_EXE_sandbox"), empty.join("sandbox")).unwrap();
    let alone = std::process::Command::new(empty.join("sandbox"))
        .args(arguments)
        .env("MLE_PYTHON", jail::python::PythonEnv::locate().unwrap().interpreter())
        .output();
    let (kind, hint) = of(&alone.unwrap());
    assert!(kind == "program" && hint.contains("cargo build"), "{kind}: {hint}");
    // The answers are gone: a fault of the task, found when there is something to grade.
    fs_err::remove_file(task.join("prepared/private/answer.csv")).unwrap();
    let output = folder.run("open('submission.csv', 'w').write('id,y\\n')", &["--json", "--grade"]);
    assert_eq!(of(&output).0, "task");
    assert_eq!(json(&output)["run"]["outcome"], "finished", "what was run is told all the same");
    fs_err::write(task.join("task.json"), "{").unwrap();
    assert_eq!(of(&sandbox(&arguments)).0, "task");
}
