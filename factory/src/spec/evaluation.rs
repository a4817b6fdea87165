//! Texts that point at the competitions on which agents are judged.
//!
//! No training task may descend from them ([`crate::spec::seed::EVALUATION_ONLY`]), so neither a
//! story nor a page may name one or use the words of its title.

use crate::spec::seed::EVALUATION_ONLY;

/// Words of the titles that say which competition is meant, in lower case, singular.
const TITLE_WORDS: [&str; 30] = [
    "aerial cactus",
    "aptos",
    "author identification",
    "blindness detection",
    "catheter line",
    "cat versus dog",
    "cat vs dog",
    "dirty document",
    "dog breed",
    "dog versus cat",
    "dog vs cat",
    "histopathologic cancer",
    "insult in social",
    "isic",
    "leaf classification",
    "mlsp",
    "nomad2018",
    "plant pathology",
    "ranzcr",
    "random act of pizza",
    "right whale",
    "siim",
    "social commentary",
    "spooky author",
    "tabular playground",
    "taxi fare",
    "text normalization",
    "toxic comment",
    "transparent conductor",
    "melanoma classification",
];

/// The name of an evaluation competition, or the words of a title, that a text has. Case, signs
/// between words and the ending of plurals make no difference. `None` if there is none.
pub fn evaluation_words(text: &str) -> Option<&'static str> {
    let text = normalised(text);
    let names = EVALUATION_ONLY.into_iter().chain(TITLE_WORDS);
    names.into_iter().find(|name| text.contains(&normalised(name)))
}

/// Words in lower case between blanks, without the `s` at their ends.
fn normalised(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.map(|word| word.strip_suffix('s').unwrap_or(word)).collect();
    format!(" {} ", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_words_of_a_title_is_found() {
        for (text, words) in [
            ("Guess the fare of New York city taxi rides: taxi fares.", "taxi fare"),
            ("Which DOG-BREEDS are these?", "dog breed"),
            ("See leaf_classification for more.", "leaf-classification"),
            ("Random acts of pizza", "random-acts-of-pizza"),
        ] {
            assert_eq!(evaluation_words(text), Some(words), "{text}");
        }
    }

    #[test]
    fn text_about_other_things_passes() {
        for text in ["Taxi drivers note each ride.", "A leaf is weighed.", "Dogs at a vet", ""] {
            assert_eq!(evaluation_words(text), None, "{text}");
        }
    }
}
