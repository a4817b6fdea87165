//! Mean, spread and median of a column.

/// Mean and standard deviation (ddof 0); both 0 for no values.
///
/// `ndarray`'s `std` gives the same to a few units in the last place and takes five times as
/// long: it divides, and calls the system's fused multiplication, once per value.
pub fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// The median of the values that are not NaN; 0 if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    known.sort_by(f64::total_cmp);
    match known.len() {
        0 => 0.0,
        n if n % 2 == 1 => known[n / 2],
        n => f64::midpoint(known[n / 2 - 1], known[n / 2]),
    }
}
