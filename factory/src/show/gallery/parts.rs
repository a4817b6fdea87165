//! Parts that several sections of a page share.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

/// At most the first `most` characters of a text, with a sign that there are more.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The bytes of a file of this media type as a data URI.
pub(super) fn data_uri(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

/// A section's heading and contents, or nothing without contents.
pub(super) fn section(heading: &str, contents: Option<Markup>) -> Markup {
    html! {
        @if let Some(contents) = contents {
            section { h3 { (heading) } (contents) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_ends_at_a_character() {
        assert_eq!(shortened("äöü<", 3), "äöü…");
        assert_eq!(shortened("ä <", 2), "ä…");
        assert_eq!(shortened("ä<", 2), "ä<");
    }
}
