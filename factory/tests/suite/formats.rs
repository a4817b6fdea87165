//! Items in the formats that competitions use: tasks whose items are written so are made and
//! verified, built again to the same bytes, and played by the scripted ladder.

use crate::ladder;
use camino::{Utf8Path, Utf8PathBuf};
use factory::media::Format;
use factory::spec::blueprint::Blueprint;
use factory::verify::corpus;
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::process::Command;
use tasks::task::{Corpus, Opening, Split, Task, TaskDir};

/// Tasks of one kind; some of them are of either format.
const COUNT: &str = "6";

fn blueprint(task: &TaskDir) -> Blueprint {
    let text = fs::read(task.path().join("source/blueprint.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn format(task: &TaskDir) -> Format {
    blueprint(task).item().unwrap().format
}

/// A corpus of one kind of data, in a folder of its own.
fn corpus(desk: &tempfile::TempDir, modality: &str) -> Utf8PathBuf {
    let out = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", COUNT, "--val-count", "0", "--preset", "paper"])
        .args(["--modality", modality, "--formulation", "regression", "--out", out.as_str()])
        .status()
        .unwrap();
    assert!(made.success());
    out
}

/// Makes tasks, looks at those of a format and returns the text of a page among them.
fn made_and_played(modality: &str, wanted: Format, folder: &str, extension: &str) -> String {
    let desk = tempfile::tempdir().unwrap();
    let root = corpus(&desk, modality);
    let audited = corpus::audit(&Corpus::open(&root).unwrap()).unwrap();
    assert!(audited.clean(), "{:?}", audited.refused);
    let corpus = Corpus::open(&root).unwrap();
    let usual = corpus.tasks().iter().filter(|task| format(task) != wanted).count();
    assert!(0 < usual && usual < corpus.tasks().len(), "{usual} of {}", corpus.tasks().len());

    let suite = TaskSuite::open(&root, &Opening::default(), SandboxOptions::default()).unwrap();
    let tasks = suite.split(Split::Train).unwrap();
    let ours = |task: &Task| format(task.ours().unwrap());
    let task = tasks.into_iter().find(|task| ours(task) == wanted).unwrap();
    let blueprint = blueprint(task.ours().unwrap());
    let assets = blueprint.kind().render(&blueprint, None).unwrap();
    let items = assets.train_ids.iter().zip(&assets.train_items);
    for (id, item) in items.chain(assets.test_ids.iter().zip(&assets.test_items)) {
        let file = task.public().path().join(folder).join(format!("{id}.{extension}"));
        assert!(fs::read(&file).unwrap() == item.bytes, "{file}");
    }
    let (gains, bronze) = ladder::gains(&suite, task);
    let [constant, linear, forest, operators, oracle] = gains;
    assert!(constant < bronze && bronze <= oracle, "{gains:?}, {bronze}");
    // Neighbouring levels may swap places on a single task.
    let best = linear.max(forest).max(operators);
    assert!(constant < best && best < oracle, "{gains:?}");
    fs::read_to_string(task.public().path().join("description.md")).unwrap()
}

#[test]
fn tasks_of_jpeg_pictures_are_sound() {
    let page = made_and_played("image", Format::Jpeg, "images", "jpg");
    assert!(page.contains("- `images/`: ") && page.contains("`.jpg`"), "{page}");
}

#[test]
fn tasks_of_documents_are_sound() {
    let page = made_and_played("text", Format::Text, "docs", "txt");
    assert!(page.contains("- `docs/`: ") && page.contains("`.txt`"), "{page}");
}
