//! Pieces of texts as found by counting words: what a solver does who knows no grammar.

use super::remarks::MARKS;
use std::collections::BTreeMap;

/// Most words of a piece.
const LONGEST: usize = 30;
/// What one word may add to or take from the score of a piece.
const MOST: f64 = 1.5;

/// A text with the piece of it that is the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tagged<'a> {
    pub(super) text: &'a str,
    pub(super) piece: &'a str,
}

/// A word of a text, in lower case and without the marks behind it.
#[derive(Debug)]
struct Word {
    bare: String,
    start: usize,
    /// Where it ends without marks and with them.
    ends: [usize; 2],
}

fn words(text: &str) -> Vec<Word> {
    let mut place = 0;
    let word = |word: &str| {
        let start = place;
        place += word.len() + 1;
        let bare = word.trim_end_matches(MARKS);
        Word { bare: bare.to_lowercase(), start, ends: [start + bare.len(), start + word.len()] }
    };
    text.split(' ').map(word).collect()
}

/// The words of a text from the first to the last one of a piece.
fn span(tagged: &Tagged<'_>, words: &[Word]) -> Option<[usize; 2]> {
    let start = tagged.text.find(tagged.piece)?;
    let end = start + tagged.piece.len();
    let first = words.iter().position(|word| word.start == start)?;
    let last = words.iter().position(|word| word.ends.contains(&end))?;
    (first <= last).then_some([first, last])
}

/// Logarithms of how much more often something is seen on one side than on the other.
#[derive(Debug, Default)]
struct Odds {
    counts: BTreeMap<String, [f64; 2]>,
    totals: [f64; 2],
}

impl Odds {
    fn count(&mut self, what: String, is_hit: bool) {
        let side = usize::from(!is_hit);
        self.counts.entry(what).or_default()[side] += 1.0;
        self.totals[side] += 1.0;
    }

    fn of(&self, what: &str) -> f64 {
        let [hit, other] = self.counts.get(what).copied().unwrap_or_default();
        let share = |count: f64, total: f64| (count + 0.5) / (total + 1.0);
        libm::log(share(hit, self.totals[0]) / share(other, self.totals[1]))
    }
}

/// What marks the words at either end of a piece: themselves, the word outside, a mark between.
fn signs(words: &[Word], place: usize, is_start: bool) -> [String; 3] {
    let outside = if is_start { place.checked_sub(1) } else { Some(place + 1) };
    let outside = outside.and_then(|place| words.get(place));
    let marked = |word: &Word| word.ends[0] < word.ends[1];
    let mark = if is_start { outside.is_none_or(marked) } else { marked(&words[place]) };
    [
        format!("own {}", words[place].bare),
        format!("outside {}", outside.map_or("", |word| word.bare.as_str())),
        format!("mark {mark}"),
    ]
}

/// Where pieces begin and end and which words they are made of, from texts with known pieces.
#[derive(Debug, Default)]
pub(super) struct Tagger {
    inside: Odds,
    ends: [Odds; 2],
    /// Known pieces that end before a mark without it, and with it.
    marks: [usize; 2],
}

impl Tagger {
    pub(super) fn new<'a>(known: impl IntoIterator<Item = Tagged<'a>>) -> Self {
        let mut tagger = Self::default();
        for tagged in known {
            let words = words(tagged.text);
            let Some([first, last]) = span(&tagged, &words) else { continue };
            for (place, word) in words.iter().enumerate() {
                tagger.inside.count(word.bare.clone(), (first..=last).contains(&place));
                for (end, hit) in [(0, place == first), (1, place == last)] {
                    for sign in signs(&words, place, end == 0) {
                        tagger.ends[end].count(sign, hit);
                    }
                }
            }
            let [bare, marked] = words[last].ends;
            if bare < marked {
                tagger.marks[usize::from(tagged.piece.ends_with(MARKS))] += 1;
            }
        }
        tagger
    }

    /// The part of a text between two marks whose words are most like those of known pieces.
    pub(super) fn part<'t>(&self, text: &'t str) -> &'t str {
        let parts = text.split_inclusive(MARKS).map(|part| part.trim().trim_end_matches(MARKS));
        let likeness = |part: &&str| {
            let words = words(part);
            let odds = words.iter().map(|word| self.inside.of(&word.bare)).sum::<f64>();
            odds / words.len() as f64
        };
        // The first of equals.
        let best = parts.rev().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        best.unwrap_or(text)
    }

    /// The run of words that is most like the known pieces inside and at its ends.
    pub(super) fn piece<'t>(&self, text: &'t str) -> &'t str {
        let words = words(text);
        let inside: Vec<f64> =
            words.iter().map(|word| self.inside.of(&word.bare).clamp(-MOST, MOST)).collect();
        let [starts, ends] = [true, false].map(|is_start| {
            let odds = &self.ends[usize::from(!is_start)];
            let sum = |place| signs(&words, place, is_start).iter().map(|sign| odds.of(sign)).sum();
            (0..words.len()).map(sum).collect::<Vec<f64>>()
        });
        let mut best = (f64::NEG_INFINITY, 0, 0);
        for (first, start) in starts.iter().enumerate() {
            let mut within = 0.0;
            for last in first..words.len().min(first + LONGEST) {
                within += inside[last];
                let score = start + ends[last] + within;
                if score > best.0 {
                    best = (score, first, last);
                }
            }
        }
        let (_, first, last) = best;
        let with_mark = usize::from(self.marks[1] > self.marks[0]);
        &text[words[first].start..words[last].ends[with_mark]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Tagged<'_>; 3] = [
        Tagged { text: "We came late, it was good fun.", piece: "good fun" },
        Tagged { text: "The song was good, we left.", piece: "good" },
        Tagged { text: "A good day, but it was wet.", piece: "good day" },
    ];

    #[test]
    fn words_of_known_pieces_are_found_again() {
        let tagger = Tagger::new(KNOWN);
        assert_eq!(tagger.part("It was wet, a good end."), "a good end");
        assert_eq!(tagger.piece("It was wet, the food was good, we left."), "good");
    }

    #[test]
    fn pieces_end_with_a_mark_where_most_known_ones_do() {
        let text = "It was good fun.";
        let known = [
            Tagged { text, piece: "good fun." },
            Tagged { text: "They had good fun, too.", piece: "good fun," },
            Tagged { text: "No one came, so good.", piece: "good" },
        ];
        assert_eq!(Tagger::new(known).piece(text), "good fun.");
    }
}
