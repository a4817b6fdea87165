//! What three kinds of readers make of a pair of notes.
//!
//! Plain: lengths and words in common. Generic: the same for word pairs, letter triples,
//! numbers and times. Estimates: a parser of the grammar in `pair`.

use super::lexicon::Class;
use super::pair::detail_classes;
use super::tokens::{WordToken, distinct, lines, mean_and_spread, quantity, range, tokens};
use crate::media::{MediumError, Reading};
use std::collections::BTreeSet;

/// Letters of a word that is worth comparing.
const WORTHY: usize = 6;

/// Reads a pair of notes.
pub(super) fn read(bytes: &[u8]) -> Result<Reading, MediumError> {
    let lines: [&str; 2] = lines(bytes)?;
    let notes = lines.map(tokens);
    Ok(Reading {
        plain: plain(&notes, &lines),
        generic: generic(&notes, &lines),
        estimates: estimates(&notes),
    })
}

/// What two sets have in common: the count, over the union, over the smaller set.
fn common<T: Ord>(first: &BTreeSet<T>, second: &BTreeSet<T>) -> [f64; 3] {
    let shared = first.intersection(second).count() as f64;
    let smaller = first.len().min(second.len()).max(1) as f64;
    let union = (first.len() + second.len()) as f64 - shared;
    [shared, shared / union.max(1.0), shared / smaller]
}

fn long_words(note: &[WordToken]) -> BTreeSet<&str> {
    distinct(note.iter().filter(|token| token.word.len() >= WORTHY))
}

fn plain(notes: &[Vec<WordToken>; 2], lines: &[&str; 2]) -> Vec<f64> {
    let [first, second] = notes;
    let words = [first.len() as f64, second.len() as f64];
    let mut plain = vec![
        words[1] / words[0],
        (words[1] - words[0]).abs(),
        words[0] + words[1],
        lines[1].len() as f64 / lines[0].len() as f64,
    ];
    plain.extend(common(&distinct(first), &distinct(second)));
    plain.extend(common(&long_words(first), &long_words(second)));
    plain
}

/// |a − b| over the larger of the two; 0 for two zeros.
fn gap(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.max(b).max(1.0)
}

fn generic(notes: &[Vec<WordToken>; 2], lines: &[&str; 2]) -> Vec<f64> {
    let [first, second] = notes;
    let word_pairs = notes.each_ref().map(|note| {
        note.windows(2).map(|pair| (&*pair[0].word, &*pair[1].word)).collect::<BTreeSet<_>>()
    });
    let lower = lines.map(str::to_ascii_lowercase);
    let triples = lower.each_ref().map(|line| line.as_bytes().windows(3).collect::<BTreeSet<_>>());
    let numbers =
        notes.each_ref().map(|note| note.iter().filter_map(WordToken::digits).collect::<Vec<_>>());
    let clocks =
        notes.each_ref().map(|note| note.iter().filter_map(WordToken::clock).collect::<Vec<_>>());
    let largest = numbers.each_ref().map(|numbers| range(numbers).1);
    let mean = numbers.each_ref().map(|numbers| mean_and_spread(numbers).0);
    let head = |values: &Vec<f64>| values.first().copied().unwrap_or(0.0);
    let tail = |values: &Vec<f64>| values.last().copied().unwrap_or(0.0);
    let capitals = notes.each_ref().map(|note| distinct(note.iter().filter(|token| token.capital)));

    let mut generic = vec![
        second.len() as f64 / first.len() as f64,
        numbers[0].len() as f64,
        numbers[1].len() as f64,
        largest[0],
        largest[1],
        gap(largest[0], largest[1]),
        gap(mean[0], mean[1]),
        gap(head(&numbers[0]), head(&numbers[1])),
        head(&clocks[1]) - head(&clocks[0]),
        tail(&clocks[1]) - tail(&clocks[0]),
        mean_and_spread(&clocks[1]).0 - mean_and_spread(&clocks[0]).0,
        common(&capitals[0], &capitals[1])[0],
        common(&word_pairs[0], &word_pairs[1])[1],
        common(&triples[0], &triples[1])[1],
    ];
    generic.extend(common(&distinct(first), &distinct(second)));
    generic.extend(common(&long_words(first), &long_words(second)));
    generic
}

/// The statistics, in the medium's order.
fn estimates(notes: &[Vec<WordToken>; 2]) -> Vec<f64> {
    let [first, second] = notes;
    let remarks = notes.each_ref().map(|note| {
        note.iter().filter_map(|token| token.concept(Class::Remark)).collect::<BTreeSet<_>>()
    });
    let counts = notes.each_ref().map(|note| quantity(note));
    let gap = counts[0].zip(counts[1]).map_or(0.25, |(own, other)| gap(own, other));
    let times = notes.each_ref().map(|note| time(note));
    let shift = times[0].zip(times[1]).map_or(0.0, |(own, other)| other - own);
    let details = notes
        .each_ref()
        .map(|note| detail_classes().map(|class| mention(note, class)).collect::<Vec<Option<_>>>());
    let same = details[0].iter().zip(&details[1]).filter(|(own, other)| {
        own.zip(**other).is_some_and(|((_, concept), (_, second))| concept == second)
    });
    vec![
        common(&remarks[0], &remarks[1])[2],
        second.len() as f64 / first.len() as f64,
        gap,
        same.count() as f64,
        reordering(&details),
        shift,
    ]
}

/// The time of the finding: `found at 10:20`.
fn time(note: &[WordToken]) -> Option<f64> {
    let mut verbs = (0..note.len()).filter(|index| note[*index].concept(Class::Sighting).is_some());
    verbs.find_map(|index| note.get(index + 2).and_then(WordToken::clock))
}

/// Where a detail is given, and what.
fn mention(note: &[WordToken], class: Class) -> Option<(usize, usize)> {
    let found = |(place, token): (usize, &WordToken)| token.concept(class).map(|c| (place, c));
    note.iter().enumerate().find_map(found)
}

/// The share of pairs of details in opposite order, of those given in both notes.
fn reordering(details: &[Vec<Option<(usize, usize)>>; 2]) -> f64 {
    let places: Vec<(usize, usize)> = details[0]
        .iter()
        .zip(&details[1])
        .filter_map(|(own, other)| own.zip(*other).map(|((a, _), (b, _))| (a, b)))
        .collect();
    let mut pairs = 0.0_f64;
    let mut reversed = 0.0;
    for (index, own) in places.iter().enumerate() {
        for other in &places[..index] {
            pairs += 1.0;
            if (own.0 < other.0) != (own.1 < other.1) {
                reversed += 1.0;
            }
        }
    }
    reversed / pairs.max(1.0)
}
