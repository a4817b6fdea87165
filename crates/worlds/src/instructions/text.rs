//! What is counted in answers.

use crate::grams::words;
use std::collections::BTreeSet;

/// Whether a text has the word, in any case.
pub(super) fn mentions(text: &str, word: &str) -> bool {
    position(text, word).is_some()
}

/// The position of the first occurrence of a word among the words.
pub(super) fn position(text: &str, word: &str) -> Option<usize> {
    words(text).iter().position(|found| found == word)
}

/// How many sentences a text has: runs of characters that end with `.`, `!` or `?`, or with the
/// text, and have a letter or digit in them.
pub(super) fn sentences(text: &str) -> usize {
    text.split(['.', '!', '?']).filter(|part| part.contains(char::is_alphanumeric)).count()
}

/// The share of runs of three words that were there before; 0 for shorter texts.
pub(super) fn repetition(text: &str) -> f64 {
    let words = words(text);
    let runs = words.len().saturating_sub(2);
    if runs == 0 {
        return 0.0;
    }
    let different: BTreeSet<&[String]> = words.windows(3).collect();
    1.0 - different.len() as f64 / runs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_three_words_are_counted_once() {
        assert_eq!(repetition("a b"), 0.0);
        assert_eq!(repetition("a b c d"), 0.0);
        assert_eq!(repetition("a b c a b c"), 0.25);
        assert_eq!(repetition("a a a a a"), 1.0 - 1.0 / 3.0);
    }
}
