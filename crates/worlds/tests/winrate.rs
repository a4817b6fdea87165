//! The length-controlled win rate against scikit-learn, and against preferences that are planted.

use rand::RngExt as _;
use serde_json::json;
use support::reference;
use tasks::stream::Stream;
use worlds::instructions::{Comparison, win_rate};

const REFERENCE: &str = "crates/worlds/tests/reference/winrate.py";
/// Characters at which more length begins to count less for the planted judge.
const LENGTH: f64 = 100.0;

/// How a judge and a policy are planted.
#[derive(Debug, Clone, Copy)]
struct Planted {
    /// The logit of a comparison without wishes and of equal length.
    base: f64,
    /// What each wish adds to it.
    slope: f64,
    /// How much length sways the judge.
    length: f64,
    /// By how many characters the policy's answers are longer, and the spread of that.
    longer: (i64, i64),
    items: u64,
    seed: u64,
}

fn sigmoid(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

impl Planted {
    /// The comparisons, and the win rate in percent if all answers were of equal length.
    fn draw(self) -> (Vec<Comparison>, f64) {
        let comparison = |index: u64| {
            let mut rng = Stream::root(self.seed).child("planted").index(index).rng();
            let reference_length: i64 = rng.random_range(100..220);
            let mut longer = |(mean, spread): (i64, i64)| {
                (reference_length + mean + rng.random_range(-spread..spread)).max(1)
            };
            let (length, short, long) = (longer(self.longer), longer((-50, 30)), longer((140, 60)));
            let difficulty = rng.random_range(1..=4);
            let logit = self.base + self.slope * difficulty as f64;
            let swayed =
                |length: i64| self.length * ((length - reference_length) as f64 / LENGTH).tanh();
            let characters = |length: i64| usize::try_from(length).unwrap_or_default();
            let gamed = [short, long].map(|length| (sigmoid(swayed(length)), characters(length)));
            let comparison = Comparison {
                preference: sigmoid(logit + swayed(length)),
                length: characters(length),
                reference_length: characters(reference_length),
                difficulty,
                gamed,
            };
            (comparison, sigmoid(logit))
        };
        let (comparisons, planted): (Vec<_>, Vec<f64>) = (0..self.items).map(comparison).unzip();
        let planted = 100.0 * planted.iter().sum::<f64>() / self.items as f64;
        (comparisons, planted)
    }
}

/// Judges and policies of many kinds.
fn planted() -> Vec<Planted> {
    let mut all = Vec::new();
    for (seed, base) in [(1, -2.0), (2, -0.5), (3, 0.4), (4, 1.5)] {
        for slope in [-0.3, 0.0, 0.4] {
            for length in [0.0, 0.5, 1.0] {
                for longer in [(-60, 30), (0, 40), (0, 120), (120, 60)] {
                    all.push(Planted { base, slope, length, longer, items: 300, seed });
                }
            }
        }
    }
    all
}

#[test]
fn the_fit_is_that_of_scikit_learn() {
    let all: Vec<Vec<Comparison>> = planted().iter().map(|planted| planted.draw().0).collect();
    let answers = reference::ask(REFERENCE, all.iter().map(|rows| json!(rows)).collect());
    let mut furthest: f64 = 0.0;
    for (rows, answer) in all.iter().zip(&answers) {
        let rate = win_rate(rows).unwrap();
        for (weight, expected) in rate.weights.iter().zip(answer["weights"].as_array().unwrap()) {
            let expected = expected.as_f64().unwrap();
            assert!((weight - expected).abs() < 1e-6, "{rate:?} {answer}");
        }
        assert!((rate.length_controlled - answer["score"].as_f64().unwrap()).abs() < 1e-5);
        furthest = furthest.max((rate.length_controlled - answer["usual"].as_f64().unwrap()).abs());
    }
    assert!(furthest < 0.1, "{furthest} from scikit-learn's folds and tolerance");
}

#[test]
fn planted_preferences_come_out_as_planted() {
    for planted in planted() {
        let (rows, expected) = planted.draw();
        let found = win_rate(&rows).unwrap();
        let error = found.length_controlled - expected;
        assert!(error.abs() < 1.0, "{planted:?}: {found:?}, planted {expected}");
    }
}

#[test]
fn length_alone_moves_the_score_by_less_than_one_point() {
    for base in [-1.5, 0.0, 1.0] {
        let at = |mean: i64, spread: i64| {
            let planted = Planted {
                base,
                slope: 0.2,
                length: 0.7,
                longer: (mean, spread),
                items: 300,
                seed: 9,
            };
            win_rate(&planted.draw().0).unwrap()
        };
        let same = at(0, 30);
        for (mean, spread) in [(-80, 20), (-30, 30), (40, 30), (90, 60), (200, 40)] {
            let other = at(mean, spread);
            let moved = (other.length_controlled - same.length_controlled).abs();
            assert!(moved < 1.0, "{mean}: {other:?} {same:?}");
            let raw = (other.raw - same.raw).abs();
            assert!(raw > 3.0, "{mean}: length should sway the raw win rate: {raw}");
        }
    }
}

#[test]
fn order_does_not_matter_and_few_comparisons_are_enough() {
    let planted = planted()[7];
    let (mut rows, _) = planted.draw();
    let found = win_rate(&rows).unwrap();
    rows.reverse();
    assert_eq!(win_rate(&rows).unwrap(), found);
    rows.rotate_left(100);
    assert_eq!(win_rate(&rows).unwrap(), found);
    assert_eq!(win_rate(&[]), None);
    for count in 1..12 {
        let rate = win_rate(&rows[..count]).unwrap();
        assert!((0.0..=100.0).contains(&rate.length_controlled), "{count}: {rate:?}");
    }
    // All answers of one length, equal to that of the references.
    for row in &mut rows {
        row.length = row.reference_length;
    }
    let rate = win_rate(&rows).unwrap();
    assert!((rate.length_controlled - rate.raw).abs() < 2.0, "{rate:?}");
}
