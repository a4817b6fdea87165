//! Which known individual a new measurement is of.
//!
//! A row has six measurements of one individual and the circumstances they were taken under: a
//! number and a word. The answer is up to five names of individuals, best first. Circumstances
//! shift the measurements by a hidden rule, the same for all individuals. The ladder: R0 the names
//! that are most frequent; R1 the nearest training rows, numbers as they stand; R2 the nearest
//! means of individuals, in units of the scatter around them, circumstances being columns like
//! others; R3 the same without what circumstances do, by the rule that fits the training rows. The
//! ceiling is the nearest true measures of individuals under the true rule.

#[cfg(test)]
mod tests;

use super::challenge::{Answer, Cells, Challenge, DrawnRow, Material, SLIPS, Strengths, nothing};
use super::groups::{Groups, Point, centred, nearest, slopes};
use super::names;
use crate::baselines::ladder::LadderError;
use crate::baselines::rungs::Rungs;
use crate::media::{Blemish, Reading};
use crate::numeric::draws::Draws;
use crate::numeric::moments::moments;
use crate::numeric::rounding::{decimals, digits};
use crate::spec::challenge::Wording;
use crate::spec::retrieval::{Circumstance, MEASURES, Measure, Retrieval, Shape, WORDS};
use crate::spec::scenario::ChallengeColumn;
use std::collections::BTreeSet;
use tasks::metrics::Metric;
use tasks::prediction::Prediction;
use tasks::task::RowCounts;
use tasks::values::Values;

/// Most names of an answer.
const NAMES: usize = 5;
/// Training rows of an individual on average.
const MEAN: usize = 6;
/// Training rows of an individual at least.
const LEAST: usize = 4;
/// Training rows of an individual at most.
const MOST: usize = 8;
/// Spread of measurements of one individual, in units of the spread between individuals.
const NOISE: f64 = 0.5;
/// How strongly the condition acts, in the same units.
const LOADS: [f64; 2] = [1.8, 3.2];
/// What words add, in the same units.
const OFFSETS: f64 = 0.8;
/// Spreads between the bounds of a measure.
const SPREADS: f64 = 10.0;
/// Python that takes away what circumstances do and ranks individuals.
const INDIVIDUALS: &str = include_str!("individuals.py");

impl Retrieval {
    /// Draws a rule for a story's columns: measures, a condition, words.
    pub(super) fn plan(columns: &[ChallengeColumn], draws: &mut Draws) -> Self {
        let shape = *draws.pick(&Shape::ALL);
        let mut gains = gains();
        gains.retain(|gains| is_hidden(shape, *gains));
        let gains = *draws.pick(&gains);
        let words = columns.iter().flat_map(|column| &column.words);
        let words = words.zip(gains).map(|(word, gain)| Circumstance { word: word.clone(), gain });
        let words: Vec<Circumstance> = words.collect();
        let (measures, rest) = columns.split_at(MEASURES);
        let measure = |column: &ChallengeColumn| {
            let side = if draws.chance(0.5) { 1.0 } else { -1.0 };
            let load = digits(side * draws.between(LOADS[0], LOADS[1]));
            let offset = |place| if place == 0 { 0.0 } else { digits(OFFSETS * draws.normal()) };
            Measure {
                column: column.name.clone(),
                range: column.range.unwrap_or([0.0, 1.0]),
                load,
                offsets: (0..words.len()).map(offset).collect(),
            }
        };
        let measures = measures.iter().map(measure).collect();
        let condition = rest.iter().find_map(|column| column.range).unwrap_or([0.0, 1.0]);
        Self { shape, condition, words, measures }
    }

    /// What circumstances add to the measures, in units of their spreads.
    fn shifts(&self, condition: f64, word: usize) -> Point {
        let acting = f64::from(self.words[word].gain) * self.shape.at(self.place(condition));
        self.measures.iter().map(|one| one.load * acting + one.offsets[word]).collect()
    }

    /// A row as numbers; `None` if a cell is no number or no known word.
    fn measured(&self, row: &Cells) -> Option<Measured> {
        let numbers = row.iter().take(MEASURES + 1).map(|cell| cell.parse().ok());
        let mut measures = numbers.collect::<Option<Point>>()?;
        let condition = measures.pop()?;
        let word = self.words.iter().position(|one| Some(&one.word) == row.last())?;
        Some(Measured { measures, condition, word })
    }
}

/// How the condition can act under each word, up to the sign of all. Where it never acts, there is
/// nothing to find.
fn gains() -> Vec<[i8; WORDS]> {
    let mut all = Vec::new();
    for first in [1, 0] {
        for second in [-1, 0, 1] {
            for third in [-1, 0, 1] {
                all.push([first, second, third]);
            }
        }
    }
    all.retain(|gains| gains.iter().find(|gain| **gain != 0) == Some(&1));
    all
}

/// Whether a linear model of all columns misses much of a rule: the condition acts under two words
/// or more, and what it does is no line, or differs between words.
fn is_hidden(shape: Shape, gains: [i8; WORDS]) -> bool {
    let acting = gains.iter().filter(|gain| **gain != 0).count();
    let bent = matches!(shape, Shape::Hump | Shape::Fold);
    acting >= 2 && (bent || gains.iter().any(|gain| *gain != gains[0]))
}

