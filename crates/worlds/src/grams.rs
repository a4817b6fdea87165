//! Windows of 13 words, by which texts are compared for contamination.
//!
//! A word is a run of letters and digits, in lower case; everything else separates words, so
//! layout, quotes and JSON make no difference.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Words in a window.
pub const GRAM: usize = 13;

/// The words of a text, in lower case.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// A text in which the escapes of JSON stand for what they mean: `\n`, `\t` and `\r` for blanks, `\u00e9`
/// for its letter. In rows of JSON, words would else begin with an `n` that no prompt has. Lines stay where
/// they are. Texts that are compared must both go through it, for a backslash may also be one.
///
/// # Examples
/// ```rust
/// use worlds::grams::{unescaped, words};
///
/// let row = r#"{"prompt": "one\ntwo r\u00e9seau"}"#;
/// assert_eq!(words(&unescaped(row)), ["prompt", "one", "two", "réseau"]);
/// assert_eq!(words(row), ["prompt", "one", "ntwo", "r", "u00e9seau"]);
/// ```
pub fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let letter = rest
            .strip_prefix('u')
            .and_then(|digits| digits.get(..4))
            .and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
        let (meaning, length) = match (letter, rest.chars().next()) {
            (Some(letter), _) => (letter, 5),
            (None, Some('n' | 't' | 'r')) => (' ', 1),
            (None, _) => (' ', 0),
        };
        plain.push(if meaning == '\n' { ' ' } else { meaning });
        rest = &rest[length..];
    }
    plain + rest
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
    match words.len() {
        0 => HashSet::new(),
        length => words.windows(length.min(GRAM)).map(hash).collect(),
    }
}

/// The first window of [`GRAM`] words of `text` that is not among these, in lower case; `None` if there is
/// none, as of a text of fewer words.
pub(crate) fn own_window(text: &str, others: &HashSet<[u8; 16]>) -> Option<String> {
    let words = words(text);
    let mut windows = words.windows(GRAM);
    windows.find(|window| !others.contains(&hash(window))).map(|window| window.join(" "))
}

fn hash<W: AsRef<str>>(window: &[W]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for word in window {
        hasher.update(word.as_ref().as_bytes());
        hasher.update(b" ");
    }
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    hash
}

/// Texts that can be found again in others, by their windows of [`GRAM`] words; one of fewer words is
/// found as a whole. Each stands for a `T`.
///
/// # Examples
/// ```rust
/// use worlds::grams::GramIndex;
///
/// let mut index = GramIndex::default();
/// index.insert("Emma has 42 apples", &"item 7");
/// let found = index.find("first line\nso: emma HAS\n42 apples, she says");
/// assert_eq!(found, [(2, &"item 7")]);
/// assert!(index.find("Emma has 43 apples").is_empty());
/// index.forget("It is known that Emma has 42 apples.");
/// assert!(index.find("Emma has 42 apples").is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct GramIndex<T> {
    /// By the number of words of a window.
    windows: BTreeMap<usize, HashMap<[u8; 16], T>>,
}

impl<T> Default for GramIndex<T> {
    fn default() -> Self {
        Self { windows: BTreeMap::new() }
    }
}

impl<T: Clone + Ord> GramIndex<T> {
    /// Adds a text. Of texts that share a window, the first keeps it.
    pub fn insert(&mut self, text: &str, stands_for: &T) {
        let words = words(text);
        let length = words.len().min(GRAM);
        if length == 0 {
            return;
        }
        let windows = self.windows.entry(length).or_default();
        for window in words.windows(length) {
            windows.entry(hash(window)).or_insert_with(|| stands_for.clone());
        }
    }

    /// Forgets the windows that a text has.
    pub fn forget(&mut self, text: &str) {
        let words = words(text);
        for (length, windows) in &mut self.windows {
            for window in words.windows(*length) {
                windows.remove(&hash(window));
            }
        }
    }

    /// What is in a text, with the line, from 1, in which it begins; once for each line.
    pub fn find(&self, text: &str) -> Vec<(usize, &T)> {
        let lines = text.lines().enumerate();
        let (places, words): (Vec<usize>, Vec<String>) = lines
            .flat_map(|(place, line)| words(line).into_iter().map(move |word| (place + 1, word)))
            .unzip();
        let mut found = BTreeSet::new();
        for (length, windows) in &self.windows {
            for (window, line) in words.windows(*length).zip(&places) {
                if let Some(stands_for) = windows.get(&hash(window)) {
                    found.insert((*line, stands_for));
                }
            }
        }
        found.into_iter().collect()
    }
}
