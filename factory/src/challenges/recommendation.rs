//! What people choose next, after what they chose before.
//!
//! A row has two words and a number that are known of a person, and the items that the person
//! chose, in order of time. The answer is up to five items, best first. What is chosen next depends
//! on earlier choices by a hidden rule, and one person in six, at any time, follows a whim instead.
//! The ladder: R0 the items that are chosen most; R1 what is chosen most by people with the same
//! word, or together with what the row has, whichever does better; R2 what followed the last
//! choices, and choices that come back, by counts that fall back to what is chosen most; R3 the
//! hidden rule, as training rows show it. The ceiling is the rule's own probabilities.

mod circle;
mod counts;
mod habits;
mod people;
#[cfg(test)]
mod tests;

use super::challenge::{Answer, Cells, Challenge, DrawnRow, Material, SLIPS, Strengths, nothing};
use super::names;
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::Rungs;
use crate::media::{Blemish, Reading};
use crate::numeric::draws::Draws;
use crate::numeric::rounding::decimals;
use crate::spec::challenge::Wording;
use crate::spec::recommendation::{
    ITEMS, KINDS, Liking, Move, OF_A_KIND, Recommendation, Repeats, Shape, WORDS,
};
use crate::spec::scenario::ChallengeColumn;
use counts::{Counts, HURRIED, PRACTISED};
use habits::Habits;
use people::{Catalogue, Person, ranked};
use std::collections::BTreeSet;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;
use tasks::values::Values;

/// Most names of an answer.
const NAMES: usize = 5;
/// How often people choose what they like, whatever the rule says.
const WHIM: f64 = 0.17;
/// How many times as often as others an item is chosen that is liked most.
const LIKED: f64 = 3.5;
/// Choices before the one that is asked for, at least and at most.
const BEFORE: [usize; 2] = [7, 10];
/// Where the threshold lies between the bounds of the number.
const THRESHOLD: [f64; 2] = [0.35, 0.65];
/// Steps of the number between its bounds.
const STEPS: f64 = 60.0;
/// Most different moves where the rule is of kinds: with more, a step from one item to the next
/// says nothing before the rule is known.
const DIFFERENT: [usize; 2] = [3, 4];
/// Python that ranks items by the rule's probabilities.
const NEXT_ITEMS: &str = include_str!("next_items.py");

impl Recommendation {
    /// Draws a rule for a story's columns: two columns of words, a number, earlier choices.
    pub(super) fn plan(columns: &[ChallengeColumn], draws: &mut Draws) -> Self {
        let shape = *draws.pick(&Shape::ALL);
        let repeats = if shape.is_of_kinds() { *draws.pick(&Repeats::ALL) } else { Repeats::Any };
        let mover = draws.whole(0, 1);
        let words = |place: usize| columns[place].words.iter().cloned();
        let steps = *draws.pick(&moves(shape, repeats));
        let moves = words(mover).zip(steps);
        let moves = moves.map(|(word, [below, above])| Move { word, below, above }).collect();
        let range = columns.iter().find_map(|column| column.range).unwrap_or([0.0, 1.0]);
        let [low, high] = range;
        let threshold = low + draws.between(THRESHOLD[0], THRESHOLD[1]) * (high - low);
        let items = names::opaque(ITEMS, draws);
        // Each word has a favourite of its own in every kind.
        let mut likings: Vec<Liking> =
            words(1 - mover).map(|word| Liking { word, items: Vec::new() }).collect();
        for kind in items.chunks(OF_A_KIND) {
            let mut kind = kind.to_vec();
            draws.shuffle(&mut kind);
            likings.iter_mut().zip(kind).for_each(|(liking, item)| liking.items.push(item));
        }
        let threshold = format!("{threshold:.*}", decimals(range, STEPS)).parse();
        Self {
            shape,
            repeats,
            mover,
            range,
            threshold: threshold.unwrap_or(low),
            moves,
            items,
            likings,
        }
    }

    /// How a person moves whose word has this place, given the number.
    fn step(&self, word: usize, number: f64) -> i8 {
        let Move { below, above, .. } = self.moves[word];
        if number > self.threshold { above } else { below }
    }

    /// How often people choose each item at a whim, by what they like.
    fn whims(&self, word: usize) -> Vec<f64> {
        let liked = &self.likings[word].items;
        let weight = |item: &String| if liked.contains(item) { LIKED } else { 1.0 };
        let weights: Vec<f64> = self.items.iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }

