//! `factory export --format harbor`: answers stay in the verifier's image, rewards are those of the
//! native grader, bytes are the same in every run. `tests/harbor.rs` plays exports in Harbor itself.

use crate::export::{factory, perfect};
use crate::rewards::{assert_same, expected};
use camino::{Utf8Path, Utf8PathBuf};
use factory::package::MODIFIED;
use fs_err as fs;
use sandbox::env::Budget;
use std::collections::{BTreeMap, BTreeSet};
use std::time::UNIX_EPOCH;
use support::folders::files;
use support::reference::ask;
use tasks::task::{Corpus, Split, TaskDir};

/// Makes a corpus and exports it; the corpus and the export.
pub(crate) fn exported(desk: &Utf8Path, kinds: &[&str], format: &str) -> (Corpus, Utf8PathBuf) {
    let (corpus, out) = (desk.join("corpus"), desk.join(format));
    let made = factory(&[&["generate", "--out", corpus.as_str()][..], kinds].concat());
    // 3: some slots stay empty.
    assert!(matches!(made.status.code(), Some(0 | 3)), "{made:?}");
    export(&corpus, &out, format);
    (Corpus::open(&corpus).unwrap(), out)
}

pub(crate) fn export(corpus: &Utf8Path, out: &Utf8Path, format: &str) {
    let output = factory(&["export", corpus.as_str(), "--format", format, out.as_str()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Checks that all files of an export have one time, and that nothing is left over beside it.
pub(crate) fn assert_tidy(out: &Utf8Path) {
    for path in files(out).keys() {
        let changed = fs::metadata(out.join(path)).unwrap().modified().unwrap();
        assert_eq!(changed, UNIX_EPOCH + MODIFIED, "{path}");
    }
    let beside = out.parent().unwrap().read_dir_utf8().unwrap();
    let hidden = beside.filter(|entry| entry.as_ref().unwrap().file_name().starts_with('.'));
    assert_eq!(hidden.count(), 0, "files are left over");
}

/// The files below a place, by path within it.
fn below<'a>(files: &'a BTreeMap<String, Vec<u8>>, place: &str) -> BTreeMap<&'a str, &'a Vec<u8>> {
    files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(place)?, bytes))).collect()
}

/// Checks a task's folder: what an agent sees is the public half, and says nothing of the private one.
pub(crate) fn assert_keeps_answers(task: &TaskDir, folder: &Utf8Path) {
    let all = files(folder);
    let public = files(task.public().path());
    assert!(below(&all, "environment/input/") == below(&public, ""), "{folder}");
    let mut image: Vec<&str> = below(&all, "environment/").into_keys().collect();
    image.retain(|path| !path.starts_with("input/"));
    assert_eq!(image, ["Dockerfile", "requirements.txt"]);
    let tops: BTreeSet<&str> =
        all.keys().map(|path| path.split_once('/').map_or(path.as_str(), |(top, _)| top)).collect();
    let known = ["environment", "instruction.md", "solution", "task.toml", "tests"];
    assert_eq!(tops, BTreeSet::from(known));

    let private = files(&task.path().join("prepared/private"));
    assert!(private.contains_key("answer.csv"));
    assert!(below(&all, "tests/task/prepared/private/") == below(&private, ""), "{folder}");
    for (path, bytes) in &all {
        if !path.starts_with("tests/") {
            assert!(!private.values().any(|secret| secret == bytes), "{path} is private");
        }
    }
    let told = fs::read_to_string(folder.join("instruction.md")).unwrap()
        + &fs::read_to_string(folder.join("task.toml")).unwrap();
    assert_silent(&told, task);
}

/// Checks that a text has no threshold of a task. A short number may stand there by chance.
pub(crate) fn assert_silent(text: &str, task: &TaskDir) {
    for (_, threshold) in task.manifest().thresholds.ascending() {
        let threshold = threshold.to_string();
        assert!(threshold.len() < 7 || !text.contains(&threshold), "{threshold} of {}", task.id());
    }
}

/// The folder of an export that a task belongs to.
fn split(task: &TaskDir) -> &'static str {
    match task.manifest().split {
        Split::Train => "train",
        Split::Val => "val",
    }
}

