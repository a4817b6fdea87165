//! Quotients as people write them.

/// `dividend / divisor` rounded to two decimals, halves away from zero, without zeros at its end;
/// the divisor is positive.
pub(crate) fn hundredths(dividend: i64, divisor: i64) -> String {
    let units = (200 * dividend.abs() + divisor) / (2 * divisor);
    let sign = if dividend < 0 && units > 0 { "-" } else { "" };
    let text = format!("{sign}{}.{:02}", units / 100, units % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::hundredths;

    #[test]
    fn quotients_are_rounded_to_two_decimals() {
        for (a, b, text) in [
            (7, 2, "3.5"),
            (-7, 2, "-3.5"),
            (8, 4, "2"),
            (1, 3, "0.33"),
            (2, 3, "0.67"),
            (1, 200, "0.01"),
            (-1, 1000, "0"),
            (1000, 1, "1000"),
        ] {
            assert_eq!(hundredths(a, b), text, "{a} / {b}");
        }
    }
}
