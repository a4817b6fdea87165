//! Means, their errors, and quantiles.

/// The 97.5 % quantile of the standard normal distribution, for intervals of 95 %.
pub const Z: f64 = 1.96;

/// The arithmetic mean; 0 without values.
pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len();
    if n == 0 { 0.0 } else { values.sum::<f64>() / n as f64 }
}

/// The sample standard deviation (ddof 1) over the square root of the count; 0 below two values.
pub fn standard_error(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let center = mean(values.iter().copied());
    let variance = values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / (n - 1.0);
    (variance / n).sqrt()
}

/// The quantile at `share` in \[0, 1\] of the finite values: type 7 of Hyndman and Fan (1996), the
/// default of `NumPy`. `None` without any.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut ordered: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    ordered.sort_by(f64::total_cmp);
    let last = ordered.len().checked_sub(1)?;
    let mut below = 0;
    while below < last && (below + 1) as f64 <= share * last as f64 {
        below += 1;
    }
    let above = (below + 1).min(last);
    let part = share * last as f64 - below as f64;
    Some(ordered[below] + part * (ordered[above] - ordered[below]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_agrees_with_numpy() {
        // np.quantile([1, 3, 4, 7, 10], [0.05, 0.25, 0.5, 0.75, 0.95, 0, 1]), numpy 2.3
        let values = [4.0, 1.0, 3.0, 10.0, 7.0, f64::NAN];
        let shares = [0.05, 0.25, 0.5, 0.75, 0.95, 0.0, 1.0];
        for (share, expected) in shares.into_iter().zip([1.4, 3.0, 4.0, 7.0, 9.4, 1.0, 10.0]) {
            let found = quantile(&values, share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn standard_error_of_one_value_is_zero() {
        assert_eq!(standard_error(&[3.0]), 0.0);
        // scipy.stats.sem([1, 2, 4])
        assert!((standard_error(&[1.0, 2.0, 4.0]) - 0.881_917_103_688_197_5).abs() < 1e-15);
        assert_eq!(mean([].into_iter()), 0.0);
    }
}