/// The perfect submission, with the sample's prediction in one row of so many.
fn spoilt(perfect: &str, sample: &str, every: usize) -> String {
    let sample: BTreeMap<&str, &str> =
        sample.lines().filter_map(|line| line.split_once(',')).collect();
    let line = |(row, line): (usize, &str)| match line.split_once(',') {
        Some((id, _)) if row > 0 && row % every == 0 => format!("{id},{}\n", sample[id]),
        _ => format!("{line}\n"),
    };
    perfect.lines().enumerate().map(line).collect()
}

#[test]
fn a_harbor_export_rewards_as_the_native_grader_does() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let kinds = ["--count", "7", "--modality", "tabular,text", "--seed", "6"];
    let (corpus, out) = exported(desk, &kinds, "harbor");
    let (mut submissions, mut wanted) = (Vec::new(), Vec::new());
    for task in corpus.tasks() {
        let folder = out.join(split(task)).join(task.id().as_str());
        let sample = task.public().path().join("sample_submission.csv");
        let (sample, perfect) = (fs::read_to_string(sample).unwrap(), perfect(task));
        let short: String = perfect.lines().take(3).flat_map(|line| [line, "\n"]).collect();
        let mut all = vec![sample.clone(), perfect.clone(), short];
        all.extend([2, 4, 9].map(|every| spoilt(&perfect, &sample, every)));
        for (number, csv) in all.iter().enumerate() {
            let path = desk.join(format!("{}-{number}.csv", task.id()));
            fs::write(&path, csv).unwrap();
            submissions.push((folder.clone(), path));
            wanted.push(expected(task, csv));
        }
        // What is no file of the agent's is worth nothing, wherever it leads.
        let link = desk.join(format!("{}-link.csv", task.id()));
        std::os::unix::fs::symlink(submissions[submissions.len() - 5].1.as_path(), &link).unwrap();
        for path in [link, desk.join("missing.csv"), desk.to_owned()] {
            submissions.push((folder.clone(), path));
            wanted.push(expected(task, ""));
        }
    }
    let questions = submissions.iter().map(|(task, path)| format!("{task} {path}")).collect();
    let found = ask("factory/tests/reference/read_rewards.py", questions);
    assert_eq!(found.len(), wanted.len());
    for ((found, wanted), (_, path)) in found.iter().zip(&wanted).zip(&submissions) {
        assert_same(found, wanted, path.as_str());
    }
    let kinds: BTreeSet<String> = found.iter().map(|one| one["reward"].to_string()).collect();
    assert!(kinds.len() >= 4, "too few different rewards: {kinds:?}");
}

#[test]
fn a_harbor_export_keeps_answers_from_agents_and_is_the_same_each_time() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let kinds = ["--count", "6", "--modality", "tabular,image,graph,time_series", "--seed", "2"];
    let (corpus, out) = exported(desk, &kinds, "harbor");
    for task in corpus.tasks() {
        let folder = out.join(split(task)).join(task.id().as_str());
        assert_keeps_answers(task, &folder);
        let text = fs::read_to_string(folder.join("task.toml")).unwrap();
        let settings: toml::Table = text.parse().unwrap();
        assert_eq!(settings["verifier"]["environment_mode"].as_str(), Some("separate"));
        assert_eq!(settings["metadata"]["split"].as_str(), Some(split(task)));
        let seconds = settings["agent"]["timeout_sec"].as_float();
        assert_eq!(seconds, Some(Budget::default().wall_seconds as f64), "that of an episode");
        for place in ["environment", "tests"] {
            let file = fs::read_to_string(folder.join(place).join("Dockerfile")).unwrap();
            assert!(file.lines().nth(1).unwrap().contains("@sha256:"), "{file}");
            assert!(!file.contains("{canary}") && file.starts_with("# canary GUID "), "{file}");
        }
    }
    let tasks = files(&out).keys().filter(|path| path.ends_with("task.toml")).count();
    assert_eq!(tasks, corpus.tasks().len());
    assert_tidy(&out);

    let twin = desk.join("twin");
    export(corpus.path(), &twin, "harbor");
    assert!(files(&twin) == files(&out), "made again, it is the same to the byte");
    let again = factory(&["export", corpus.path().as_str(), "--format", "harbor", out.as_str()]);
    assert!(String::from_utf8(again.stderr).unwrap().contains("is not empty"));
}
