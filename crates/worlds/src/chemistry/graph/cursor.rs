//! A reader's place in a text of signs and digits.

/// What is left to read.
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
}

impl Cursor<'_> {
    /// Passes over `text` if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The digit that is next.
    pub(super) fn digit(&mut self) -> Option<u8> {
        let digit = self.rest.bytes().next().filter(u8::is_ascii_digit)?;
        self.rest = &self.rest[1..];
        Some(digit - b'0')
    }
}
