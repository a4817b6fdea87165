//! Small task folders of the kinds that come from elsewhere.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::BTreeMap;
use tasks::task::{Collection, Opening, Task, TaskError};
use tempfile::TempDir;

/// A truth that no script may ever read.
pub const CANARY: &str = "0.2718281828";

/// A folder that is removed at the end.
#[derive(Debug)]
pub struct TemporaryFolder(TempDir);

impl Default for TemporaryFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl TemporaryFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.0.path()).unwrap()
    }

    pub fn write(&self, name: &str, text: &str) -> Utf8PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn open(&self) -> Collection {
        Collection::open(self.path(), &Opening::default()).unwrap()
    }

    pub fn refused(&self, name: &str) -> TaskError {
        Task::open(&self.path().join(name), &Opening::default()).unwrap_err()
    }

    /// `spooky-author-identification` with four texts.
    pub fn competition(&self) {
        let of = |name: &str| format!("spooky-author-identification/prepared/{name}");
        self.write(&of("public/description.md"), "Tell three authors apart.\n");
        self.write(&of("public/train.csv"), "id,text,author\nid1,nevermore,EAP\n");
        self.write(&of("public/test.csv"), "id,text\nid2,eldritch\nid3,monster\n");
        let sample = "id,EAP,HPL,MWS\nid2,0.4,0.3,0.3\nid3,0.4,0.3,0.3\n";
        self.write(&of("public/sample_submission.csv"), sample);
        self.write(&of("private/test.csv"), "id,EAP,HPL,MWS\nid2,0,1,0\nid3,0,0,1\n");
    }

    /// A bundle laid out as the SandMLE release, with as many test rows as asked for. Its metric
    /// is the mean absolute error, its truth `CANARY` in every row.
    pub fn bundle(&self, name: &str, rows: usize) {
        let of = |file: &str| format!("{name}/prepared/public/{file}");
        let table = |value: &str| {
            let rows = lines(rows, |row| format!("t{row},{value}\n"));
            format!("id,y\n{rows}")
        };
        let test = lines(rows, |row| format!("t{row},{row}\n"));
        self.write(&of("description.md"), "Predict y from x.\n");
        self.write(&of("train.csv"), "id,x,y\na,1,0.5\nb,2,0.25\n");
        self.write(&of("test.csv"), &format!("id,x\n{test}"));
        self.write(&of("images/t0.txt"), "a picture\n");
        self.write(&of("sample_submission.csv"), &table("0"));
        self.write(&of("answer.csv"), &table(CANARY));
        self.write(&of("threshold.json"), "{\"gold_threshold\": 0.01}");
        self.write(&of("generate_task_env.py"), &format!("TRUTH = {CANARY}\n"));
        self.write(&of("notes/copy.txt"), &table(CANARY));
        self.write(&of("evaluator.py"), EVALUATOR);
    }
}

/// The contents of every file below a folder, by path within it.
pub fn files(folder: &Utf8Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The files of a corpus that are the same bytes whoever plays the roles: all but the lock, durations,
/// and the ledger and the calls, which say what models took.
pub fn corpus_files(corpus: &Utf8Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(corpus);
    found.retain(|path, _| {
        !matches!(path.as_str(), "ledger.jsonl" | "times.jsonl" | ".lock" | "calls.jsonl")
            && !path.starts_with("calls/")
    });
    found
}

/// So many lines.
pub fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<String>>().concat()
}

/// As the released ones are written: baked-in thresholds, a command line, JSON on standard output.
pub const EVALUATOR: &str = r#"
import argparse, json, os, sys
import numpy as np
import pandas as pd

THRESHOLDS = {
    "gold_threshold": 0.01, "silver_threshold": 0.05, "bronze_threshold": 0.1,
    "median_threshold": 0.2,
}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--submission_path", default="sample_submission.csv")
    path = parser.parse_args().submission_path
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        submission = pd.read_csv(path)
        answers = pd.read_csv(os.path.join(here, "answer.csv"))
        assert os.path.exists("train.csv"), "the data is not there"
        merged = answers.merge(submission, on="id", suffixes=("_true", "_pred"))
        if (merged["y_pred"] < -1000).any():
            raise ValueError(f"impossible beside {merged['y_true'][0]}")
        if (merged["y_pred"] > 3000).any():
            THRESHOLDS["gold_threshold"] = 1.0
        score = float(np.abs(merged["y_true"] - merged["y_pred"]).mean())
        if (merged["y_pred"] > 2000).any():
            score = float("nan")
        print(json.dumps({"score": score, "rows": len(merged), "is_lower_better": True, **THRESHOLDS}))
    except Exception as error:
        print(json.dumps({"error": str(error)}))
        sys.exit(1)

main()
"#;

/// Puts other bytes into a file of a task, as if the task had been made with them.
///
/// # Panics
/// If a file cannot be written.
pub fn replace(task: &Utf8Path, file: &str, bytes: &[u8]) {
    fs::write(task.join(file), bytes).unwrap();
    let manifest = task.join("task.json");
    let mut value: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    value["hashes"][file] = blake3::hash(bytes).to_hex().as_str().into();
    fs::write(&manifest, serde_json::to_vec(&value).unwrap()).unwrap();
}
