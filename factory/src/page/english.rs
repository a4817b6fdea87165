//! English words and sentences: articles, plurals, lists, where a sentence ends.

/// The words of a text in lower case: runs of the letters a to z and the digits, as the package
/// `rouge-score` takes them.
pub(super) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()));
    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The sentences of a text. A sentence ends with its line, or with `.`, `!` or `?` before a blank.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    for line in text.lines() {
        let mut begin = 0;
        for (end, _) in line.match_indices(['.', '!', '?']) {
            let after = &line[end + 1..];
            // A closing mark belongs to the sentence before it.
            let marks = after.len() - after.trim_start_matches(['*', '"', ')', '`']).len();
            let end = end + 1 + marks;
            if line[end..].starts_with(' ') {
                sentences.push(line[begin..end].trim());
                begin = end;
            }
        }
        sentences.push(line[begin..].trim());
    }
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

/// The words of a sentence in lower case, with `_` for names and `#` for numbers. Names are what
/// stands in backquotes, and words that begin with a capital within the sentence; successive ones
/// are one name.
pub(super) fn masked(sentence: &str) -> Vec<String> {
    let mut masked: Vec<String> = Vec::new();
    let mut push = |word: &str| {
        if word != "_" || masked.last().is_none_or(|last| last != "_") {
            masked.push(word.to_owned());
        }
    };
    let mut first = true;
    for (at, part) in sentence.split('`').enumerate() {
        if at % 2 == 1 {
            push("_");
            first = false;
            continue;
        }
        // The point of a number belongs to it.
        let words = part.split(|c: char| !(c.is_alphanumeric() || c == '.'));
        for word in words.map(|word| word.trim_matches('.')).filter(|word| !word.is_empty()) {
            if word.contains(|c: char| c.is_ascii_digit()) {
                push("#");
            } else if !first && word.starts_with(char::is_uppercase) {
                push("_");
            } else {
                push(&word.to_lowercase());
            }
            first = false;
        }
    }
    masked
}

/// A text whose first letter is a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A noun with `a` or `an` before it.
pub(super) fn with_article(noun: &str) -> String {
    let first = noun.split(' ').next().unwrap_or_default().to_lowercase();
    let vowel = match first.as_str() {
        word if word.starts_with("hour") || word.starts_with("hon") || word == "x-ray" => true,
        word if ["use", "usu", "uni", "eu", "one", "once", "uri"]
            .iter()
            .any(|begin| word.starts_with(begin)) =>
        {
            false
        }
        word => word.starts_with(['a', 'e', 'i', 'o', 'u']),
    };
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// A noun in the plural. What follows `of` stays: `pairs of jeans`.
pub(super) fn plural(noun: &str) -> String {
    if let Some((head, rest)) = noun.split_once(" of ") {
        return format!("{} of {rest}", plural(head));
    }
    let consonant_y = |noun: &str| {
        let before = noun.strip_suffix('y').and_then(|stem| stem.chars().last());
        before.is_some_and(|letter| !"aeiou".contains(letter))
    };
    let leaf = ["leaf", "shelf", "half", "loaf", "calf"].iter().any(|word| noun.ends_with(word));
    if leaf {
        format!("{}ves", &noun[..noun.len() - 1])
    } else if noun.ends_with("series") || noun.ends_with("species") {
        noun.to_owned()
    } else if consonant_y(noun) {
        format!("{}ies", &noun[..noun.len() - 1])
    } else if ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end)) {
        format!("{noun}es")
    } else {
        format!("{noun}s")
    }
}

/// Words in backquotes, separated by commas.
pub(super) fn quoted<T: AsRef<str>>(words: &[T]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    quoted.join(", ")
}

/// Words separated by commas, with `and` before the last.
pub(super) fn listed<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::scenario::{self, Story};

    #[test]
    fn sentences_end_at_marks_before_a_blank() {
        let text = "**Who asks?** It is 9.05 m. See `train.csv`. \n\n- A point\n---\nLast one";
        assert_eq!(
            sentences(text),
            ["**Who asks?**", "It is 9.05 m.", "See `train.csv`.", "- A point", "Last one"]
        );
        assert!(sentences("").is_empty());
    }

    #[test]
    fn masks_stand_for_names_and_numbers() {
        let masked = |text| masked(text).join(" ");
        assert_eq!(masked("In `low_temp`, Ada Holm saw 9.05 m."), "in _ saw # m");
        assert_eq!(masked("`a`, `b` or 12"), "_ or #");
        assert_eq!(masked("The Berg Institute, in May"), "the _ in _");
    }

    #[test]
    fn words_are_lower_case_letters_and_digits() {
        assert_eq!(words("In `low_temp`, 9.05!"), ["in", "low", "temp", "9", "05"]);
    }

    #[test]
    fn articles_and_plurals_of_all_rows_are_english() {
        let scenarios = scenario::all().unwrap();
        let mut rows: Vec<&str> = scenarios
            .iter()
            .filter_map(|scenario| match &scenario.story {
                Story::Table(story) => Some(story.row.as_str()),
                Story::Scene(story) => Some(story.row.as_str()),
                Story::Challenge(story) => Some(story.row.as_str()),
                Story::Series(_) => None,
            })
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let lines: Vec<String> =
            rows.iter().map(|row| format!("{}, {}", with_article(row), plural(row))).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn lists_have_an_and_before_the_last() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(quoted(&["a", "b"]), "`a`, `b`");
        assert_eq!(listed::<&str>(&[]), "");
    }
}
