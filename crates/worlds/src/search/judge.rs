//! Whether an answer is right.

use crate::grams::words;
use std::collections::BTreeSet;

/// When a list of answers counts as the set that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetRule {
    /// All and only its members. The default.
    Strict,
    /// All its members, whatever else is listed, as the released evaluation has it.
    Containment,
}

/// Whether `answer`, a list separated by semicolons, commas or line ends, is right. Case, spaces
/// and punctuation within a name do not count.
///
/// # Examples
/// ```rust
/// use worlds::search::{SetRule, is_correct};
///
/// let gold = ["Grey Water".to_owned(), "Last Road".to_owned()];
/// assert!(is_correct(&gold, "last road; grey water", SetRule::Strict));
/// assert!(!is_correct(&gold, "Grey Water, Last Road, Salt Tide", SetRule::Strict));
/// assert!(is_correct(&gold, "Grey Water, Last Road, Salt Tide", SetRule::Containment));
/// assert!(!is_correct(&gold, "", SetRule::Containment));
/// ```
pub fn is_correct(gold: &[String], answer: &str, rule: SetRule) -> bool {
    let plain = |name: &str| words(name).join(" ");
    let wanted: BTreeSet<String> = gold.iter().map(|name| plain(name)).collect();
    let given: BTreeSet<String> =
        answer.split([';', ',', '\n']).map(plain).filter(|name| !name.is_empty()).collect();
    match rule {
        SetRule::Strict => given == wanted,
        SetRule::Containment => !wanted.is_empty() && wanted.is_subset(&given),
    }
}