    /// How probable each item is after some choices; items go by their places in the hidden order.
    fn probabilities(&self, words: [usize; 2], number: f64, chosen: &[usize]) -> Vec<f64> {
        let whims = self.whims(words[1 - self.mover]);
        let step = self.step(words[self.mover], number);
        let Some(start) = chosen.len().checked_sub(self.shape.gap(step)) else { return whims };
        let from = chosen[start];
        let fit = match self.shape {
            Shape::Turn | Shape::Leap => self.of_kind(kind_after(from / OF_A_KIND, step), chosen),
            Shape::Return => vec![from],
            Shape::Sequel => vec![(from + 1) % ITEMS],
        };
        let sum: f64 = fit.iter().map(|item| whims[*item]).sum();
        let mut all: Vec<f64> = whims.iter().map(|whim| WHIM * whim).collect();
        for item in fit {
            all[item] += (1.0 - WHIM) * whims[item] / sum;
        }
        all
    }

    /// The items of a kind among which the next one is chosen.
    fn of_kind(&self, kind: usize, chosen: &[usize]) -> Vec<usize> {
        let all = kind * OF_A_KIND..(kind + 1) * OF_A_KIND;
        let recent = &chosen[chosen.len().saturating_sub(Repeats::MEMORY)..];
        match self.repeats {
            Repeats::Any => all.collect(),
            // Never empty: a kind has more items than people remember.
            Repeats::Fresh => all.filter(|item| !recent.contains(item)).collect(),
            Repeats::Faithful => match chosen.iter().rev().find(|item| all.contains(item)) {
                Some(item) => vec![*item],
                None => all.collect(),
            },
        }
    }

    /// A person's cells, with what is chosen next and the five items that are most probable.
    fn person(&self, columns: &[Vec<&String>; 2], draws: &mut Draws) -> (Cells, usize, Vec<usize>) {
        let words = [0; 2].map(|_| draws.whole(0, WORDS - 1));
        let [low, high] = self.range;
        let number = format!("{:.*}", decimals(self.range, STEPS), draws.between(low, high));
        let value = number.parse().unwrap_or(low);
        let before = draws.whole(BEFORE[0], BEFORE[1]);
        let mut chosen = Vec::new();
        while chosen.len() < before {
            chosen.push(draws.weighted(&self.probabilities(words, value, &chosen)));
        }
        let chances = self.probabilities(words, value, &chosen);
        let next = draws.weighted(&chances);
        let told: Vec<&str> = chosen.iter().map(|item| self.items[*item].as_str()).collect();
        let [first, second] = [0, 1].map(|place| columns[place][words[place]].clone());
        (vec![first, second, number, told.join(" ")], next, ranked(&chances, NAMES))
    }

    /// The words of the two columns of words.
    fn words(&self) -> [Vec<&String>; 2] {
        let moves = self.moves.iter().map(|one| &one.word).collect();
        let likings = self.likings.iter().map(|one| &one.word).collect();
        if self.mover == 0 { [moves, likings] } else { [likings, moves] }
    }
}

/// The kind so many kinds forward on the circle.
fn kind_after(kind: usize, step: i8) -> usize {
    let kinds = i64::try_from(KINDS).unwrap_or(i64::MAX);
    let place = i64::try_from(kind).unwrap_or(0) + i64::from(step);
    usize::try_from(place.rem_euclid(kinds)).unwrap_or(0)
}

/// What each word can do up to the threshold and past it. Words differ, and past the threshold
/// people with one word at least move the other way round.
fn moves(shape: Shape, repeats: Repeats) -> Vec<[[i8; 2]; WORDS]> {
    let steps = shape.steps(repeats);
    let one = |step: &i8| [[*step, *step], [*step, shape.reversed(*step)]];
    let ways: BTreeSet<[i8; 2]> = steps.iter().flat_map(one).collect();
    let mut all = Vec::new();
    for first in &ways {
        for second in &ways {
            for third in &ways {
                all.push([*first, *second, *third]);
            }
        }
    }
    let most = match shape {
        Shape::Leap if repeats != Repeats::Faithful => DIFFERENT[0],
        Shape::Turn | Shape::Leap => DIFFERENT[1],
        Shape::Return | Shape::Sequel => usize::MAX,
    };
    all.retain(|words: &[[i8; 2]; WORDS]| {
        let below: BTreeSet<i8> = words.iter().map(|[below, _]| *below).collect();
        let different: BTreeSet<&i8> = words.iter().flatten().collect();
        let turning = words.iter().filter(|[below, above]| below != above).count();
        below.len() == WORDS && turning >= 1 && different.len() <= most
    });
    all
}

