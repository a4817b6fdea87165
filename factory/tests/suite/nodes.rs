//! Rows that are the nodes of one network: what the top rung is fitted on is what anyone can
//! compute from the public files.

use camino::Utf8Path;
use factory::baselines::{features, ladder};
use factory::spec::blueprint::Blueprint;
use fs_err as fs;
use std::process::Command;
use tasks::task::{Corpus, TaskDir};

/// Tasks that are looked at.
const COUNT: &str = "3";

/// As scripted solvers begin; what the manifest holds follows.
const BEGINNING: &str = "\
import json
import numpy as np
import pandas as pd
a = pd.read_csv('input/train.csv')
b = pd.read_csv('input/test.csv')
s = pd.read_csv('input/sample_submission.csv')
y = a.pop(a.columns.difference(b.columns)[0])
n = len(a)
x = pd.concat([a, b]).drop(columns=s.columns[0]).reset_index(drop=True)
";

/// Columns of numbers.
type NumberColumns = Vec<Vec<f64>>;

/// What Python makes of the public files alone: places in the network, and the rule's terms.
fn by_python(task: &TaskDir) -> (NumberColumns, NumberColumns) {
    let provenance = &task.manifest().provenance;
    let code = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let script = format!(
        "{BEGINNING}{}\nplaces = np.array([read(i)[1] for i in items(x)], float).T.tolist()\n\
         {}\nprint(json.dumps([places, x.values.T.tolist()]))\n",
        code(&provenance["reader"]),
        code(&provenance["oracle"]["code"])
    );
    let room = tempfile::tempdir().unwrap();
    let input = Utf8Path::from_path(room.path()).unwrap().join("input");
    fs::create_dir(&input).unwrap();
    for entry in task.public().path().read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), input.join(entry.file_name())).unwrap();
    }
    let python = std::env::var("MLE_PYTHON")
        .unwrap_or_else(|_| format!("{}/../.venv/bin/python", env!("CARGO_MANIFEST_DIR")));
    let output = Command::new(python)
        .args(["-I", "-c", &script])
        .current_dir(room.path())
        .output()
        .expect("`make venv` sets up the Python environment, or name one in MLE_PYTHON");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn same(ours: &[Vec<f64>], theirs: &[Vec<f64>], order: &[usize]) {
    assert_eq!(ours.len(), theirs.len());
    for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(theirs.len(), order.len());
        for (row, theirs) in order.iter().zip(theirs) {
            let gap = (ours[*row] - theirs).abs();
            assert!(gap <= 1e-9 * (1.0 + theirs.abs()), "{index}: {} {theirs}", ours[*row]);
        }
    }
}

#[test]
fn the_public_files_hold_all_that_the_rungs_look_at() {
    let room = tempfile::tempdir().unwrap();
    let out = Utf8Path::from_path(room.path()).unwrap().join("corpus");
    Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", COUNT, "--out", out.as_str()])
        .args(["--modality", "graph", "--formulation", "multiclass"])
        .output()
        .unwrap();
    let corpus = Corpus::open(&out).unwrap();
    assert!(!corpus.tasks().is_empty());
    for task in corpus.tasks() {
        let blueprint = fs::read(task.path().join("source/blueprint.json")).unwrap();
        let blueprint: Blueprint = serde_json::from_slice(&blueprint).unwrap();
        let assets = blueprint.kind().render(&blueprint, None).unwrap();
        let (places, terms) = by_python(task);
        // Written order is training rows, then test rows.
        let order = [&assets.order.train[..], &assets.order.test[..]].concat();
        same(&features::in_network(&assets), &places, &order);
        let frame = ladder::rebuilt(&blueprint, &assets);
        let rule = blueprint.targets[0].rule.as_ref().unwrap();
        let ours: NumberColumns = rule.terms.iter().map(|term| term.expr.values(&frame)).collect();
        assert!(rule.to_string().contains(".near"), "{rule}");
        same(&ours, &terms, &order);
        let page = fs::read_to_string(task.public().path().join("description.md")).unwrap();
        assert!(page.contains("edges.csv") && !page.contains(".near"), "{page}");
        let table = fs::read_to_string(task.public().path().join("train.csv")).unwrap();
        assert!(!table.contains(".near"));
    }
}
