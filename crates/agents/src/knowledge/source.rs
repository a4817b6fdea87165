//! What is wrong in a file that people write: file, line and key, with a caret under the place.

use std::fmt;
use std::ops::Range;

/// A file of cards with its name, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceFile<'a> {
    /// Relative to the folder of the knowledge base, or as the user named it.
    pub(super) name: &'a str,
    /// Its contents.
    pub(super) text: &'a str,
}

/// A place in a file, and what is wrong there.
///
/// It prints as
/// ```text
/// tricks/cross-modal.toml, line 12, `stage`: unknown variant `trian`
///    |
/// 12 | stage = "trian"
///    |         ^^^^^^^
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardError {
    /// The file, relative to the folder of the base, or as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character within the line, from 1.
    pub column: usize,
    /// The key whose value is wrong, or which is itself; `None` where no key stands above.
    pub key: Option<String>,
    /// What is wrong, and what is expected.
    pub message: String,
    /// The line itself.
    text: String,
    /// Carets under it, at least 1.
    width: usize,
}

impl SourceFile<'_> {
    /// An error at `span`, in bytes.
    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>) -> CardError {
        let mut start = span.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.text[..start];
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let text = self.text[begin..].lines().next().unwrap_or_default();
        let column = self.text[begin..start].chars().count() + 1;
        let rest = text.chars().count().saturating_sub(column - 1);
        let inside = self.text.get(start..span.end).unwrap_or_default();
        let first = inside.lines().next().unwrap_or_default().chars().count();
        CardError {
            file: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column,
            key: self.key(begin),
            message: message.into(),
            text: text.to_owned(),
            width: first.clamp(1, rest.max(1)),
        }
    }

    /// The error of the parser, in our form.
    pub(super) fn malformed(&self, error: &toml::de::Error) -> CardError {
        self.error(error.span().unwrap_or(0..0), error.message().trim_end())
    }

    /// The key that stands at the beginning of the line that begins at `begin`, or of the nearest one
    /// above that begins with a key. A header of a table ends the search.
    fn key(&self, begin: usize) -> Option<String> {
        let line = self.text[begin..].lines().next().unwrap_or_default();
        for line in std::iter::once(line).chain(self.text[..begin].lines().rev()) {
            if line.starts_with('[') {
                return None;
            }
            let Some((key, _)) = line.split_once('=') else { continue };
            let key = key.trim();
            if !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
            {
                return Some(key.to_owned());
            }
        }
        None
    }
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, key, message, text, width } = self;
        write!(f, "{file}, line {line}")?;
        if let Some(key) = key {
            write!(f, ", `{key}`")?;
        }
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let (indent, carets) = (" ".repeat(column - 1), "^".repeat(*width));
        write!(f, ": {message}\n{margin} |\n{number} | {text}\n{margin} | {indent}{carets}")
    }
}

impl std::error::Error for CardError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn error_of_a_value_names_its_key_and_points_at_it() {
        let text = "[[trick]]\nid = \"a\"\nlabels = [\n    \"é\", \"B/c\",\n]\n";
        let source = SourceFile { name: "tricks/x.toml", text };
        let start = text.find("\"B/c\"").unwrap();
        let error = source.error(start..start + 5, "there is no label `B/c`");
        assert_eq!((error.line, error.column, error.key.as_deref()), (4, 10, Some("labels")));
        insta::assert_snapshot!(error, @r#"
        tricks/x.toml, line 4, `labels`: there is no label `B/c`
          |
        4 |     "é", "B/c",
          |          ^^^^^
        "#);
        assert_eq!(source.error(0..9, "x").key, None);
    }

    proptest! {
        #[test]
        fn error_at_any_place_is_printed(text in "[a-é=\\[\\]\n]{0,40}", start in 0_usize..60, length in 0_usize..20) {
            let source = SourceFile { name: "f", text: &text };
            let error = source.error(start..start + length, "m");
            prop_assert!(error.to_string().contains('^'));
        }
    }
}
