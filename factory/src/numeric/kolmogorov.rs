//! The two-sample test of Kolmogorov and Smirnov: do two samples come from one distribution?

/// Terms of the series after which nothing is added to a double.
const TERMS: u32 = 100;
/// Where the two series for the distribution function change places; both are exact there.
const TURN: f64 = 1.0;

/// The largest distance between the distribution functions of two samples, in [0, 1].
///
/// # Panics
/// If a sample is empty.
pub fn distance(first: &[f64], second: &[f64]) -> f64 {
    assert!(!first.is_empty() && !second.is_empty(), "samples have a value or more");
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (first, second) = (sorted(first), sorted(second));
    let share = |values: &[f64], upto: f64| {
        values.partition_point(|value| *value <= upto) as f64 / values.len() as f64
    };
    let gap = |upto: &f64| (share(&first, *upto) - share(&second, *upto)).abs();
    first.iter().chain(&second).map(gap).fold(0.0, f64::max)
}

/// The probability of a distance as large as that of two samples if they come from one continuous
/// distribution, in [0, 1]: Q(√(nm/(n+m)) · d) with the limit Q of large samples (Smirnov, 1939).
/// With ties it is larger than it should be.
///
/// # Panics
/// If a sample is empty.
pub fn p_value(first: &[f64], second: &[f64]) -> f64 {
    let (n, m) = (first.len() as f64, second.len() as f64);
    survival((n * m / (n + m)).sqrt() * distance(first, second))
}

/// Q(x) = 2 Σₖ (−1)ᵏ⁻¹ exp(−2k²x²); for small x the other form, 1 − √(2π)/x Σₖ exp(−(2k−1)²π²/8x²).
fn survival(x: f64) -> f64 {
    use std::f64::consts::PI;
    let terms = (1..=TERMS).map(f64::from);
    let value = if x <= 0.0 {
        1.0
    } else if x < TURN {
        let term = |k: f64| libm::exp(-(2.0 * k - 1.0).powi(2) * PI * PI / (8.0 * x * x));
        1.0 - (2.0 * PI).sqrt() / x * terms.map(term).sum::<f64>()
    } else {
        let sign = |k: f64| if k % 2.0 == 0.0 { -1.0 } else { 1.0 };
        2.0 * terms.map(|k| sign(k) * libm::exp(-2.0 * k * k * x * x)).sum::<f64>()
    };
    value.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.special.kolmogorov` of SciPy 1.17.1.
    #[test]
    fn survival_agrees_with_scipy() {
        for (x, expected) in SCIPY {
            let relative = (survival(x) / expected - 1.0).abs();
            assert!(relative < 1e-12, "{x}: {} instead of {expected}", survival(x));
        }
        assert_eq!(survival(0.0), 1.0);
    }

    const SCIPY: [(f64, f64); 8] = [
        (0.3, 0.999_990_694_198_665_5),
        (0.5, 0.963_945_243_664_875_1),
        (0.8, 0.544_142_411_574_198_1),
        (0.99, 0.280_873_839_225_548_9),
        (1.0, 0.269_999_671_677_354_56),
        (1.36, 0.049_485_876_755_377_876),
        (1.95, 0.000_995_910_842_883_58),
        (3.0, 3.045_995_948_942_526e-8),
    ];

    /// `scipy.stats.ks_2samp([0.1, 0.4, 0.7, 0.7], [0.2, 0.7, 0.9]).statistic` of SciPy 1.17.1.
    #[test]
    fn distance_agrees_with_scipy() {
        let distance = distance(&[0.7, 0.1, 0.4, 0.7], &[0.9, 0.2, 0.7]);
        assert!((distance - 1.0 / 3.0).abs() < 1e-15, "{distance}");
    }

    #[test]
    fn shifted_sample_is_unlikely_and_the_same_sample_is_certain() {
        let values: Vec<f64> = (0..200_u32).map(f64::from).collect();
        let shifted: Vec<f64> = values.iter().map(|value| value + 60.0).collect();
        assert_eq!(p_value(&values, &values), 1.0);
        assert!(p_value(&values, &shifted) < 1e-6);
    }
}
