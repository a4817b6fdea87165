//! Anchors that the packages of the tests carry: files, grades, determinism, and that none is trained
//! on.

use camino::{Utf8Path, Utf8PathBuf};
use factory::anchors::{AnchorError, AnchorSettings, ids, write};
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use support::reference;
use tasks::grade::NativeGrader;
use tasks::submission::Part;
use tasks::task::{Collection, Corpus, DataSource, Opening, Split, Task, TaskDir, TaskError};
use tasks::thresholds::Milestone;

/// Those that scikit-learn and SciPy carry.
const CARRIED: [&str; 6] = [
    "iris-species",
    "wine-cultivars",
    "breast-mass-cytology",
    "diabetes-progression",
    "small-digits",
    "scipy-manual",
];

fn settings(only: &[&str], seed: u64) -> AnchorSettings {
    let only = only.iter().map(|id| (*id).to_owned()).collect();
    AnchorSettings { only, seed, python: None }
}

/// Anchors in a folder of their own, which lasts as long as the first value.
fn anchors(only: &[&str], seed: u64) -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(folder.path()).unwrap().join("anchors");
    assert_eq!(write(&out, &settings(only, seed), &AtomicBool::new(false)).unwrap(), only);
    (folder, out)
}

/// The cells of a CSV file, header first.
fn cells(path: &Utf8Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// The answers as a submission.
fn perfect(task: &TaskDir) -> String {
    let prediction = &task.manifest().prediction;
    let answers = fs::read_to_string(task.private().answers()).unwrap();
    let tasks::prediction::Prediction::ClassProbabilities { classes, .. } = prediction else {
        return answers;
    };
    let mut text = format!("id,{}\n", classes.join(","));
    for line in answers.lines().skip(1) {
        let (id, class) = line.split_once(',').unwrap();
        let shares = classes.iter().map(|name| if name == class { "1" } else { "0" });
        text.extend([id, ",", &shares.collect::<Vec<_>>().join(","), "\n"]);
    }
    text
}

/// The paths and bytes of all files below a folder.
fn files(root: &Utf8Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut left) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in folder.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn anchors_open_grade_and_keep_their_rows_apart() {
    let (_folder, out) = anchors(&CARRIED, 0);
    for id in CARRIED {
        let task = TaskDir::open(&out.join(id)).unwrap();
        task.check_files().unwrap();
        let manifest = task.manifest();
        assert_eq!(manifest.split, Split::Val);
        let opened = Task::open(task.path(), &Opening::default()).unwrap();
        assert_eq!((opened.data_source(), opened.is_anchor()), (DataSource::Real, true));

        let public = task.public().path().to_owned();
        let [train, test] = ["train.csv", "test.csv"].map(|name| cells(&public.join(name)));
        assert_eq!((train.len() - 1, test.len() - 1), (manifest.rows.train, manifest.rows.test));
        assert!((90..=400).contains(&manifest.rows.train), "{id}");
        // Names of rows and of their pictures aside, no row of one table is one of the other.
        let width = test[0].len();
        let features = |rows: &[Vec<String>]| -> BTreeSet<Vec<String>> {
            let row = |row: &Vec<String>| {
                let cell = |cell: &String| match cell.strip_prefix("images/") {
                    Some(_) => blake3::hash(&fs::read(public.join(cell)).unwrap()).to_string(),
                    None => cell.clone(),
                };
                row[1..width].iter().map(cell).collect()
            };
            rows[1..].iter().map(row).collect()
        };
        let (known, asked) = (features(&train), features(&test));
        assert!(known.is_disjoint(&asked), "{id}");
        assert_eq!((known.len(), asked.len()), (train.len() - 1, test.len() - 1), "{id}");

        let page = opened.description().unwrap();
        for name in ["train.csv", "test.csv", "sample_submission.csv"] {
            assert!(page.contains(name), "{id}: {name}");
        }
        for target in &train[0][width..] {
            assert!(page.contains(&format!("`{target}`")), "{id}: {target}");
        }
        for key in ["origin", "licence"] {
            assert!(manifest.provenance[key].as_str().unwrap().len() > 10, "{id}: {key}");
        }
    }
    let licences = fs::read_to_string(out.join("LICENSES.md")).unwrap();
    assert!(CARRIED.iter().all(|id| licences.contains(&format!("| `{id}` |"))), "{licences}");
}

#[test]
fn perfect_answers_win_gold_samples_nothing_and_both_graders_agree() {
    let (_folder, out) = anchors(&CARRIED, 0);
    let (mut folders, mut scores) = (Vec::new(), Vec::new());
    for id in CARRIED {
        let task = TaskDir::open(&out.join(id)).unwrap();
        let grader = NativeGrader::open(&task).unwrap();
        let sample = fs::read(task.public().path().join("sample_submission.csv")).unwrap();
        let perfect = perfect(&task);
        for (name, csv, tier) in [
            ("perfect", perfect.as_bytes(), Some(Milestone::Gold)),
            ("sample", sample.as_slice(), None),
        ] {
            let grade = grader.grade(csv, Part::All).unwrap();
            assert_eq!(grade.tier, tier, "{id}: {name} scores {}", grade.score);
            // As the evaluator's tests lay tasks out: a submission in the folder of the task.
            let copy = out.join(format!("{id}-{name}"));
            for file in [
                "source/evaluator.py",
                "prepared/private/answer.csv",
                "prepared/private/threshold.json",
            ] {
                fs::create_dir_all(copy.join(file).parent().unwrap()).unwrap();
                fs::copy(task.path().join(file), copy.join(file)).unwrap();
            }
            fs::write(copy.join("submission.csv"), csv).unwrap();
            folders.push(copy);
            scores.push(grade.score);
        }
        let manifest = task.manifest();
        assert!(
            manifest
                .thresholds
                .strictly_ordered(manifest.baselines.ladder[0], manifest.direction())
        );
    }
    let judged: Vec<serde_json::Value> =
        reference::ask("factory/tests/reference/evaluate.py", folders.clone());
    for ((judged, score), folder) in judged.iter().zip(scores).zip(&folders) {
        let found = judged["score"].as_f64().unwrap_or(f64::NAN);
        assert!((found - score).abs() < 1e-9, "{folder}: {judged}, ours {score}");
    }
}

#[test]
fn same_seed_gives_the_same_bytes_and_another_one_other_rows() {
    let only = ["iris-species", "diabetes-progression", "scipy-manual"];
    let (_first, first) = anchors(&only, 4);
    let (_second, second) = anchors(&only, 4);
    assert_eq!(files(&first), files(&second));
    let (_other, other) = anchors(&only[..1], 5);
    let train = "iris-species/prepared/public/train.csv";
    assert_ne!(files(&first)[train], files(&other)[train]);
}

#[test]
fn anchors_are_never_trained_on() {
    let (_folder, out) = anchors(&["iris-species"], 0);
    let collection = Collection::open(&out, &Opening::default()).unwrap();
    let refused = collection.for_training().unwrap_err();
    assert!(
        matches!(refused, TaskError::Anchor(ref id) if id.as_str() == "iris-species"),
        "{refused}"
    );
    // And a trainer that did not ask would find nothing in the half that is trained on.
    assert!(Corpus::open(&out).unwrap().split(Split::Train).is_empty());
}

#[test]
fn wrong_names_foreign_folders_and_missing_packages_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    let stop = AtomicBool::new(false);
    let error = write(root, &settings(&["iris"], 0), &stop).unwrap_err();
    assert!(
        matches!(error, AnchorError::Unknown { .. }) && error.to_string().contains("iris-species")
    );
    fs::write(root.join("mine.txt"), "x").unwrap();
    let error = write(root, &settings(&["iris-species"], 0), &stop).unwrap_err();
    assert!(matches!(error, AnchorError::Foreign(_)), "{error}");

    // The tests' Python has not all packages.
    let bare = ids().find(|id| *id == "penguin-body-mass").unwrap();
    let python = jail::python::PythonEnv::locate().unwrap().interpreter().to_owned();
    let settings = AnchorSettings { python: Some(python), ..settings(&[bare], 0) };
    let error = write(&root.join("new"), &settings, &stop).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("make venv-anchors") && told.contains("palmerpenguins"), "{told}");
    let python = Some(Utf8PathBuf::from("/no/such/python"));
    let error =
        write(&root.join("new"), &AnchorSettings { python, ..settings }, &stop).unwrap_err();
    assert!(error.to_string().contains("failed to start"), "{error}");
}
