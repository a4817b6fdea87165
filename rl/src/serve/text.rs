//! Decodes the bytes of tokens to text, up to the first stop string.

/// The text of one choice while it is generated. It holds back an incomplete character, and text
/// that may be the beginning of a stop string.
#[derive(Debug)]
pub(super) struct Text {
    stops: Vec<String>,
    /// Whether the text includes the stop string.
    includes_stop: bool,
    /// The bytes of an incomplete character.
    partial: Vec<u8>,
    /// Text that may be the beginning of a stop string.
    held: String,
    /// Bytes at the beginning of `held` in which no stop string may end.
    exempt: usize,
    /// Characters so far, returned or held back.
    characters: usize,
    /// The stop string that was found.
    stopped: Option<String>,
}

impl Text {
    pub(super) fn new(stops: Vec<String>, includes_stop: bool) -> Self {
        Self {
            stops,
            includes_stop,
            partial: Vec::new(),
            held: String::new(),
            exempt: 0,
            characters: 0,
            stopped: None,
        }
    }

    /// The number of characters so far, returned or held back.
    pub(super) fn characters(&self) -> usize {
        self.characters
    }

    /// The stop string that was found. No text is returned after that.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Adds the bytes of one token and returns the text that no later token can change. Bytes
    /// that are not UTF-8 become U+FFFD. Unless the token `may_stop`, stop strings that it
    /// completes do not count.
    pub(super) fn push(&mut self, bytes: &[u8], may_stop: bool) -> String {
        let held = self.held.len();
        self.partial.extend_from_slice(bytes);
        let mut taken = 0;
        for chunk in self.partial.utf8_chunks() {
            self.held.push_str(chunk.valid());
            taken += chunk.valid().len();
            let rest = self.partial.len() - taken;
            // Only the last chunk can be a character that is cut off.
            if chunk.invalid().is_empty()
                || (chunk.invalid().len() == rest && is_cut(chunk.invalid()))
            {
                break;
            }
            self.held.push(char::REPLACEMENT_CHARACTER);
            taken += chunk.invalid().len();
        }
        self.partial.drain(..taken);
        self.characters += self.held[held..].chars().count();
        if !may_stop {
            self.exempt = self.held.len();
        }
        if let Some((at, stop)) = self.first_stop().map(|(at, stop)| (at, stop.to_owned())) {
            self.held.truncate(if self.includes_stop { at + stop.len() } else { at });
            self.stopped = Some(stop);
            return std::mem::take(&mut self.held);
        }
        let end = settled(&self.held, &self.stops);
        self.exempt = self.exempt.saturating_sub(end);
        let rest = self.held.split_off(end);
        std::mem::replace(&mut self.held, rest)
    }

    /// The first stop string in `held` that ends beyond its exempt beginning, and where it begins.
    fn first_stop(&self) -> Option<(usize, &str)> {
        let find = |stop: &String| {
            let from = (self.exempt + 1).saturating_sub(stop.len());
            let from = (from..=self.held.len()).find(|&at| self.held.is_char_boundary(at))?;
            self.held[from..].find(stop.as_str()).map(|at| from + at)
        };
        let found = self.stops.iter().filter_map(|stop| Some((find(stop)?, stop.as_str())));
        found.min_by_key(|(at, _)| *at)
    }

    /// The text that was held back, at the end of the choice.
    pub(super) fn finish(&mut self) -> String {
        if self.stopped.is_some() {
            return String::new();
        }
        if !self.partial.is_empty() {
            self.partial.clear();
            self.held.push(char::REPLACEMENT_CHARACTER);
        }
        std::mem::take(&mut self.held)
    }
}

