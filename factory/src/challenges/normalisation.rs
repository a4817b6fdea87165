//! What is written, as it is read aloud: numbers, dates, times, sums, units, abbreviations.
//!
//! A row is a sentence and a token of it; the answer is how the token is read there. The house
//! style chooses one of several readings of each kind of token, and tokens of the same shape are
//! read by the words around them. The ladder: R0 the token as it stands; R1 what was heard for the
//! same token in the training rows; R2 else the usual reading, with the spelling of numbers that
//! suits the training rows; R3 the style that reproduces most training rows, and for tokens that
//! can stand for two things the one that goes with the words around it. The ceiling is the house
//! style without slips.

#[cfg(test)]
mod tests;

use super::challenge::{Answer, Cells, Challenge, DrawnRow, Material, SLIPS, Strengths, nothing};
use super::distinct::Distinct;
use super::numerals::to_roman;
use super::reading;
use super::speech::{ABBREVIATIONS, Kind, UNITS, kinds, speak};
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::Rungs;
use crate::media::{Blemish, Reading};
use crate::numeric::draws::Draws;
use crate::spec::challenge::{Convention, Normalisation, Style, Wording};
use std::collections::BTreeMap;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;
use tasks::values::Values;

/// Conventions of a task that are the usual ones.
const USUAL: usize = 5;
/// Python that reads tokens aloud and chooses between kinds.
const SPEECH: &str = include_str!("speech.py");

/// What is said of a subject, with a place for a token of a kind.
const CLAUSES: [(Kind, &[&str]); 18] = [
    (
        Kind::Plain,
        &[
            "was painted {} again",
            "looks {} from outside",
            "stays {} at night",
            "turned {} over time",
        ],
    ),
    (
        Kind::Year,
        &[
            "was opened in {} and renewed",
            "dates from {} as papers show",
            "has changed since {} at least",
        ],
    ),
    (
        Kind::Count,
        &["handled {} crates so far", "needs about {} screws more", "counted {} visitors in all"],
    ),
    (
        Kind::Decimal,
        &["showed a mean of {} in tests", "rose by a factor of {} lately", "got {} on average"],
    ),
    (Kind::Ordinal, &["came in {} once more", "was the {} to report", "finished {} of all"]),
    (
        Kind::Date,
        &[
            "was closed on {} for repairs",
            "is expected by {} again",
            "starts anew on {} as planned",
        ],
    ),
    (
        Kind::Fraction,
        &["used {} of the stock", "lost about {} of it all", "kept only {} of the load"],
    ),
    (
        Kind::Time,
        &["opens at {} every day", "was seen around {} again", "leaves before {} by rule"],
    ),
    (
        Kind::Ratio,
        &["won by {} in the vote", "lost with {} to rivals", "mixes both sorts {} as ever"],
    ),
    (Kind::Money, &["costs {} by now", "paid {} for repairs", "earned {} from this alone"]),
    (
        Kind::Percent,
        &["grew by {} this time", "was {} full at last count", "saved {} of all power"],
    ),
    (Kind::Measure, &["added {} to its record", "was rated {} by experts", "used up {} in total"]),
    (
        Kind::Phone,
        &[
            "can be reached under {} by day",
            "has the number {} for calls",
            "answers on {} most days",
        ],
    ),
    (
        Kind::First,
        &["thanked {} Martin for help", "still honours {} Anne in songs", "sent {} Moore a letter"],
    ),
    (
        Kind::Second,
        &["moved to Mill {} for good", "lies by Baker {} today", "was listed in Park {} before"],
    ),
    (
        Kind::RomanOrdinal,
        &[
            "pleased King Charles {} very much",
            "was made for Henry {} himself",
            "once hid Pope Leo {} well",
        ],
    ),
    (
        Kind::RomanNumber,
        &[
            "belongs to phase {} of works",
            "is described in volume {} only",
            "fills chapter {} of the book",
        ],
    ),
    (
        Kind::Letters,
        &["works with {} parts inside", "passed the {} check easily", "lacks a {} permit still"],
    ),
];

