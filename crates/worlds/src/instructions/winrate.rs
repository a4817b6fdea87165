//! The length-controlled win rate of AlpacaEval 2.0.
//!
//! ```text
//! p = σ(w1 · tanh((len_1 - len_2) / sd) + w2 · difficulty + w3)      1: reference, 2: policy
//! score = 100 · mean of σ(w2 · difficulty + w3)
//! ```
//! (Dubois et al., 2024.) How much length sways the judge is learned from the policy's answers and,
//! with weight 0.2 over two, from two gamed baselines: the reference answers written shorter and
//! longer.
//!
//! AlpacaEval's program differs in two places, for which its own model gives no reason, and of which
//! the second moves scores by up to 15 points here if all answers are shorter or longer than the
//! references:
//! - A gamed baseline is the reference, so neither `w2` nor `w3` is there for it. The program keeps
//!   `w2`.
//! - `sd` is that of the gamed baselines, so a character counts the same whoever writes it. The
//!   program divides by the standard deviation of the policy's own differences.

use super::judge::sigmoid;
use super::logistic::{Row, fit_by_folds};
use serde::{Deserialize, Serialize};

/// The weight of the rows of the gamed baselines: 0.2, divided among two.
const GAMED: f64 = 0.2 / 2.0;

/// One answer of a policy against the reference answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// How likely the policy's answer is preferred, from 0 to 1.
    pub preference: f64,
    /// Characters of the policy's answer.
    pub length: usize,
    /// Characters of the reference answer.
    pub reference_length: usize,
    /// How hard the instruction is: its number of wishes.
    pub difficulty: usize,
    /// The same of the reference answer written shorter and longer: preference and characters.
    pub gamed: [(f64, usize); 2],
}

impl Comparison {
    /// By how many characters an answer of this length is shorter than the reference answer.
    fn shorter_by(&self, length: usize) -> f64 {
        self.reference_length as f64 - length as f64
    }
}

/// What the comparisons of a policy come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WinRate {
    /// The mean preference, in percent.
    pub raw: f64,
    /// The same if all answers were as long as the reference answers, in percent.
    pub length_controlled: f64,
    /// `w1`, `w2` and `w3`.
    pub weights: [f64; 3],
}

/// The win rates of a policy; `None` without comparisons. The order of comparisons does not matter.
pub fn win_rate(comparisons: &[Comparison]) -> Option<WinRate> {
    if comparisons.is_empty() {
        return None;
    }
    let mut sorted = comparisons.to_vec();
    // Folds depend on the order of rows.
    sorted.sort_by(|a, b| {
        let key = |c: &Comparison| (c.difficulty, c.reference_length, c.length);
        key(a)
            .cmp(&key(b))
            .then(a.preference.total_cmp(&b.preference))
            .then((a.gamed[0].0 + a.gamed[1].0).total_cmp(&(b.gamed[0].0 + b.gamed[1].0)))
    });
    let (weights, _) = fit_by_folds(&rows(&sorted));
    let count = sorted.len() as f64;
    let controlled =
        sorted.iter().map(|c| sigmoid(weights[1] * c.difficulty as f64 + weights[2])).sum::<f64>();
    let raw = sorted.iter().map(|c| c.preference).sum::<f64>();
    Some(WinRate {
        raw: 100.0 * raw / count,
        length_controlled: 100.0 * controlled / count,
        weights,
    })
}

/// The rows of the fit: those of the gamed baselines, then those of the policy.
fn rows(comparisons: &[Comparison]) -> Vec<Row> {
    // Preference for a gamed baseline, and by how much it is shorter than the reference.
    let of = |c: &Comparison| c.gamed.map(|(share, length)| (share, c.shorter_by(length)));
    let gamed: Vec<(f64, f64)> = comparisons.iter().flat_map(of).collect();
    let deviation = deviation(gamed.iter().map(|(_, shorter)| *shorter));
    let baselines = gamed.iter().map(|&(share, shorter)| Row {
        x: [libm::tanh(shorter / deviation), 0.0, 0.0],
        share,
        weight: GAMED,
    });
    let policy = comparisons.iter().map(|c| Row {
        x: [libm::tanh(c.shorter_by(c.length) / deviation), c.difficulty as f64, 1.0],
        share: c.preference,
        weight: 1.0,
    });
    baselines.chain(policy).collect()
}

/// The standard deviation (with n - 1). Where all values are the same, infinity: then length tells
/// nothing, and its column is 0.
fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = libm::sqrt(squares / (count - 1.0).max(1.0));
    if deviation > 0.0 { deviation } else { f64::INFINITY }
}
