//! What an audit finds in a run that somebody was at.

use crate::fixture::{PROGRAM, Place, suite, winning};
use fs_err as fs;
use posttrain::audit::{AuditReport, audit};
use std::process::Command;
use std::time::Duration;
use worlds::{Scale, SuiteName, SuiteRequest};

/// A finished run.
fn finished() -> Place {
    let place = Place::new();
    let model = place.model("better", &winning(0.5));
    let mut server = place.serve(&["--budget", "1s", "--until-final"]);
    server.started();
    assert_eq!(server.submit(&model).0, 200);
    assert!(server.wait(Duration::from_mins(1)).success());
    place
}

#[test]
fn models_are_graded_again_and_another_score_is_found() {
    let place = finished();
    let regrade = |suite: &str, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["audit", place.path("sealed").as_str(), "--regrade", suite]).args(more);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let suite = suite();
    let before = place.gradings("done").len();
    let (code, said) = regrade(suite.as_str(), &[]);
    // Base and submission, on dev and on test items.
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("regraded    4 scores; 0 of models"), "{said}");
    assert_eq!(place.gradings("done").len(), before + 4);
    assert!(!place.path("sealed/regrade").exists());

    // A grader whose items are others, and one that fails.
    let other = "import json, sys\njob = json.load(sys.stdin)\n\
                 items = [{'id': f\"household-{job['part']}-{n:05}\", 'score': 0.25} for n in range(job['items'])]\n\
                 print(json.dumps({'score': 0.25, 'items': items}))";
    let (code, said) = regrade(suite.as_str(), &["--", "python3", "-c", other]);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("graded again, the score is 0.25 and not 0.5; 60 of 60 items differ"),
        "{said}"
    );
    // The base has a quarter of the items, and not a quarter of each.
    assert!(said.contains("not 0.25; 60 of 60 items differ"), "{said}");
    let (code, said) = regrade(suite.as_str(), &["--", "false"]);
    assert!(code == Some(1) && said.contains("failed to grade the model"), "{code:?} {said}");
    assert!(!place.path("sealed/regrade").exists());

    let folder = support::folders::TemporaryFolder::new();
    let request = SuiteRequest { suite: SuiteName::Rlbench, scale: Scale::Tiny, seed: 1 };
    request.make(&folder.path().join("other")).unwrap();
    let (code, said) = regrade(folder.path().join("other").as_str(), &[]);
    assert!(code == Some(2) && said.contains("is not the suite of this run"), "{code:?} {said}");
    // What is not kept is told, and no error.
    let models = place.path("sealed/models");
    let kept: Vec<_> = models.read_dir_utf8().unwrap().map(|it| it.unwrap().into_path()).collect();
    fs::remove_dir_all(&kept[0]).unwrap();
    let (code, said) = regrade(suite.as_str(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("regraded    2 scores; 2 of models"), "{said}");
    fs::write(kept[1].join("config.json"), "{}").unwrap();
    let (code, said) = regrade(suite.as_str(), &[]);
    assert!(code == Some(4) && said.contains("it was changed"), "{code:?} {said}");
}

fn report(place: &Place) -> AuditReport {
    audit(&place.path("sealed"), None).unwrap()
}

#[test]
fn every_change_to_a_finished_run_is_found() {
    let place = finished();
    let sealed = place.path("sealed");
    let clean = report(&place);
    assert!(clean.findings.is_empty() && clean.is_finished, "{:?}", clean.findings);
    assert!(audit(&sealed, clean.head).unwrap().findings.is_empty());
    let other = Some(posttrain::Digest::of(b"another ledger"));
    assert_eq!(audit(&sealed, other).unwrap().findings.len(), 1);

    // Each line, changed in each way.
    let path = sealed.join("ledger.jsonl");
    let before = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let found = |text: String| {
        fs::write(&path, text).unwrap();
        let report = report(&place);
        assert_eq!(report.findings.len(), 1);
        assert!(report.metrics.is_none(), "nothing is computed from what cannot be trusted");
    };
    for index in 0..lines.len() {
        let mut dropped = lines.clone();
        dropped.remove(index);
        found(dropped.concat());
        let mut twice = lines.clone();
        twice.insert(index, lines[index]);
        found(twice.concat());
        let mut spaced = lines.clone();
        let text = lines[index].replacen(':', ": ", 1);
        spaced[index] = &text;
        found(spaced.concat());
        if index > 0 {
            let mut swapped = lines.clone();
            swapped.swap(index - 1, index);
            found(swapped.concat());
        }
    }
    found(before.replace(r#""score":0.5,"#, r#""score":0.9,"#));
    fs::write(&path, &before).unwrap();
    assert!(report(&place).findings.is_empty());

    // The other files.
    let results = sealed.join("results").read_dir_utf8().unwrap();
    let names: Vec<_> = results.map(|entry| entry.unwrap().path().to_owned()).collect();
    assert_eq!(names.len(), 4);
    for path in names.iter().chain([&sealed.join("metrics.json")]) {
        let before = fs::read_to_string(path).unwrap();
        fs::write(path, before.replacen("0.0", "1.0", 1).replacen("true", "false", 1)).unwrap();
        assert_eq!(report(&place).findings.len(), 1, "{path}");
        fs::write(path, &before).unwrap();
    }
    for path in &names {
        let before = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        assert_eq!(report(&place).findings.len(), 1, "{path}");
        fs::write(path, before).unwrap();
    }
    assert!(report(&place).findings.is_empty());
}
