//! Numbers and texts from files, as the overview writes them.

/// Characters of a value that are shown.
const VALUE: usize = 40;

/// A count with commas between thousands.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in units of 1,000.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
}

/// A number in as few digits as give it back, very large and very small ones with a power of ten.
pub(super) fn number(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-5..1e15).contains(&value.abs());
    if is_plain { format!("{value}") } else { format!("{value:e}") }
}

/// A text on one line, cut to `limit` characters; what cannot be seen is written as in Rust.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == limit {
            line.push('…');
            break;
        }
        if c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// A value of a cell.
pub(super) fn value(text: &str) -> String {
    one_line(text, VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
        assert_eq!([999, 1500, 2_000_000].map(size), ["999 B", "1.5 kB", "2.0 MB"]);
        assert_eq!(
            [0.0, 0.1, -3.0, 1e-7, 1.5e300].map(number),
            ["0", "0.1", "-3", "1e-7", "1.5e300"].map(str::to_owned)
        );
        assert_eq!(one_line("a\nb\u{202e}cdef", 5), "a\\nb\\u{202e}c…");
    }
}