const PLAIN: [&str; 12] = [
    "green", "grey", "bright", "quiet", "dusty", "narrow", "pale", "brown", "empty", "dark",
    "warm", "rough",
];
const LETTERS: [&str; 12] =
    ["USB", "GPS", "LED", "PDF", "FAQ", "RPM", "VAT", "BBC", "DNA", "MRI", "QR", "PVC"];
const SIGNS: [char; 3] = ['$', '£', '€'];

impl Normalisation {
    /// Draws a house style.
    pub(super) fn plan(draws: &mut Draws) -> Self {
        let mut conventions = Convention::ALL;
        draws.shuffle(&mut conventions);
        let mut style = Style::default();
        for convention in &conventions[USUAL..] {
            style = style.with(*convention, draws.whole(1, convention.options().len() - 1));
        }
        Self { style }
    }

    /// Something written of a kind.
    fn token(&self, kind: Kind, draws: &mut Draws) -> String {
        match kind {
            Kind::Plain => (*draws.pick(&PLAIN)).to_owned(),
            Kind::Year => draws.whole(1400, 1989).to_string(),
            Kind::Count => {
                let most = *draws.pick(&[100, 1000, 2000, 2000, 10_000, 90_000]);
                draws.whole(most / 10, most).to_string()
            }
            Kind::Decimal => {
                if draws.chance(0.5) {
                    format!("{}.{}", draws.whole(0, 12), draws.whole(1, 9))
                } else {
                    format!("{}.{:02}", draws.whole(0, 12), draws.whole(1, 99))
                }
            }
            Kind::Ordinal => ordinal(small(40, draws)),
            Kind::Date => {
                let (month, day) = (draws.whole(1, 12), draws.whole(1, 28).min(draws.whole(1, 28)));
                if self.style.option(Convention::Date) < 2 {
                    format!("{month}/{day}")
                } else {
                    format!("{day}/{month}")
                }
            }
            Kind::Fraction => {
                let bottom = draws.whole(2, 10);
                format!("{}/{bottom}", draws.whole(1, bottom - 1))
            }
            Kind::Time | Kind::Ratio => {
                let minutes = if draws.chance(0.6) {
                    *draws.pick(&[0, 15, 30, 45])
                } else {
                    draws.whole(1, 59)
                };
                let minutes = if kind == Kind::Ratio { minutes.max(1) } else { minutes };
                format!("{}:{minutes:02}", draws.whole(1, 12))
            }
            Kind::Money => {
                let (sign, value) = (draws.pick(&SIGNS), small(120, draws));
                if draws.chance(0.75) {
                    format!("{sign}{value}.{:02}", draws.whole(1, 99))
                } else {
                    format!("{sign}{value}")
                }
            }
            Kind::Percent => format!("{}%", 5 * draws.whole(1, 19)),
            Kind::Measure => {
                let (unit, _) = draws.pick(&UNITS);
                if draws.chance(0.3) {
                    format!("{}.{} {unit}", draws.whole(0, 9), draws.whole(1, 9))
                } else {
                    format!("{} {unit}", small(60, draws))
                }
            }
            Kind::Phone => {
                let (area, line) = (draws.whole(200, 999), draws.whole(0, 9999));
                format!("{area}-{line:04}")
            }
            Kind::First | Kind::Second => draws.pick(&ABBREVIATIONS).0.to_owned(),
            Kind::RomanOrdinal | Kind::RomanNumber => to_roman(draws.whole(2, 16)),
            Kind::Letters => (*draws.pick(&LETTERS)).to_owned(),
        }
    }
}

/// A number from 1; small ones come up more often than large ones.
fn small(most: usize, draws: &mut Draws) -> usize {
    draws.whole(1, most).min(draws.whole(1, most))
}

