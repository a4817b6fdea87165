//! How a dossier is laid out: its entries, their dates or numbers and headings, and who is named.

use super::calendar::YEAR;
use super::genre::Register;
use super::phrasing::{Phrasing, sentence};
use super::story::{Unit, Values};
use super::volume::Volume;
use crate::media::Look;
use crate::media::text::blemish::{BARE, TYPOS, strength};
use crate::media::text::given::blemished;
use crate::numeric::draws::{Draws, floor};

/// Fewest entries.
const FEWEST: usize = 4;
/// Days that a dossier spans, at least and at most.
const SPANS: (usize, usize) = (60, 110);
/// Minutes after midnight at which entries are written, at least and at most.
const HOURS: (usize, usize) = (400, 1320);
/// The day of the year of the first entry, at least and at most: no dossier reaches into the next year.
const FIRST_DAYS: (usize, usize) = (10, 250);
/// Days by which a past or a future day is off, at least and at most.
const OFF: (usize, usize) = (3, 40);

/// Some units under one date or number.
#[derive(Debug, Clone)]
struct Entry {
    /// What stands before the sentences: a date, a number, a heading, a question.
    head: String,
    units: Vec<Unit>,
    /// Counting from 1.
    number: usize,
    /// Of the year, from 1.
    day: usize,
    /// After midnight.
    minute: usize,
}

/// When the management was asked and answered, and the first and the last day.
#[derive(Debug, Clone, Copy)]
struct Days {
    first: usize,
    asked: usize,
    answered: usize,
    last: usize,
}

impl Days {
    /// The span does not depend on how long the management took.
    fn drawn(answer_days: usize, draws: &mut Draws) -> Self {
        let span = draws.whole(SPANS.0, SPANS.1);
        let first = draws.whole(FIRST_DAYS.0, FIRST_DAYS.1);
        let asked = first + draws.whole(0, span - answer_days);
        Self { first, asked, answered: asked + answer_days, last: first + span }
    }
}

