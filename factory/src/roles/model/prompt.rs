//! Prompts: text files with places for values, and what is said of an earlier refusal.

use crate::roles::RoleFeedback;
use serde::Serialize;

/// Longest reason of a refusal that a model is sent, in characters.
pub(super) const MAX_FEEDBACK: usize = 1500;

/// Standing instructions of the strategist.
pub(super) const SYSTEM: &str = include_str!("prompts/system.md");

/// A template whose places, written `{{name}}`, are filled with values.
///
/// # Panics
/// If the template names a value that is not given, which tests of every prompt rule out.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a place has an end");
        let value = values.iter().find(|(known, _)| *known == name);
        let (_, value) = value.expect("a value is given for every place");
        text.push_str(before);
        text.push_str(value);
        rest = after;
    }
    text + rest
}

/// The paragraph about an earlier answer that was refused; empty if there was none.
pub(super) fn refused_before(feedback: Option<&RoleFeedback>) -> String {
    feedback.map_or_else(String::new, |feedback| {
        format!(
            "\n## Earlier answer\n\nAn earlier answer was refused ({}): {}. Write another one that \
             avoids this.\n",
            feedback.code,
            shortened(&feedback.detail)
        )
    })
}

/// Head and tail of a text of more than [`MAX_FEEDBACK`] characters.
pub(super) fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_FEEDBACK {
        return text.to_owned();
    }
    let head = MAX_FEEDBACK * 3 / 5;
    let tail = MAX_FEEDBACK - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}\n[...]\n{end}")
}

/// A value's name in files, with blanks between its words.
pub(super) fn in_words(value: &impl Serialize) -> String {
    let name = serde_json::to_value(value).ok();
    name.as_ref().and_then(|name| name.as_str()).unwrap_or_default().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reasons_keep_head_and_tail() {
        let long = format!("head {} tail", "x".repeat(9000));
        let short = shortened(&long);
        assert!(
            short.starts_with("head x") && short.ends_with("x tail") && short.contains("[...]")
        );
        assert_eq!(short.chars().count(), MAX_FEEDBACK + "\n[...]\n".len());
        assert_eq!(shortened("brief"), "brief");
    }

    #[test]
    fn places_are_filled_and_values_are_not_looked_into() {
        assert_eq!(fill("{a} {{a}}-{{b}}", &[("a", "{{b}}"), ("b", "1")]), "{a} {{b}}-1");
    }
}
