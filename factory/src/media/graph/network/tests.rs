//! What the medium promises, measured on rendered graphs.

use super::*;
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::matrix::{from_columns, from_rows};
use crate::spec::rule::{Expr, Family, Frame, Rule, Test};
use ndarray::{Array2, s};
use std::collections::{BTreeMap, BTreeSet};
use tasks::stream::Stream;

const TRAIN: usize = 150;
const ROWS: usize = 450;

/// Items with independent statistics, and what was read from them.
struct GraphSample {
    /// Per statistic, the drawn values.
    drawn: Vec<Vec<f64>>,
    items: Vec<Vec<u8>>,
    readings: Vec<Reading>,
}

fn sample(seed: u64, blemishes: &[(&str, f64)]) -> GraphSample {
    let blemishes = blemishes.iter().map(|(name, s)| ((*name).to_owned(), *s)).collect();
    let stream = Stream::root(seed);
    let look = Look {
        format: Format::Csv,
        stream: stream.child("look"),
        vocabulary: &[],
        subject: None,
        genre: None,
        source: None,
        samples: None,
        blemishes: &blemishes,
    };
    let mut sample = GraphSample {
        drawn: vec![Vec::new(); STATISTICS.len()],
        items: Vec::new(),
        readings: Vec::new(),
    };
    for row in 0..ROWS as u64 {
        let mut draws = Draws::new(stream.child("row").index(row));
        let values = drawn(&mut draws);
        sample.drawn.iter_mut().zip(&values).for_each(|(column, value)| column.push(*value));
        sample.items.push(Network.render(&values, &look, &mut draws));
    }
    sample.readings = sample.items.iter().map(|item| Network.read(item).unwrap()).collect();
    sample
}

fn drawn(draws: &mut Draws) -> Vec<f64> {
    let one = |s: &Statistic| {
        let unit = [1.0, 10.0, 100.0, 1000.0][s.decimals];
        (draws.between(s.low, s.high) * unit).round() / unit
    };
    STATISTICS.iter().map(one).collect()
}

/// All blemishes at the middle of their ranges.
fn middling() -> Vec<(&'static str, f64)> {
    BLEMISHES.iter().map(|b| (b.name, f64::midpoint(b.low, b.high))).collect()
}

fn matrix(readings: &[Reading], part: impl Fn(&Reading) -> &Vec<f64>) -> Array2<f64> {
    from_rows(&readings.iter().map(part).collect::<Vec<_>>())
}

/// 1 − Σ (truth − forecast)² / Σ (truth − mean)².
fn r2(truth: &[f64], forecast: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    let error: f64 = truth.iter().zip(forecast).map(|(t, f)| (t - f) * (t - f)).sum();
    1.0 - error / truth.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>()
}

impl GraphSample {
    fn split(&self, part: impl Fn(&Reading) -> &Vec<f64> + Copy) -> (Array2<f64>, Array2<f64>) {
        (matrix(&self.readings[..TRAIN], part), matrix(&self.readings[TRAIN..], part))
    }

    fn ridge(&self, y: &[f64]) -> f64 {
        let (train, test) = self.split(|reading| &reading.plain);
        r2(&y[TRAIN..], &Linear::ridge(&train, &y[..TRAIN], 1.0).score(&test))
    }

    /// The better of the ladder's two settings, by its error out of bag.
    fn forest(&self, y: &[f64]) -> f64 {
        let (train, test) = self.split(|reading| &reading.generic);
        let own = y[..TRAIN].to_vec();
        let settings = [(train.ncols().isqrt(), 1), (train.ncols() / 2, 2)];
        let scores = settings.map(|(tried, leaf)| {
            let forest =
                forest::grow(&train, &own, ForestSettings { trees: 60, tried, leaf }, 1).unwrap();
            let unseen = r2(&own, &forest.out_of_bag(&train).unwrap());
            (unseen, r2(&y[TRAIN..], &forest.predict(&test).unwrap()))
        });
        if scores[0].0 > scores[1].0 { scores[0].1 } else { scores[1].1 }
    }

    /// Per statistic, the estimates.
    fn estimates(&self) -> Vec<Vec<f64>> {
        let column = |index: usize| self.readings.iter().map(|r| r.estimates[index]).collect();
        (0..STATISTICS.len()).map(column).collect()
    }
}

#[test]
fn a_second_rendering_has_the_same_bytes() {
    let (first, second) = (sample(3, &middling()), sample(3, &middling()));
    assert!(first.items == second.items);
    assert!(first.items != sample(4, &middling()).items);
}