/// The text of a dossier with these units, its entries in random order if it is `shuffled`.
pub(super) fn written(
    units: Vec<Unit>,
    values: &Values,
    volume: &Volume,
    look: &Look<'_>,
    shuffled: bool,
    draws: &mut Draws,
) -> String {
    let mut entries = entries(units, volume.entry);
    let days = Days::drawn(values.answer_days, draws);
    date(&mut entries, days, draws);
    let mut phrasing = Phrasing::new(volume, draws);
    let (mut opening, mut closing) = frame(volume, &phrasing, draws);
    for entry in &mut entries {
        entry.head = head(entry, volume, &mut phrasing, draws);
        let clauses = entry.units.iter_mut().flat_map(|unit| &mut unit.clauses);
        for text in std::iter::once(&mut entry.head).chain(clauses) {
            *text = dated(text, days, entry.day, volume, draws);
        }
    }
    let texts = entries.iter_mut().flat_map(|entry| {
        let clauses = entry.units.iter_mut().flat_map(|unit| &mut unit.clauses);
        std::iter::once(&mut entry.head).chain(clauses)
    });
    let all = std::iter::once(&mut opening).chain(texts).chain([&mut closing]).collect();
    name_persons(all, values.people, volume, draws);
    if shuffled {
        draws.shuffle(&mut entries);
    }
    let mut blocks = vec![opening];
    blocks.extend(entries.iter().map(|entry| laid_out(entry, volume.genre.register, look, draws)));
    blocks.push(closing);
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// Units in entries of about so many words.
fn entries(units: Vec<Unit>, words: f64) -> Vec<Entry> {
    let total: usize = units.iter().map(Unit::words).sum();
    let count = floor((total as f64 / words).round()).max(FEWEST);
    let mut entries: Vec<Entry> = Vec::with_capacity(count);
    let (mut before, mut begun) = (0, None);
    for unit in units {
        let due = before * count / total.max(1);
        before += unit.words();
        match entries.last_mut() {
            Some(entry) if begun == Some(due) => entry.units.push(unit),
            _ => {
                let number = entries.len() + 1;
                let head = String::new();
                entries.push(Entry { head, units: vec![unit], number, day: 1, minute: 0 });
            }
        }
        begun = Some(due);
    }
    entries
}

/// Gives every entry its day and time, in order; requests and answers stand on their days.
fn date(entries: &mut [Entry], days: Days, draws: &mut Draws) {
    let holder = |slot: &str| {
        entries.iter().position(|entry| entry.units.iter().any(|unit| unit.holds(slot)))
    };
    let (asked, answered) =
        (holder("{asked}").unwrap_or(0), holder("{answered}").unwrap_or(entries.len() - 1));
    let last = entries.len() - 1;
    let on_line = |place: usize, (from, first): (usize, usize), (to, end): (usize, usize)| {
        first + (end - first) * (place - from) / (to - from).max(1)
    };
    for (place, entry) in entries.iter_mut().enumerate() {
        entry.day = if place >= answered {
            on_line(place, (answered, days.answered), (last, days.last))
        } else if place >= asked {
            on_line(place, (asked, days.asked), (answered, days.answered))
        } else {
            on_line(place, (0, days.first), (asked, days.asked))
        };
    }
    for day in entries.chunk_by_mut(|one, other| one.day == other.day) {
        let mut minutes: Vec<usize> = Vec::new();
        while minutes.len() < day.len() {
            let minute = draws.whole(HOURS.0, HOURS.1);
            if !minutes.contains(&minute) {
                minutes.push(minute);
            }
        }
        minutes.sort_unstable();
        for (entry, minute) in day.iter_mut().zip(minutes) {
            entry.minute = minute;
        }
    }
}

/// What stands before an entry's sentences, slots of persons and days open.
fn head(entry: &Entry, volume: &Volume, phrasing: &mut Phrasing<'_>, draws: &mut Draws) -> String {
    let (number, dates) = (entry.number, volume.dates);
    let time =
        format!("{}, {:02}:{:02}", dates.date(entry.day), entry.minute / 60, entry.minute % 60);
    match volume.genre.register {
        Register::Letter => format!("{number}. "),
        Register::Log => format!("{} {time}\n", dates.weekday(entry.day)),
        Register::Forum => format!("{}, {time}\n", phrasing.clause("user", &[], draws)),
        Register::Minutes | Register::Inspection => {
            format!("{number}. {}\n", phrasing.title("heading", draws))
        }
        Register::Interview => {
            format!("Q{number}: {}\nA{number}: ", phrasing.title("question", draws))
        }
    }
}

/// What stands before the first and behind the last entry.
fn frame(volume: &Volume, phrasing: &Phrasing<'_>, draws: &mut Draws) -> (String, String) {
    let mut line = |kind: &str| {
        let ways = volume.register().of(kind);
        ways.get(volume.habit % ways.len().max(1))
            .map_or_else(String::new, |way| phrasing.filled(&way.text, &[], draws))
    };
    let (opening, closing) = (line("opening"), line("closing"));
    match volume.genre.register {
        Register::Letter => {
            (format!("{opening}\n\n{}", line("salutation")), format!("{closing}\n{{person}}"))
        }
        Register::Minutes => (format!("{opening}\n{}", line("present")), closing),
        _ => (opening, closing),
    }
}

/// A text with its days filled in.
fn dated(text: &str, days: Days, today: usize, volume: &Volume, draws: &mut Draws) -> String {
    if !text.contains('{') {
        return text.to_owned();
    }
    let past = today.saturating_sub(draws.whole(OFF.0, OFF.1)).max(1);
    let future = (today + draws.whole(OFF.0, OFF.1)).min(YEAR);
    let slots = [
        ("{today}", today),
        ("{asked}", days.asked),
        ("{answered}", days.answered),
        ("{past}", past),
        ("{future}", future),
    ];
    slots.iter().fold(text.to_owned(), |text, (slot, day)| {
        if text.contains(slot) { text.replace(slot, &volume.dates.date(*day)) } else { text }
    })
}

/// Fills in who is named: so many persons, each of them once at least.
fn name_persons(texts: Vec<&mut String>, people: usize, volume: &Volume, draws: &mut Draws) {
    let slots: usize = texts.iter().map(|text| text.matches("{person}").count()).sum();
    let mut staff = volume.staff();
    draws.shuffle(&mut staff);
    staff.truncate(people);
    let mut named = staff.clone();
    while named.len() < slots {
        named.push(draws.pick(&staff).clone());
    }
    draws.shuffle(&mut named);
    for text in texts {
        while text.contains("{person}") {
            *text = text.replacen("{person}", &named.pop().unwrap_or_default(), 1);
        }
        if text.contains("{all}") {
            *text = text.replace("{all}", &staff.join(", "));
        }
    }
}

/// An entry as it is written, after the blemishes of the pen.
fn laid_out(entry: &Entry, register: Register, look: &Look<'_>, draws: &mut Draws) -> String {
    let (typos, bare) = (strength(look, TYPOS), strength(look, BARE));
    let mut unit = |unit: &Unit| {
        let sentences: Vec<String> = unit.clauses.iter().map(|clause| sentence(clause)).collect();
        blemished(&sentences.join(" "), typos, bare, draws)
    };
    let units: Vec<String> = entry.units.iter().map(&mut unit).collect();
    match register {
        Register::Inspection => format!("{}- {}", entry.head, units.join("\n- ")),
        _ => format!("{}{}", entry.head, units.join(" ")),
    }
}
