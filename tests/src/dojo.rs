//! Small competitions in the form of MLE-Dojo, with a checkout that holds their metrics.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::fmt::Write as _;

/// A competition of MLE-Dojo in a test.
#[derive(Debug, Clone, Copy)]
pub struct DojoFixture {
    /// Its name.
    pub name: &'static str,
    /// The body of its metric's `evaluate(self, y_true, y_pred)`, of which both are sorted by id.
    pub evaluate: &'static str,
    /// Whether higher scores are better.
    pub higher_is_better: bool,
    /// The answer to a row of the test set.
    pub answer: fn(u32) -> f64,
}

/// Rows of each test set.
pub const DOJO_ROWS: u32 = 40;

/// Three metrics in the way in which MLE-Dojo writes them.
pub const DOJO: [DojoFixture; 3] = [
    DojoFixture {
        name: "house-prices",
        evaluate: "return float(np.sqrt(((y_true.y - y_pred.y) ** 2).mean()))",
        higher_is_better: false,
        answer: |row| f64::from(row * 7 % 23),
    },
    DojoFixture {
        name: "Night-Shifts",
        evaluate: "return accuracy_score(y_true.y, y_pred.y)",
        higher_is_better: true,
        answer: |row| f64::from(row * 5 % 3),
    },
    DojoFixture {
        name: "late-trains",
        evaluate: "return roc_auc_score(y_true.y, y_pred.y)",
        higher_is_better: true,
        answer: |row| f64::from(row % 2),
    },
];

/// Writes a competition below `data` and its metric into `checkout`; returns its folder.
///
/// # Panics
/// If a file cannot be written.
pub fn write(fixture: &DojoFixture, data: &Utf8Path, checkout: &Utf8Path) -> Utf8PathBuf {
    let DojoFixture { name, evaluate, higher_is_better, answer } = fixture;
    let folder = data.join(name);
    let put = |path: Utf8PathBuf, text: String| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let table = |value: &dyn Fn(u32) -> f64| {
        (0..DOJO_ROWS).fold("id,y\n".to_owned(), |mut text, row| {
            let _ = writeln!(text, "r{row},{}", value(row));
            text
        })
    };
    let train = (0..DOJO_ROWS).fold("id,x,y\n".to_owned(), |mut text, row| {
        let _ = writeln!(text, "a{row},{row},{}", answer(row));
        text
    });
    put(folder.join("data/public/description.txt"), format!("# {name}\n\nPredict `y`.\n"));
    put(folder.join("data/public/train.csv"), train);
    put(folder.join("data/public/sample_submission.csv"), table(&|_| 1.0));
    put(folder.join("data/private/test_answer.csv"), table(&|row| answer(row)));
    // Four places, of which two tie.
    let scores = if *higher_is_better { [0.9, 0.6, 0.6, 0.2] } else { [0.5, 2.0, 2.0, 50.0] };
    let board =
        scores.iter().enumerate().fold("rank,score\n".to_owned(), |mut text, (i, score)| {
            let _ = writeln!(text, "{},{score}", i + 1);
            text
        });
    put(folder.join("data/private/private_leaderboard.csv"), board);
    let python = if *higher_is_better { "True" } else { "False" };
    let metric = format!(
        "from typing import Any\nimport pandas as pd\nimport numpy as np\n\
         from sklearn.metrics import accuracy_score, roc_auc_score\n\
         from mledojo.metrics.base import CompetitionMetrics, InvalidSubmissionError\n\n\
         class TheMetrics(CompetitionMetrics):\n    \
             def __init__(self, value: str = \"y\", higher_is_better: bool = {python}):\n        \
                 super().__init__(higher_is_better)\n        \
                 self.value = value\n\n    \
             def evaluate(self, y_true: pd.DataFrame, y_pred: pd.DataFrame) -> float:\n        \
                 print(\"a metric may print\")\n        \
                 y_true = y_true.sort_values(by=\"id\").reset_index(drop=True)\n        \
                 y_pred = y_pred.sort_values(by=\"id\").reset_index(drop=True)\n        \
                 {evaluate}\n\n    \
             def validate_submission(self, submission: Any, ground_truth: Any) -> str:\n        \
                 if len(submission) != len(ground_truth):\n            \
                     raise InvalidSubmissionError(f\"expected {{len(ground_truth)}} rows\")\n        \
                 if list(submission.columns) != list(ground_truth.columns):\n            \
                     raise InvalidSubmissionError(\"wrong columns\")\n        \
                 return \"ok\"\n"
    );
    put(checkout.join("mledojo/competitions").join(name).join("utils/metric.py"), metric);
    folder
}
