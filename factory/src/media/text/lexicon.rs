//! The words that carry meaning, and how to find them through typing mistakes.
//!
//! The words are data (`words.txt`), shared with the Python twins: one class a line, words of
//! the same meaning joined by a slash. Because [`mistyped`] is all that the typing blemish can
//! do to a word, the table of all mistyped forms undoes it with one look-up.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The data behind [`lexicon`].
pub(super) const WORDS: &str = include_str!("words.txt");

/// Words of fewer letters are never mistyped: they would turn into each other.
pub(super) const LONG: usize = 5;

/// What a word is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Negation,
    Finding,
    Complaint,
    Neutral,
    Strong,
    Mild,
    Person,
    Weekday,
    Shift,
    Place,
    Colour,
    Material,
    Role,
    Opening,
    Closing,
    Tally,
    Sighting,
    Remark,
    Unit,
    Teen,
    Ten,
}

impl Class {
    const ALL: [(&'static str, Self); 21] = [
        ("negation", Self::Negation),
        ("finding", Self::Finding),
        ("complaint", Self::Complaint),
        ("neutral", Self::Neutral),
        ("strong", Self::Strong),
        ("mild", Self::Mild),
        ("person", Self::Person),
        ("weekday", Self::Weekday),
        ("shift", Self::Shift),
        ("place", Self::Place),
        ("colour", Self::Colour),
        ("material", Self::Material),
        ("role", Self::Role),
        ("opening", Self::Opening),
        ("closing", Self::Closing),
        ("tally", Self::Tally),
        ("sighting", Self::Sighting),
        ("remark", Self::Remark),
        ("unit", Self::Unit),
        ("teen", Self::Teen),
        ("ten", Self::Ten),
    ];

    /// The class of that name in `words.txt`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, class)| *class)
    }

    /// Its members; words of the same meaning stand together.
    pub(super) fn concepts(self) -> &'static [Vec<&'static str>] {
        LEXICON.concepts.get(&self).map_or(&[], Vec::as_slice)
    }
}

/// What a word means: its class and which member of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) class: Class,
    pub(super) concept: usize,
    /// Whether the word was spelled as it should be.
    pub(super) exact: bool,
}

struct Lexicon {
    concepts: BTreeMap<Class, Vec<Vec<&'static str>>>,
    meanings: BTreeMap<String, Meaning>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut concepts: BTreeMap<Class, Vec<Vec<&'static str>>> = BTreeMap::new();
    for line in WORDS.lines() {
        if let Some((name, words)) = line.split_once(": ")
            && let Some(class) = Class::named(name)
        {
            let members = words.split_whitespace().map(|concept| concept.split('/').collect());
            concepts.insert(class, members.collect());
        }
    }
    // Right spellings go first: no mistyped form displaces them.
    let mut meanings = BTreeMap::new();
    let all = || {
        concepts.iter().flat_map(|(class, members)| {
            let meaning = |concept| Meaning { class: *class, concept, exact: true };
            members
                .iter()
                .enumerate()
                .flat_map(move |(i, words)| words.iter().map(move |w| (*w, meaning(i))))
        })
    };
    for (word, meaning) in all() {
        meanings.insert(word.to_owned(), meaning);
    }
    for (word, meaning) in all() {
        for form in mistyped_forms(word) {
            meanings.entry(form).or_insert(Meaning { exact: false, ..meaning });
        }
    }
    Lexicon { concepts, meanings }
});

/// What a lower-case word means, if it is a known word or a known word mistyped.
pub(super) fn meaning(word: &str) -> Option<Meaning> {
    LEXICON.meanings.get(word).copied()
}

/// How a word can be mistyped; its first and last letters stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slip {
    /// A letter changes places with the next.
    Swap,
    /// A letter is missing.
    Drop,
    /// A letter stands twice.
    Double,
}

impl Slip {
    pub(super) const ALL: [Self; 3] = [Self::Swap, Self::Drop, Self::Double];
}

/// `word` with one slip at an inner letter, counted from 1; unchanged where there is no room.
pub(super) fn mistyped(word: &str, slip: Slip, letter: usize) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    if letter == 0 || letter + 1 >= letters.len() {
        return word.to_owned();
    }
    match slip {
        Slip::Swap if letter + 2 < letters.len() => letters.swap(letter, letter + 1),
        Slip::Swap => {}
        Slip::Drop => {
            letters.remove(letter);
        }
        Slip::Double => letters.insert(letter, letters[letter]),
    }
    letters.into_iter().collect()
}

/// Everything that a word of the lexicon can turn into.
pub(super) fn mistyped_forms(word: &str) -> Vec<String> {
    if word.len() < LONG {
        return Vec::new();
    }
    let inner = 1..word.len() - 1;
    inner.flat_map(|letter| Slip::ALL.map(|slip| mistyped(word, slip, letter))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_words() {
        assert_eq!(WORDS.lines().count(), Class::ALL.len());
        assert!(Class::ALL.iter().all(|(_, class)| !class.concepts().is_empty()));
    }

    #[test]
    fn every_mistyped_form_leads_back_to_its_word() {
        for (_, class) in Class::ALL {
            for (concept, words) in class.concepts().iter().enumerate() {
                for form in words.iter().flat_map(|word| mistyped_forms(word)) {
                    let found = meaning(&form).map(|m| (m.class, m.concept));
                    assert_eq!(found, Some((class, concept)), "{form}");
                }
            }
        }
    }
}