impl Challenge for Recommendation {
    fn prediction(&self, column: &str) -> Prediction {
        Prediction::Ids { column: column.to_owned(), most: NAMES }
    }

    fn metric(&self) -> Metric {
        Metric::MapAt5
    }

    fn blemishes(&self) -> &'static [Blemish] {
        &[SLIPS]
    }

    fn draw(
        &self,
        _wording: &Wording,
        strengths: &Strengths,
        rows: RowCounts,
        draws: &mut Draws,
    ) -> Vec<DrawnRow> {
        let slips = strengths.get(SLIPS.name).copied().unwrap_or(0.0);
        let columns = self.words();
        let ids = |items: Vec<usize>| {
            Answer::Ids(items.into_iter().map(|item| self.items[item].clone()).collect())
        };
        let mut seen = BTreeSet::new();
        let mut drawn = Vec::new();
        while drawn.len() < rows.train + rows.test {
            let slipped = draws.chance(slips);
            let other = draws.whole(0, ITEMS - 1);
            let (cells, next, ideal) = loop {
                let (cells, next, ideal) = self.person(&columns, draws);
                if seen.insert(cells.clone()) {
                    break (cells, next, ideal);
                }
            };
            let truth = ids(vec![if slipped { other } else { next }]);
            drawn.push(DrawnRow { cells, truth, ideal: ids(ideal) });
        }
        drawn
    }

    fn read(&self, cells: &[String]) -> Reading {
        let Some(person) = Person::read(cells) else {
            return Reading { plain: Vec::new(), generic: Vec::new(), estimates: Vec::new() };
        };
        let is = |word: &String, cell: &String| f64::from(u8::from(word == cell));
        let columns = self.words();
        let words = columns.iter().zip(cells);
        let mut plain = vec![person.number, person.chosen.len() as f64];
        plain.extend(words.flat_map(|(words, cell)| words.iter().skip(1).map(|w| is(w, cell))));
        let count =
            |item: &String| person.chosen.iter().filter(|chosen| *chosen == item).count() as f64;
        // By name, so that the hidden order says nothing.
        let items: BTreeSet<&String> = self.items.iter().collect();
        let generic = plain.iter().copied().chain(items.into_iter().map(count)).collect();
        Reading { plain, generic, estimates: Vec::new() }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let Values::Ids(truth) = material.train_truth else { return Ok(nothing(material)) };
        let next: Vec<&str> =
            truth.iter().map(|ids| ids.first().map_or("", String::as_str)).collect();
        let catalogue = Catalogue::new(&material.train, &next);
        let known = catalogue.people(&material.train, Some(&next));
        let new = catalogue.people(&material.test, None);
        let answers = |scores: &mut dyn FnMut(&Person<usize>) -> Vec<f64>| {
            let answer = |person: &Person<usize>| catalogue.named(&ranked(&scores(person), NAMES));
            Values::Ids(new.iter().map(answer).collect())
        };
        let frequent = names::frequent(&next, NAMES);
        let counts = Counts::new(&catalogue, &known);
        let hurried = counts::best(&catalogue, &known, &HURRIED);
        let practised = counts::best(&catalogue, &known, &PRACTISED);
        let habits = Habits::new(&catalogue, &known, &counts);
        let forecasts = [
            Values::Ids(vec![frequent; new.len()]),
            answers(&mut |person| counts.scores(hurried, person)),
            answers(&mut |person| counts.scores(practised, person)),
            answers(&mut |person| habits.scores(&counts, person)),
            material.ideal.clone(),
        ];
        let unseen = counts::unseen(&catalogue, &known, practised);
        let unseen = unseen.iter().map(|items| catalogue.named(items)).collect();
        Ok(Rungs { forecasts, start: None, unseen: Values::Ids(unseen) })
    }

    fn constants(&self, train: &Values) -> Vec<String> {
        let Values::Ids(rows) = train else { return Vec::new() };
        let names: Vec<&str> = rows.iter().flatten().map(String::as_str).collect();
        vec![names::frequent(&names, NAMES).join(" ")]
    }

    fn oracle(&self) -> String {
        let rule = serde_json::to_string(self).unwrap_or_default();
        format!("{NEXT_ITEMS}RULE = {rule}\n")
    }

    fn made_of(&self) -> &'static str {
        "lists of earlier choices"
    }
}
