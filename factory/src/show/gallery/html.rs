//! Text, numbers and bytes in the form in which a page holds them.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `text` such that a browser shows it and never obeys it, in elements and in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Like [`escaped`], at most `most` characters long.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => escaped(text[..end].trim_end()) + "…",
        None => escaped(text),
    }
}

/// Bytes of a file as an address that needs no fetching.
pub(super) fn data_uri(kind: &str, bytes: &[u8]) -> String {
    let mut uri = format!("data:{kind};base64,");
    uri.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| usize::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let kept = place <= group.len();
            uri.push(if kept { char::from(BASE64[bits >> (18 - 6 * place) & 63]) } else { '=' });
        }
    }
    uri
}

/// A number with about four digits that count.
pub(super) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    let trimmed = if text.contains('.') { text.trim_end_matches('0') } else { &text };
    let trimmed = trimmed.trim_end_matches('.');
    if trimmed == "-0" { "0".to_owned() } else { trimmed.to_owned() }
}

/// A section's heading and contents, or nothing without contents.
pub(super) fn section(heading: &str, contents: &str) -> String {
    if contents.is_empty() {
        return String::new();
    }
    format!("<section>\n<h3>{}</h3>\n{contents}\n</section>\n", escaped(heading))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_an_element_or_an_attribute() {
        assert_eq!(
            escaped("<a b='c' d=\"&\">\0"),
            "&lt;a b=&#39;c&#39; d=&quot;&amp;&quot;&gt;\u{fffd}"
        );
        assert_eq!(shortened("äöü<", 3), "äöü…");
        assert_eq!(shortened("ä<", 3), "ä&lt;");
    }

    #[test]
    fn base64_keeps_to_its_definition() {
        // RFC 4648, section 10.
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(data_uri("a/b", text.as_bytes()), format!("data:a/b;base64,{expected}"));
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-0.000_01, "0"),
            (1.5, "1.5"),
            (12345.6, "12346"),
            (10.0, "10"),
            (200.0, "200"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
