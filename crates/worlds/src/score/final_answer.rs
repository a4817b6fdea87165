//! Answers on a line of their own, as TableBench reads them: `Final Answer: 12`.

use super::Mistake;

/// The rest of the line behind the first `Final Answer: `.
///
/// # Errors
/// [`Mistake::Empty`] for a blank text, [`Mistake::Truncated`] if the text ends with the label, and
/// [`Mistake::Format`] otherwise.
///
/// # Examples
/// ```rust
/// use worlds::score::{Mistake, final_answer};
///
/// assert_eq!(final_answer("3 + 4 = 7\nFinal Answer: 7\nDone."), Ok("7"));
/// assert_eq!(final_answer("Answer: 7"), Err(Mistake::Format));
/// ```
pub fn final_answer(text: &str) -> Result<&str, Mistake> {
    const LABEL: &str = "Final Answer:";
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    // The published pattern: a blank, then at least one character of the same line.
    for (at, _) in text.match_indices(LABEL) {
        let line = text[at + LABEL.len()..].split('\n').next().unwrap_or_default();
        if let Some(answer) = line.strip_prefix(' ').filter(|answer| !answer.is_empty()) {
            return Ok(answer);
        }
    }
    Err(if text.trim_end().ends_with(LABEL) { Mistake::Truncated } else { Mistake::Format })
}
