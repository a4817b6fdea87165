//! What is loaded before a script begins, and a Python that cannot be loaded at all.

use crate::fixture::{TaskFolder, json, program, text};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn only_what_a_script_imports_is_there_when_it_begins() {
    let folder = TaskFolder::new();
    let look =
        "import sys; print(sorted({'numpy', 'pandas', 'scipy', 'sklearn'} & set(sys.modules)))";
    for (more, found) in [
        ("", "[]\n"),
        ("\nimport numpy", "['numpy']\n"),
        ("\nfrom pandas import DataFrame", "['numpy', 'pandas']\n"),
        ("\nimport lightgbm", "['numpy', 'pandas', 'scipy', 'sklearn']\n"),
    ] {
        let output = folder.run(&format!("{look}{more}"), &["--json"]);
        let report = json(&output);
        assert!(report["run"]["stdout"].as_str().unwrap().starts_with(found), "{more}: {report}");
    }
}

#[test]
fn a_python_that_the_box_covers_is_refused_with_the_folder() {
    let folder = TaskFolder::new();
    let base = tempfile::tempdir_in("/tmp").unwrap();
    let base = camino::Utf8Path::from_path(base.path()).unwrap();
    fs_err::create_dir_all(base.join("lib")).unwrap();
    // Says of itself what a Python that was installed there would say.
    let python = base.join("python");
    let answer = format!(
        "{{\"version\": [3, 12, 1], \"prefix\": \"{base}\", \"base\": \"{base}\", \"missing\": []}}"
    );
    fs_err::write(&python, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
    fs_err::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = folder.write("script.py", "pass");
    let output = program()
        .args(["run", folder.task().as_str(), &script, "--json"])
        .env("MLE_PYTHON", &python)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let fault = &json(&output)["fault"];
    assert_eq!(fault["kind"], "python");
    let message = fault["message"].as_str().unwrap();
    assert!(message.contains("`/tmp` of their own") && message.contains("/opt"), "{message}");
}
