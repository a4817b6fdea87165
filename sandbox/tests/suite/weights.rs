//! Pretrained weights beside the public files.

use crate::fixture::{SandboxFixture, SuiteCorpus, assert_finished, policy, quick, script};
use crate::tiers::is_open_to_others;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::{Mode, Sandbox, SandboxOptions, StartError};
use jail::isolation::IsolationLevel;
use jail::python::PythonEnv;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

/// A folder with weights that every user may read.
fn weights() -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().to_owned();
    fs::create_dir(path.join("net")).unwrap();
    fs::write(path.join("net/model.bin"), "weights").unwrap();
    (folder, path)
}

fn scripts_read_weights_and_change_none(tier: IsolationLevel) {
    let (_folder, path) = weights();
    let place = SandboxFixture::with(SandboxOptions {
        weights: Some(path.clone()),
        best_tier: tier,
        allow_tier: tier,
        ..quick()
    });
    let read = script(
        "
        import os
        assert sorted(os.listdir()) == ['input', 'models'], os.listdir()
        assert open('models/net/model.bin').read() == 'weights'
        for attempt in (
            lambda: open('models/net/model.bin', 'a'),
            lambda: open('models/mine', 'w'),
            lambda: os.remove('models/net/model.bin'),
            lambda: os.rename('models/net', 'models/other'),
        ):
            try:
                attempt()
            except OSError:
                continue
            raise SystemExit('it was changed')
        ",
    );
    assert_finished("a script", &place.run(&read));
    if tier < IsolationLevel::T3 {
        let session = place.workspace().in_mode(Mode::Session).unwrap();
        assert_finished("a session", &session.run(&read, &policy()).unwrap());
    }
    // The next run of an episode, and one without a task.
    let workspace = place.sandbox.empty_workspace().unwrap();
    let code = "print(open('models/net/model.bin').read())";
    for _ in 0..2 {
        assert_eq!(workspace.run(code, &policy()).unwrap().stdout.text(), "weights\n");
    }
    assert_eq!(fs::read_to_string(path.join("net/model.bin")).unwrap(), "weights");
}

#[test]
fn every_script_reads_pretrained_weights_and_none_changes_them() {
    scripts_read_weights_and_change_none(IsolationLevel::T2);
}

#[test]
fn without_a_box_pretrained_weights_are_there_as_well() {
    if is_open_to_others("weights::without_a_box_pretrained_weights_are_there_as_well") {
        scripts_read_weights_and_change_none(IsolationLevel::T3);
    }
}

#[test]
fn weights_that_hold_a_task_or_are_not_there_are_refused() {
    let corpus = SuiteCorpus::new();
    let python = PythonEnv::locate().unwrap();
    let start = |weights: Utf8PathBuf| {
        let options = SandboxOptions { weights: Some(weights), ..quick() };
        Sandbox::start(&python, options, &corpus.tasks()).unwrap_err()
    };
    let exposed = start(corpus.path().to_owned());
    assert!(matches!(exposed, StartError::Exposed { .. }), "{exposed}");
    let missing = corpus.path().join("missing");
    let refused = start(missing.clone());
    assert!(refused.to_string().contains(missing.as_str()), "{refused}");
    assert!(matches!(start(corpus.path().join("alpha/task.json")), StartError::Weights { .. }));
    let answers = start(corpus.path().join("alpha/prepared/private"));
    assert!(answers.to_string().contains("beside the answers of alpha"), "{answers}");
}
