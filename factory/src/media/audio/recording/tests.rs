//! What the medium promises: who can read what, and that rules over it make a ladder.

use super::super::level::mean;
use super::*;
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::matrix::{from_columns, from_rows};
use crate::numeric::moments::moments;
use ndarray::Array2;
use std::collections::BTreeMap;
use tasks::stream::Stream;

const TRAIN: usize = 150;
const TEST: usize = 300;

/// The items of one task and what was read off them.
struct RecordedItems {
    /// Drawn values, a column per statistic.
    values: Vec<Vec<f64>>,
    readings: Vec<Reading>,
}

fn drawn(draws: &mut Draws) -> Vec<f64> {
    let value = |statistic: &Statistic| {
        let half = if statistic.decimals == 0 { 0.499 } else { 0.0 };
        let value = draws.between(statistic.low - half, statistic.high + half);
        let scale = [1.0, 10.0][statistic.decimals];
        (value * scale).round() / scale
    };
    STATISTICS.iter().map(value).collect()
}

fn blemished(name: &str, strength: f64) -> BTreeMap<String, f64> {
    if name.is_empty() { BTreeMap::new() } else { BTreeMap::from([(name.to_owned(), strength)]) }
}

fn middle(blemish: &Blemish) -> BTreeMap<String, f64> {
    blemished(blemish.name, 0.5 * (blemish.low + blemish.high))
}

