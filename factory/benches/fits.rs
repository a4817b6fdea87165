//! Ridge, logistic and softmax regression as the baselines fit them, beside the library models
//! that were not taken: time, steps, and a digest of the bits of each fit.
//!
//! `cargo bench -p factory --bench fits [-- REPEATS]`. Each fit is repeated, and a repeat with
//! other bits ends the program. Whether a fit depends on the processor shows when the same
//! program runs on another one, for example one without fused multiplication:
//!
//! ```sh
//! qemu-x86_64 -cpu Nehalem target/release/deps/fits-* 1
//! ```
//!
//! Rows of the table whose digests differ there are of no use for a corpus.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]

use anyhow::{Context as _, Result, ensure};
use factory::numeric::draws::Draws;
use factory::numeric::linear::Linear;
use factory::numeric::logistic::Softmax;
use linfa::prelude::{Dataset, Fit as _};
use linfa_elasticnet::ElasticNet;
use linfa_logistic::{LogisticRegression, MultiLogisticRegression};
use ndarray::{Array1, Array2, Axis};
use smartcore::linalg::basic::arrays::Array as _;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::logistic_regression as smart;
use std::time::Instant;
use tasks::stream::Stream;

/// Rows and columns, and whether all columns carry one common part, which makes them collinear.
const SIZES: [(usize, usize, bool); 4] =
    [(200, 5, false), (200, 30, false), (200, 30, true), (2000, 60, true)];
/// Number of classes of the softmax regression.
const CLASSES: usize = 4;
/// Penalty of every model, in scikit-learn's terms.
const PENALTY: f64 = 1.0;
/// Tolerance of the models that were not taken.
const TOLERANCE: f64 = 1e-8;
/// Sweeps that linfa-elasticnet may make.
const SWEEPS: u32 = 2000;

fn main() -> Result<()> {
    // Cargo passes `--bench`.
    let repeats = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let repeats = repeats.map_or(Ok(5), |word| word.parse()).context("REPEATS")?;
    for (rows, columns, collinear) in SIZES {
        let regressions = Regressions::new(rows, columns, collinear);
        println!("\n{rows} x {columns}{}", if collinear { ", collinear" } else { "" });
        regressions.ridge(repeats)?;
        regressions.logistic(repeats)?;
        regressions.softmax(repeats)?;
    }
    Ok(())
}

/// Inputs, and targets of each kind.
struct Regressions {
    x: Array2<f64>,
    /// `x`, standardised, for the models that do not do that themselves.
    z: Array2<f64>,
    numbers: Vec<f64>,
    flags: Vec<f64>,
    classes: Vec<usize>,
}

impl Regressions {
    fn new(rows: usize, columns: usize, collinear: bool) -> Self {
        let mut draws = Draws::new(Stream::root(1));
        let common: Vec<f64> = (0..rows).map(|_| draws.normal()).collect();
        let (shared, own) = if collinear { (1.0, 0.05) } else { (0.0, 1.0) };
        let x = Array2::from_shape_fn((rows, columns), |(row, column)| {
            3.0 + column as f64 + 2.0 * (shared * common[row] + own * draws.normal())
        });
        let number = |row: usize| x[[row, 0]] - 0.5 * x[[row, 1]] + 0.2 * x[[row, columns - 1]];
        let numbers: Vec<f64> = (0..rows).map(|row| number(row) + draws.normal()).collect();
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let class = |number: &f64| {
            (1..CLASSES).filter(|cut| *number > sorted[rows * cut / CLASSES]).count()
        };
        let classes: Vec<usize> = numbers.iter().map(class).collect();
        let flags = classes.iter().map(|class| f64::from(u8::from(*class > 1))).collect();
        let z = (&x - &x.mean_axis(Axis(0)).unwrap_or_default()) / &x.std_axis(Axis(0), 0.0);
        Self { x, z, numbers, flags, classes }
    }

