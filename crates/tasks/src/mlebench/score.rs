//! Scores as NumPy and scikit-learn 1.5 compute them: to the last bit where the order of
//! additions decides it, because a tie in the sixth decimal is broken by that bit.
//!
//! Metrics whose last bit hangs on a logarithm or a square root are those of
//! [`crate::metrics`].

use super::column::{PandasCell, PandasColumn};
use super::python;
use crate::metrics::{classification, regression};
use std::cmp::Ordering;

/// Scores are rounded to so many units.
const UNITS: f64 = 1e5;

/// A score in one of the two number types of Python, which round differently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// A NumPy double: `rint(x * 1e5) / 1e5`.
    NumPy(f64),
    /// A plain float: the nearest decimal.
    Plain(f64),
}

impl Score {
    /// The score before it is rounded.
    pub fn value(self) -> f64 {
        match self {
            Self::NumPy(value) | Self::Plain(value) => value,
        }
    }

    /// The score rounded to five decimals, as MLE-bench reports it.
    pub fn rounded(self) -> f64 {
        match self {
            Self::NumPy(value) => (value * UNITS).round_ties_even() / UNITS,
            Self::Plain(value) => python::round(value),
        }
    }
}

/// A sum in NumPy's order: eight running sums over blocks of at most 128, halves above.
pub fn sum(values: &[f64]) -> f64 {
    let count = values.len();
    if count < 8 {
        return values.iter().sum();
    }
    if count > 128 {
        let half = count / 2;
        let (left, right) = values.split_at(half - half % 8);
        return sum(left) + sum(right);
    }
    let mut sums = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
}

/// The mean in NumPy's order.
pub fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// Which of the `rows` of a truth are of the second of its two classes; nothing if these rows
/// have not two. Numbers must be whole, as scikit-learn asks of classes.
pub fn positives(truth: &PandasColumn, rows: &[usize]) -> Option<Vec<bool>> {
    let first = truth.cell(*rows.first()?);
    let other = rows.iter().map(|row| truth.cell(*row)).find(|cell| !cell.equals(first))?;
    let largest = if first.order(other)? == Ordering::Less { other } else { first };
    let is_class = |cell: PandasCell<&str>| {
        let whole = !matches!(cell, PandasCell::Float(value) if value.fract() != 0.0);
        whole && (cell.equals(first) || cell.equals(other))
    };
    let class = |row: &usize| {
        let cell = truth.cell(*row);
        is_class(cell).then(|| cell.equals(largest))
    };
    rows.iter().map(class).collect()
}

/// Area under the ROC curve by trapezoids between the distinct scores, without the points on a
/// straight line (Fawcett 2006). `p` is finite and holds both classes in `t`.
pub fn roc_auc(t: &[bool], p: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    // False and true positives at each distinct score, from the highest.
    let mut points = vec![(0.0, 0.0)];
    let (mut false_positives, mut true_positives) = (0.0, 0.0);
    for tie in order.chunk_by(|a, b| p[*a] == p[*b]) {
        for row in tie {
            if t[*row] {
                true_positives += 1.0;
            } else {
                false_positives += 1.0;
            }
        }
        points.push((false_positives, true_positives));
    }
    // The curve bends at a point whose two neighbours differ by different steps. The first
    // distinct score stays in any case.
    let bends = |[a, b, c]: [(f64, f64); 3]| c.0 - b.0 != b.0 - a.0 || c.1 - b.1 != b.1 - a.1;
    let last = points.len() - 1;
    let kept: Vec<(f64, f64)> = (0..points.len())
        .filter(|i| *i <= 1 || *i == last || bends([points[*i - 1], points[*i], points[*i + 1]]))
        .map(|i| (points[i].0 / false_positives, points[i].1 / true_positives))
        .collect();
    let slabs: Vec<f64> = kept
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0) * (pair[1].1 + pair[0].1) / 2.0)
        .collect();
    sum(&slabs)
}

/// Cohen's kappa with quadratic weights over the ranks of the labels of both sides; NaN where
/// both hold one and the same label.
pub fn quadratic_kappa(t: &[f64], p: &[f64]) -> f64 {
    let mut labels: Vec<f64> = t.iter().chain(p).copied().collect();
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    let rank = |label: &f64| labels.partition_point(|other| other < label);
    let size = labels.len();
    let (mut counts, mut of_truth, mut of_prediction) =
        (vec![0.0; size * size], vec![0.0; size], vec![0.0; size]);
    for (t, p) in t.iter().zip(p) {
        let (t, p) = (rank(t), rank(p));
        counts[t * size + p] += 1.0;
        of_truth[t] += 1.0;
        of_prediction[p] += 1.0;
    }
    let weight = |i: usize, j: usize| (i as f64 - j as f64).powi(2);
    let places = || (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
    let observed: Vec<f64> = places().map(|(i, j)| weight(i, j) * counts[i * size + j]).collect();
    let expected: Vec<f64> = places()
        .map(|(i, j)| weight(i, j) * (of_prediction[i] * of_truth[j] / t.len() as f64))
        .collect();
    1.0 - sum(&observed) / sum(&expected)
}

/// Mean over rows of -ln of the clipped probability of the true class. Rows are taken as they
/// are, whatever they sum to.
pub fn log_loss_of_truth(p: &[f64]) -> f64 {
    classification::binary_log_loss(&vec![1; p.len()], p)
}

/// Mean over columns of the root mean squared difference of ln(1 + y); nothing below 0.
pub fn mean_columnwise_rmsle(columns: &[(Vec<f64>, Vec<f64>)]) -> Option<f64> {
    let column = |(t, p): &(Vec<f64>, Vec<f64>)| {
        let negative = t.iter().chain(p).any(|value| *value < 0.0);
        if negative { None } else { regression::rmsle(t, p).ok() }
    };
    let columns: Vec<f64> = columns.iter().map(column).collect::<Option<_>>()?;
    Some(mean(&columns))
}
