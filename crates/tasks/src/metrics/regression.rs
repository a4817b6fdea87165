//! Metrics of real-valued predictions. `t` is the truth, `p` the prediction, n the rows;
//! slices have equal, non-zero length (checked by [`super::Metric`]).

use super::MetricError;

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

fn pairs<'a>(t: &'a [f64], p: &'a [f64]) -> impl ExactSizeIterator<Item = (f64, f64)> + 'a {
    t.iter().copied().zip(p.iter().copied())
}

/// Root mean squared error, sqrt(mean((t - p)²)), in [0, ∞).
pub fn rmse(t: &[f64], p: &[f64]) -> f64 {
    mean(pairs(t, p).map(|(t, p)| (t - p).powi(2))).sqrt()
}

/// Mean absolute error, mean(|t - p|), in [0, ∞).
pub fn mae(t: &[f64], p: &[f64]) -> f64 {
    mean(pairs(t, p).map(|(t, p)| (t - p).abs()))
}

/// median(|t - p|), the mean of the middle two for even n.
pub fn median_ae(t: &[f64], p: &[f64]) -> f64 {
    let mut errors: Vec<f64> = pairs(t, p).map(|(t, p)| (t - p).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    if errors.len() % 2 == 1 {
        errors[middle]
    } else {
        f64::midpoint(errors[middle - 1], errors[middle])
    }
}

/// sqrt(mean((ln(1 + t) - ln(1 + p))²)).
///
/// # Errors
/// [`MetricError::Domain`] for a value ≤ -1, as scikit-learn.
pub fn rmsle(t: &[f64], p: &[f64]) -> Result<f64, MetricError> {
    if let Some(value) = t.iter().chain(p).find(|value| **value <= -1.0) {
        return Err(MetricError::Domain(*value));
    }
    Ok(mean(pairs(t, p).map(|(t, p)| (libm::log1p(t) - libm::log1p(p)).powi(2))).sqrt())
}

/// mean(|t - p| / max(|t|, ε)) with ε the spacing of doubles at 1, as scikit-learn.
pub fn mape(t: &[f64], p: &[f64]) -> f64 {
    mean(pairs(t, p).map(|(t, p)| (t - p).abs() / t.abs().max(f64::EPSILON)))
}

/// mean(2 |t - p| / (|t| + |p|)), a pair of zeros counting 0. Range [0, 2].
pub fn smape(t: &[f64], p: &[f64]) -> f64 {
    mean(pairs(t, p).map(|(t, p)| {
        let scale = t.abs() + p.abs();
        if scale == 0.0 { 0.0 } else { 2.0 * (t - p).abs() / scale }
    }))
}

/// mean(max(α (t - p), (α - 1) (t - p))): the loss that the `alpha`-quantile of the truth makes least,
/// in [0, ∞).
pub fn pinball(t: &[f64], p: &[f64], alpha: f64) -> f64 {
    mean(pairs(t, p).map(|(t, p)| (alpha * (t - p)).max((alpha - 1.0) * (t - p))))
}

/// 1 - Σ(t - p)² / Σ(t - mean(t))².
///
/// # Errors
/// [`MetricError::Constant`] for a constant truth (scikit-learn returns 0 or 1 there).
pub fn r2(t: &[f64], p: &[f64]) -> Result<f64, MetricError> {
    let center = mean(t.iter().copied());
    let total: f64 = t.iter().map(|t| (t - center).powi(2)).sum();
    if total == 0.0 {
        return Err(MetricError::Constant);
    }
    let residual: f64 = pairs(t, p).map(|(t, p)| (t - p).powi(2)).sum();
    Ok(1.0 - residual / total)
}

/// cov(t, p) / (sd(t) sd(p)).
///
/// # Errors
/// [`MetricError::Constant`] if either side is constant.
pub fn pearson(t: &[f64], p: &[f64]) -> Result<f64, MetricError> {
    let constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    if constant(t) || constant(p) {
        return Err(MetricError::Constant);
    }
    let (mean_t, mean_p) = (mean(t.iter().copied()), mean(p.iter().copied()));
    let norm = |values: &[f64], mean: f64| {
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt()
    };
    // Dividing by the norms before multiplying keeps large and small values apart from
    // overflow and underflow, as SciPy does.
    let (norm_t, norm_p) = (norm(t, mean_t), norm(p, mean_p));
    let r: f64 = pairs(t, p).map(|(t, p)| (t - mean_t) / norm_t * ((p - mean_p) / norm_p)).sum();
    if r.is_nan() { Err(MetricError::Overflow) } else { Ok(r.clamp(-1.0, 1.0)) }
}

/// Pearson correlation of the mid-ranks.
///
/// # Errors
/// [`MetricError::Constant`] if either side is constant.
pub fn spearman(t: &[f64], p: &[f64]) -> Result<f64, MetricError> {
    pearson(&mid_ranks(t), &mid_ranks(p))
}

/// Ranks from 1, ties sharing the mean of their positions.
pub(super) fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut given = 0;
    for tie in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = given as f64 + f64::midpoint(1.0, tie.len() as f64);
        for row in tie {
            ranks[*row] = rank;
        }
        given += tie.len();
    }
    ranks
}
