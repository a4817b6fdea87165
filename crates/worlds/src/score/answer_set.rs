//! Sets of options, such as the documents that a claim is not new over.

use super::Mistake;
use serde_json::Value;
use std::collections::BTreeSet;

/// The options in an answer: one letter, letters separated by commas, or a list of letters, all
/// from `A` to `last`.
///
/// # Errors
/// [`Mistake::Format`] for anything else; no option at all is [`Mistake::Empty`].
///
/// # Examples
/// ```rust
/// use serde_json::json;
/// use worlds::score::{Mistake, read_letters};
///
/// assert_eq!(read_letters(&json!(["C", "A"]), 'H'), Ok(['A', 'C'].into()));
/// assert_eq!(read_letters(&json!("A, C"), 'H'), Ok(['A', 'C'].into()));
/// assert_eq!(read_letters(&json!("K"), 'H'), Err(Mistake::Format));
/// ```
pub fn read_letters(answer: &Value, last: char) -> Result<BTreeSet<char>, Mistake> {
    let texts: Vec<&str> = match answer {
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::String(text) => text.split(',').collect(),
        Value::Array(all) => {
            let texts: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
            texts.ok_or(Mistake::Format)?
        }
        _ => return Err(Mistake::Format),
    };
    if texts.is_empty() {
        return Err(Mistake::Empty);
    }
    let letter = |text: &&str| {
        let mut letters = text.trim().chars();
        let first = letters.next().filter(|letter| ('A'..=last).contains(letter))?;
        letters.next().is_none().then_some(first)
    };
    texts.iter().map(letter).collect::<Option<_>>().ok_or(Mistake::Format)
}

/// F1 of a set of options: `2 |truth ∩ answer| / (|truth| + |answer|)`, and 0 where both are empty.
pub fn set_f1(truth: &BTreeSet<char>, answer: &BTreeSet<char>) -> f64 {
    let both = truth.intersection(answer).count() as f64;
    let all = (truth.len() + answer.len()) as f64;
    if all == 0.0 { 0.0 } else { 2.0 * both / all }
}
