//! `factory rate` as a user meets it: solvers in the sandbox, ratings that are kept, levels.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};
use support::folders::{TemporaryFolder, files};
use tasks::rating::{LevelSource, RATINGS, Rating, Ratings, Solver};
use tasks::task::{Corpus, TaskDir};

fn factory(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_factory")).args(args).output().unwrap()
}

/// A corpus of `count` small tasks of some kinds.
fn corpus(desk: &TemporaryFolder, count: &str, kinds: [&str; 2]) -> Utf8PathBuf {
    let corpus = desk.path().join("corpus");
    let [modality, formulation] = kinds;
    let made = factory(&[
        "generate",
        "--count",
        count,
        "--preset",
        "paper",
        "--modality",
        modality,
        "--formulation",
        formulation,
        "--out",
        corpus.as_str(),
    ]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    corpus
}

/// The files of a corpus but those of its ratings.
fn tasks(corpus: &Utf8Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(corpus);
    found.retain(|name, _| name != RATINGS && name != ".rating.lock");
    found
}

/// Rates a corpus and returns the ratings, of which all are of valid submissions that no script fell
/// back to.
fn rated(corpus: &Utf8Path, solvers: &str, timeout: &str) -> (Ratings, Output) {
    let args = ["rate", corpus.as_str(), "--solvers", solvers, "--timeout", timeout];
    let output = factory(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ratings = Ratings::read(corpus).unwrap();
    for task in Corpus::open(corpus).unwrap().tasks() {
        for rating in ratings.of(task.manifest()) {
            assert_eq!(rating.ending, "finished", "{rating:?}");
            assert!(rating.score.is_some() && rating.note.is_none(), "{rating:?}");
        }
    }
    (ratings, output)
}

fn of(ratings: &Ratings, task: &TaskDir) -> BTreeMap<Solver, Rating> {
    ratings.of(task.manifest()).map(|rating| (rating.solver, rating.clone())).collect()
}

#[test]
fn solvers_rate_a_table_once_and_its_level_is_shown() {
    let desk = TemporaryFolder::new();
    let corpus = corpus(&desk, "1", ["tabular", "binary"]);
    let before = tasks(&corpus);
    let all = "constant,exploiter,glance,engineer,specialist";
    let (ratings, _) = rated(&corpus, all, "90s");
    assert_eq!(tasks(&corpus), before, "rating changed a task");
    let opened = Corpus::open(&corpus).unwrap();
    let task = &opened.tasks()[0];
    let of_task = of(&ratings, task);
    assert_eq!(of_task.keys().copied().collect::<BTreeSet<_>>(), Solver::DEFAULT.into());
    assert_eq!(of_task[&Solver::Constant].milestone, None);
    assert!(of_task[&Solver::Specialist].way > of_task[&Solver::Constant].way);
    assert_eq!(ratings.level(task.manifest()).source, LevelSource::Solvers);

    // Nothing is run twice, and a half line of a killed run does no harm.
    let path = corpus.join(RATINGS);
    let whole = fs::read_to_string(&path).unwrap();
    assert_eq!(whole.lines().count(), 5);
    fs::write(&path, format!("{whole}{{\"version\": 1")).unwrap();
    let (_, again) = rated(&corpus, all, "90s");
    assert!(String::from_utf8_lossy(&again.stderr).contains("0 scripts were run"));
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    // What is missing is run, and only that.
    let without: String = whole
        .lines()
        .filter(|line| !line.contains("glance"))
        .fold(String::new(), |text, line| text + line + "\n");
    fs::write(&path, without).unwrap();
    let (_, once) = rated(&corpus, all, "90s");
    assert!(String::from_utf8_lossy(&once.stderr).contains("1 scripts were run"));

    let number = ratings.level(task.manifest()).level.number();
    let stats = factory(&["stats", corpus.as_str()]);
    let text = String::from_utf8(stats.stdout).unwrap();
    assert!(text.contains("Level of difficulty") && text.contains("by solvers"), "{text}");
    let inspected = factory(&["inspect", task.path().as_str()]);
    let text = String::from_utf8(inspected.stdout).unwrap();
    assert!(text.contains(&format!("level: {number} of 5, by solvers")), "{text}");
    assert!(text.contains("  specialist "), "{text}");
}

#[test]
fn solvers_and_networks_read_pictures() {
    let desk = TemporaryFolder::new();
    let corpus = corpus(&desk, "1", ["image", "regression"]);
    let (ratings, _) = rated(&corpus, "exploiter,glance,engineer,network", "40s");
    let opened = Corpus::open(&corpus).unwrap();
    assert_eq!(of(&ratings, &opened.tasks()[0]).len(), 4);
    // Without the specialist nothing is said of the level.
    assert_eq!(ratings.level(opened.tasks()[0].manifest()).source, LevelSource::Ladder);
}

#[test]
fn solvers_find_masks_and_boxes_and_bring_pictures_back() {
    for formulation in ["segmentation", "detection", "reconstruction"] {
        let desk = TemporaryFolder::new();
        let corpus = corpus(&desk, "1", ["image", formulation]);
        let (ratings, _) = rated(&corpus, "constant,engineer", "60s");
        let opened = Corpus::open(&corpus).unwrap();
        let of_task = of(&ratings, &opened.tasks()[0]);
        let [constant, engineer] =
            [Solver::Constant, Solver::Engineer].map(|solver| of_task[&solver].way);
        assert!(engineer > constant, "{formulation}: {of_task:?}");
    }
}

#[test]
fn wrong_solvers_and_counts_are_wrong_usage() {
    for args in [["--solvers", "oracle"], ["--count", "0"], ["--timeout", "soon"]] {
        let output = factory(&["rate", "nowhere", args[0], args[1]]);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
    assert_eq!(factory(&["rate", "nowhere"]).status.code(), Some(1));
}
