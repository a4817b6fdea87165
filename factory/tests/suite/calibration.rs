//! The scripted ladder on tasks of the factory, in the sandbox that agents play in.

use crate::ladder;
use camino::Utf8Path;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::process::Command;
use tasks::task::{Opening, Split};

/// Makes one task of a kind and returns the gain of each level on it, weakest level
/// first, and what bronze takes.
fn gains(modality: &str, formulation: &str) -> ([f64; 5], f64) {
    let desk = tempfile::tempdir().unwrap();
    let corpus = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    // Fifty rows of a table do not tell who knows best how sure one can be.
    let preset = if modality == "tabular" { "large" } else { "paper" };
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", "1", "--val-count", "1", "--preset", preset])
        .args(["--modality", modality, "--formulation", formulation, "--out", corpus.as_str()])
        .status()
        .unwrap();
    assert!(made.success());
    let suite = TaskSuite::open(&corpus, &Opening::default(), SandboxOptions::default()).unwrap();
    let task = suite.split(Split::Val).unwrap()[0];
    ladder::gains(&suite, task)
}

#[test]
fn every_level_solves_scenes_and_the_oracle_best() {
    for formulation in ["segmentation", "detection", "reconstruction"] {
        let (gains, bronze) = gains("image", formulation);
        let [constant, linear, forest, operators, oracle] = gains;
        assert!(constant < bronze && bronze <= oracle, "{formulation}: {gains:?}, {bronze}");
        assert!(constant < linear && linear < oracle, "{formulation}: {gains:?}");
        assert!(forest < oracle && operators < oracle, "{formulation}: {gains:?}");
    }
}

#[test]
fn the_oracle_knows_best_how_sure_it_can_be() {
    let (gains, bronze) = gains("tabular", "quantiles");
    let [constant, linear, forest, operators, oracle] = gains;
    assert!(constant < bronze && bronze <= oracle, "{gains:?}, {bronze}");
    // Neighbouring levels may swap places on a single task.
    let best = linear.max(forest).max(operators);
    assert!(constant < best && best < oracle, "{gains:?}");
}
