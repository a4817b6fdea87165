//! The scripted ladder on tasks of the factory, in the sandbox that agents play in.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use agents::playground::Playground;
use agents::scaffold::ladder::{ScriptedJob, Stage, play_all};
use agents::scaffold::react::Rules;
use agents::scaffold::scripted::Approach;
use camino::Utf8Path;
use sandbox::stream::Stream;
use sandbox::task::Split;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::process::Command;

/// Makes one task of a formulation and returns the gain of each level on it, weakest level
/// first, and what bronze takes.
fn gains(formulation: &str) -> ([f64; 5], f64) {
    let desk = tempfile::tempdir().unwrap();
    let corpus = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", "1", "--val-count", "1", "--preset", "paper"])
        .args(["--modality", "image", "--formulation", formulation, "--out", corpus.as_str()])
        .status()
        .unwrap();
    assert!(made.success());
    let playground = Playground::open(&corpus).unwrap();
    let task = playground.tasks(Split::Val).unwrap()[0];
    let rules = Rules::default();
    let sandbox = playground.sandbox();
    let stage = Stage { sandbox, rules: &rules, workers: 2, stream: Stream::root(1) };
    let jobs = Approach::ALL.map(|approach| ScriptedJob { task, approach, attempt: 0 });
    let mut scores = BTreeMap::new();
    play_all(&stage, &jobs, &mut |played| {
        let played = played.unwrap();
        let outcomes: Vec<&str> =
            played.turns.iter().filter_map(|turn| turn.outcome.as_deref()).collect();
        // A script that failed would have been followed by the sample submission.
        assert_eq!(outcomes, ["finished"], "{} on {}", played.agent, played.task);
        scores.insert(played.agent, played.finish.grade.unwrap().score);
        Ok::<(), Infallible>(())
    })
    .unwrap();
    let direction = task.manifest().direction();
    let score = |approach: Approach| scores[&format!("scripted/{}", approach.name())];
    (
        Approach::ALL.map(|approach| direction.gain(score(approach))),
        direction.gain(task.manifest().thresholds.bronze_threshold),
    )
}

#[test]
fn every_level_solves_scenes_and_the_oracle_best() {
    for formulation in ["segmentation", "detection", "reconstruction"] {
        let (gains, bronze) = gains(formulation);
        let [constant, linear, forest, operators, oracle] = gains;
        assert!(constant < bronze && bronze <= oracle, "{formulation}: {gains:?}, {bronze}");
        assert!(constant < linear && linear < oracle, "{formulation}: {gains:?}");
        assert!(forest < oracle && operators < oracle, "{formulation}: {gains:?}");
    }
}
