//! The hidden rule as training rows show it: rung R3.
//!
//! Each shape is fitted for each column of words that moves may depend on, and the one counts
//! whose answers to all choices of the training rows are best.

use super::NAMES;
use super::circle::{Followed, kinds, most};
use super::counts::Counts;
use super::people::{Catalogue, Person, pairs, worth};
use crate::spec::recommendation::{KINDS, Repeats, Shape};

/// Choices back that are tried, at most.
const GAPS: usize = 6;
/// Parts of the people by their numbers, while kinds are looked for and no threshold is known.
const PARTS: usize = 4;
/// Thresholds that are tried lie between so many fortieths of the people.
const FORTIETHS: [usize; 2] = [8, 32];
/// First choice of a training row whose answer counts: rules look back so far.
const FIRST: usize = 5;
/// Turns in which gaps and what comes after items are found.
const TURNS: usize = 3;

/// What people do, as far as it was found out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Habits {
    pub(super) shape: Shape,
    pub(super) repeats: Repeats,
    /// The column of words that moves depend on.
    pub(super) mover: usize,
    pub(super) threshold: f64,
    /// By word, up to the threshold and past it: kinds forward, or choices back.
    moves: Vec<[usize; 2]>,
    /// By item: its kind, or the item that comes after it.
    pub(super) leads: Vec<usize>,
}

impl Habits {
    /// The habits that explain most choices; the first of equals.
    pub(super) fn new(catalogue: &Catalogue, people: &[Person<usize>], counts: &Counts) -> Self {
        let mut best: Option<(f64, Self)> = None;
        for mover in [0, 1] {
            for shape in Shape::ALL {
                let fitted = Self::fitted(catalogue, people, mover, shape);
                let options: &[Repeats] =
                    if shape.is_of_kinds() { &Repeats::ALL } else { &[Repeats::Any] };
                for repeats in options {
                    let habits = Self { repeats: *repeats, ..fitted.clone() };
                    let worth = habits.worth(counts, people);
                    if best.as_ref().is_none_or(|(most, _)| worth > *most) {
                        best = Some((worth, habits));
                    }
                }
            }
        }
        best.map_or_else(|| Self::fitted(catalogue, people, 0, Shape::Turn), |(_, habits)| habits)
    }

    /// What is found of one shape, where repeats count for nothing.
    fn fitted(catalogue: &Catalogue, people: &[Person<usize>], mover: usize, shape: Shape) -> Self {
        let items = catalogue.items.len();
        let words = catalogue.words[mover].len();
        let sample = Sample { people, mover, words, thresholds: thresholds(people) };
        let leads = match shape {
            Shape::Turn | Shape::Leap => kinds(&sample.followed(shape.gap(0), items), items),
            Shape::Return => (0..items).collect(),
            Shape::Sequel => sample.after(items, |_, gap| gap < GAPS - 1),
        };
        if shape.is_of_kinds() {
            let (threshold, moves) = sample.steps(shape.gap(0), &leads);
            return Self { shape, repeats: Repeats::Any, mover, threshold, moves, leads };
        }
        let mut found =
            Self { shape, repeats: Repeats::Any, mover, threshold: 0.0, moves: Vec::new(), leads };
        for turn in 0..TURNS {
            if turn > 0 && shape == Shape::Sequel {
                found.leads = sample.after(items, |person, gap| found.step(person) == gap);
            }
            (found.threshold, found.moves) = sample.gaps(&found.leads);
        }
        found
    }

    /// The move of a person.
    fn step(&self, person: &Person<usize>) -> usize {
        let past = usize::from(person.number > self.threshold);
        self.moves[person.words[self.mover]][past]
    }

    /// The items among which a person chooses next.
    fn fit(&self, person: &Person<usize>) -> Vec<usize> {
        let step = self.step(person);
        let gap = if self.shape.is_of_kinds() { self.shape.gap(0) } else { step };
        let Some(from) = person.back(gap) else { return Vec::new() };
        if !self.shape.is_of_kinds() {
            return vec![self.leads[from]];
        }
        let kind = (self.leads[from] + step) % KINDS;
        let is_fit = |item: &usize| self.leads[*item] == kind;
        let all = (0..self.leads.len()).filter(is_fit);
        let memory = person.chosen.len().saturating_sub(Repeats::MEMORY);
        match self.repeats {
            Repeats::Any => all.collect(),
            Repeats::Fresh => all.filter(|item| !person.chosen[memory..].contains(item)).collect(),
            Repeats::Faithful => match person.chosen.iter().rev().copied().find(is_fit) {
                Some(item) => vec![item],
                None => all.collect(),
            },
        }
    }

    /// The scores of all items for a person: those that are fit come first, and what people with
    /// the other word choose most comes first among them and among the rest.
    pub(super) fn scores(&self, counts: &Counts, person: &Person<usize>) -> Vec<f64> {
        let column = 1 - self.mover;
        let mut scores = counts.of_word(column, person.words[column]).to_vec();
        self.fit(person).into_iter().for_each(|item| scores[item] += 1.0);
        scores
    }

