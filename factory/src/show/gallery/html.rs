//! Text, numbers and bytes in the form in which a page holds them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use web::html::escape;

/// Like [`escape`], at most `most` characters long.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => escape(text[..end].trim_end()) + "…",
        None => escape(text),
    }
}

/// The bytes of a file of this media type as a data URI.
pub(super) fn data_uri(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
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
    format!("<section>\n<h3>{}</h3>\n{contents}\n</section>\n", escape(heading))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_is_cut_before_it_is_escaped() {
        assert_eq!(shortened("äöü<", 3), "äöü…");
        assert_eq!(shortened("ä<", 3), "ä&lt;");
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
