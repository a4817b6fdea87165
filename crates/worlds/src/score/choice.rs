//! One of several lettered options: `Answer: B`.

use super::Mistake;

/// The option that an answer names, from `A` to `last`: the first letter behind the last
/// `Answer:`, or all of the text if it is one letter, perhaps in brackets or with a full stop.
///
/// # Errors
/// [`Mistake::Empty`] for a blank text, [`Mistake::Truncated`] if it ends with `Answer:`, and
/// [`Mistake::Format`] otherwise.
///
/// # Examples
/// ```rust
/// use worlds::score::{Mistake, read_choice};
///
/// assert_eq!(read_choice("5 % of 200 is 10. Answer: B", 'D'), Ok('B'));
/// assert_eq!(read_choice("(C).", 'D'), Ok('C'));
/// assert_eq!(read_choice("B or C", 'D'), Err(Mistake::Format));
/// ```
pub fn read_choice(text: &str, last: char) -> Result<char, Mistake> {
    const LABEL: &str = "Answer:";
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    let around = |letter: char| !letter.is_alphanumeric();
    let only = match text.rfind(LABEL) {
        Some(at) => {
            let behind = text[at + LABEL.len()..].trim_start_matches(around);
            if behind.is_empty() {
                return Err(Mistake::Truncated);
            }
            behind.split(around).next().unwrap_or_default()
        }
        None => text.trim_matches(around),
    };
    let mut letters = only.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if ('A'..=last).contains(&letter) => Ok(letter),
        _ => Err(Mistake::Format),
    }
}
