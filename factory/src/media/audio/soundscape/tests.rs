//! What the medium promises: who can read what, of every source.

use super::super::level::mean;
use super::*;
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::matrix::from_rows;
use crate::numeric::moments::moments;
use crate::numeric::rounding::round;
use ndarray::Array2;
use std::collections::BTreeMap;
use std::ops::Range;
use tasks::stream::Stream;

const TRAIN: usize = 150;
const TEST: usize = 200;

/// The items of one task: what was drawn, and what was read off them.
struct Heard {
    /// A column per statistic.
    values: Vec<Vec<f64>>,
    readings: Vec<Reading>,
}

fn drawn(draws: &mut Draws) -> Vec<f64> {
    let value = |statistic: &Statistic| {
        let half = if statistic.decimals == 0 { 0.499 } else { 0.0 };
        let value = draws.between(statistic.low - half, statistic.high + half);
        round(value, statistic.decimals)
    };
    STATISTICS.iter().map(value).collect()
}

fn look(source: Source, stream: Stream, blemishes: &BTreeMap<String, f64>) -> Look<'_> {
    Look {
        format: Format::Wav,
        stream: stream.child("look"),
        vocabulary: &[],
        subject: None,
        genre: None,
        source: Some(source),
        samples: None,
        blemishes,
    }
}

fn files(
    source: Source,
    task: u64,
    blemishes: &BTreeMap<String, f64>,
    count: usize,
) -> Vec<(Vec<f64>, Vec<u8>)> {
    let stream = Stream::root(task);
    let look = look(source, stream, blemishes);
    let item = |index: usize| {
        let mut draws = Draws::new(stream.child("item").index(index as u64));
        let row = drawn(&mut draws);
        let file = Soundscape.render(&row, &look, &mut draws);
        (row, file)
    };
    (0..count).map(item).collect()
}