    /// What the answers to the choices of people are worth, on the whole.
    fn worth(&self, counts: &Counts, people: &[Person<usize>]) -> f64 {
        let choices = people.iter().flat_map(|person| {
            (FIRST..person.chosen.len())
                .map(move |place| (person.before(place), person.chosen[place]))
        });
        choices.map(|(person, next)| worth(&self.scores(counts, &person), next, NAMES)).sum()
    }
}

/// People by a word and a number.
struct Sample<'a> {
    people: &'a [Person<usize>],
    mover: usize,
    words: usize,
    thresholds: Vec<f64>,
}

/// Numbers that may be the threshold.
fn thresholds(people: &[Person<usize>]) -> Vec<f64> {
    let mut numbers: Vec<f64> = people.iter().map(|person| person.number).collect();
    numbers.sort_by(f64::total_cmp);
    let mut tried: Vec<f64> = (FORTIETHS[0]..=FORTIETHS[1])
        .filter_map(|part| numbers.get(numbers.len() * part / 40).copied())
        .collect();
    tried.dedup();
    tried
}

impl Sample<'_> {
    /// What followed what so many choices later, by word and part of the numbers.
    fn followed(&self, gap: usize, items: usize) -> Vec<Followed> {
        let mut numbers: Vec<f64> = self.people.iter().map(|person| person.number).collect();
        numbers.sort_by(f64::total_cmp);
        let mut groups = vec![vec![vec![0.0; items]; items]; self.words * PARTS];
        for (person, from, place) in pairs(self.people, gap) {
            let below = numbers.partition_point(|number| *number < person.number);
            let part = (below * PARTS / numbers.len().max(1)).min(PARTS - 1);
            let group = person.words[self.mover] * PARTS + part;
            groups[group][from][person.chosen[place]] += 1.0;
        }
        groups
    }

    /// The item that followed each item most, at the gaps that count for a person.
    fn after(&self, items: usize, counts: impl Fn(&Person<usize>, usize) -> bool) -> Vec<usize> {
        let mut followed = vec![vec![0.0; items]; items];
        for gap in 1..=GAPS {
            for (person, from, place) in pairs(self.people, gap) {
                let to = person.chosen[place];
                if to != from && counts(person, gap) {
                    followed[from][to] += 1.0;
                }
            }
        }
        followed.iter().map(|row| most(row)).collect()
    }

    /// The threshold, and the kinds forward by word and side of it, that explain most choices.
    fn steps(&self, gap: usize, kinds: &[usize]) -> (f64, Vec<[usize; 2]>) {
        self.best(|threshold| {
            let mut sums = vec![[[0.0; KINDS]; 2]; self.words];
            for (person, from, place) in pairs(self.people, gap) {
                let step = (kinds[person.chosen[place]] + KINDS - kinds[from]) % KINDS;
                let past = usize::from(person.number > threshold);
                sums[person.words[self.mover]][past][step] += 1.0;
            }
            let moves: Vec<[usize; 2]> =
                sums.iter().map(|sides| [0, 1].map(|side| most(&sides[side]))).collect();
            let explained = |(sides, steps): (&[[f64; KINDS]; 2], &[usize; 2])| {
                sides[0][steps[0]] + sides[1][steps[1]]
            };
            (sums.iter().zip(&moves).map(explained).sum(), moves)
        })
    }

    /// The threshold, and the choices back by word and side of it, at which what comes after an
    /// item most often follows it.
    fn gaps(&self, after: &[usize]) -> (f64, Vec<[usize; 2]>) {
        self.best(|threshold| {
            // By word, side and gap: how often it follows, and how often it could.
            let mut sums = vec![[[[0.0_f64; 2]; GAPS]; 2]; self.words];
            for gap in 1..=GAPS {
                for (person, from, place) in pairs(self.people, gap) {
                    let past = usize::from(person.number > threshold);
                    let sum = &mut sums[person.words[self.mover]][past][gap - 1];
                    sum[0] += f64::from(u8::from(person.chosen[place] == after[from]));
                    sum[1] += 1.0;
                }
            }
            let gap = |gaps: &[[f64; 2]; GAPS]| most(&gaps.map(|[hits, all]| hits / all.max(1.0)));
            let chosen: Vec<[usize; 2]> =
                sums.iter().map(|sides| [gap(&sides[0]), gap(&sides[1])]).collect();
            let (mut hits, mut all) = (0.0, 0.0);
            for (sides, gaps) in sums.iter().zip(&chosen) {
                for (side, gap) in sides.iter().zip(gaps) {
                    hits += side[*gap][0];
                    all += side[*gap][1];
                }
            }
            (hits / all.max(1.0), chosen.iter().map(|gaps| gaps.map(|gap| gap + 1)).collect())
        })
    }

    /// The threshold for which something is most, with what goes with it; the first of equals.
    fn best<T: Default>(&self, fit: impl Fn(f64) -> (f64, T)) -> (f64, T) {
        let mut best = (f64::NEG_INFINITY, 0.0, T::default());
        for threshold in &self.thresholds {
            let (value, fitted) = fit(*threshold);
            if value > best.0 {
                best = (value, *threshold, fitted);
            }
        }
        (best.1, best.2)
    }
}
