//! Logistic regression with an L1 penalty on shares instead of labels, for three columns.
//!
//! ```text
//! minimise  C · Σ v_i · [p_i · ln(1 + e^-z_i) + (1 - p_i) · ln(1 + e^z_i)] + |w|_1,   z_i = w · x_i
//! ```
//! the objective of scikit-learn's `LogisticRegression(penalty="l1", solver="liblinear",
//! fit_intercept=False)` where each row stands twice, once with each label. `C` is chosen among ten
//! by five folds, as `LogisticRegressionCV` does. Three columns make the minimum exact and cheap, so
//! it needs no Python, and the same rows give the same bits on every machine; liblinear stops at a
//! tolerance, and NumPy's sorting decides which rows are in which of scikit-learn's folds.

use super::judge::sigmoid;

/// Columns.
pub(super) const WIDTH: usize = 3;
/// Steps of Newton's method, at most. Ten are usual.
const STEPS: usize = 200;
/// The largest change of a weight at which a fit is done.
const TOLERANCE: f64 = 1e-11;
/// Folds by which `C` is chosen.
const FOLDS: usize = 5;
/// Values of `C` that are tried: from 1e-4 to 1e4, in equal ratios.
const GRID: usize = 10;

/// A row: columns, the share of the label 1, and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    pub(super) x: [f64; WIDTH],
    pub(super) share: f64,
    pub(super) weight: f64,
}

/// Fits with the `C` that has the smallest loss on rows that the fit did not see.
///
/// Returns the weights and `C`.
pub(super) fn fit_by_folds(rows: &[Row]) -> ([f64; WIDTH], f64) {
    let grid =
        (0..GRID).map(|step| libm::pow(10.0, -4.0 + 8.0 * step as f64 / (GRID as f64 - 1.0)));
    // scikit-learn's `GroupKFold` deals rows of equal size from the last to the first.
    let fold = |index: usize| (rows.len() - 1 - index) % FOLDS;
    let split = |held_out: usize| -> (Vec<Row>, Vec<Row>) {
        let (out, kept): (Vec<_>, Vec<_>) =
            rows.iter().enumerate().partition(|(index, _)| fold(*index) == held_out);
        let strip = |rows: Vec<(usize, &Row)>| rows.into_iter().map(|(_, row)| *row).collect();
        (strip(kept), strip(out))
    };
    let splits: Vec<_> = (0..FOLDS.min(rows.len())).map(split).collect();
    let mut best = (f64::INFINITY, 1.0);
    for c in grid {
        let losses = splits.iter().map(|(kept, out)| loss(out, &fit(kept, c)));
        let mean = losses.sum::<f64>() / splits.len().max(1) as f64;
        if mean < best.0 {
            best = (mean, c);
        }
    }
    (fit(rows, best.1), best.1)
}

/// The mean weighted logarithmic loss.
fn loss(rows: &[Row], weights: &[f64; WIDTH]) -> f64 {
    let of = |row: &Row| row.weight * row_loss(row, dot(weights, &row.x));
    rows.iter().map(of).sum::<f64>() / rows.len().max(1) as f64
}

fn row_loss(row: &Row, z: f64) -> f64 {
    row.share * softplus(-z) + (1.0 - row.share) * softplus(z)
}

/// The minimum of the objective, by Newton steps whose L1 part is solved exactly.
pub(super) fn fit(rows: &[Row], c: f64) -> [f64; WIDTH] {
    let mut weights = [0.0; WIDTH];
    let objective = |weights: &[f64; WIDTH]| {
        let smooth: f64 =
            rows.iter().map(|row| row.weight * row_loss(row, dot(weights, &row.x))).sum();
        c * smooth + weights.iter().map(|weight| weight.abs()).sum::<f64>()
    };
    let mut value = objective(&weights);
    for _ in 0..STEPS {
        let mut gradient = [0.0; WIDTH];
        let mut hessian = [[0.0; WIDTH]; WIDTH];
        for row in rows {
            let p = sigmoid(dot(&weights, &row.x));
            let (slope, curvature) =
                (c * row.weight * (p - row.share), c * row.weight * p * (1.0 - p));
            for (i, (sum, row_of_h)) in gradient.iter_mut().zip(&mut hessian).enumerate() {
                *sum += slope * row.x[i];
                for (entry, x) in row_of_h.iter_mut().zip(&row.x) {
                    *entry += curvature * row.x[i] * x;
                }
            }
        }
        let target = quadratic_minimum(&weights, &gradient, &hessian);
        // Shorter steps where the quadratic is no good picture of the objective.
        let mut length = 1.0;
        let (next, next_value) = loop {
            let next: [f64; WIDTH] =
                std::array::from_fn(|i| weights[i] + length * (target[i] - weights[i]));
            let next_value = objective(&next);
            if next_value <= value || length < 1e-9 {
                break (next, next_value);
            }
            length /= 2.0;
        };
        let change = (0..WIDTH).map(|i| (next[i] - weights[i]).abs()).fold(0.0, f64::max);
        if next_value > value {
            break;
        }
        (weights, value) = (next, next_value);
        if change < TOLERANCE {
            break;
        }
    }
    weights
}

/// The minimum of `g · (w - w0) + (w - w0) · H · (w - w0) / 2 + |w|_1`, one weight after the other
/// until none moves.
fn quadratic_minimum(
    from: &[f64; WIDTH],
    gradient: &[f64; WIDTH],
    hessian: &[[f64; WIDTH]; WIDTH],
) -> [f64; WIDTH] {
    let mut weights = *from;
    for _ in 0..10_000 {
        let mut change: f64 = 0.0;
        for (i, gradient) in gradient.iter().enumerate() {
            let curvature = hessian[i][i] + 1e-12;
            let moved = (0..WIDTH).map(|j| hessian[i][j] * (weights[j] - from[j]));
            let slope = gradient + moved.sum::<f64>();
            let free = weights[i] - slope / curvature;
            let next = free.signum() * (free.abs() - 1.0 / curvature).max(0.0);
            change = change.max((next - weights[i]).abs());
            weights[i] = next;
        }
        if change < TOLERANCE / 10.0 {
            break;
        }
    }
    weights
}

fn dot(a: &[f64; WIDTH], b: &[f64; WIDTH]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// ln(1 + e^x)
fn softplus(value: f64) -> f64 {
    value.max(0.0) + libm::log1p(libm::exp(-value.abs()))
}