fn heard(source: Source, task: u64, blemishes: &BTreeMap<String, f64>, count: usize) -> Heard {
    let mut values = vec![Vec::new(); STATISTICS.len()];
    let mut readings = Vec::new();
    for (row, file) in files(source, task, blemishes, count) {
        readings.push(Soundscape.read(&file).unwrap());
        values.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    Heard { values, readings }
}

impl Heard {
    fn estimated(&self, index: usize) -> f64 {
        let found: Vec<f64> =
            self.readings.iter().map(|reading| reading.estimates[index]).collect();
        r2(&self.values[index], &found)
    }

    fn matrix(&self, of: fn(&Reading) -> &Vec<f64>, rows: Range<usize>) -> Array2<f64> {
        from_rows(&self.readings[rows].iter().map(of).collect::<Vec<_>>())
    }

    /// R² on the test rows of ridge on plain features.
    fn ridge(&self, y: &[f64]) -> f64 {
        let [train, test] = [0..TRAIN, TRAIN..y.len()].map(|rows| self.matrix(|r| &r.plain, rows));
        r2(&y[TRAIN..], &Linear::ridge(&train, &y[..TRAIN], 3.0).score(&test))
    }

    /// R² on the test rows of the better of two forests on generic features.
    fn forest(&self, y: &[f64]) -> f64 {
        let [train, test] =
            [0..TRAIN, TRAIN..y.len()].map(|rows| self.matrix(|r| &r.generic, rows));
        let fitted = |tried: usize| {
            let settings = ForestSettings { trees: 150, tried, leaf: 2 };
            let grown = forest::grow(&train, &y[..TRAIN].to_vec(), settings, 1).unwrap();
            r2(&y[TRAIN..], &grown.predict(&test).unwrap())
        };
        fitted(8).max(fitted(16))
    }
}

fn r2(truth: &[f64], predicted: &[f64]) -> f64 {
    let (_, spread) = moments(truth);
    let squares = truth.iter().zip(predicted).map(|(t, p)| (t - p) * (t - p));
    1.0 - mean(squares) / (spread * spread)
}

fn none() -> BTreeMap<String, f64> {
    BTreeMap::new()
}

fn worst() -> BTreeMap<String, f64> {
    BLEMISHES.iter().map(|blemish| (blemish.name.to_owned(), blemish.high)).collect()
}

#[test]
fn the_same_draws_give_the_same_bytes() {
    let blemishes = worst();
    let render = || files(Source::Frog, 4, &blemishes, 1);
    assert_eq!(render(), render());
}

#[test]
fn sizes_tell_nothing_but_tasks_differ() {
    let sizes = |task: u64| -> Vec<usize> {
        files(Source::Bird, task, &none(), 4).iter().map(|(_, file)| file.len()).collect()
    };
    let first = sizes(1);
    assert!(first.iter().all(|size| *size == first[0]));
    assert!((2..8).any(|task| sizes(task)[0] != first[0]));
}

#[test]
fn damaged_bytes_are_refused_or_read_without_panic() {
    let (_, file) = files(Source::Cough, 1, &none(), 1).remove(0);
    for end in [0, 3, 43, 44, 45, 500, file.len() - 1] {
        assert!(Soundscape.read(&file[..end]).is_err(), "{end}");
    }
    let mut draws = Draws::new(Stream::root(2));
    let mut garbled = file.clone();
    for byte in &mut garbled[44..] {
        *byte = if draws.chance(0.5) { 0xFF } else { *byte };
    }
    let mut silent = file;
    silent[44..].fill(0);
    for bytes in [garbled, silent] {
        let reading = Soundscape.read(&bytes).unwrap();
        let numbers = reading.plain.iter().chain(&reading.generic).chain(&reading.estimates);
        assert!(numbers.clone().all(|number| number.is_finite()));
        assert!(reading.plain.len() <= 32 && reading.generic.len() <= 32);
        assert_eq!(reading.estimates.len(), STATISTICS.len());
        assert!(course(&bytes).unwrap().iter().all(|value| value.is_finite()));
    }
}

#[test]
fn estimates_find_the_statistics_of_every_source() {
    let mut broken = Vec::new();
    for (task, source) in (60..).zip(Source::ALL) {
        let heard = heard(source, task, &none(), 100);
        let found: Vec<f64> = (0..STATISTICS.len()).map(|index| heard.estimated(index)).collect();
        println!("{source:?} {found:.2?}");
        if found.iter().any(|found| *found < 0.85) {
            broken.push((source, found));
        }
    }
    assert!(broken.is_empty(), "{broken:.2?}");
}

#[test]
fn estimates_find_the_statistics_under_every_blemish() {
    let sources = [Source::Whale, Source::Footstep, Source::Bearing, Source::Dog];
    for ((task, blemish), source) in (20..).zip(&BLEMISHES).zip(sources) {
        for strength in [0.5 * (blemish.low + blemish.high), blemish.high] {
            let blemishes = BTreeMap::from([(blemish.name.to_owned(), strength)]);
            let heard = heard(source, task, &blemishes, 100);
            let found: Vec<f64> =
                (0..STATISTICS.len()).map(|index| heard.estimated(index)).collect();
            println!("{} {strength} {source:?} {found:.2?}", blemish.name);
            assert!(found.iter().all(|found| *found >= 0.85), "{} {found:.2?}", blemish.name);
        }
    }
}

#[test]
fn statistics_are_within_the_reach_they_claim() {
    let mut broken = Vec::new();
    for (task, source) in [(31, Source::Bird), (32, Source::Pump), (33, Source::Cough)] {
        let heard = heard(source, task, &none(), TRAIN + TEST);
        for (index, statistic) in STATISTICS.iter().enumerate() {
            let values = &heard.values[index];
            let (ridge, forest) = (heard.ridge(values), heard.forest(values));
            let estimate = heard.estimated(index);
            println!("{source:?} {:14} {ridge:6.2} {forest:6.2} {estimate:6.3}", statistic.name);
            let holds = match statistic.reach {
                Reach::Plain => ridge >= 0.6,
                Reach::Generic => ridge <= 0.45 && forest >= 0.5,
                Reach::Hidden => ridge <= 0.55 && forest <= 0.6,
            };
            if !holds || estimate < 0.9 {
                broken.push((source, statistic.name, ridge, forest, estimate));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn courses_of_different_rows_differ_and_those_of_copies_do_not() {
    let mut likest: f64 = 0.0;
    let alike = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (task, source) in (80..).zip(Source::ALL) {
        let courses: Vec<Vec<f64>> = files(source, task, &none(), 60)
            .iter()
            .map(|(_, file)| course(file).unwrap())
            .collect();
        for (place, one) in courses.iter().enumerate() {
            likest = courses[..place].iter().map(|other| alike(one, other)).fold(likest, f64::max);
        }
    }
    println!("{likest:.3}");
    assert!(likest < 0.96, "{likest}");
    // The same soundscape at half the loudness, in white noise about as loud as its background.
    let (_, file) = files(Source::Owl, 3, &none(), 1).remove(0);
    let mut draws = Draws::new(Stream::root(9));
    let samples: Vec<f64> = SOUNDSCAPE
        .decode(&file)
        .unwrap()
        .iter()
        .map(|step| 0.5 * (f64::from(*step) / SCALE + 0.01 * (draws.unit() - 0.5)))
        .collect();
    let copy = course(&SOUNDSCAPE.encode(&samples)).unwrap();
    let likeness = alike(&course(&file).unwrap(), &copy);
    assert!(likeness > 0.97, "{likeness}");
}

/// The terms of a rule, given the value of every statistic in units of its spread.
type RuleTerms = fn(&dyn Fn(&str) -> f64) -> [f64; 3];

const RULES: [(&str, Source, RuleTerms); 3] = [
    ("product", Source::Frog, |z| [z("loudness"), step(z("gusts")), z("calls") * z("slide")]),
    ("mismatch", Source::Drill, |z| {
        [z("approach"), step(z("brightness")), (z("notes") - z("interval")).abs()]
    }),
    ("conditional", Source::Owl, |z| {
        let slope = if z("quickening") > 0.0 { z("interval") } else { -z("interval") };
        [z("background"), step(z("gusts")), slope]
    }),
];

fn step(z: f64) -> f64 {
    f64::from(u8::from(z > 0.1))
}

#[test]
fn rules_over_the_statistics_make_a_ladder() {
    for ((name, source, rule), task) in RULES.iter().zip(41..) {
        let blemish = &BLEMISHES[0];
        let middle = 0.5 * (blemish.low + blemish.high);
        let blemishes = BTreeMap::from([(blemish.name.to_owned(), middle)]);
        let heard = heard(*source, task, &blemishes, TRAIN + TEST);
        let terms = |of: &dyn Fn(usize, usize) -> f64| -> Vec<[f64; 3]> {
            let row = |row: usize| {
                rule(&|name: &str| {
                    let index = STATISTICS.iter().position(|s| s.name == name).unwrap();
                    let Statistic { low, high, .. } = STATISTICS[index];
                    // A uniform draw's standard deviation is its range over √12.
                    (of(index, row) - 0.5 * (low + high)) * 12f64.sqrt() / (high - low)
                })
            };
            (0..TRAIN + TEST).map(row).collect()
        };
        let truth = terms(&|index, row| heard.values[index][row]);
        let mut noise = Draws::new(Stream::root(task).child("noise"));
        let mut y: Vec<f64> = truth.iter().map(|_| 0.3 * noise.normal()).collect();
        for (term, share) in [0.25f64, 0.35, 0.4].into_iter().enumerate() {
            let column: Vec<f64> = truth.iter().map(|row| row[term]).collect();
            let (center, spread) = moments(&column);
            y.iter_mut().zip(column).for_each(|(y, v)| *y += share.sqrt() * (v - center) / spread);
        }

        let ceiling = 1.0 - 0.09 / moments(&y).1.powi(2);
        let (bottom, generic) = (heard.ridge(&y), heard.forest(&y));
        let found = terms(&|index, row| heard.readings[row].estimates[index]);
        let [train, test] = [&found[..TRAIN], &found[TRAIN..]].map(from_rows);
        let top = r2(&y[TRAIN..], &Linear::ridge(&train, &y[..TRAIN], 1.0).score(&test));
        println!("{name:12} {bottom:.2} {generic:.2} {top:.2} of {ceiling:.2}");
        assert!(generic - bottom >= 0.05 && top - generic >= 0.05, "{name}");
        assert!(top >= 0.7 * ceiling, "{name}");
    }
}
