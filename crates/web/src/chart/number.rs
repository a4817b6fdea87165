//! Numbers beside charts.

use super::axis::plain;

/// A number with about four digits that count; tiny ones with a power of ten.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size > 0.0 && size < 1e-3 {
        let text = format!("{value:.2e}");
        return match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", plain(digits)),
            None => text,
        };
    }
    let decimals = match size {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        _ => 4,
    };
    let text = plain(&format!("{value:.decimals$}"));
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_number_has_about_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (12345.6, "12346"),
            (10.0, "10"),
            (200.0, "200"),
            (0.25, "0.25"),
            (-0.000_012_34, "-1.23e-5"),
            (0.001, "0.001"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
