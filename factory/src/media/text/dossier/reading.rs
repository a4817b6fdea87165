//! Measures a dossier in three ways, from word counts to a reader who knows how its sentences go.
//!
//! Plain: counts of obvious words. Generic: those, and counts of sentences, names, numbers, dates and
//! words of several kinds. Estimates: entries in the order of their dates or numbers, and what each
//! sentence with a cue is about.

use super::bank::{Cue, CueKind, Side};
use super::calendar::day_of_year;
use super::keys::{KEYS, Known};
use crate::media::text::tokens::{mean_and_spread, range, whole};
use crate::media::{MediumError, Reading};
use std::collections::{BTreeMap, BTreeSet};

/// Words counted one by one.
const COMMON: [&str; 4] = ["and", "the", "was", "not"];
/// Words that hint at things that work, things that do not, thanks and faults.
const HINTS: [&[&str]; 4] = [
    &["back", "repair", "right", "running", "finished", "new"],
    &["again", "failed", "out", "broke", "trouble", "off"],
    &["thanks", "help", "splendid", "kind", "well"],
    &["blame", "mistake", "error", "wrong", "mistaken"],
];
/// Capitalised words that name no person.
const NO_PERSONS: [&str; 37] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
];
/// How far from its cue a sentence may name what it is about, in words.
const REACH: usize = 20;
/// What a wait that is not told of stands at: the middle of its range.
const MIDDLE_WAIT: f64 = 67.0;
/// The same for an answer.
const MIDDLE_DAYS: f64 = 21.0;
/// Names of each list that a practised solver has come across.
const FAMILIAR: usize = 20;
/// Words of a hurried solver's lists of alarm and of missing people.
const HURRIED: [usize; 2] = [8, 6];

/// One word of a dossier.
#[derive(Debug)]
struct Word {
    /// In lower case, without marks around it.
    text: String,
    capital: bool,
    /// Whether a full stop or a question mark follows.
    ends: bool,
    /// What it is, spelling forgiven.
    known: Option<&'static Known>,
    exact: bool,
}

impl Word {
    fn of(part: &str) -> Option<Self> {
        let core = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if core.is_empty() {
            return None;
        }
        let text = core.to_ascii_lowercase();
        let known = KEYS.known(&text);
        Some(Self {
            capital: core.starts_with(|c: char| c.is_ascii_uppercase()),
            ends: part.ends_with(['.', '?']),
            known: known.map(|(known, _)| known),
            exact: known.is_some_and(|(_, exact)| exact),
            text,
        })
    }

    fn is(&self, word: &str) -> bool {
        self.known.is_some_and(|known| known.word == word)
    }

    /// A number in digits, of at most nine of them.
    fn number(&self) -> Option<f64> {
        let digits = self.text.len() <= 9 && self.text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { self.text.parse().ok() } else { None }
    }

    /// A time of day, in minutes after midnight.
    fn clock(&self) -> Option<f64> {
        let digit = |byte: u8| byte.is_ascii_digit().then(|| f64::from(byte - b'0'));
        let [a, b, b':', c, d] = *self.text.as_bytes() else { return None };
        Some(60.0 * (10.0 * digit(a)? + digit(b)?) + 10.0 * digit(c)? + digit(d)?)
    }
}

/// Measures a dossier; fails if it is not ASCII or too short.
pub(super) fn read(bytes: &[u8]) -> Result<Reading, MediumError> {
    let text = whole(bytes)?;
    let blocks: Vec<Block> = text.split("\n\n").map(Block::of).collect();
    let words: Vec<&Word> = blocks.iter().flat_map(|block| &block.words).collect();
    if words.is_empty() {
        return Err(MediumError("a text without words".to_owned()));
    }
    let (plain, generic) = (plain(&words, text), generic(&words));
    let mut order: Vec<&Block> = blocks.iter().collect();
    order.sort_by(|one, other| one.key.total_cmp(&other.key));
    let words: Vec<&Word> = order.iter().flat_map(|block| &block.words).collect();
    Ok(Reading { plain, generic, estimates: estimates(&words) })
}

/// What stands between two empty lines.
#[derive(Debug)]
struct Block {
    /// By which entries are put in order: minutes of the year, or a number; -1 for none.
    key: f64,
    words: Vec<Word>,
}