    fn ridge(&self, repeats: u32) -> Result<()> {
        let taken = measured("ridge", repeats, || {
            Ok(Linear::ridge(&self.x, &self.numbers, PENALTY).score(&self.x))
        })?;
        let data = Dataset::new(self.z.clone(), Array1::from(self.numbers.clone()));
        let mut steps = 0;
        let other = measured("ridge, linfa-elasticnet", repeats.min(1), || {
            // linfa's penalty is of the mean of the squares, scikit-learn's of their sum.
            let model = ElasticNet::params()
                .l1_ratio(0.0)
                .penalty(PENALTY / self.z.nrows() as f64)
                .tolerance(TOLERANCE)
                .max_iterations(SWEEPS)
                .fit(&data)?;
            steps = model.n_steps();
            Ok((self.z.dot(model.hyperplane()) + model.intercept()).to_vec())
        })?;
        println!("    apart by {:.1e} after {steps} of {SWEEPS} sweeps", apart(&taken, &other));
        Ok(())
    }

    fn logistic(&self, repeats: u32) -> Result<()> {
        let taken = measured("logistic", repeats, || {
            Ok(Linear::logistic(&self.x, &self.flags, PENALTY)?.score(&self.x))
        })?;
        let labels: Array1<usize> =
            self.flags.iter().map(|flag| usize::from(*flag > 0.5)).collect();
        let data = Dataset::new(self.z.clone(), labels);
        let other = measured("logistic, linfa-logistic", repeats, || {
            let model = LogisticRegression::default()
                .alpha(PENALTY)
                .gradient_tolerance(TOLERANCE)
                .max_iterations(10_000)
                .fit(&data)?;
            // linfa takes either class as the positive one.
            let sign = if model.labels().pos.class == 1 { 1.0 } else { -1.0 };
            Ok(((self.z.dot(model.params()) + model.intercept()) * sign).to_vec())
        })?;
        println!("    apart by {:.1e}", apart(&taken, &other));
        let values = self.z.iter().copied().collect();
        let dense = DenseMatrix::new(self.z.nrows(), self.z.ncols(), values, false)?;
        let labels: Vec<i32> = self.flags.iter().map(|flag| i32::from(*flag > 0.5)).collect();
        let other = measured("logistic, smartcore", repeats, || {
            let settings = smart::LogisticRegressionParameters::default().with_alpha(PENALTY);
            let model = smart::LogisticRegression::fit(&dense, &labels, settings)?;
            let weights: Array1<f64> = model.coefficients().iterator(0).copied().collect();
            Ok((self.z.dot(&weights) + *model.intercept().get((0, 0))).to_vec())
        })?;
        println!("    apart by {:.1e}", apart(&taken, &other));
        Ok(())
    }

    fn softmax(&self, repeats: u32) -> Result<()> {
        let taken = measured("softmax", repeats, || {
            let model = Softmax::fit(&self.x, &self.classes, CLASSES, PENALTY)?;
            Ok(model.probabilities(&self.x).iter().copied().collect())
        })?;
        let data = Dataset::new(self.z.clone(), Array1::from(self.classes.clone()));
        let other = measured("softmax, linfa-logistic", repeats, || {
            let model = MultiLogisticRegression::default()
                .alpha(PENALTY)
                .gradient_tolerance(TOLERANCE)
                .max_iterations(10_000)
                .fit(&data)?;
            Ok(model.predict_probabilities(&self.z).iter().copied().collect())
        })?;
        println!("    apart by {:.1e}", apart(&taken, &other));
        Ok(())
    }
}

/// Fits once and then `repeats` times more; prints milliseconds a fit and the digest.
fn measured(
    name: &str,
    repeats: u32,
    mut fit: impl FnMut() -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let first = fit()?;
    let started = Instant::now();
    for _ in 0..repeats {
        ensure!(digest(&fit()?) == digest(&first), "{name} gives other bits when repeated");
    }
    let milliseconds = started.elapsed().as_secs_f64() * 1e3 / f64::from(repeats.max(1));
    println!("{name:26} {milliseconds:10.3} ms  {}", digest(&first));
    Ok(first)
}

/// A short name for the bits of some numbers.
fn digest(values: &[f64]) -> String {
    let mut hasher = blake3::Hasher::new();
    for value in values {
        hasher.update(&value.to_bits().to_le_bytes());
    }
    hasher.finalize().to_hex()[..12].to_owned()
}

/// The largest difference.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
