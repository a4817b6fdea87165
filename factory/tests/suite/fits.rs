//! The linear models of the baselines: right, and the same bits wherever they are fitted.

use factory::numeric::draws::{Draws, floor};
use factory::numeric::linear::Linear;
use factory::numeric::logistic::Softmax;
use ndarray::Array2;
use rayon::prelude::*;
use serde_json::json;
use support::reference;
use tasks::stream::Stream;

/// Penalty of all models, as in scikit-learn's defaults.
const PENALTY: f64 = 1.0;

/// The models that are compared.
const MODELS: [&str; 3] = ["ridge", "logistic", "softmax"];

/// Where classes of equal size part.
const EVEN: [f64; 3] = [0.25, 0.5, 0.75];

/// Inputs with targets of three kinds.
struct FitCase {
    x: Array2<f64>,
    numbers: Vec<f64>,
    flags: Vec<f64>,
    classes: Vec<usize>,
}

impl FitCase {
    /// Columns are one common part plus `own` times a part of their own; the last is constant.
    /// A row's class is the number of `shares` below which its number does not rank; the flag
    /// is whether that is more than one.
    fn new(rows: usize, columns: usize, own: f64, shares: [f64; 3]) -> Self {
        let mut draws = Draws::new(Stream::root(rows as u64).index(columns as u64));
        let common: Vec<f64> = (0..rows).map(|_| draws.normal()).collect();
        let x = Array2::from_shape_fn((rows, columns), |(row, column)| {
            let value = 5.0 + 3.0 * (common[row] + own * draws.normal());
            if column + 1 == columns { 7.0 } else { value }
        });
        let number = |row: usize| x[[row, 0]] - 2.0 * x[[row, 1]] + 3.0 * draws.normal();
        let numbers: Vec<f64> = (0..rows).map(number).collect();
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let cuts = shares.map(|share| sorted[floor(share * rows as f64)]);
        let class = |number: &f64| cuts.iter().filter(|cut| number > cut).count();
        let classes: Vec<usize> = numbers.iter().map(class).collect();
        let flags = classes.iter().map(|class| f64::from(u8::from(*class > 1))).collect();
        Self { x, numbers, flags, classes }
    }

    /// What a model that was fitted to the rows says of them, row by row.
    fn fitted(&self, model: &str) -> Vec<f64> {
        match model {
            "ridge" => Linear::ridge(&self.x, &self.numbers, PENALTY).score(&self.x),
            "logistic" => Linear::logistic(&self.x, &self.flags, PENALTY).unwrap().score(&self.x),
            _ => {
                let softmax = Softmax::fit(&self.x, &self.classes, 4, PENALTY).unwrap();
                softmax.probabilities(&self.x).iter().copied().collect()
            }
        }
    }

    fn request(&self, model: &str) -> String {
        let rows: Vec<Vec<f64>> = self.x.rows().into_iter().map(|row| row.to_vec()).collect();
        let y = match model {
            "ridge" => json!(self.numbers),
            "logistic" => json!(self.flags),
            _ => json!(self.classes),
        };
        json!({"x": rows, "y": y, "model": model, "penalty": PENALTY}).to_string()
    }
}

/// Plain, collinear, unbalanced, and wider than long.
fn cases() -> [FitCase; 4] {
    [
        FitCase::new(200, 12, 1.0, EVEN),
        FitCase::new(200, 30, 0.05, EVEN),
        FitCase::new(400, 20, 0.5, [0.7, 0.93, 0.98]),
        FitCase::new(40, 60, 0.3, EVEN),
    ]
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn fits_agree_with_scikit_learn() {
    let cases = cases();
    let cases: Vec<(&FitCase, &str)> =
        cases.iter().flat_map(|case| MODELS.map(|model| (case, model))).collect();
    let requests = cases.iter().map(|(case, model)| case.request(model)).collect();
    let answers = reference::ask("factory/tests/reference/fits.py", requests);
    for ((case, model), answer) in cases.iter().zip(answers) {
        let expected: Vec<f64> = match *model {
            "softmax" => serde_json::from_value::<Vec<Vec<f64>>>(answer).unwrap().concat(),
            _ => serde_json::from_value(answer).unwrap(),
        };
        let found = case.fitted(model);
        assert_eq!(found.len(), expected.len());
        let most = |values: &[f64]| values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let apart: Vec<f64> = found.iter().zip(&expected).map(|(a, b)| a - b).collect();
        // Ridge is solved directly; the others stop where the loss no longer changes.
        let tolerance = if *model == "ridge" { 1e-12 } else { 1e-6 };
        let relative = most(&apart) / most(&expected);
        assert!(relative < tolerance, "{model} {:?}: {relative:e}", case.x.dim());
    }
}

#[test]
fn fits_repeat_to_the_bit_on_one_and_two_threads() {
    let case = FitCase::new(200, 12, 0.3, EVEN);
    for model in MODELS {
        let expected = bits(&case.fitted(model));
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let fits: Vec<Vec<u64>> = pool
                .install(|| (0..100).into_par_iter().map(|_| bits(&case.fitted(model))).collect());
            assert!(fits.iter().all(|fit| *fit == expected), "{model} on {threads} threads");
        }
    }
}

/// The digests were the same on a processor with AVX-512 and fused multiplication and under
/// `qemu-x86_64 -cpu Nehalem`, which has neither.
#[test]
fn fits_have_the_same_bits_on_every_processor() {
    let digest = |model: &str| {
        let mut hasher = blake3::Hasher::new();
        for case in cases() {
            for word in bits(&case.fitted(model)) {
                hasher.update(&word.to_le_bytes());
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    };
    let digests = MODELS.map(digest);
    assert_eq!(digests, ["282b3c42dc00e5e9", "d4bc3f21d21d26da", "54b13ddb245f0829"]);
}