#[test]
fn estimates_hold_under_every_blemish() {
    let all = middling();
    let mut cases: Vec<Vec<(&str, f64)>> = all.iter().map(|one| vec![*one]).collect();
    cases.extend([Vec::new(), all]);
    for blemishes in cases {
        let sample = sample(5, &blemishes);
        for (index, estimates) in sample.estimates().iter().enumerate() {
            let name = STATISTICS[index].name;
            let reached = r2(&sample.drawn[index], estimates);
            assert!(reached >= 0.9, "{blemishes:?} {name}: {reached}");
        }
    }
}

#[test]
fn statistics_are_within_the_reach_they_claim() {
    for (seed, blemishes) in [(6, Vec::new()), (7, middling())] {
        let sample = sample(seed, &blemishes);
        for (statistic, y) in STATISTICS.iter().zip(&sample.drawn) {
            let (ridge, forest) = (sample.ridge(y), sample.forest(y));
            let holds = match statistic.reach {
                Reach::Plain => ridge >= 0.6,
                Reach::Generic => ridge <= 0.45 && forest >= 0.5,
                Reach::Hidden => ridge <= 0.45 && forest <= 0.6,
            };
            assert!(holds, "{}: ridge {ridge} forest {forest}", statistic.name);
        }
    }
}

#[test]
fn statistics_are_read_independently_of_each_other() {
    // What an estimate errs by must not follow another statistic, or rules would leak.
    let sample = sample(8, &[]);
    for (index, estimates) in sample.estimates().iter().enumerate() {
        for (other, values) in sample.drawn.iter().enumerate().filter(|(o, _)| *o != index) {
            let ((a, left), (b, right)) = (
                crate::numeric::moments::moments(estimates),
                crate::numeric::moments::moments(values),
            );
            let covariance: f64 =
                estimates.iter().zip(values).map(|(x, y)| (x - a) * (y - b)).sum::<f64>()
                    / ROWS as f64;
            let correlation = covariance / (left * right);
            assert!(correlation.abs() < 0.2, "{index} {other}: {correlation}");
        }
    }
}

#[test]
fn the_size_of_a_file_tells_only_the_number_of_links() {
    let sample = sample(9, &[]);
    let sizes: Vec<f64> = sample.items.iter().map(|item| item.len() as f64).collect();
    for (statistic, y) in STATISTICS.iter().zip(&sample.drawn).skip(1) {
        let x = from_columns(ROWS, std::slice::from_ref(&sizes));
        let fitted = Linear::ridge(&x, y, 1.0).score(&x);
        assert!(r2(y, &fitted) < 0.02, "{}", statistic.name);
    }
}

#[test]
fn tasks_differ_and_items_of_a_task_do_not() {
    let letters = |item: &Vec<u8>| -> BTreeSet<String> {
        Sheet::read(item).unwrap().letters.into_iter().collect()
    };
    let first = sample(10, &[]);
    let own = letters(&first.items[0]);
    assert_eq!(own.len(), 2);
    assert!(first.items.iter().all(|item| letters(item) == own));
    assert!((11..14).any(|seed| letters(&sample(seed, &[]).items[0]) != own));
}

#[test]
fn damaged_files_are_refused_without_a_panic() {
    let item = &sample(11, &middling()).items[0];
    let mut draws = Draws::new(Stream::root(12));
    for _ in 0..2000 {
        let mut bytes = item.clone();
        for _ in 0..draws.whole(1, 4) {
            let place = draws.whole(0, bytes.len() - 1);
            bytes[place] = *draws.pick(b",\n.0a-\xff\x00e9");
        }
        bytes.truncate(draws.whole(0, bytes.len()));
        if let Ok(reading) = Network.read(&bytes) {
            let numbers = reading.plain.iter().chain(&reading.generic).chain(&reading.estimates);
            assert!(numbers.into_iter().all(|value| value.is_finite()));
        }
    }
    let refused: [&[u8]; 7] = [
        b"",
        b"\xff\xfe",
        b"source,target\na1,b2\n",
        b"source,target,weight\n",
        b"source,target,weight\na1,b2\n",
        b"source,target,weight\na1,,1.00\n",
        b"source,target,weight\na1,b2,-1\n",
    ];
    assert!(refused.iter().all(|bytes| Network.read(bytes).is_err()));
}

/// A statistic's distance from the middle of its range, in quarters of the range.
fn deviation(name: &str) -> Expr {
    let Statistic { low, high, .. } = *STATISTICS.iter().find(|s| s.name == name).unwrap();
    Expr::deviation(name, f64::midpoint(low, high), (high - low) / 4.0)
}

