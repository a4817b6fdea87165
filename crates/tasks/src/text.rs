//! Text that scripts and files control, made safe to show to people.
//!
//! A terminal acts on control sequences: they set its title and the clipboard, clear the screen,
//! or draw over a line that was there before. Marks of writing direction show a line in another
//! order than it has. Whatever quotes such text on a terminal passes it through here first. Text
//! that only programs read needs none of this.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with every character escaped that a terminal acts on or that hides itself, but for line
/// ends and tabs: `\x1b`, `\u{202e}`. A carriage return before a line end is left out.
///
/// # Examples
/// ```rust
/// use tasks::text::{one_line, printable};
///
/// // Would set the title of a terminal, then reverse the direction of writing.
/// let hostile = "\x1b]0;pwned\x07 ok\u{202e}\n";
/// assert_eq!(printable(hostile), "\\x1b]0;pwned\\x07 ok\\u{202e}\n");
/// assert_eq!(one_line("two\nlines"), "two\\nlines");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |c| c == '\n' || c == '\t')
}

/// The same as one line: line ends are escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, |c| c == '\t')
}

/// What a program printed, which need not be UTF-8: bytes that are not are escaped as `\xff`,
/// the rest as [`printable`] does.
pub fn printable_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&printable(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// JSON with those characters in its strings written as `\u` escapes, which mean the same: JSON
/// itself only requires that of the first 32.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(|c| is_active(c) && c != '\n') {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        // Between strings there are spaces and line ends.
        if is_active(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn escape(text: &str, kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| is_active(c) && !kept(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') && kept('\n') => {}
            c if !is_active(c) || kept(c) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            c if c.is_ascii() => {
                let _ = write!(shown, "\\x{:02x}", u32::from(c));
            }
            c => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(shown)
}

/// Whether a terminal acts on a character, or shows what is around it otherwise than it is.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Marks, embeddings, overrides and isolates of direction.
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            // Ends of lines and paragraphs by other names.
            | '\u{2028}' | '\u{2029}'
            // Annotations, and a second alphabet that is not shown.
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// An error with all its causes, on one line: `failed to open: no such file`.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_of_terminals_are_escaped() {
        for (text, shown) in [
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("\x1b[2J\x7f", "\\x1b[2J\\x7f"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\rb", "a\\rb"),
            ("a\r\nb\tc\n", "a\nb\tc\n"),
            ("user\u{202e}txt.exe", "user\\u{202e}txt.exe"),
            ("\u{2067}\u{200f}", "\\u{2067}\\u{200f}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(one_line("a\r\nb"), "a\\r\\nb");
        // What people write, emoji with joiners included, stays as it is.
        let plain = "naïve 数据 👩\u{200d}🔬 c:\\data\t1\n";
        assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn invalid_utf8_is_escaped() {
        assert_eq!(
            printable_bytes(b"ok \xff\x9b\xe2\x82 \x1b\n"),
            "ok \\xff\\x9b\\xe2\\x82 \\x1b\n"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_control_characters(bytes: Vec<u8>, text in "\\PC{0,20}[\\x00-\\x1f\u{80}-\u{9f}\u{200e}-\u{2070}]{0,20}") {
            for text in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
                prop_assert!(printable(text).chars().all(|c| !is_active(c) || c == '\n' || c == '\t'));
                prop_assert!(one_line(text).chars().all(|c| !is_active(c) || c == '\t'));
                let json = serde_json::to_string(text).unwrap();
                let shown = printable_json(&json);
                prop_assert!(shown.chars().all(|c| !is_active(c)));
                prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
            }
            let shown = printable_bytes(&bytes);
            prop_assert!(shown.chars().all(|c| !is_active(c) || c == '\n' || c == '\t'));
        }
    }
}