impl Block {
    fn of(text: &str) -> Self {
        let words: Vec<Word> = text.split_ascii_whitespace().filter_map(Word::of).collect();
        let head = text.lines().next().unwrap_or_default();
        let held = head.split_ascii_whitespace().filter_map(Word::of).count();
        let head: Vec<&Word> = words[..held].iter().collect();
        Self { key: key(&head).unwrap_or(-1.0), words }
    }
}

/// The date and time of a heading, or its number.
fn key(head: &[&Word]) -> Option<f64> {
    let day = (0..head.len()).find_map(|place| date_at(head, place));
    let clock = head.iter().find_map(|word| word.clock());
    if let (Some(day), Some(clock)) = (day, clock) {
        return Some(1440.0 * day + clock);
    }
    let first = head.first()?;
    let digits = first.text.strip_prefix('q').unwrap_or(&first.text);
    let is_number =
        !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// The day of the year that a month at `place` belongs to: the number before it, or the one behind it.
fn date_at(words: &[&Word], place: usize) -> Option<f64> {
    let month = words[place].known?.month?;
    let day = |place: Option<usize>| {
        let number = words.get(place?)?.number()?;
        (1..=31).find(|day| f64::from(*day) == number)
    };
    let day = day(place.checked_sub(1)).or_else(|| day(Some(place + 1)))?;
    Some(day_of_year(month, 0) as f64 + f64::from(day))
}

/// How many words of a list are spelled as they should be and stand among its first.
fn listed(words: &[&Word], list: &str, first: usize) -> f64 {
    let list = &KEYS.list(list)[..first];
    words.iter().filter(|word| word.exact && list.contains(&word.text.as_str())).count() as f64
}

/// How many different persons are named who are familiar, their names spelled as they should be.
fn persons(words: &[&Word]) -> f64 {
    let familiar = ["surname", "first"].map(|list| &KEYS.list(list)[..FAMILIAR]).concat();
    let held: BTreeSet<&str> = words.iter().filter(|w| w.exact).map(|w| w.text.as_str()).collect();
    familiar.iter().filter(|name| held.contains(*name)).count() as f64
}

fn plain(words: &[&Word], text: &str) -> Vec<f64> {
    let count = |word: &&str| words.iter().filter(|other| other.text == **word).count() as f64;
    let mut plain =
        vec![listed(words, "strong", HURRIED[0]), listed(words, "staffing", HURRIED[1])];
    plain.extend(COMMON.iter().map(count));
    plain.extend([words.len() as f64, text.len() as f64]);
    plain
}

fn generic(words: &[&Word]) -> Vec<f64> {
    let count = words.len() as f64;
    let sentences: Vec<f64> =
        words.split_inclusive(|word| word.ends).map(|sentence| sentence.len() as f64).collect();
    let mut capitals: BTreeMap<&str, usize> = BTreeMap::new();
    let mut small: BTreeSet<&str> = BTreeSet::new();
    for word in words {
        if word.capital {
            *capitals.entry(&word.text).or_default() += 1;
        } else {
            small.insert(&word.text);
        }
    }
    let distinct = small.len() + capitals.keys().filter(|word| !small.contains(*word)).count();
    // Words that are never written without their capital, though they stand within sentences, are
    // names of persons unless they are in the calendar.
    let within = words.windows(2).filter(|pair| pair[1].capital && !pair[0].ends);
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for word in within.map(|pair| pair[1].text.as_str()) {
        if !small.contains(word) && !NO_PERSONS.contains(&word) && word.len() > 2 {
            *named.entry(word).or_default() += 1;
        }
    }
    let numbers: Vec<f64> = words.iter().filter_map(|word| word.number()).collect();
    let (smallest, largest) = range(&numbers);
    let before = |unit: &str| -> Vec<f64> {
        let pairs = words.windows(2).filter(|pair| pair[1].text == unit);
        pairs.filter_map(|pair| pair[0].number()).collect()
    };
    let (waits, sums) = (before("minutes"), before("euros"));
    let dates: Vec<f64> = (0..words.len())
        .filter(|place| words[*place].exact)
        .filter_map(|place| date_at(words, place))
        .collect();
    let (earliest, latest) = range(&dates);
    let mut generic = vec![
        count,
        mean_and_spread(&sentences).1,
        distinct as f64 / count,
        capitals.values().sum::<usize>() as f64,
        capitals.len() as f64,
        capitals.values().copied().max().unwrap_or(0) as f64,
        named.values().sum::<usize>() as f64,
        named.len() as f64,
        persons(words),
        numbers.len() as f64,
        smallest,
        largest,
        mean_and_spread(&numbers).0,
        numbers.first().copied().unwrap_or(0.0),
        range(&waits).1,
        sums.len() as f64,
        sums.iter().sum(),
        range(&sums).1,
        dates.len() as f64,
        latest - earliest,
    ];
    for list in ["strong", "staffing"] {
        generic.push(listed(words, list, KEYS.list(list).len()));
    }
    generic.extend(HINTS.iter().map(|hints| {
        words.iter().filter(|word| hints.contains(&word.text.as_str())).count() as f64
    }));
    generic
}

/// The statistics, in the medium's order, of words in the order of the entries.
fn estimates(words: &[&Word]) -> Vec<f64> {
    let known = |is: fn(&Known) -> bool| {
        words.iter().filter(|word| word.known.is_some_and(is)).count() as f64
    };
    let people: BTreeSet<usize> = words.iter().filter_map(|word| word.known?.person).collect();
    let waits: Vec<f64> = words
        .windows(2)
        .filter(|pair| pair[1].is("minutes"))
        .filter_map(|pair| pair[0].number())
        .collect();
    let mut works: BTreeMap<&str, bool> = BTreeMap::new();
    let (mut responsibility, mut turn, mut spent) = (0.0, 0.0, 0.0);
    let (mut asked, mut answered) = (None, None);
    for start in 0..words.len() {
        let Some(cue) = cue_at(words, start) else { continue };
        let near = |value: &dyn Fn(usize) -> Option<f64>| nearest(words.len(), start, cue, value);
        let date = || near(&|place| date_at(words, place));
        match cue.kind {
            CueKind::Good | CueKind::Bad => {
                let is_matter = |place: usize| {
                    words[place].known.is_some_and(|known| known.matter).then_some(place as f64)
                };
                let place = near(&is_matter).map(crate::numeric::draws::floor);
                if let Some(known) = place.and_then(|place| words[place].known) {
                    works.insert(known.word, cue.kind == CueKind::Good);
                }
            }
            CueKind::Blame => {
                let party = near(&|place| Some(words[place].known?.party? as f64));
                if let Some(party) = party {
                    responsibility += if (party == 0.0) == cue.inverted { -1.0 } else { 1.0 };
                }
            }
            CueKind::Praise => turn += if 2 * start >= words.len() { 1.0 } else { -1.0 },
            CueKind::Request => asked = date().or(asked),
            CueKind::Answer => answered = date().or(answered),
            CueKind::Paid => {
                let sum = near(&|place| {
                    let number = words[place].number()?;
                    words.get(place + 1).filter(|unit| unit.is("euros")).map(|_| number)
                });
                spent += sum.unwrap_or(0.0);
            }
        }
    }
    vec![
        known(|known| known.strong),
        known(|known| known.staffing),
        people.len() as f64,
        waits.iter().copied().reduce(f64::max).unwrap_or(MIDDLE_WAIT),
        works.values().filter(|works| !**works).count() as f64,
        responsibility,
        turn,
        asked.zip(answered).map_or(MIDDLE_DAYS, |(asked, answered)| answered - asked),
        spent,
    ]
}

/// The cue that begins at a place.
fn cue_at(words: &[&Word], start: usize) -> Option<&'static Cue> {
    let cues = &words[start].known?.cues;
    cues.iter().copied().find(|cue| {
        let end = start + cue.words.len();
        end <= words.len()
            && words[start..end].iter().zip(&cue.words).all(|(word, wanted)| word.is(wanted))
    })
}

/// The first value on the cue's side, going away from it.
fn nearest(
    words: usize,
    start: usize,
    cue: &Cue,
    value: &dyn Fn(usize) -> Option<f64>,
) -> Option<f64> {
    match cue.side {
        Side::Before => (start.saturating_sub(REACH)..start).rev().find_map(value),
        Side::After => {
            let end = start + cue.words.len();
            (end..words.min(end + REACH)).find_map(value)
        }
    }
}