/// A row as numbers.
#[derive(Debug, Clone, PartialEq)]
struct Measured {
    measures: Point,
    condition: f64,
    /// The place of the word.
    word: usize,
}

impl Measured {
    /// The numbers as they stand.
    fn numbers(&self) -> Point {
        [&self.measures[..], &[self.condition]].concat()
    }

    /// 1 for the row's word, among the words but the first.
    fn indicators(&self) -> impl Iterator<Item = f64> {
        (1..WORDS).map(|word| f64::from(u8::from(word == self.word)))
    }

    /// The numbers, and the word as indicators.
    fn columns(&self) -> Point {
        self.numbers().into_iter().chain(self.indicators()).collect()
    }
}

impl Challenge for Retrieval {
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
        let names = names::opaque(rows.train / MEAN, draws);
        let individuals: Vec<Point> =
            names.iter().map(|_| (0..MEASURES).map(|_| draws.normal()).collect()).collect();
        let mut counts = vec![LEAST; names.len()];
        while counts.iter().sum::<usize>() < rows.train {
            let one = draws.whole(0, names.len() - 1);
            counts[one] += usize::from(counts[one] < MOST);
        }
        let mut order: Vec<usize> =
            counts.iter().enumerate().flat_map(|(one, count)| vec![one; *count]).collect();
        draws.shuffle(&mut order);
        let shares: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        order.extend((0..rows.test).map(|_| draws.weighted(&shares)));
        let mut seen = BTreeSet::new();
        let mut drawn = Vec::new();
        for one in order {
            let slipped = draws.chance(slips);
            let other = draws.whole(0, names.len() - 1);
            let cells = loop {
                let cells = self.cells(&individuals[one], draws);
                if seen.insert(cells.clone()) {
                    break cells;
                }
            };
            let name = if slipped { &names[other] } else { &names[one] };
            let ideal = self.true_names(&cells, &individuals, &names);
            drawn.push(DrawnRow {
                cells,
                truth: Answer::Ids(vec![name.clone()]),
                ideal: Answer::Ids(ideal),
            });
        }
        drawn
    }

    fn read(&self, cells: &[String]) -> Reading {
        let columns = self.measured(&cells.to_vec()).map_or_else(Vec::new, |row| row.columns());
        Reading { plain: columns.clone(), generic: columns, estimates: Vec::new() }
    }

    fn climb(&self, material: &Material<'_>) -> Result<Rungs, LadderError> {
        let Values::Ids(truth) = material.train_truth else { return Ok(nothing(material)) };
        let read = |rows: &[Cells]| -> Option<Vec<Measured>> {
            rows.iter().map(|row| self.measured(row)).collect()
        };
        let (Some(train), Some(test)) = (read(&material.train), read(&material.test)) else {
            return Ok(nothing(material));
        };
        let names: Vec<&str> =
            truth.iter().map(|ids| ids.first().map_or("", String::as_str)).collect();
        let answers = |rows: &[Measured], answer: &dyn Fn(&Measured) -> Vec<String>| {
            Values::Ids(rows.iter().map(answer).collect())
        };
        let frequent = names::frequent(&names, NAMES);
        let numbers: Vec<Point> = train.iter().map(Measured::numbers).collect();
        let close = |row: &Measured| {
            let own = row.numbers();
            let distance = |point: &Point| -> f64 {
                point.iter().zip(&own).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            nearest(names.iter().copied().zip(numbers.iter().map(distance)), NAMES)
        };
        let columns: Vec<Point> = train.iter().map(Measured::columns).collect();
        let groups = Groups::new(&columns, &names);
        let cleaning = Cleaning::new(self, &train, &names);
        let clean: Vec<Point> = train.iter().map(|row| cleaning.cleaned(self, row)).collect();
        let own = Groups::new(&clean, &names);
        let forecasts = [
            answers(&test, &|_| frequent.clone()),
            answers(&test, &close),
            answers(&test, &|row| groups.closest(&row.columns(), NAMES)),
            answers(&test, &|row| own.closest(&cleaning.cleaned(self, row), NAMES)),
            material.ideal.clone(),
        ];
        // Each half by what was learnt from the other.
        let half = |rest: usize| {
            let points: Vec<Point> = columns.iter().skip(rest).step_by(2).cloned().collect();
            let names: Vec<&str> = names.iter().skip(rest).step_by(2).copied().collect();
            Groups::new(&points, &names)
        };
        let others = [half(1), half(0)];
        let unseen = columns.iter().enumerate();
        let unseen = unseen.map(|(place, point)| others[place % 2].closest(point, NAMES)).collect();
        Ok(Rungs { forecasts, start: None, unseen: Values::Ids(unseen) })
    }

    fn constants(&self, train: &Values) -> Vec<String> {
        let Values::Ids(rows) = train else { return Vec::new() };
        let names: Vec<&str> = rows.iter().flatten().map(String::as_str).collect();
        vec![names::frequent(&names, NAMES).join(" ")]
    }

    fn oracle(&self) -> String {
        let rule = serde_json::to_string(self).unwrap_or_default();
        format!("{INDIVIDUALS}RULE = {rule}\n")
    }

    fn made_of(&self) -> &'static str {
        "measurements"
    }
}

