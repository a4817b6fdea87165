//! Words of texts, and runs of them.

use std::collections::BTreeSet;

/// The words of a text: runs of letters and digits, in small letters.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// How many words a text has, as people count them: parts between spaces.
pub(super) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// All runs of `n` words, each once.
pub(super) fn runs(words: &[String], n: usize) -> BTreeSet<&[String]> {
    words.windows(n).collect()
}

/// A text in the form of a name in the Internet: small letters, digits and single hyphens.
pub(super) fn slug(text: &str) -> String {
    words(text).iter().filter(|word| word.is_ascii()).cloned().collect::<Vec<_>>().join("-")
}

/// The first `most` words of a text.
pub(super) fn first_words(text: &str, most: usize) -> String {
    text.split_whitespace().take(most).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(words("It's 3.5 km: naïve"), ["it", "s", "3", "5", "km", "naïve"]);
        assert_eq!(runs(&words("a b a b"), 2).len(), 2);
        assert!(runs(&words("a"), 2).is_empty());
        assert_eq!(slug("Dogs vs. Cats: Redux"), "dogs-vs-cats-redux");
        assert_eq!(first_words(" a  b\nc ", 2), "a b");
    }
}
