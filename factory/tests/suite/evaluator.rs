//! The standalone evaluator against the native grader: random submissions of every kind and
//! metric, and submissions that both must refuse.

use camino::{Utf8Path, Utf8PathBuf};
use factory::roles::operator;
use fs_err as fs;
use std::fmt::Write as _;
use support::random::{MetricCase, PredictionKind};
use support::{random, reference};
use tasks::metrics::Metric;
use tasks::prediction::{MOST_TEXT, Prediction};
use tasks::stream::Stream;
use tasks::submission::{Part, Submission, read_answers};

const CASES_PER_METRIC: u64 = 8;
const THRESHOLDS: &str = r#"{"gold_threshold": 4, "silver_threshold": 3,
    "bronze_threshold": 2, "median_threshold": 1}"#;

/// A task folder with all that an evaluator reads, and what the native grader says of it.
struct EvaluatedTask {
    path: Utf8PathBuf,
    metric: Metric,
    native: Result<f64, String>,
}

impl EvaluatedTask {
    fn write(
        path: Utf8PathBuf,
        metric: Metric,
        prediction: &Prediction,
        answers: &str,
        submission: &str,
    ) -> Self {
        fs::create_dir_all(path.join("prepared/private")).unwrap();
        fs::create_dir_all(path.join("source")).unwrap();
        let evaluator = operator::standalone(metric, "id", prediction);
        fs::write(path.join("source/evaluator.py"), evaluator).unwrap();
        fs::write(path.join("prepared/private/threshold.json"), THRESHOLDS).unwrap();
        fs::write(path.join("prepared/private/answer.csv"), answers).unwrap();
        fs::write(path.join("submission.csv"), submission).unwrap();
        let answers =
            read_answers(&path.join("prepared/private/answer.csv"), "id", prediction).unwrap();
        let native = Submission::parse(submission.as_bytes(), &answers, prediction)
            .map_err(|error| error.to_string())
            .and_then(|submission| {
                submission
                    .score(&answers, metric, Part::All)
                    .map_err(|error| format!("undefined: {error}"))
            });
        Self { path, metric, native }
    }
}

fn csv(columns: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("id,{}\n", columns.join(","));
    for (row, cells) in rows.iter().enumerate() {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let cells: Vec<String> = cells.iter().map(quoted).collect();
        let _ = writeln!(text, "row-{row},{}", cells.join(","));
    }
    text
}

fn evaluate(tasks: &[EvaluatedTask]) -> Vec<serde_json::Value> {
    let paths: Vec<Utf8PathBuf> = tasks.iter().map(|task| task.path.clone()).collect();
    reference::ask("factory/tests/reference/evaluate.py", paths)
}

fn write(case: &MetricCase, path: Utf8PathBuf) -> EvaluatedTask {
    let prediction = &case.prediction;
    let answers = csv(&prediction.answer_columns(), &case.cells(&case.truth));
    let submission = csv(&prediction.columns(), &case.cells(&case.predicted));
    let task = EvaluatedTask::write(path, case.metric, prediction, &answers, &submission);
    let undefined = |error: &_| format!("undefined: {error}");
    assert_eq!(task.native, case.score.as_ref().copied().map_err(undefined));
    task
}

#[test]
fn the_evaluator_agrees_with_the_grader() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let mut tasks = Vec::new();
    for metric in Metric::ALL {
        for (index, kind) in random::kinds(metric).into_iter().enumerate() {
            let stream = Stream::root(4).child(metric.name()).index(index as u64);
            for i in 0..CASES_PER_METRIC {
                let path = root.join(format!("{metric}-{index}-{i}"));
                tasks.push(write(&random::case(metric, kind, stream.index(i)), path));
            }
        }
    }
    let mut scored = 0;
    for (task, result) in tasks.iter().zip(evaluate(&tasks)) {
        let lower = task.metric.direction() == tasks::metrics::Direction::LowerIsBetter;
        assert_eq!(result["is_lower_better"], lower, "{}", task.metric);
        assert_eq!(result["gold_threshold"], 4.0);
        // Where a metric is undefined, scikit-learn may have a convention; a grade has none.
        let Ok(native) = task.native else { continue };
        let score = result["score"].as_f64().unwrap_or(f64::NAN);
        let gap = (score - native).abs() / native.abs().max(1.0);
        assert!(gap <= 1e-9, "{}: native {native}, evaluator {result}", task.path);
        scored += 1;
    }
    assert!(scored > tasks.len() / 2, "{scored} of {}", tasks.len());
}

#[test]
fn the_evaluator_refuses_what_the_grader_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    let long = "ä".repeat(MOST_TEXT / 2 + 1);
    let long = long.as_str();
    let malformed: [(Metric, PredictionKind, &[&str]); 10] = [
        (Metric::Mae, PredictionKind::Numbers, &["", "nan", "1e999", "one"]),
        (Metric::LogLoss, PredictionKind::Probabilities, &["-0.1", "1.1", "inf"]),
        (Metric::MicroF1, PredictionKind::Flags, &["c0 c0", "c0;c1", "c99"]),
        (Metric::Mrr, PredictionKind::Relevance, &["", "high", "inf"]),
        (
            Metric::Dice,
            PredictionKind::Mask,
            &["1", "0 1", "1 0", "2 1 1 1", "1 2 2 1", "1 9999", "1 1.5"],
        ),
        (
            Metric::BoxMap50,
            PredictionKind::Boxes,
            &["c0 1 1 1 1", "c99 1 1 1 1 1", "c0 1.5 1 1 1 1", "c0 1 1 1 0 1", "c0 1 nan 1 1 1"],
        ),
        (Metric::Psnr, PredictionKind::Pixels, &["", "1", "70000", "-1"]),
        (Metric::Accuracy, PredictionKind::Label, &["", "c99", "0"]),
        (Metric::WordJaccard, PredictionKind::Text, &["a\tb", "a\u{85}b", long]),
        (Metric::MapAt5, PredictionKind::Ids, &["a a", "a\tb", "a b c d e f g h i j k l m"]),
    ];
    let mut tasks = Vec::new();
    for (metric, kind, cells) in malformed {
        let case = random::case(metric, kind, Stream::root(5).child(metric.name()));
        let answers = csv(&case.prediction.answer_columns(), &case.cells(&case.truth));
        for (index, cell) in cells.iter().enumerate() {
            let mut rows = case.cells(&case.predicted);
            (*cell).clone_into(&mut rows[0][0]);
            let submission = csv(&case.prediction.columns(), &rows);
            let path = root.join(format!("{metric}-{index}"));
            let task = EvaluatedTask::write(path, metric, &case.prediction, &answers, &submission);
            assert!(task.native.is_err(), "{metric}: the grader takes `{cell}`");
            tasks.push(task);
        }
    }
    for (task, result) in tasks.iter().zip(evaluate(&tasks)) {
        assert!(result["score"].is_null() && result["error"].is_string(), "{}", task.path);
    }
}
