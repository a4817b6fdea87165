//! Texts as their readers see them: words with meanings, numbers, times, and what can be
//! counted without knowing any of them.

use super::lexicon::{self, Class, Meaning};
use crate::media::MediumError;
use std::collections::BTreeSet;

/// One word of a text.
#[derive(Debug, Clone)]
pub(super) struct WordToken {
    /// Lower case, without punctuation.
    pub(super) word: String,
    /// Whether it begins with a capital.
    pub(super) capital: bool,
    /// Whether a full stop follows.
    pub(super) ends: bool,
    /// What it means, spelling forgiven.
    pub(super) meaning: Option<Meaning>,
}

impl WordToken {
    /// Which member of the class it is, if any.
    pub(super) fn concept(&self, class: Class) -> Option<usize> {
        self.meaning.filter(|meaning| meaning.class == class).map(|meaning| meaning.concept)
    }

    /// A number in digits.
    pub(super) fn digits(&self) -> Option<f64> {
        let digits = !self.word.is_empty() && self.word.bytes().all(|byte| byte.is_ascii_digit());
        if digits { self.word.parse().ok() } else { None }
    }

    /// A time of day, in minutes after midnight.
    pub(super) fn clock(&self) -> Option<f64> {
        let digit = |byte: u8| byte.is_ascii_digit().then(|| f64::from(byte - b'0'));
        let [a, b, b':' | b'h', c, d] = *self.word.as_bytes() else { return None };
        Some(60.0 * (10.0 * digit(a)? + digit(b)?) + 10.0 * digit(c)? + digit(d)?)
    }
}

/// The words of a text.
pub(super) fn tokens(text: &str) -> Vec<WordToken> {
    text.split_ascii_whitespace()
        .map(|part| {
            let core = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let word = core.to_ascii_lowercase();
            WordToken {
                meaning: lexicon::meaning(&word),
                capital: core.starts_with(|c: char| c.is_ascii_uppercase()),
                ends: part.ends_with('.'),
                word,
            }
        })
        .collect()
}

/// An item that is one text of some length, in one line or in several paragraphs.
pub(super) fn whole(bytes: &[u8]) -> Result<&str, MediumError> {
    let text = std::str::from_utf8(bytes).map_err(|error| MediumError(error.to_string()))?;
    if !text.is_ascii() {
        return Err(MediumError("letters beyond ASCII".to_owned()));
    }
    long(text)
}

fn long(text: &str) -> Result<&str, MediumError> {
    if text.split_ascii_whitespace().count() < SHORTEST {
        return Err(MediumError(format!("a text of fewer than {SHORTEST} words")));
    }
    Ok(text)
}

/// The lines of an item, each a text of some length.
pub(super) fn lines<const N: usize>(bytes: &[u8]) -> Result<[&str; N], MediumError> {
    let lines: Vec<&str> = whole(bytes)?.lines().map(long).collect::<Result<_, MediumError>>()?;
    let found = lines.len();
    lines.try_into().map_err(|_| MediumError(format!("{found} texts instead of {N}")))
}

/// No text of ours has fewer words.
const SHORTEST: usize = 20;

/// The number that begins at `index`, in digits or in words.
fn number_at(tokens: &[WordToken], index: usize) -> Option<f64> {
    let token = tokens.get(index)?;
    if let Some(value) = token.digits() {
        return Some(value);
    }
    if let Some(ten) = token.concept(Class::Ten) {
        let unit = tokens.get(index + 1).and_then(|next| next.concept(Class::Unit));
        return Some(10.0 * (ten + 2) as f64 + unit.map_or(0.0, |unit| (unit + 1) as f64));
    }
    let teen = token.concept(Class::Teen).map(|teen| (teen + 10) as f64);
    teen.or_else(|| token.concept(Class::Unit).map(|unit| (unit + 1) as f64))
}

/// The number right after a verb of counting.
pub(super) fn quantity(tokens: &[WordToken]) -> Option<f64> {
    let mut verbs =
        (0..tokens.len()).filter(|index| tokens[*index].concept(Class::Tally).is_some());
    verbs.find_map(|index| number_at(tokens, index + 1))
}

/// Mean and standard deviation (of the population); zeros for nothing.
pub(super) fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, square.sqrt())
}

/// Smallest and largest; zeros for nothing.
pub(super) fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    (low, values.iter().copied().reduce(f64::max).unwrap_or(0.0))
}

/// Words per sentence; a text without full stops is one sentence.
pub(super) fn sentence_lengths(tokens: &[WordToken]) -> Vec<f64> {
    tokens.split_inclusive(|token| token.ends).map(|sentence| sentence.len() as f64).collect()
}

/// The distinct words among some.
pub(super) fn distinct<'a>(tokens: impl IntoIterator<Item = &'a WordToken>) -> BTreeSet<&'a str> {
    tokens.into_iter().map(|token| token.word.as_str()).collect()
}
