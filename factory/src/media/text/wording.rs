//! Templates and how they become words: synonyms, articles, numbers, clock times.
//!
//! A template is words separated by blanks. `saw|met` is a choice, `$noun` a slot that the
//! medium fills. A task's [`Dialect`] prefers some synonyms and keeps to one way of writing
//! times, so that tasks differ in tone.

use super::lexicon::{self, Class};
use crate::media::Look;
use crate::numeric::draws::Draws;

/// Nouns for stories that bring too few of their own.
const NOUNS: [&str; 10] = [
    "shelf", "ledger", "counter", "cabinet", "window", "panel", "trolley", "folder", "desk", "rack",
];
/// Fewer nouns than these make texts dull.
const ENOUGH_NOUNS: usize = 4;
/// A choice falls on the task's favourite this often beyond chance.
const FAVOUR: f64 = 0.5;

/// How the texts of a task are worded.
#[derive(Debug, Clone)]
pub(super) struct Dialect {
    favourite: usize,
    /// Between hours and minutes.
    clock: char,
    /// The share of numbers that are written in words.
    spelled: f64,
    nouns: Vec<String>,
}

impl Dialect {
    /// The dialect of a task.
    pub(super) fn new(look: &Look<'_>) -> Self {
        let mut draws = Draws::new(look.stream.child("dialect"));
        // A noun that means something to the reader would be counted as what it means.
        let usable = |word: &&String| {
            word.bytes().all(|byte| byte.is_ascii_lowercase())
                && word.len() > 2
                && lexicon::meaning(word).is_none()
        };
        let mut nouns: Vec<String> = look.vocabulary.iter().filter(usable).cloned().collect();
        if nouns.len() < ENOUGH_NOUNS {
            nouns.extend(NOUNS.map(str::to_owned));
        }
        Self {
            favourite: draws.whole(0, 59),
            clock: *draws.pick(&[':', 'h']),
            spelled: draws.between(0.0, 0.15),
            nouns,
        }
    }

    /// One of the task's nouns.
    pub(super) fn noun(&self, draws: &mut Draws) -> String {
        draws.pick(&self.nouns).clone()
    }

    /// One of several equal ways to say something.
    pub(super) fn choose<'a>(&self, ways: &[&'a str], draws: &mut Draws) -> &'a str {
        let last = ways.len() - 1;
        let favoured = draws.chance(FAVOUR);
        ways[if favoured { self.favourite % ways.len() } else { draws.whole(0, last) }]
    }

    /// A word for one member of a class.
    pub(super) fn word(&self, class: Class, concept: usize, draws: &mut Draws) -> String {
        class.concepts().get(concept).map_or("", |ways| self.choose(ways, draws)).to_owned()
    }

    /// A number below a hundred, in digits or in words.
    pub(super) fn number(&self, value: usize, draws: &mut Draws) -> String {
        if !draws.chance(self.spelled) {
            return value.to_string();
        }
        let word = |class: Class, index: usize| class.concepts()[index][0];
        match (value / 10, value % 10) {
            (0, 0) => value.to_string(),
            (0, unit) => word(Class::Unit, unit - 1).to_owned(),
            (1, unit) => word(Class::Teen, unit).to_owned(),
            (ten @ 2..=9, 0) => word(Class::Ten, ten - 2).to_owned(),
            (ten @ 2..=9, unit) => {
                format!("{} {}", word(Class::Ten, ten - 2), word(Class::Unit, unit - 1))
            }
            _ => value.to_string(),
        }
    }

    /// A time of day, from minutes after midnight.
    pub(super) fn clock(&self, minutes: usize) -> String {
        format!("{:02}{}{:02}", minutes / 60 % 24, self.clock, minutes % 60)
    }

    /// The words of a template; `fill` gives the content of a slot, one word or several.
    pub(super) fn phrase(
        &self,
        template: &str,
        draws: &mut Draws,
        mut fill: impl FnMut(&str, &mut Draws) -> String,
    ) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for part in template.split(' ') {
            if let Some(slot) = part.strip_prefix('$') {
                let filled = fill(slot, draws);
                words.extend(filled.split(' ').map(str::to_owned));
            } else if part.contains('|') {
                let ways: Vec<&str> = part.split('|').collect();
                words.push(self.choose(&ways, draws).to_owned());
            } else {
                words.push(part.to_owned());
            }
        }
        for index in 1..words.len() {
            if words[index - 1] == "a" && words[index].starts_with(['a', 'e', 'i', 'o', 'u']) {
                words[index - 1].push('n');
            }
        }
        words
    }
}

/// Upper case for the first letter.
pub(super) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// Groups clauses into that many sentences, with links inside and full stops behind.
pub(super) fn sentences(
    clauses: Vec<Vec<String>>,
    count: usize,
    links: &[&str],
    draws: &mut Draws,
) -> Vec<Vec<String>> {
    // Cuts at random places, each sentence keeping one clause at least.
    let mut places: Vec<usize> = (1..clauses.len()).collect();
    draws.shuffle(&mut places);
    places.truncate(count.saturating_sub(1));
    let mut sentences: Vec<Vec<String>> = Vec::with_capacity(count);
    for (index, clause) in clauses.into_iter().enumerate() {
        match sentences.last_mut() {
            Some(sentence) if !places.contains(&index) => {
                match *draws.pick(links) {
                    ";" => sentence.last_mut().into_iter().for_each(|word| word.push(';')),
                    link => sentence.push(link.to_owned()),
                }
                sentence.extend(clause);
            }
            _ => sentences.push(clause),
        }
    }
    for sentence in &mut sentences {
        finish(sentence);
    }
    sentences
}

/// Makes a sentence of its words.
pub(super) fn finish(sentence: &mut [String]) {
    if let Some(first) = sentence.first_mut() {
        *first = capitalised(first);
    }
    if let Some(last) = sentence.last_mut() {
        last.push('.');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Format;
    use std::collections::BTreeMap;
    use tasks::stream::Stream;

    #[test]
    fn vocabulary_that_the_reader_would_misread_is_left_out() {
        let words = ["hinge", "red", "rred", "fault", "two words", "axle", "bolt", "spring"];
        let vocabulary = words.map(str::to_owned);
        let blemishes = BTreeMap::new();
        let look = Look {
            format: Format::Cells,
            stream: Stream::root(1),
            vocabulary: &vocabulary,
            subject: None,
            genre: None,
            source: None,
            samples: None,
            blemishes: &blemishes,
        };
        assert_eq!(Dialect::new(&look).nouns, ["hinge", "rred", "axle", "bolt", "spring"]);
    }

    #[test]
    fn articles_follow_their_nouns() {
        let blemishes = BTreeMap::new();
        let look = Look {
            format: Format::Cells,
            stream: Stream::root(1),
            vocabulary: &[],
            subject: None,
            genre: None,
            source: None,
            samples: None,
            blemishes: &blemishes,
        };
        let mut draws = Draws::new(Stream::root(2));
        let words = Dialect::new(&look)
            .phrase("a $x and a fault", &mut draws, |_, _| "error".to_owned())
            .join(" ");
        assert_eq!(words, "an error and a fault");
    }
}
