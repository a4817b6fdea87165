//! Windows of 13 words, by which texts are compared for contamination.
//!
//! A word is a run of letters and digits, in lower case; everything else separates words, so
//! layout, quotes and JSON make no difference.

use std::collections::HashSet;

/// Words in a window.
pub const GRAM: usize = 13;

/// The words of a text, in lower case.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The hash of every window of [`GRAM`] words of `text`. A text of fewer words is one window.
///
/// # Examples
/// ```rust
/// use worlds::grams::grams;
///
/// assert_eq!(grams("One, two."), grams("{\"one\": \"two\"}"));
/// assert_eq!(grams("").len(), 0);
/// let text = (0..20).map(|number| format!("{number} ")).collect::<String>();
/// assert_eq!(grams(&text).len(), 20 - 13 + 1);
/// ```
pub fn grams(text: &str) -> HashSet<[u8; 16]> {
    let words = words(text);
    let hash = |window: &[String]| {
        let mut hasher = blake3::Hasher::new();
        for word in window {
            hasher.update(word.as_bytes());
            hasher.update(b" ");
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hash
    };
    match words.len() {
        0 => HashSet::new(),
        length if length < GRAM => std::iter::once(hash(&words)).collect(),
        _ => words.windows(GRAM).map(hash).collect(),
    }
}