fn above(name: &str) -> Test {
    let Expr::Deviation { column, reference, .. } = deviation(name) else { unreachable!() };
    Test::Above { column, threshold: reference }
}

fn frame(columns: &[Vec<f64>]) -> Frame {
    let names = STATISTICS.iter().map(|s| s.name.to_owned());
    let numbers: BTreeMap<_, _> = names.zip(columns.iter().cloned()).collect();
    Frame { numbers, rows: columns[0].len(), ..Frame::default() }
}

#[test]
fn rules_over_graphs_make_a_ladder() {
    let number = |value: f64| Box::new(Expr::Number { value });
    let step =
        |name: &str| Expr::If { test: above(name), then: number(1.0), otherwise: number(0.0) };
    let two = |left: &str, right: &str| (Box::new(deviation(left)), Box::new(deviation(right)));
    let (left, right) = two("circles", "bond");
    let product = Expr::Product { left, right };
    let (left, right) = two("kinship", "circles");
    let mismatch = Expr::Absolute { of: Box::new(Expr::Difference { left, right }) };
    let (then, against) = (Box::new(deviation("bond")), Box::new(deviation("bond")));
    let otherwise = Box::new(Expr::Product { left: number(-1.0), right: against });
    let slope = Expr::If { test: above("pull"), then, otherwise };
    let count = Expr::Count { of: vec![above("circles"), above("kinship"), above("bond")] };
    let rules = [
        (Family::Products, "degree", "closure", product),
        (Family::Mismatch, "hubs", "pull", mismatch),
        (Family::Conditional, "degree", "closure", slope),
        (Family::Count, "hubs", "closure", count),
    ];
    for (seed, (family, floor, generic, mechanism)) in (20..).zip(rules) {
        let sample = sample(seed, &middling());
        let truth = frame(&sample.drawn);
        let parts = vec![(0.25, deviation(floor)), (0.25, step(generic)), (0.5, mechanism)];
        let rule = Rule::balanced(family, parts, &truth).unwrap();
        let mut draws = Draws::new(Stream::root(seed).child("noise"));
        let score = rule.score(&truth);
        let y: Vec<f64> = score.iter().map(|value| value + 0.3 * draws.normal()).collect();

        let terms = from_columns(ROWS, &rule.transforms(&frame(&sample.estimates())));
        let train = terms.slice(s![..TRAIN, ..]).to_owned();
        let test = terms.slice(s![TRAIN.., ..]).to_owned();
        let careful = Linear::ridge(&train, &y[..TRAIN], 1.0).score(&test);
        let rungs = [sample.ridge(&y), sample.forest(&y), r2(&y[TRAIN..], &careful)];
        let ceiling = r2(&y[TRAIN..], &score[TRAIN..]);
        assert!(rungs.windows(2).all(|pair| pair[0] + 0.05 <= pair[1]), "{family:?}: {rungs:?}");
        assert!(rungs[2] >= 0.7 * ceiling, "{family:?}: {rungs:?} of {ceiling}");
    }
}

/// Reads items as JSON numbers 0 to 255 from a file and prints their readings.
const DRIVER: &str = "
import json, sys
print(json.dumps([read(bytes(item)) for item in json.load(open(sys.argv[1]))]))
";

#[test]
fn python_reads_what_rust_reads() {
    let mut items: Vec<Vec<u8>> = Vec::new();
    for (seed, blemishes) in [(30, Vec::new()), (31, middling())] {
        items.extend(sample(seed, &blemishes).items.into_iter().take(8));
    }
    items.push(b"source,target,weight\na1,a1,2.00\n".to_vec());
    items.push(b"source,target,weight\na1,b2,2.00\n".to_vec());
    let python = std::env::var_os("MLE_PYTHON")
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../.venv/bin/python").into());
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("read.py");
    let input = folder.path().join("items.json");
    fs_err::write(&script, format!("{}{DRIVER}", Network.python())).unwrap();
    fs_err::write(&input, serde_json::to_vec(&items).unwrap()).unwrap();
    let output = std::process::Command::new(python).arg(&script).arg(&input).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Vec<[Vec<f64>; 3]> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(theirs.len(), items.len());
    for (item, theirs) in items.iter().zip(&theirs) {
        let Reading { plain, generic, estimates } = Network.read(item).unwrap();
        for (ours, theirs) in [plain, generic, estimates].iter().zip(theirs) {
            assert_eq!(ours.len(), theirs.len());
            assert!(ours.len() <= 32);
            for (a, b) in ours.iter().zip(theirs) {
                assert!((a - b).abs() <= 1e-6 * a.abs() + 1e-12, "{a} {b}: {ours:?} {theirs:?}");
            }
        }
    }
}
