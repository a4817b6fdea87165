//! Numbers as they are written: with so many decimals, or so many digits.

/// `value` with `decimals` digits after the point, exactly as it is read back.
pub fn round(value: f64, decimals: usize) -> f64 {
    if value.is_nan() {
        return value;
    }
    // Formatting rounds correctly where scaling by a power of ten may not, and what is used
    // is then what is written.
    let value: f64 = format!("{value:.decimals$}").parse().unwrap_or(value);
    // No negative zero in files.
    if value == 0.0 { 0.0 } else { value }
}

/// Rounded to four significant digits.
pub fn digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Digits after the point that show so many steps between two bounds.
pub fn decimals([low, high]: [f64; 2], steps: f64) -> usize {
    let mut step = 1.0;
    let mut decimals = 0;
    while step > (high - low) / steps && decimals < 6 {
        step /= 10.0;
        decimals += 1;
    }
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_what_reading_back_gives() {
        for value in [1.005, 2.5, -0.0004, 1e6 / 3.0] {
            let rounded = round(value, 2);
            assert_eq!(format!("{rounded:.2}").parse::<f64>().unwrap(), rounded);
            assert!(rounded.is_sign_positive() || rounded < 0.0);
        }
    }
}
