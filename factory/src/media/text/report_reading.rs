//! Measures a report in three ways, from word counts to a parser.
//!
//! Plain: counts of obvious words. Generic: those, and counts of sentences, capitals, numbers and
//! times. Estimates: a parser of the grammar in `report`.

use super::lexicon::Class;
use super::report::DETAILS;
use super::tokens::{
    WordToken, distinct, mean_and_spread, quantity, range, sentence_lengths, tokens, whole,
};
use crate::media::{MediumError, Reading};

/// Words counted one by one, beside the classes of [`LISTED`].
const COMMON: [&str; 4] = ["and", "the", "a", "was"];
/// Classes of words that a solver would list without knowing the grammar.
const LISTED: [Class; 4] = [Class::Complaint, Class::Strong, Class::Negation, Class::Finding];
/// What a missing count stands at: the middle of its range.
const MIDDLE_QUANTITY: f64 = 53.0;

/// Measures what a report says; fails if it is not ASCII or too short.
pub(super) fn read(bytes: &[u8]) -> Result<Reading, MediumError> {
    let text = whole(bytes)?;
    let tokens = tokens(text);
    Ok(Reading {
        plain: plain(&tokens, text),
        generic: generic(&tokens),
        estimates: estimates(&tokens),
    })
}

/// How many rightly spelled words are among the first ones of a class.
fn members(tokens: &[WordToken], class: Class, first: usize) -> f64 {
    let counts = |token: &&WordToken| {
        token.meaning.is_some_and(|m| m.class == class && m.exact && m.concept < first)
    };
    tokens.iter().filter(counts).count() as f64
}

/// Rightly spelled words of the lists.
fn listed(tokens: &[WordToken]) -> impl Iterator<Item = f64> {
    LISTED.iter().map(|class| members(tokens, *class, class.concepts().len()))
}

/// The same for shorter lists, of the first three quarters of each class.
fn hastily_listed(tokens: &[WordToken]) -> impl Iterator<Item = f64> {
    LISTED.iter().map(|class| {
        let words = class.concepts().len();
        members(tokens, *class, words - words / 4)
    })
}

fn plain(tokens: &[WordToken], text: &str) -> Vec<f64> {
    let count = |word: &&str| tokens.iter().filter(|token| token.word == **word).count() as f64;
    let lengths = [tokens.len() as f64, text.len() as f64];
    hastily_listed(tokens).chain(COMMON.iter().map(count)).chain(lengths).collect()
}

fn generic(tokens: &[WordToken]) -> Vec<f64> {
    let words = tokens.len() as f64;
    let sentences = sentence_lengths(tokens);
    let capitals = tokens.iter().filter(|token| token.capital);
    let names = distinct(capitals.clone());
    let repeats = |name: &&str| capitals.clone().filter(|token| token.word == **name).count();
    let most_repeated = names.iter().map(repeats).max().unwrap_or(0) as f64;
    // Words that are never written without their capital are names.
    let small = distinct(tokens.iter().filter(|token| !token.capital));
    let named = capitals.clone().filter(|token| !small.contains(token.word.as_str()));
    let numbers: Vec<f64> = tokens.iter().filter_map(WordToken::digits).collect();
    let (smallest, largest) = range(&numbers);
    let clocks: Vec<f64> = tokens.iter().filter_map(WordToken::clock).collect();
    let (earliest, latest) = range(&clocks);
    let mut generic = vec![
        words,
        mean_and_spread(&sentences).1,
        distinct(tokens).len() as f64 / words,
        capitals.count() as f64,
        names.len() as f64,
        most_repeated,
        named.clone().count() as f64,
        distinct(named).len() as f64,
        numbers.len() as f64,
        smallest,
        largest,
        numbers.first().copied().unwrap_or(0.0),
        latest - earliest,
    ];
    generic.extend(listed(tokens));
    generic
}

/// The statistics, in the medium's order.
fn estimates(tokens: &[WordToken]) -> Vec<f64> {
    let denials = (0..tokens.len()).filter(|index| denied(tokens, *index)).count();
    let agreement = DETAILS.iter().filter(|class| agrees(tokens, **class)).count();
    let opened = time_of(tokens, Class::Opening);
    let closed = time_of(tokens, Class::Closing);
    let lead = opened.zip(closed).map_or(0.0, |(opened, closed)| closed - opened);
    vec![
        known(tokens, Class::Complaint),
        known(tokens, Class::Strong),
        quantity(tokens).unwrap_or(MIDDLE_QUANTITY),
        people(tokens),
        denials as f64,
        agreement as f64,
        lead,
    ]
}

/// How many words belong to the class, spelling forgiven.
fn known(tokens: &[WordToken], class: Class) -> f64 {
    tokens.iter().filter(|token| token.concept(class).is_some()).count() as f64
}

/// How many different persons are named.
fn people(tokens: &[WordToken]) -> f64 {
    let mut named: Vec<usize> = tokens.iter().filter_map(|t| t.concept(Class::Person)).collect();
    named.sort_unstable();
    named.dedup();
    named.len() as f64
}

/// Whether the word at `index` is a finding within the scope of a negation: `no x`, `without a
/// x`, `never named a x`, `a x was not`, `free of any x` unless it is `not free`.
fn denied(tokens: &[WordToken], index: usize) -> bool {
    if tokens[index].concept(Class::Finding).is_none() {
        return false;
    }
    let before = |steps: usize| index.checked_sub(steps).map(|place| &tokens[place]);
    let word = |steps: usize| before(steps).map_or("", |token| token.word.as_str());
    let negation = |steps: usize, right: &str| {
        let concept = before(steps).and_then(|token| token.concept(Class::Negation));
        concept.is_some_and(|concept| Class::Negation.concepts()[concept][0] == right)
    };
    let after = |steps: usize| tokens.get(index + steps).map_or("", |token| token.word.as_str());
    match word(1) {
        "no" => true,
        "any" => word(3) == "free" && word(4) != "not",
        "a" | "an" => {
            negation(2, "without")
                || negation(3, "never")
                || (after(1) == "was" && after(2) == "not")
        }
        _ => false,
    }
}

/// Whether the first and the last mention of a detail are the same.
fn agrees(tokens: &[WordToken], class: Class) -> bool {
    let mentions: Vec<usize> = tokens.iter().filter_map(|token| token.concept(class)).collect();
    mentions.len() > 1 && mentions.first() == mentions.last()
}

/// The time of an event: `the event at 10:20`, otherwise the last time before it.
fn time_of(tokens: &[WordToken], event: Class) -> Option<f64> {
    let place = tokens.iter().position(|token| token.concept(event).is_some())?;
    let follows = tokens.get(place + 1).is_some_and(|token| token.word == "at");
    let after = tokens.get(place + 2).filter(|_| follows).and_then(WordToken::clock);
    after.or_else(|| tokens[..place].iter().rev().find_map(WordToken::clock))
}