/// A number with the ending of its place in an order.
fn ordinal(value: usize) -> String {
    let ending = match (value % 100, value % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{value}{ending}")
}

/// A text with a capital at its start.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

impl Challenge for Normalisation {
    fn prediction(&self, column: &str) -> Prediction {
        Prediction::Text { column: column.to_owned() }
    }

    fn metric(&self) -> Metric {
        Metric::ExactMatch
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[SLIPS]
    }

    fn draw(
        &self,
        wording: &Wording,
        strengths: &Strengths,
        rows: RowCounts,
        draws: &mut Draws,
    ) -> Vec<DrawnRow> {
        let slips = strengths.get(SLIPS.name).copied().unwrap_or(0.0);
        let mut distinct = Distinct::default();
        let mut drawn = Vec::new();
        while drawn.len() < rows.train + rows.test {
            let (kind, clauses) = draws.pick(&CLAUSES);
            let token = self.token(*kind, draws);
            let subject = capitalised(draws.pick::<String>(&wording.subjects));
            let (clause, setting) = (draws.pick(clauses), draws.pick(&wording.settings));
            let sentence = format!("{subject} {} {setting}.", clause.replace("{}", &token));
            let slipped = draws.chance(slips);
            let Some(ideal) = speak(&token, *kind, &self.style) else { continue };
            if !distinct.keep(&sentence) {
                continue;
            }
            let usual = speak(&token, *kind, &Style::default()).filter(|usual| *usual != ideal);
            let truth =
                if slipped { usual.unwrap_or_else(|| token.clone()) } else { ideal.clone() };
            drawn.push(DrawnRow {
                cells: vec![sentence, token],
                truth: Answer::Text(truth),
                ideal: Answer::Text(ideal),
            });
        }
        drawn
    }

    fn read(&self, cells: &[String]) -> Reading {
        reading::texts(cells)
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let Values::Texts(truth) = material.train_truth else { return Ok(nothing(material)) };
        let heard: Vec<Heard<'_>> =
            material.train.iter().zip(truth).map(|(row, truth)| Heard::new(row, truth)).collect();
        let (even, odd): (Vec<Heard<'_>>, Vec<Heard<'_>>) = {
            let halves = |rest: usize| heard.iter().copied().skip(rest).step_by(2).collect();
            (halves(0), halves(1))
        };
        let copied =
            |rows: &[Cells]| Values::Texts(rows.iter().map(|row| row[1].clone()).collect());
        let read = |rows: &[Cells], reader: &dyn Fn(&Cells) -> String| {
            Values::Texts(rows.iter().map(reader).collect())
        };
        let known = Known::new(&heard);
        let r1 = read(&material.test, &|row| known.of(&row[1]).unwrap_or(&row[1]).to_owned());
        let usual = Usual::new(&heard);
        let r2 = read(&material.test, &|row| usual.of(row));
        // Each half by what was learnt from the other.
        let [by_even, by_odd] = [&even, &odd].map(|half| Usual::new(half));
        let unseen = material.train.iter().enumerate().map(|(place, row)| {
            if place.is_multiple_of(2) { by_odd.of(row) } else { by_even.of(row) }
        });
        let unseen = Values::Texts(unseen.collect());
        let own = Own::new(&heard);
        let r3 = read(&material.test, &|row| own.of(row));
        let forecasts = [copied(&material.test), r1, r2, r3, material.ideal.clone()];
        Ok(Rungs { forecasts, start: Some(copied(&material.train)), unseen })
    }

    fn oracle(&self) -> String {
        let choices: BTreeMap<String, String> = self.style.into();
        let choices: Vec<String> =
            choices.iter().map(|(name, option)| format!("{name:?}: {option:?}")).collect();
        format!("{SPEECH}STYLE = {{{}}}\n", choices.join(", "))
    }

    fn made_of(&self) -> &'static str {
        "sentences"
    }
}

/// A training row: a token among the words before and behind it, and how it was read.
#[derive(Debug, Clone, Copy)]
struct Heard<'a> {
    token: &'a str,
    around: [&'a str; 2],
    truth: &'a str,
}

impl<'a> Heard<'a> {
    fn new(row: &'a Cells, truth: &'a str) -> Self {
        Self { token: &row[1], around: around(row), truth }
    }
}

/// The words before and behind the token of a row.
fn around(row: &Cells) -> [&str; 2] {
    let (before, behind) = row[0].split_once(&format!(" {} ", row[1])).unwrap_or(("", ""));
    let before = before.rsplit(' ').next().unwrap_or_default();
    [before, behind.split(' ').next().unwrap_or_default()]
}