fn items(task: u64, blemishes: &BTreeMap<String, f64>, count: usize) -> RecordedItems {
    let stream = Stream::root(task);
    let look = Look {
        format: Format::Wav,
        stream: stream.child("look"),
        vocabulary: &[],
        subject: None,
        genre: None,
        source: None,
        samples: None,
        blemishes,
    };
    let mut values = vec![Vec::new(); STATISTICS.len()];
    let mut readings = Vec::new();
    for index in 0..count {
        let mut draws = Draws::new(stream.child("item").index(index as u64));
        let row = drawn(&mut draws);
        readings.push(Recording.read(&Recording.render(&row, &look, &mut draws)).unwrap());
        values.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    RecordedItems { values, readings }
}

impl RecordedItems {
    fn matrix(&self, of: fn(&Reading) -> &Vec<f64>, rows: std::ops::Range<usize>) -> Array2<f64> {
        from_rows(&self.readings[rows].iter().map(of).collect::<Vec<_>>())
    }

    fn estimates(&self, index: usize) -> Vec<f64> {
        self.readings.iter().map(|reading| reading.estimates[index]).collect()
    }

    /// R² on the test rows of ridge on plain features.
    fn ridge(&self, y: &[f64]) -> f64 {
        let [train, test] = [0..TRAIN, TRAIN..y.len()].map(|rows| self.matrix(|r| &r.plain, rows));
        r2(&y[TRAIN..], &shifted(&train, &y[..TRAIN], 3.0, &test))
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

fn shifted(train: &Array2<f64>, y: &[f64], penalty: f64, test: &Array2<f64>) -> Vec<f64> {
    Linear::ridge(train, y, penalty).score(test)
}

fn r2(truth: &[f64], predicted: &[f64]) -> f64 {
    let (_, spread) = moments(truth);
    let squares = truth.iter().zip(predicted).map(|(t, p)| (t - p) * (t - p));
    1.0 - mean(squares) / (spread * spread)
}

#[test]
fn the_same_draws_give_the_same_bytes() {
    let blemishes: BTreeMap<String, f64> =
        BLEMISHES.iter().map(|blemish| (blemish.name.to_owned(), blemish.high)).collect();
    let look = Look {
        format: Format::Wav,
        stream: Stream::root(4),
        vocabulary: &[],
        subject: None,
        genre: None,
        source: None,
        samples: None,
        blemishes: &blemishes,
    };
    let render = || {
        let mut draws = Draws::new(Stream::root(5));
        let values = drawn(&mut draws);
        Recording.render(&values, &look, &mut draws)
    };
    assert_eq!(render(), render());
}

#[test]
fn sizes_tell_nothing_but_tasks_differ() {
    let size = |task: u64, item: u64| {
        let none = BTreeMap::new();
        let look = Look {
            format: Format::Wav,
            stream: Stream::root(task),
            vocabulary: &[],
            subject: None,
            genre: None,
            source: None,
            samples: None,
            blemishes: &none,
        };
        let mut draws = Draws::new(Stream::root(task).index(item));
        let values = drawn(&mut draws);
        Recording.render(&values, &look, &mut draws).len()
    };
    assert!((1..30).all(|item| size(1, item) == size(1, 0)));
    assert!((2..10).any(|task| size(task, 0) != size(1, 0)));
}

#[test]
fn damaged_bytes_are_refused_or_read_without_panic() {
    let none = BTreeMap::new();
    let look = Look {
        format: Format::Wav,
        stream: Stream::root(1),
        vocabulary: &[],
        subject: None,
        genre: None,
        source: None,
        samples: None,
        blemishes: &none,
    };
    let mut draws = Draws::new(Stream::root(2));
    let values = drawn(&mut draws);
    let file = Recording.render(&values, &look, &mut draws);
    for end in [0, 3, 43, 44, 45, 500, file.len() - 1] {
        assert!(Recording.read(&file[..end]).is_err(), "{end}");
    }
    assert!(Recording.read(b"RIFF and nothing else").is_err());
    let mut garbled = file.clone();
    for byte in &mut garbled[44..] {
        *byte = if draws.chance(0.5) { 0xFF } else { *byte };
    }
    let mut silent = file;
    silent[44..].fill(0);
    for bytes in [garbled, silent] {
        let reading = Recording.read(&bytes).unwrap();
        let numbers = reading.plain.iter().chain(&reading.generic).chain(&reading.estimates);
        assert!(numbers.clone().all(|number| number.is_finite()));
        assert!(reading.plain.len() <= 32 && reading.generic.len() <= 32);
        assert_eq!(reading.estimates.len(), STATISTICS.len());
    }
}

#[test]
fn estimates_find_the_statistics_under_every_blemish() {
    for (task, blemish) in (20..).zip(&BLEMISHES) {
        let items = items(task, &middle(blemish), TEST);
        for (index, statistic) in STATISTICS.iter().enumerate() {
            let found = r2(&items.values[index], &items.estimates(index));
            println!("{:10} {:14} {found:.3}", blemish.name, statistic.name);
            assert!(found >= 0.9, "{} under {}: {found}", statistic.name, blemish.name);
        }
    }
}

#[test]
fn statistics_are_within_the_reach_they_claim() {
    let mut broken = Vec::new();
    for task in [31, 32, 33] {
        let items = items(task, &BTreeMap::new(), TRAIN + TEST);
        for (index, statistic) in STATISTICS.iter().enumerate() {
            let values = &items.values[index];
            let (ridge, forest) = (items.ridge(values), items.forest(values));
            let estimate = r2(values, &items.estimates(index));
            println!("{:14} {ridge:6.2} {forest:6.2} {estimate:6.3}", statistic.name);
            let holds = match statistic.reach {
                Reach::Plain => ridge >= 0.6,
                Reach::Generic => ridge <= 0.45 && forest >= 0.5,
                Reach::Hidden => ridge <= 0.45 && forest <= 0.6,
            };
            if !holds || estimate < 0.95 {
                broken.push((task, statistic.name, ridge, forest, estimate));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

/// The terms of a rule, given the value of every statistic in units of its spread.
type RuleTerms = fn(&dyn Fn(&str) -> f64) -> [f64; 3];

const RULES: [(&str, RuleTerms); 3] = [
    ("product", |z| [z("loudness"), step(z("pitch")), z("tremolo_rate") * z("chirp")]),
    ("mismatch", |z| {
        [z("swell"), step(z("tremolo_depth")), (z("falloff") - z("hollowness")).abs()]
    }),
    ("conditional", |z| {
        let slope = if z("clicks") > 0.0 { z("chirp") } else { -z("chirp") };
        [z("loudness"), step(z("falloff")), slope]
    }),
];

fn step(z: f64) -> f64 {
    share(z > 0.1)
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

#[test]
fn rules_over_the_statistics_make_a_ladder() {
    for ((name, rule), task) in RULES.iter().zip(41..) {
        let items = items(task, &middle(&BLEMISHES[0]), TRAIN + TEST);
        let columns = |of: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            let terms = |row: usize| {
                rule(&|name: &str| {
                    let index = STATISTICS.iter().position(|s| s.name == name).unwrap();
                    let Statistic { low, high, .. } = STATISTICS[index];
                    // A uniform draw's standard deviation is its range over √12.
                    (of(index, row) - 0.5 * (low + high)) * 12f64.sqrt() / (high - low)
                })
            };
            let rows: Vec<[f64; 3]> = (0..TRAIN + TEST).map(terms).collect();
            (0..3).map(|term| rows.iter().map(|row| row[term]).collect()).collect()
        };
        let mut y = vec![0.0; TRAIN + TEST];
        let truth = columns(&|index, row| items.values[index][row]);
        for (terms, share) in truth.iter().zip([0.25f64, 0.35, 0.4]) {
            let (center, spread) = moments(terms);
            y.iter_mut().zip(terms).for_each(|(y, v)| *y += share.sqrt() * (v - center) / spread);
        }
        let mut noise = Draws::new(Stream::root(task).child("noise"));
        for y in &mut y {
            *y += 0.3 * noise.normal();
        }

        let ceiling = 1.0 - 0.09 / moments(&y).1.powi(2);
        let (bottom, generic) = (items.ridge(&y), items.forest(&y));
        let found = columns(&|index, row| items.readings[row].estimates[index]);
        let [train, test] = [0..TRAIN, TRAIN..y.len()].map(|rows| {
            let columns: Vec<Vec<f64>> = found.iter().map(|c| c[rows.clone()].to_vec()).collect();
            from_columns(rows.len(), &columns)
        });
        let top = r2(&y[TRAIN..], &shifted(&train, &y[..TRAIN], 1.0, &test));
        println!("{name:12} {bottom:.2} {generic:.2} {top:.2} of {ceiling:.2}");
        assert!(generic - bottom >= 0.05 && top - generic >= 0.05, "{name}");
        assert!(top >= 0.7 * ceiling, "{name}");
    }
}
