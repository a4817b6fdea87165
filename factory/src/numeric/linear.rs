//! Ridge, logistic and softmax regression on standardised inputs, with an unpenalised intercept.

use crate::numeric::draws::sigmoid;
use crate::numeric::matrix::Matrix;
use crate::numeric::moments::moments;

/// Newton steps of the logistic fit; it converges in well under these.
const NEWTON_STEPS: usize = 12;
/// Steps of the softmax fit, which converges more slowly.
const BOUND_STEPS: usize = 80;

/// A linear score with the standardisation of its inputs.
#[derive(Debug, Clone)]
pub struct Linear {
    center: Vec<f64>,
    spread: Vec<f64>,
    /// The intercept is last.
    weights: Vec<f64>,
}

impl Linear {
    /// Ridge regression: minimises Σ (y − xw)² + `penalty` |w|².
    pub fn ridge(x: &Matrix, y: &[f64], penalty: f64) -> Self {
        let mut model = Self::standardiser(x);
        let z = model.standardised(x);
        let rows = vec![1.0; y.len()];
        model.weights = solve(&z, &rows, y, penalty);
        model
    }

    /// Logistic regression of y in {0, 1}: minimises the log loss + `penalty`/2 |w|².
    pub fn logistic(x: &Matrix, y: &[f64], penalty: f64) -> Self {
        let mut model = Self::standardiser(x);
        let z = model.standardised(x);
        model.weights = vec![0.0; z.columns];
        for _ in 0..NEWTON_STEPS {
            // Iteratively reweighted least squares: each Newton step is a weighted ridge fit
            // to the working response.
            let score: Vec<f64> = (0..y.len()).map(|row| dot(z.row(row), &model.weights)).collect();
            let mut weight = Vec::with_capacity(y.len());
            let mut response = Vec::with_capacity(y.len());
            for (score, y) in score.iter().zip(y) {
                let p = sigmoid(*score);
                let variance = (p * (1.0 - p)).max(1e-6);
                weight.push(variance);
                response.push(score + (y - p) / variance);
            }
            model.weights = solve(&z, &weight, &response, penalty);
        }
        model
    }

    /// The linear score of every row.
    pub fn score(&self, x: &Matrix) -> Vec<f64> {
        let z = self.standardised(x);
        (0..z.rows()).map(|row| dot(z.row(row), &self.weights)).collect()
    }

    fn standardiser(x: &Matrix) -> Self {
        let column =
            |index: usize| -> Vec<f64> { (0..x.rows()).map(|row| x.row(row)[index]).collect() };
        let moments: Vec<(f64, f64)> =
            (0..x.columns).map(|index| moments(&column(index))).collect();
        Self {
            center: moments.iter().map(|(mean, _)| *mean).collect(),
            // A constant column stays at zero.
            spread: moments.iter().map(|(_, s)| if *s > 1e-12 { *s } else { 1.0 }).collect(),
            weights: Vec::new(),
        }
    }

    fn standardised(&self, x: &Matrix) -> Matrix {
        let columns = x.columns + 1;
        let mut values = Vec::with_capacity(x.rows() * columns);
        for row in 0..x.rows() {
            let scaled = x.row(row).iter().zip(&self.center).zip(&self.spread);
            values.extend(scaled.map(|((value, center), spread)| (value - center) / spread));
            values.push(1.0);
        }
        Matrix { values, columns }
    }
}

/// Softmax regression: one linear score per class.
#[derive(Debug, Clone)]
pub struct Softmax {
    inputs: Linear,
    /// One weight vector per class.
    weights: Vec<Vec<f64>>,
}

impl Softmax {
    /// Minimises the log loss + `penalty`/2 |w|² by bound optimisation: the Hessian of each
    /// class is at most half of `ZᵀZ` (Böhning 1992), so one factorisation serves all steps.
    pub fn fit(x: &Matrix, classes: &[usize], count: usize, penalty: f64) -> Self {
        let inputs = Linear::standardiser(x);
        let z = inputs.standardised(x);
        let bound = factorised(gram(&z, &vec![0.5; classes.len()]), z.columns, penalty);
        let mut model = Self { inputs, weights: vec![vec![0.0; z.columns]; count] };
        for _ in 0..BOUND_STEPS {
            let probabilities = model.on_standardised(&z);
            for (class, weights) in model.weights.iter_mut().enumerate() {
                let mut gradient = vec![0.0; z.columns];
                for (row, truth) in classes.iter().enumerate() {
                    let hit = f64::from(u8::from(*truth == class));
                    let error = hit - probabilities[class][row];
                    gradient.iter_mut().zip(z.row(row)).for_each(|(g, z)| *g += error * z);
                }
                for (gradient, weight) in gradient.iter_mut().zip(&*weights).take(z.columns - 1) {
                    *gradient -= penalty * weight;
                }
                let step = substituted(&bound, gradient);
                weights.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
            }
        }
        model
    }

    /// The probability of every class (outer) for every row (inner).
    pub fn probabilities(&self, x: &Matrix) -> Vec<Vec<f64>> {
        self.on_standardised(&self.inputs.standardised(x))
    }

