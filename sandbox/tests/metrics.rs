//! Every metric against scikit-learn and `SciPy` on random inputs, ties and edge cases included.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sandbox::metrics::{Metric, MetricError};
use sandbox::stream::Stream;
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

const CASES_PER_METRIC: u64 = 200;
const TOLERANCE: f64 = 1e-9;

#[derive(Clone, Copy, PartialEq)]
enum Input {
    Numbers,
    Labels,
    Scores,
    Classes,
}

fn inputs(metric: Metric) -> &'static [Input] {
    match metric {
        Metric::Accuracy
        | Metric::BalancedAccuracy
        | Metric::F1
        | Metric::MacroF1
        | Metric::Mcc
        | Metric::QuadraticKappa => &[Input::Labels],
        Metric::LogLoss => &[Input::Scores, Input::Classes],
        Metric::RocAuc | Metric::AveragePrecision | Metric::Brier => &[Input::Scores],
        _ => &[Input::Numbers],
    }
}

struct Case {
    metric: Metric,
    ours: Result<f64, MetricError>,
    request: serde_json::Value,
}

/// Small sizes and coarse grids make ties, single classes and constant columns common.
fn case(metric: Metric, input: Input, stream: Stream) -> Case {
    let mut rng = stream.rng();
    let rows = rng.random_range(1..40);
    let grid = [1.0, 4.0, 1e6][rng.random_range(0..3)];
    let classes = rng.random_range(2..6);
    let numbers = |rng: &mut ChaCha8Rng, rows: usize, low: f64, high: f64| -> Vec<f64> {
        (0..rows).map(|_| (rng.random_range(low..high) * grid).round() / grid).collect()
    };
    let labels = |rng: &mut ChaCha8Rng, classes: usize| -> Vec<usize> {
        (0..rows).map(|_| rng.random_range(0..classes)).collect()
    };
    match input {
        Input::Labels => {
            let (truth, predicted) = (labels(&mut rng, classes), labels(&mut rng, classes));
            let ours = metric.labels(&truth, &predicted);
            request(metric, ours, &json!(truth), &json!(predicted), None)
        }
        Input::Scores => {
            let truth = labels(&mut rng, 2);
            let predicted = numbers(&mut rng, rows, 0.0, 1.0);
            let ours = metric.scores(&truth, &predicted);
            request(metric, ours, &json!(truth), &json!(predicted), None)
        }
        Input::Classes => {
            let truth = labels(&mut rng, classes);
            let mut predicted = numbers(&mut rng, rows * classes, 0.0, 1.0);
            for row in predicted.chunks_exact_mut(classes) {
                let sum: f64 = row.iter().map(|value| value + 1e-3).sum();
                for value in row {
                    *value = (*value + 1e-3) / sum;
                }
            }
            let ours = metric.class_probabilities(&truth, &predicted, classes);
            request(metric, ours, &json!(truth), &json!(predicted), Some(classes))
        }
        Input::Numbers => {
            let low = if metric == Metric::Rmsle { 0.0 } else { -5.0 };
            let truth = numbers(&mut rng, rows, low, 5.0);
            let predicted = numbers(&mut rng, rows, low, 5.0);
            let ours = metric.regression(&truth, &predicted);
            request(metric, ours, &json!(truth), &json!(predicted), None)
        }
    }
}

fn request(
    metric: Metric,
    ours: Result<f64, MetricError>,
    truth: &serde_json::Value,
    predicted: &serde_json::Value,
    classes: Option<usize>,
) -> Case {
    let request = json!({
        "metric": metric.name(), "truth": truth, "predicted": predicted, "classes": classes,
    });
    Case { metric, ours, request }
}

fn reference(cases: &[Case]) -> Vec<Option<f64>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut python = Command::new(format!("{root}/.venv/bin/python"))
        .arg(format!("{root}/sandbox/tests/reference/metrics.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment that this test compares with");
    let mut stdin = python.stdin.take().unwrap();
    let requests: Vec<String> = cases.iter().map(|case| case.request.to_string()).collect();
    let writer = std::thread::spawn(move || {
        for request in requests {
            writeln!(stdin, "{request}").unwrap();
        }
    });
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where we refuse although the reference has a value, each on purpose: a constant or
/// one-class input says nothing about a submission, and scikit-learn's conventions for it differ
/// from metric to metric.
fn refused_on_purpose(case: &Case) -> bool {
    matches!(
        (case.metric, &case.ours),
        (Metric::R2, Err(MetricError::Constant))
            | (Metric::AveragePrecision | Metric::RocAuc, Err(MetricError::OneClass))
    )
}

#[test]
fn metrics_agree_with_the_reference() {
    let mut cases = Vec::new();
    for metric in Metric::ALL {
        for (kind, input) in inputs(metric).iter().enumerate() {
            let stream = Stream::root(1).child(metric.name()).index(kind as u64);
            cases.extend((0..CASES_PER_METRIC).map(|i| case(metric, *input, stream.index(i))));
        }
    }
    let expected = reference(&cases);
    assert_eq!(expected.len(), cases.len());
    let mut scored = 0;
    for (case, expected) in cases.iter().zip(expected) {
        match (&case.ours, expected) {
            (Ok(ours), Some(expected)) => {
                let scale = expected.abs().max(1.0);
                assert!(
                    (ours - expected).abs() <= TOLERANCE * scale,
                    "{}: ours {ours}, reference {expected}, {}",
                    case.metric,
                    case.request
                );
                scored += 1;
            }
            (Err(_), None) => {}
            (Err(_), Some(_)) if refused_on_purpose(case) => {}
            (ours, expected) => {
                panic!("{}: ours {ours:?}, reference {expected:?}, {}", case.metric, case.request)
            }
        }
    }
    assert!(scored > cases.len() / 2, "most cases must have a value, {scored} had");
}

#[test]
fn row_order_never_matters() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::with_cases(64), rng);
    let rows = proptest::collection::vec((-5.0..5.0f64, -5.0..5.0f64), 2..30);
    runner
        .run(&rows, |rows| {
            let reversed: Vec<_> = rows.iter().rev().copied().collect();
            for metric in Metric::ALL.into_iter().filter(|m| inputs(*m) == [Input::Numbers]) {
                let score = |rows: &[(f64, f64)]| {
                    let (truth, predicted): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
                    metric.regression(&truth, &predicted).ok()
                };
                match (score(&rows), score(&reversed)) {
                    (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0)),
                    (a, b) => assert_eq!(a.is_none(), b.is_none()),
                }
            }
            Ok(())
        })
        .unwrap();
}
