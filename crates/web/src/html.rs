//! Writing text into HTML safely.

/// `text` such that a browser shows it and never interprets it, in elements and in quoted
/// attributes. Control characters other than line feed and tab become U+FFFD.
pub fn escape(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_markup_shows_it() {
        assert_eq!(
            escape("<a href=\"x\" title='y'>&amp;</a>\n\u{7}"),
            "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;\n\u{fffd}"
        );
    }
}
