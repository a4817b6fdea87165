//! `factory export --format hf`: rows have prompts and facts and say nothing of the private half.
//! `tests/harbor.rs` reads exports with `datasets`.

use crate::export::factory;
use crate::harbor::{assert_keeps_answers, assert_silent, assert_tidy, export, exported};
use camino::Utf8Path;
use fs_err as fs;
use serde_json::Value;
use support::folders::files;
use tasks::description::without_glance;
use tasks::task::Split;

#[test]
fn a_hugging_face_export_has_a_row_per_task_and_no_answers_in_rows() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let kinds = ["--count", "6", "--val-count", "2", "--modality", "tabular,text", "--seed", "3"];
    let (corpus, out) = exported(desk, &kinds, "hf");
    let card = fs::read_to_string(out.join("README.md")).unwrap();
    let canary = card.lines().find(|line| line.starts_with("canary GUID ")).unwrap();
    for (split, name) in [(Split::Train, "train"), (Split::Val, "validation")] {
        let data = format!("data/{name}-00000-of-00001.parquet");
        assert!(card.contains(&format!("split: {name}\n    path: {data}\n")), "{card}");
        let bytes = fs::read(out.join(data)).unwrap();
        // Nothing is compressed.
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(canary));
        let tasks = corpus.split(split);
        assert!(!tasks.is_empty());
        for task in tasks {
            let page = fs::read_to_string(task.public().path().join("description.md")).unwrap();
            assert!(text.contains(without_glance(&page).trim_end()), "{}", task.id());
            assert!(text.contains(task.id().as_str()));
            assert_silent(&text, task);
            assert_keeps_answers(task, &out.join("tasks").join(task.id().as_str()));
        }
    }
    assert!(card.contains("- n<1K\n") && !card.contains("{canary}"), "{card}");
    assert_tidy(&out);

    let twin = desk.join("twin");
    export(corpus.path(), &twin, "hf");
    assert!(files(&twin) == files(&out), "made again, it is the same to the byte");
}

#[test]
fn a_hugging_face_export_leaves_out_empty_splits_and_refuses_anchors() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let kinds = ["--count", "1", "--val-count", "0", "--modality", "tabular", "--seed", "4"];
    let (corpus, out) = exported(desk, &kinds, "hf");
    let card = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(card.contains("split: train\n") && !card.contains("split: validation"), "{card}");

    let path = corpus.tasks()[0].path().join("task.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["data_source"] = "real".into();
    fs::write(&path, manifest.to_string()).unwrap();
    let other = desk.join("other");
    let output = factory(&["export", corpus.path().as_str(), "--format", "hf", other.as_str()]);
    assert!(!output.status.success() && !other.exists());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("is an anchor") && text.contains("factory generate"), "{text}");
}