/// What was heard for tokens, the most frequent reading of each; the first in order of equals.
#[derive(Debug)]
struct Known<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Known<'a> {
    fn new(heard: &[Heard<'a>]) -> Self {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for Heard { token, truth, .. } in heard {
            *counts.entry(token).or_default().entry(truth).or_default() += 1;
        }
        let most = |readings: BTreeMap<&'a str, usize>| {
            let best = readings.iter().rev().max_by_key(|(_, count)| **count);
            best.map_or("", |(reading, _)| *reading)
        };
        Self(counts.into_iter().map(|(token, readings)| (token, most(readings))).collect())
    }

    fn of(&self, token: &str) -> Option<&str> {
        self.0.get(token).copied()
    }
}

/// What was heard, and else the usual reading.
#[derive(Debug)]
struct Usual<'a> {
    known: Known<'a>,
    style: Style,
}

impl<'a> Usual<'a> {
    fn new(heard: &[Heard<'a>]) -> Self {
        let hits = |style: &Style| {
            let hit = |row: &&Heard<'_>| first(row.token, style) == row.truth;
            heard.iter().filter(hit).count()
        };
        let mut style = Style::default();
        for [and, hyphen] in [[0, 0], [1, 0], [0, 1], [1, 1]] {
            let other =
                Style::default().with(Convention::Hundreds, and).with(Convention::Tens, hyphen);
            if hits(&other) > hits(&style) {
                style = other;
            }
        }
        Self { known: Known::new(heard), style }
    }

    fn of(&self, row: &Cells) -> String {
        let known = self.known.of(&row[1]).map(str::to_owned);
        known.unwrap_or_else(|| first(&row[1], &self.style))
    }
}

/// The reading of a token as the most usual thing that it can stand for.
fn first(token: &str, style: &Style) -> String {
    let mut readings = kinds(token).iter().filter_map(|kind| speak(token, *kind, style));
    readings.next().unwrap_or_else(|| token.to_owned())
}

/// The style that reproduces most rows, and what tokens stood for between which words.
#[derive(Debug)]
struct Own<'a> {
    style: Style,
    /// By the kinds of a shape: the words around a token and the kind that it was.
    seen: BTreeMap<&'static [Kind], Vec<([&'a str; 2], Kind)>>,
}

impl<'a> Own<'a> {
    fn new(heard: &[Heard<'a>]) -> Self {
        let of_row = |row: &Heard<'_>, style: &Style| {
            let right =
                |kind: &&Kind| speak(row.token, **kind, style).as_deref() == Some(row.truth);
            kinds(row.token).iter().copied().filter(|kind| right(&kind)).collect::<Vec<Kind>>()
        };
        let hits =
            |style: &Style| heard.iter().filter(|row| !of_row(row, style).is_empty()).count();
        let mut style = Style::default();
        let mut most = hits(&style);
        // Conventions meet in one token, such as the spelling of numbers in a sum of money, so that
        // a second round may improve on the first.
        for convention in Convention::ALL.into_iter().chain(Convention::ALL) {
            for option in 0..convention.options().len() {
                let other = style.with(convention, option);
                let count = hits(&other);
                if count > most {
                    (style, most) = (other, count);
                }
            }
        }
        let mut seen: BTreeMap<&'static [Kind], Vec<([&str; 2], Kind)>> = BTreeMap::new();
        for row in heard {
            if let [kind] = of_row(row, &style)[..] {
                seen.entry(kinds(row.token)).or_default().push((row.around, kind));
            }
        }
        Self { style, seen }
    }

    fn of(&self, row: &Cells) -> String {
        let (token, around) = (&row[1], around(row));
        let shape = kinds(token);
        let seen = self.seen.get(shape).map_or(&[][..], Vec::as_slice);
        // Rows with both words in common count most, then those with one, then any.
        let votes = |kind: Kind| -> usize {
            let vote = |(words, of): &([&str; 2], Kind)| {
                let shared = words.iter().zip(&around).filter(|(a, b)| a == b).count();
                if *of == kind { [1, 100, 10_000][shared] } else { 0 }
            };
            seen.iter().map(vote).sum()
        };
        let mut order: Vec<Kind> = shape.to_vec();
        order.sort_by_key(|kind| std::cmp::Reverse(votes(*kind)));
        let mut readings = order.iter().filter_map(|kind| speak(token, *kind, &self.style));
        readings.next().unwrap_or_else(|| token.clone())
    }
}
