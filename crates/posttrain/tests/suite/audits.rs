//! What an audit finds in a run that somebody was at.

use crate::fixture::{Place, winning};
use fs_err as fs;
use posttrain::audit::{AuditReport, audit};
use std::time::Duration;

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
