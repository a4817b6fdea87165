//! Reads the answer out of a text, as the released evaluation of GSM8K does.

/// The last number of a text, before any `Question:` that the text goes on with; `None` if there
/// is none.
///
/// A number is a run of ASCII digits, with a minus right before it if there is one, and with a
/// fraction if a point and another digit follow. Nothing else belongs to it: `1,234` ends with
/// `234`, and `3-2` with `-2`. That is what the released evaluation does, and answers are below the
/// sizes at which people write commas.
///
/// # Examples
/// ```rust
/// use worlds::arithmetic::last_number;
///
/// assert_eq!(last_number("2 + 3 = 5\n#### 5"), Some("5"));
/// assert_eq!(last_number("It is 4.50.\nQuestion: What is 7?"), Some("4.50"));
/// assert_eq!(last_number("none"), None);
/// ```
pub fn last_number(text: &str) -> Option<&str> {
    let text = text.split("Question:").next().unwrap_or_default();
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut last = None;
    let mut position = 0;
    while position < bytes.len() {
        let sign = usize::from(bytes[position] == b'-');
        let whole = digits(position + sign);
        if whole == 0 {
            position += 1;
            continue;
        }
        let mut end = position + sign + whole;
        if bytes.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            end += if fraction > 0 { 1 + fraction } else { 0 };
        }
        last = Some(&text[position..end]);
        position = end;
    }
    last
}

/// Whether an extracted number is the answer: within one millionth of it.
pub fn matches_answer(found: &str, answer: i64) -> bool {
    found.parse::<f64>().is_ok_and(|found| (found - answer as f64).abs() < 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_read_with_its_sign_and_fraction() {
        for (text, number) in [
            ("", None),
            ("-", None),
            ("a-5", Some("-5")),
            ("--5", Some("-5")),
            ("- 5", Some("5")),
            ("3-2", Some("-2")),
            ("1,234", Some("234")),
            ("1.2.3", Some("3")),
            ("7.", Some("7")),
            (".5", Some("5")),
            ("5Question: 6", Some("5")),
            ("Question: 6", None),
            ("question: 6", Some("6")),
            ("9 Question:", Some("9")),
            ("½ 4½", Some("4")),
        ] {
            assert_eq!(last_number(text), number, "{text}");
        }
    }

    #[test]
    fn numbers_match_as_numbers() {
        for (found, matches) in [
            ("5", true),
            ("5.0", true),
            ("05", true),
            ("5.1", false),
            ("-5", false),
            ("4.9999999", true),
        ] {
            assert_eq!(matches_answer(found, 5), matches, "{found}");
        }
        assert!(matches_answer("-0", 0));
    }
}
