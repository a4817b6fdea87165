//! Labels in the names of training files: tasks that have them there are sound, are shown, and are
//! played by agents and solvers that read the public files alone.

use crate::ladder;
use camino::Utf8Path;
use factory::show::gallery::{Wish, page};
use factory::spec::blueprint::Blueprint;
use factory::verify::corpus;
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::process::Command;
use tasks::file_label;
use tasks::task::{Corpus, Opening, Split, Task, TaskDir};

fn blueprint(task: &TaskDir) -> Blueprint {
    let text = fs::read(task.path().join("source/blueprint.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// The lines of a table below its header, and the header.
fn table(task: &TaskDir, name: &str) -> (String, Vec<String>) {
    let text = fs::read_to_string(task.public().path().join(name)).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    (lines.next().unwrap(), lines.collect())
}

fn shown(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_factory")).args(command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tasks_with_labels_in_names_are_sound() {
    let desk = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", "12", "--val-count", "0", "--preset", "paper"])
        .args(["--modality", "image,audio", "--formulation", "binary,multiclass"])
        .args(["--out", root.as_str()])
        .status()
        .unwrap();
    // 3: some slots stay empty.
    assert!(matches!(made.code(), Some(0 | 3)), "{made:?}");
    let audited = corpus::audit(&Corpus::open(&root).unwrap()).unwrap();
    assert!(audited.clean(), "{:?}", audited.refused);
    let suite = TaskSuite::open(&root, &Opening::default(), SandboxOptions::default()).unwrap();
    let tasks = suite.split(Split::Train).unwrap();
    let is_named = |task: &&&Task| blueprint(task.ours().unwrap()).labels_in_names();
    let named: Vec<&Task> = tasks.iter().filter(is_named).copied().collect();
    assert!(!named.is_empty() && named.len() < tasks.len(), "{} of {}", named.len(), tasks.len());

    for task in named.iter().map(|task| task.ours().unwrap()) {
        let blueprint = blueprint(task);
        let (column, target) = (blueprint.file_column().unwrap(), &blueprint.targets[0].column);
        let [(header, train), (test_header, test)] =
            ["train.csv", "test.csv"].map(|name| table(task, name));
        assert_eq!(header, test_header);
        assert!(!header.split(',').any(|name| name == target), "{header}");
        let place = header.split(',').position(|name| name == column).unwrap();
        let file = |line: &String| line.split(',').nth(place).unwrap().to_owned();
        let classes = &blueprint.targets[0].classes;
        for path in train.iter().map(file) {
            let label = file_label::label_of(&path).unwrap();
            assert!(classes.iter().any(|class| class == label), "{path}");
            assert!(task.public().path().join(&path).is_file(), "{path}");
        }
        assert!(test.iter().map(file).all(|path| file_label::label_of(&path).is_none()));
        let page = fs::read_to_string(task.public().path().join("description.md")).unwrap();
        assert!(page.contains("first dot") && page.contains(" in the names of training files ("));
        let inspected = shown(&["inspect", task.path().as_str()]);
        assert!(inspected.contains("labels: `"), "{inspected}");
    }
    shown(&["stats", root.as_str()]);

    // That the scripts of all levels run is part of it.
    let ([constant, .., oracle], bronze) = ladder::gains(&suite, named[0]);
    assert!(constant < bronze && constant < oracle, "{constant}, {bronze}, {oracle}");
    let html = page(named[0].ours().unwrap().path(), &Wish::default()).unwrap();
    assert!(html.contains("leak probes") && !html.contains(">leaks<"), "{html}");
}
