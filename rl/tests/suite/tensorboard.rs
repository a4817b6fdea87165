//! TensorBoard reads from our event files what `metrics.jsonl` says, no step lost or doubled.

use crate::transformers::python;
use camino::Utf8Path;
use fs_err as fs;
use rl::run::metrics::Metrics;
use rl::run::tensorboard::scalars;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

type Curves = BTreeMap<String, Vec<(u64, f64, f64)>>;

fn read(run: &Utf8Path) -> Curves {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/events.py");
    let output = Command::new(python())
        .args(["-I", script, run.join("tensorboard").as_str()])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`make test` installs what this needs:\n{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[expect(clippy::cast_possible_truncation, reason = "the files hold f32")]
fn written(run: &Utf8Path) -> Curves {
    let mut curves = Curves::new();
    for line in fs::read_to_string(run.join("metrics.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (step, time) = (line["step"].as_u64().unwrap(), line["unix_seconds"].as_f64().unwrap());
        for (tag, value) in scalars(&line) {
            curves.entry(tag).or_default().push((step, f64::from(value as f32), time));
        }
    }
    curves
}

fn line(step: u64) -> Value {
    json!({
        "step": step, "reward": 0.1 * step as f64, "loss": -1e-9, "rollout_seconds": 1.5,
        "resident_bytes": 12_345_678_901_u64, "validation": {"reward": 0.25, "episodes": 300},
    })
}

#[test]
fn tensorboard_reads_what_the_metrics_say() {
    let dir = tempfile::tempdir().unwrap();
    let run = Utf8Path::from_path(dir.path()).unwrap();
    let mut metrics = Metrics::restart(run).unwrap();
    for step in 0..7 {
        metrics.append(&line(step)).unwrap();
    }
    let curves = read(run);
    assert_eq!(curves, written(run));
    assert_eq!(curves["train/reward"].len(), 7);
    assert_eq!(curves["validation/episodes"][0].1, 300.0);
    assert!(
        curves["memory/resident_bytes"][0].1 > 1.2e10 && curves["time/rollout_seconds"].len() == 7
    );

    // Killed in the middle of a line, then wound back to step 4 and gone on.
    let path = run.join("metrics.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 9]).unwrap();
    let mut metrics = Metrics::resume(run, 4).unwrap();
    for step in 5..9 {
        metrics.append(&line(step)).unwrap();
    }
    let curves = read(run);
    assert_eq!(curves, written(run));
    assert!(curves["train/loss"].iter().map(|point| point.0).eq(0..9));
}
