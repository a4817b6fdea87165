//! Every metric against scikit-learn, `SciPy` and plain `NumPy` on random inputs of every kind
//! that it scores, ties and edge cases included.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use support::random::{MetricCase, PredictionKind};
use support::{random, reference, rounds};
use tasks::boxes::{Detection, Object};
use tasks::mask::Mask;
use tasks::metrics::{Metric, MetricError, text};
use tasks::prediction::Prediction;
use tasks::stream::Stream;
use tasks::values::{self, Values};

const TOLERANCE: f64 = 1e-9;

const KINDS: [PredictionKind; 14] = [
    PredictionKind::Number,
    PredictionKind::Probability,
    PredictionKind::Label,
    PredictionKind::ClassProbabilities,
    PredictionKind::Numbers,
    PredictionKind::Probabilities,
    PredictionKind::Flags,
    PredictionKind::Relevance,
    PredictionKind::Mask,
    PredictionKind::Boxes,
    PredictionKind::Pixels,
    PredictionKind::Text,
    PredictionKind::Ids,
    PredictionKind::Quantiles,
];

fn request(case: &MetricCase) -> serde_json::Value {
    json!({
        "metric": case.metric.name(),
        "prediction": case.prediction,
        "truth": case.cells(&case.truth),
        "predicted": case.cells(&case.predicted),
    })
}

/// Where we refuse although the reference has a value, each on purpose: a constant or
/// one-class input says nothing about a submission, and scikit-learn's conventions for it differ
/// from metric to metric.
fn refused_on_purpose(case: &MetricCase) -> bool {
    matches!(
        (case.metric, &case.score),
        (Metric::R2, Err(MetricError::Constant))
            | (Metric::AveragePrecision | Metric::RocAuc, Err(MetricError::OneClass))
    )
}

#[test]
fn metrics_agree_with_the_reference() {
    for numbers in rounds::rounds() {
        let mut cases = Vec::new();
        for metric in Metric::ALL {
            for (index, kind) in random::kinds(metric).into_iter().enumerate() {
                let stream = Stream::root(1).child(metric.name()).index(index as u64);
                let case = |i| random::case(metric, kind, stream.index(i));
                cases.extend(numbers.clone().map(case));
            }
        }
        let requests = cases.iter().map(request).collect();
        let expected = reference::ask("crates/tasks/tests/reference/metrics.py", requests);
        let scored = cases.iter().zip(expected).filter(|(case, expected)| agrees(case, expected));
        let scored = scored.count();
        assert!(scored > cases.len() / 2, "most cases must have a value, {scored} had");
    }
}

/// Whether a case has a value, which is then the reference's.
fn agrees(case: &MetricCase, expected: &serde_json::Value) -> bool {
    match (&case.score, expected.as_f64()) {
        (Ok(ours), Some(expected)) => {
            let scale = expected.abs().max(1.0);
            assert!(
                (ours - expected).abs() <= TOLERANCE * scale,
                "{}: ours {ours}, reference {expected}, {}",
                case.metric,
                request(case)
            );
            true
        }
        (Err(_), None) => false,
        (Err(_), Some(_)) if refused_on_purpose(case) => false,
        (ours, expected) => {
            panic!("{}: ours {ours:?}, reference {expected:?}, {}", case.metric, request(case))
        }
    }
}

#[test]
fn metrics_refuse_every_other_kind() {
    for metric in Metric::ALL {
        for kind in KINDS {
            let case = random::case(metric, kind, Stream::root(2).child(metric.name()));
            let wrong = case.score == Err(MetricError::WrongInput(metric));
            assert_eq!(wrong, !random::kinds(metric).contains(&kind), "{metric} of {kind:?}");
        }
    }
}

