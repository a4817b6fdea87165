//! `factory stats` as a user meets it: three views of the same numbers.

use camino::Utf8Path;
use factory::show::stats::Statistics;
use fs_err as fs;
use std::process::{Command, Output};

fn factory(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_factory")).args(args).output().unwrap()
}

#[test]
fn the_three_views_tell_the_same() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let (corpus, page) = (desk.join("corpus"), desk.join("page.html"));
    let made = factory(&[
        "generate",
        "--count",
        "6",
        "--modality",
        "tabular,time_series",
        "--out",
        corpus.as_str(),
    ]);
    assert!(made.status.success());

    let output = factory(&["stats", corpus.as_str(), "--json"]);
    let statistics: Statistics = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((statistics.tasks, statistics.unique_rules), (6, 6));
    for figure in &statistics.figures {
        assert_eq!(figure.shares.iter().map(|share| share.count).sum::<usize>(), 6);
        let asked: f64 = figure.shares.iter().map(|share| share.asked).sum();
        assert!((asked - 1.0).abs() < 1e-9, "{}: {asked}", figure.title);
    }
    // Series count as tables, as in the paper.
    let tables = statistics.figures[1].shares.iter().find(|share| share.name == "tabular");
    assert_eq!(tables.unwrap().share, 1.0);
    assert!(statistics.figures[1].far);
    assert_eq!(statistics.passage.filled.count, 6);
    assert_eq!(statistics.likeness.pairs, 15);

    let output = factory(&["stats", corpus.as_str(), "--html", page.as_str()]);
    let text = String::from_utf8(output.stdout).unwrap();
    let html = fs::read_to_string(&page).unwrap();
    let distance = format!("{:.4}", statistics.figures[1].distance);
    for part in [distance.as_str(), "Modalities", "Jaccard"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
        assert!(html.contains(part), "{part} is not in the page");
    }
    assert!(text.contains("FAR, above 0.05") && text.contains("912   76.0 %"), "{text}");
    for elsewhere in ["http:", "https:", "<script", "src="] {
        assert!(!html.contains(elsewhere), "{elsewhere}");
    }
}

#[test]
fn what_is_no_corpus_is_said_to_be_none() {
    let desk = tempfile::tempdir().unwrap();
    let desk = Utf8Path::from_path(desk.path()).unwrap();
    let output = factory(&["stats", desk.as_str()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("holds no `corpus.json`"), "{text}");
}
