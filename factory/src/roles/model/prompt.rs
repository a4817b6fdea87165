//! Prompts: text files with places for values, and what is said of an earlier refusal.

use crate::roles::RoleFeedback;
use serde::Serialize;

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
            feedback.code, feedback.detail
        )
    })
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
    fn places_are_filled_and_values_are_not_looked_into() {
        assert_eq!(fill("{a} {{a}}-{{b}}", &[("a", "{{b}}"), ("b", "1")]), "{a} {{b}}-1");
    }
}