    fn on_standardised(&self, z: &Matrix) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::with_capacity(z.rows()); self.weights.len()];
        for row in 0..z.rows() {
            let scores: Vec<f64> = self.weights.iter().map(|w| dot(z.row(row), w)).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> = scores.iter().map(|s| libm::exp(s - most)).collect();
            let sum: f64 = powers.iter().sum();
            columns.iter_mut().zip(powers).for_each(|(column, power)| column.push(power / sum));
        }
        columns
    }
}

/// The scalar product, in four sums: one sum would wait for each of its additions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours, rest) = a.as_chunks::<4>();
    let (others, left) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (four, other) in fours.iter().zip(others) {
        for lane in 0..4 {
            sums[lane] += four[lane] * other[lane];
        }
    }
    let tail: f64 = rest.iter().zip(left).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// Solves `(ZᵀWZ + penalty·I) w = ZᵀWy`, leaving the last column unpenalised.
fn solve(z: &Matrix, weight: &[f64], y: &[f64], penalty: f64) -> Vec<f64> {
    let mut right = vec![0.0; z.columns];
    for (row, (weight, y)) in weight.iter().zip(y).enumerate() {
        right.iter_mut().zip(z.row(row)).for_each(|(right, z)| *right += weight * z * y);
    }
    substituted(&factorised(gram(z, weight), z.columns, penalty), right)
}

/// The lower triangle of `ZᵀWZ`.
fn gram(z: &Matrix, weight: &[f64]) -> Vec<f64> {
    let n = z.columns;
    let mut gram = vec![0.0; n * n];
    for (row, weight) in weight.iter().enumerate() {
        let z = z.row(row);
        for (i, line) in gram.chunks_exact_mut(n).enumerate() {
            let scaled = weight * z[i];
            line.iter_mut().zip(&z[..=i]).for_each(|(sum, z)| *sum += scaled * z);
        }
    }
    gram
}

/// A lower triangular matrix with `n` rows.
struct Factor {
    values: Vec<f64>,
    n: usize,
}

/// Cholesky's factor of `gram` plus the penalty on all columns but the last.
fn factorised(mut gram: Vec<f64>, n: usize, penalty: f64) -> Factor {
    for i in 0..n {
        // The tiny ridge on the intercept keeps the matrix positive definite.
        gram[i * n + i] += if i + 1 < n { penalty } else { 1e-9 };
    }
    for i in 0..n {
        for j in 0..=i {
            let below = dot(&gram[i * n..i * n + j], &gram[j * n..j * n + j]);
            let rest = gram[i * n + j] - below;
            gram[i * n + j] = if i == j { rest.max(1e-12).sqrt() } else { rest / gram[j * n + j] };
        }
    }
    Factor { values: gram, n }
}

/// Solves L Lᵀ w = right.
fn substituted(Factor { values, n }: &Factor, mut right: Vec<f64>) -> Vec<f64> {
    let n = *n;
    for i in 0..n {
        let below = dot(&values[i * n..i * n + i], &right[..i]);
        right[i] = (right[i] - below) / values[i * n + i];
    }
    for i in (0..n).rev() {
        let above: f64 = (i + 1..n).map(|k| values[k * n + i] * right[k]).sum();
        right[i] = (right[i] - above) / values[i * n + i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use tasks::stream::Stream;

    fn data() -> (Matrix, Vec<f64>) {
        let mut draws = Draws::new(Stream::root(8));
        let columns: Vec<Vec<f64>> =
            (0..2).map(|_| (0..400).map(|_| 3.0 + 2.0 * draws.normal()).collect()).collect();
        let score = columns[0].iter().zip(&columns[1]).map(|(a, b)| 1.0 + 2.0 * a - b).collect();
        (Matrix::from_columns(&columns), score)
    }

    #[test]
    fn ridge_recovers_a_plane() {
        let (x, y) = data();
        let fitted = Linear::ridge(&x, &y, 1e-6).score(&x);
        assert!(fitted.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn the_logistic_fit_is_a_stationary_point() {
        let (x, score) = data();
        let y: Vec<f64> = score.iter().map(|s| f64::from(u8::from(*s > 4.0))).collect();
        let model = Linear::logistic(&x, &y, 1.0);
        let z = model.standardised(&x);
        for column in 0..z.columns {
            let mut gradient = 0.0;
            for (row, y) in y.iter().enumerate() {
                gradient += (sigmoid(dot(z.row(row), &model.weights)) - y) * z.row(row)[column];
            }
            if column + 1 < z.columns {
                gradient += model.weights[column];
            }
            assert!(gradient.abs() < 1e-4, "{column}: {gradient}");
        }
    }

    #[test]
    fn softmax_finds_ordered_classes() {
        let (x, score) = data();
        let grade = |s: &f64| usize::from(*s > 2.0) + usize::from(*s > 6.0);
        let classes: Vec<usize> = score.iter().map(grade).collect();
        let columns = Softmax::fit(&x, &classes, 3, 1e-3).probabilities(&x);
        let right = (0..classes.len()).filter(|row| {
            let best = (0..3).max_by(|a, b| columns[*a][*row].total_cmp(&columns[*b][*row]));
            best == Some(classes[*row])
        });
        assert!(right.count() > 380);
        assert!(
            (0..400).all(|row| (columns.iter().map(|c| c[row]).sum::<f64>() - 1.0).abs() < 1e-9)
        );
    }
}
