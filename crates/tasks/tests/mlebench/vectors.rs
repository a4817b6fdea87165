//! What the original gave when it was run, and what is known of how it refuses.

use serde::Deserialize;
use std::collections::BTreeSet;
use tasks::metrics::Metric;
use tasks::mlebench::checks::GraderRefusal;
use tasks::mlebench::frame::PandasFrame;
use tasks::mlebench::graders::{GRADERS, grader};
use tasks::mlebench::score::Score;

/// Scores before rounding, recorded from the original.
const VECTORS: &str = include_str!("vectors.json");
/// What is written of the checks, and of quirks that were observed.
const BEHAVIOUR: &str = include_str!("behaviour.json");

#[derive(Debug, Deserialize)]
struct Vector {
    competition: String,
    metric: String,
    answers: String,
    submission: String,
    score: f64,
}

#[derive(Debug, Deserialize)]
struct Behaviour {
    competition: String,
    why: String,
    answers: String,
    submission: String,
    /// `"NaN"` for NaN.
    score: Option<serde_json::Value>,
    refusal: Option<String>,
}

fn grade(competition: &str, submission: &str, answers: &str) -> Result<Score, GraderRefusal> {
    let read = |text: &str| PandasFrame::read(text.as_bytes()).unwrap();
    grader(competition).unwrap()(&read(submission), &read(answers))
}

#[test]
fn scores_are_those_of_the_original() {
    let vectors: Vec<Vector> = serde_json::from_str(VECTORS).unwrap();
    for Vector { competition, metric, answers, submission, score } in vectors {
        let found = grade(&competition, &submission, &answers).unwrap().value();
        // Logarithms may differ in their last bit, and what is added up from them in two.
        let logarithmic = metric.contains("log_loss") || metric.contains("rmsle");
        let tolerance = if logarithmic { 2.0 * f64::EPSILON * score } else { 0.0 };
        assert!((found - score).abs() <= tolerance, "{metric}: {found}, not {score}");
    }
}

/// Vectors of metrics that no competition of low complexity is scored by.
#[test]
fn other_metrics_are_those_of_the_original() {
    let mcc = Metric::Mcc.labels(&[1, 1, 1, 0], &[1, 0, 1, 0]).unwrap();
    assert!((mcc - 0.577_350_269_189_625_8).abs() < 1e-15);
    // Labels 0 and 2: label 1 is predicted, but does not occur in the answers.
    let (truth, found) = ([true, true, false, true], [true, false, false, true]);
    assert!((Metric::MicroF1.flags(&truth, &found, 2).unwrap() - 0.8).abs() < 1e-15);
    assert_eq!(Metric::Mae.regression(&[11.0, 14.0], &[10.0, 12.0]), Ok(1.5));
}

#[test]
fn the_two_number_types_round_differently() {
    assert_eq!(Score::NumPy(0.123_455).rounded(), 0.12346);
    assert_eq!(Score::Plain(0.123_455).rounded(), 0.12345);
    assert_eq!(Score::NumPy(0.000_005).rounded(), 0.0);
    assert_eq!(Score::Plain(0.000_005).rounded(), 0.00001);
    assert!(Score::NumPy(f64::NAN).rounded().is_nan());
    assert_eq!(Score::Plain(f64::INFINITY).rounded(), f64::INFINITY);
}

#[test]
fn refusals_are_those_of_the_original() {
    let mut seen = BTreeSet::new();
    let cases: Vec<Behaviour> = serde_json::from_str(BEHAVIOUR).unwrap();
    for Behaviour { competition, why, answers, submission, score, refusal } in cases {
        let found = grade(&competition, &submission, &answers);
        let kind = match &found {
            Ok(_) => None,
            Err(GraderRefusal::Invalid(_)) => Some("invalid"),
            Err(GraderRefusal::Failure(_)) => Some("failure"),
        };
        assert_eq!(kind, refusal.as_deref(), "{competition}, {why}: {found:?}");
        let expected = score.map(|score| score.as_f64().unwrap_or(f64::NAN));
        match (found, expected) {
            (Ok(found), Some(score)) if score.is_nan() => assert!(found.value().is_nan(), "{why}"),
            (Ok(found), Some(score)) => {
                assert!(
                    (found.value() - score).abs() <= 1e-15 * score,
                    "{competition}, {why}: {found:?}"
                );
            }
            (Err(_), None) => {}
            (found, _) => panic!("{competition}, {why}: {found:?}"),
        }
        seen.insert(competition);
    }
    // The others share the checks and the metric of the first.
    let areas = GRADERS.iter().filter(|(id, _)| !seen.contains(*id));
    for (id, _) in areas {
        let one_area = [
            "detecting-insults-in-social-commentary",
            "histopathologic-cancer-detection",
            "mlsp-2013-birds",
            "random-acts-of-pizza",
            "siim-isic-melanoma-classification",
            "tabular-playground-series-may-2022",
            "text-normalization-challenge-russian-language",
            "the-icml-2013-whale-challenge-right-whale-redux",
        ];
        assert!(one_area.contains(id), "{id} has no case");
    }
}