/// The best that a submission can be; a row whose label set is empty counts 0 in F1 and Jaccard
/// all the same, so that these may stay below 1.
#[test]
fn no_submission_beats_a_perfect_one() {
    let mut compared = 0;
    for metric in Metric::ALL {
        for kind in random::kinds(metric) {
            for index in 0..20 {
                let stream = Stream::root(3).child(metric.name()).index(index);
                let case = random::case(metric, kind, stream);
                let perfect = values::score(metric, &case.truth, &perfect(&case));
                if let (Ok(score), Ok(perfect)) = (case.score, perfect) {
                    let gap = metric.direction().gain(perfect) - metric.direction().gain(score);
                    assert!(gap >= -TOLERANCE, "{metric} of {kind:?}: {score} beats {perfect}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 500);
}

/// The truth in the form of a submission.
fn perfect(case: &MetricCase) -> Values {
    let bit = |bit: bool| f64::from(u8::from(bit));
    match (&case.truth, &case.predicted) {
        (Values::Labels(truth), Values::Numbers(_)) => {
            Values::Numbers(truth.iter().map(|class| *class as f64).collect())
        }
        (Values::Labels(truth), Values::Matrix { columns, .. }) => {
            let mut values = vec![0.0; truth.len() * columns];
            for (row, class) in truth.iter().enumerate() {
                values[row * columns + class] = 1.0;
            }
            Values::Matrix { values, columns: *columns }
        }
        (Values::Flags { values, labels }, Values::Matrix { .. }) => Values::Matrix {
            values: values.iter().map(|flag| bit(*flag)).collect(),
            columns: *labels,
        },
        (Values::Grades { grades, .. }, _) => {
            Values::Numbers(grades.iter().copied().map(f64::from).collect())
        }
        (Values::Objects(rows), _) => {
            let sure = |object: &Object| Detection { object: *object, confidence: 1.0 };
            Values::Detections(rows.iter().map(|row| row.iter().map(sure).collect()).collect())
        }
        (Values::Ids(rows), _) => {
            let most = match case.prediction {
                Prediction::Ids { most, .. } => most,
                _ => 0,
            };
            Values::Ids(rows.iter().map(|ids| ids[..ids.len().min(most)].to_vec()).collect())
        }
        (truth, _) => truth.clone(),
    }
}

/// Vectors that the graders of MLE-bench gave when they were run.
#[test]
fn metrics_agree_with_mle_bench() {
    let close = |score: Result<f64, MetricError>, expected: f64| {
        assert!((score.unwrap() - expected).abs() < 1e-12, "{expected}");
    };
    close(Metric::MicroF1.labels(&[0, 0, 1], &[0, 1, 2]), 1.0 / 3.0);
    close(Metric::MacroF1.labels(&[1, 1, 2], &[1, 2, 3]), 2.0 / 9.0);
    let [truth, predicted] = [[0.1, 1.0, 0.2, 2.0], [0.2, 1.5, 0.2, 2.0]];
    close(Metric::Rmsle.targets(&truth, &predicted, 2), 0.109_656_326_511_036_18);
    let truth: Vec<bool> = (0..16).map(|place| place % 5 == 0).collect();
    let predicted =
        [0.7, 0.1, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.1, 0.3, 0.5, 0.1, 0.8, 0.1, 0.05, 0.05];
    close(Metric::MeanColumnAuc.label_probabilities(&truth, &predicted, 4), 7.0 / 12.0);
    let masks = |cells: [&str; 2]| cells.map(|cell| Mask::parse(cell, 4, 4).unwrap());
    close(Metric::Dice.masks(&masks(["3 4", "16 1"]), &masks(["1 4", ""])), 0.25);
    let rate = text::word_error_rate(&["1 3", "4 5 6"], &["1 2 3", "4"]);
    assert!((rate - 0.6).abs() < 1e-15);
    let distances = text::levenshtein("sitting", "kitten") + text::levenshtein("abc", "abc");
    assert_eq!(distances, 3);
}

#[test]
fn row_order_never_matters() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::with_cases(64), rng);
    let rows = proptest::collection::vec((-5.0..5.0f64, -5.0..5.0f64), 2..30);
    runner
        .run(&rows, |rows| {
            let reversed: Vec<_> = rows.iter().rev().copied().collect();
            let of_numbers =
                |metric: &Metric| random::kinds(*metric).contains(&PredictionKind::Number);
            for metric in Metric::ALL.into_iter().filter(of_numbers) {
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