/// Whether the bytes are the beginning of a character, without its end.
fn is_cut(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// The number of bytes of `text` that no continuation can make the beginning of one of `marks`.
pub(super) fn settled(text: &str, marks: &[impl AsRef<str>]) -> usize {
    let begins = |&at: &usize| {
        let rest = &text[at..];
        marks
            .iter()
            .map(AsRef::as_ref)
            .any(|mark| mark.len() > rest.len() && mark.starts_with(rest))
    };
    let longest = marks.iter().map(|mark| mark.as_ref().len()).max().unwrap_or(0);
    let from = text.len().saturating_sub(longest.saturating_sub(1));
    (from..text.len()).filter(|&at| text.is_char_boundary(at)).find(begins).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(bytes: &[u8], cuts: &[usize], stops: &[&str]) -> (Vec<String>, bool) {
        let mut text = Text::new(stops.iter().map(|&stop| stop.into()).collect(), false);
        let mut parts = Vec::new();
        let mut from = 0;
        for &to in cuts.iter().chain([&bytes.len()]) {
            parts.push(text.push(&bytes[from..to], true));
            from = to;
            if text.stopped().is_some() {
                break;
            }
        }
        parts.push(text.finish());
        (parts, text.stopped().is_some())
    }

    #[test]
    fn incomplete_character_is_held_back() {
        let bytes = "aü€😀b".as_bytes();
        let cuts: Vec<usize> = (1..bytes.len()).collect();
        let (parts, _) = shown(bytes, &cuts, &[]);
        assert_eq!(parts.concat(), "aü€😀b");
        assert!(parts.iter().all(|part| part.chars().count() <= 1));
        assert_eq!(shown(b"\xf0\x9f", &[1], &[]).0, ["", "", "\u{fffd}"]);
        assert_eq!(shown(b"\xf0\x9fa\xff", &[2], &[]).0, ["", "\u{fffd}a\u{fffd}", ""]);
    }

    #[test]
    fn beginning_of_stop_string_is_held_back() {
        assert_eq!(
            shown(b"abcabd", &[1, 2, 3, 5], &["abd"]),
            (["", "", "abc", "", "", ""].map(String::from).to_vec(), true)
        );
        assert_eq!(
            shown(b"abca", &[2], &["abd", "cax"]),
            (["", "ab", "ca"].map(String::from).to_vec(), false)
        );
        assert_eq!(shown(b"xSTOPy", &[], &["OP", "STOP"]).0.concat(), "x");
    }

    #[test]
    fn stop_string_is_included_where_that_is_asked_for() {
        let mut text = Text::new(vec!["OP".into(), "STOP".into()], true);
        assert_eq!(text.push(b"xST", true), "x");
        assert_eq!(text.push(b"OPy", true), "STOP");
        assert_eq!(text.finish(), "");
        assert_eq!(text.stopped(), Some("STOP"));
    }

    #[test]
    fn stop_strings_of_the_first_tokens_do_not_count() {
        let mut text = Text::new(vec!["ab".into(), "abab".into(), "ü!".into()], false);
        assert_eq!(text.push(b"ab", false) + &text.push(b"x", true), "abx");
        // Begun by an exempt token and completed by another one, it counts.
        assert_eq!(text.push(b"yab", false), "y");
        assert_eq!(text.push(b"ab", true), "");
        assert_eq!(text.stopped(), Some("abab"));
        let mut text = Text::new(vec!["ü!".into()], false);
        assert_eq!(text.push("aü".as_bytes(), false), "a");
        assert_eq!(text.push(b"!", true), "");
        assert_eq!(text.stopped(), Some("ü!"));
    }

    proptest! {
        #[test]
        fn text_does_not_depend_on_cuts(
            bytes in prop::collection::vec(prop::sample::select(b"abc\xc3\xbc\xe2\x82\xff".to_vec()), 0..24),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
            stops in prop::collection::vec("[abc]{1,3}", 0..3),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            let whole = String::from_utf8_lossy(&bytes);
            // Cuts change when a stop string is found, and not the text before it: the stop
            // string that is complete first counts.
            let (parts, stopped) = shown(&bytes, &cuts, &stops);
            prop_assert_eq!(stopped, stops.iter().any(|stop| whole.contains(stop)));
            if stopped {
                prop_assert!(whole.starts_with(&parts.concat()));
                prop_assert!(stops.iter().all(|stop| !parts.concat().contains(stop)));
            } else {
                prop_assert_eq!(parts.concat(), whole);
            }
        }
    }
}
