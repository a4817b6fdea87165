//! Texts that point at the competitions on which agents are judged.
//!
//! No training task may descend from them ([`crate::spec::seed::EVALUATION_ONLY`]), so neither a
//! story nor a page may name one or use the words of its title.

use crate::spec::seed::EVALUATION_ONLY;
use std::sync::LazyLock;

/// Words of the titles that say which competition is meant, in lower case, singular.
const TITLE_WORDS: [&str; 32] = [
    "aerial cactus",
    "aptos",
    "aptos2019",
    "author identification",
    "blindness detection",
    "catheter line",
    "cat versus dog",
    "cat vs dog",
    "dirty document",
    "dog breed",
    "dog versus cat",
    "dog vs cat",
    "fgvc7",
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

/// Successive words of a name that name it; a shorter name is named by all of its words.
const RUN: usize = 3;
/// A run of words that names something else.
const COMMON_RUN: &str = "new york city";

/// Normalised phrases, each with the name or the words of a title that it stands for.
static PHRASES: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let mut phrases = Vec::new();
    for name in EVALUATION_ONLY {
        let words: Vec<&str> = name.split('-').collect();
        let runs = words.windows(words.len().min(RUN)).map(|run| run.join(" "));
        let runs = runs.filter(|run| run != COMMON_RUN);
        phrases.extend(runs.map(|run| (normalised(&run), name)));
    }
    phrases.extend(TITLE_WORDS.map(|words| (normalised(words), words)));
    phrases
});

/// The name of an evaluation competition, if a text has three successive words of it, or else words
/// of a title. Case, signs between words and the ending of plurals make no difference. `None` if
/// there is neither.
pub fn evaluation_words(text: &str) -> Option<&'static str> {
    let text = normalised(text);
    PHRASES.iter().find(|(phrase, _)| text.contains(phrase)).map(|(_, name)| *name)
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
            ("Guess the fare of rides by taxi: taxi fares.", "taxi fare"),
            ("All the New York city taxis", "new-york-city-taxi-fare-prediction"),
            ("Which DOG-BREEDS are these?", "dog breed"),
            ("See leaf_classification for more.", "leaf-classification"),
            ("Random acts of pizza", "random-acts-of-pizza"),
        ] {
            assert_eq!(evaluation_words(text), Some(words), "{text}");
        }
    }

    #[test]
    fn every_name_and_every_run_of_its_words_is_found() {
        for name in EVALUATION_ONLY {
            let words: Vec<&str> = name.split('-').collect();
            let text = format!("We took it from {}, which is well known.", words.join(" "));
            assert!(evaluation_words(&text).is_some(), "{name}");
            for run in words.windows(words.len().min(3)) {
                let found = evaluation_words(&run.join("_")).is_some();
                assert_eq!(found, run != ["new", "york", "city"], "{run:?}");
            }
        }
    }

    #[test]
    fn text_about_other_things_passes() {
        for text in [
            "Taxi drivers note each ride.",
            "A leaf is weighed.",
            "Dogs at a vet",
            "the classification of leaves",
            "a taxi in the city",
            "cats and dogs",
            "A bakery in New York City",
            "",
        ] {
            assert_eq!(evaluation_words(text), None, "{text}");
        }
    }
}
