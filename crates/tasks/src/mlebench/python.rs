//! Numbers as Python reads, prints and rounds them.

/// What `repr` makes of a float: the shortest digits that read back the same, with a point, in
/// powers of ten below 1e-4 and from 1e16.
pub fn repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => {
            let plain = format!("{value}");
            if plain.contains('.') { plain } else { format!("{plain}.0") }
        }
    }
}

/// What `float` makes of a text; nothing where it raises. White space around and single
/// underscores between digits are fine; digits of other scripts are not known here.
pub fn float(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c));
    let bytes = text.as_bytes();
    let digit = |index: Option<usize>| {
        index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit)
    };
    let lone = |index: usize| digit(index.checked_sub(1)) && digit(index.checked_add(1));
    if bytes.iter().enumerate().any(|(index, byte)| *byte == b'_' && !lone(index)) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// What `round(value, 5)` makes of a Python float: the nearest decimal, ties to the even one.
pub fn round(value: f64) -> f64 {
    if value.is_finite() { format!("{value:.5}").parse().unwrap_or(value) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_python() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (7.0, "7.0"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1.25e-7, "1.25e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (-1.5e300, "-1.5e+300"),
            (0.1, "0.1"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn texts_read_as_in_python() {
        for (text, value) in [
            (" 1.5\n", Some(1.5)),
            ("1_000", Some(1000.0)),
            ("1_0.5e1_0", Some(1.05e11)),
            ("Infinity", Some(f64::INFINITY)),
            ("99999999999999999999", Some(1e20)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("1_.5", None),
            ("", None),
            ("0x10", None),
            ("1e", None),
        ] {
            assert_eq!(float(text), value, "{text}");
        }
    }

    #[test]
    fn ties_of_plain_floats_go_to_the_even_digit() {
        assert_eq!(round(0.234_375), 0.23438);
        assert_eq!(round(0.390_625), 0.39062);
        assert_eq!(round(0.123_455), 0.12345);
        assert_eq!(round(0.000_005), 0.00001);
        assert!(round(f64::NAN).is_nan());
    }
}
