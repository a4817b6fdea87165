//! Texts of agents, as they may stand on a page.

use maud::{Markup, html};
use std::borrow::Cow;
use std::fmt::Write as _;

/// A text of a run with the blob that holds it, if it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageText {
    /// All of it.
    pub(super) whole: String,
    /// The file under `blobs/`.
    pub(super) blob: Option<String>,
}

impl PageText {
    /// The text in a box, its middle left out where it has more than `limit` bytes.
    pub(super) fn html(&self, limit: usize) -> Markup {
        let Some((start, end)) = cut(&self.whole, limit) else {
            return html! { pre { (self.whole) } };
        };
        let left_out = self.whole.len() - start.len() - end.len();
        html! {
            pre { (start) "\n" }
            p.cut {
                (left_out) " bytes are left out here"
                @if let Some(blob) = &self.blob { "; the whole text is " code { "blobs/" (blob) } }
                "."
            }
            pre { (end) }
        }
    }
}

/// The start and the end of a text of more than `limit` bytes, together at most as long.
fn cut(text: &str, limit: usize) -> Option<(&str, &str)> {
    if text.len() <= limit {
        return None;
    }
    let start = text.floor_char_boundary(limit / 2);
    let end = text.ceil_char_boundary(text.len() - limit / 2);
    Some((&text[..start], &text[end..]))
}

/// A text in which characters that turn the order of others round, break lines unseen or take no
/// room are written by their number.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(shown, "[U+{:04X}]", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_above_the_limit_keeps_both_ends_and_names_its_blob() {
        let text = PageText { whole: "é".repeat(50), blob: Some("abc".to_owned()) };
        let html = text.html(21).into_string();
        assert!(html.contains("<pre>ééééé\n</pre>") && html.contains("<pre>ééééé</pre>"), "{html}");
        assert!(html.contains("80 bytes are left out") && html.contains("blobs/abc"), "{html}");
        assert!(!text.html(100).into_string().contains("left out"));
    }

    #[test]
    fn hidden_characters_are_written_by_their_number() {
        assert_eq!(visible("a\u{202e}b\u{2028}\u{2066}"), "a[U+202E]b[U+2028][U+2066]");
        assert!(matches!(visible("plain\n\ttext"), Cow::Borrowed(_)));
    }
}
