//! Answers in a box, as competition mathematics has them: `\boxed{42}`.

use super::{Mistake, is_python_space};

/// What the last `\boxed{…}` of a text holds, with braces in it balanced.
///
/// # Errors
/// [`Mistake::Empty`] for a blank text, [`Mistake::Format`] without a box, and
/// [`Mistake::Truncated`] if the last one is not closed.
///
/// # Examples
/// ```rust
/// use worlds::score::{Mistake, last_boxed};
///
/// assert_eq!(last_boxed(r"\boxed{1} or \boxed{\frac{1}{2}}"), Ok(r"\frac{1}{2}"));
/// assert_eq!(last_boxed(r"\boxed{1"), Err(Mistake::Truncated));
/// ```
pub fn last_boxed(text: &str) -> Result<&str, Mistake> {
    const OPENING: &str = r"\boxed{";
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    let start = text.rfind(OPENING).ok_or(Mistake::Format)? + OPENING.len();
    let mut depth = 1_usize;
    for (at, letter) in text[start..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(&text[start..start + at]);
        }
    }
    Err(Mistake::Truncated)
}

/// The whole number in the last box of a text. White space and dollar signs around it are left
/// out, and so are commas between groups of three digits; zeros may come first, as in `007`.
///
/// # Errors
/// Those of [`last_boxed`], and [`Mistake::Format`] if the box holds something else.
///
/// # Examples
/// ```rust
/// use worlds::score::{Mistake, boxed_integer};
///
/// assert_eq!(boxed_integer(r"so it is \boxed{ $1,024$ }."), Ok(1024));
/// assert_eq!(boxed_integer(r"\boxed{x = 3}"), Err(Mistake::Format));
/// ```
pub fn boxed_integer(text: &str) -> Result<i64, Mistake> {
    let content = last_boxed(text)?;
    let content = content.trim_matches(|letter| is_python_space(letter) || letter == '$');
    let (sign, digits) = match content.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, content),
    };
    let groups: Vec<&str> = digits.split(',').collect();
    let are_digits = |group: &&str| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit());
    let is_grouped = groups.len() == 1
        || (groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3));
    if !is_grouped || !groups.iter().all(are_digits) {
        return Err(Mistake::Format);
    }
    let number: i64 = groups.concat().parse().map_err(|_| Mistake::Format)?;
    Ok(sign * number)
}