impl Retrieval {
    /// A new measurement of an individual, given in units of the spreads.
    fn cells(&self, individual: &Point, draws: &mut Draws) -> Cells {
        let [low, high] = self.condition;
        let condition = format!("{:.*}", decimals(self.condition, 100.0), draws.between(low, high));
        let word = draws.whole(0, WORDS - 1);
        let shifts = self.shifts(condition.parse().unwrap_or(low), word);
        let measure = |(one, (measure, shift)): (&f64, (&Measure, f64))| {
            let value = measure.value(one + shift + NOISE * draws.normal());
            format!("{value:.*}", decimals(measure.range, 1000.0))
        };
        let measures = individual.iter().zip(self.measures.iter().zip(shifts));
        let mut cells: Cells = measures.map(measure).collect();
        cells.extend([condition, self.words[word].word.clone()]);
        cells
    }

    /// The individuals whose true measures are closest to a row under the true rule.
    fn true_names(&self, row: &Cells, individuals: &[Point], names: &[String]) -> Vec<String> {
        let Some(row) = self.measured(row) else { return Vec::new() };
        let shifts = self.shifts(row.condition, row.word);
        let place =
            |(value, (measure, shift)): (&f64, (&Measure, f64))| measure.place(*value) - shift;
        let point: Point =
            row.measures.iter().zip(self.measures.iter().zip(shifts)).map(place).collect();
        let distance =
            |one: &Point| -> f64 { one.iter().zip(&point).map(|(a, b)| (a - b) * (a - b)).sum() };
        nearest(names.iter().map(String::as_str).zip(individuals.iter().map(distance)), NAMES)
    }
}

impl Measure {
    /// A measurement so many spreads from the middle.
    fn value(&self, place: f64) -> f64 {
        let [low, high] = self.range;
        f64::midpoint(low, high) + place * (high - low) / SPREADS
    }

    /// Spreads between a measurement and the middle.
    fn place(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        (value - f64::midpoint(low, high)) / (high - low) * SPREADS
    }
}

/// What circumstances do to measurements, as training rows of the same individuals show.
#[derive(Debug)]
struct Cleaning {
    shape: Shape,
    gains: [i8; WORDS],
    /// What each input adds to the measures: the condition where it acts, the words but the first.
    slopes: Vec<Point>,
}

impl Cleaning {
    /// The shape and gains that leave least of the differences between rows of one individual.
    fn new(rule: &Retrieval, rows: &[Measured], names: &[&str]) -> Self {
        let measures: Vec<Point> = rows.iter().map(|row| row.measures.clone()).collect();
        let (_, inner) = centred(&measures, names);
        // Measures of any unit count alike.
        let spreads: Point = (0..MEASURES)
            .map(|place| {
                moments(&inner.iter().map(|row| row[place]).collect::<Point>()).1.max(1e-9)
            })
            .collect();
        let mut best: Option<(f64, Self)> = None;
        for shape in Shape::ALL {
            for gains in gains() {
                let mut cleaning = Self { shape, gains, slopes: Vec::new() };
                let inputs: Vec<Point> =
                    rows.iter().map(|row| cleaning.inputs(rule, row)).collect();
                let (_, inputs) = centred(&inputs, names);
                cleaning.slopes = slopes(&inputs, &inner);
                let left = inputs.iter().zip(&inner).map(|(inputs, row)| {
                    let shifts = cleaning.shifts(inputs);
                    let parts = row.iter().zip(shifts).zip(&spreads);
                    parts
                        .map(|((value, shift), spread)| ((value - shift) / spread).powi(2))
                        .sum::<f64>()
                });
                let left: f64 = left.sum();
                if best.as_ref().is_none_or(|(least, _)| left < *least) {
                    best = Some((left, cleaning));
                }
            }
        }
        let none = Self { shape: Shape::Rise, gains: [1; WORDS], slopes: Vec::new() };
        best.map_or(none, |(_, cleaning)| cleaning)
    }

    fn inputs(&self, rule: &Retrieval, row: &Measured) -> Point {
        let acting = f64::from(self.gains[row.word]) * self.shape.at(rule.place(row.condition));
        [acting].into_iter().chain(row.indicators()).collect()
    }

    fn shifts(&self, inputs: &Point) -> Point {
        let shift =
            |place| inputs.iter().zip(&self.slopes).map(|(a, slopes)| a * slopes[place]).sum();
        (0..MEASURES).map(shift).collect()
    }

    /// The measures of a row without what circumstances add.
    fn cleaned(&self, rule: &Retrieval, row: &Measured) -> Point {
        let shifts = self.shifts(&self.inputs(rule, row));
        row.measures.iter().zip(shifts).map(|(value, shift)| value - shift).collect()
    }
}
