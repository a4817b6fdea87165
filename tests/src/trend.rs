//! Where a measure goes, and whether that is too far.

/// The slope of a line through points of time and value, by least squares.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    both / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// Whether that is more than is allowed. Too few measurements give no number, which is no pass.
pub fn exceeds(found: f64, allowed: f64) -> bool {
    found.is_nan() || found > allowed
}
