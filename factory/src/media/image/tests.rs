//! What the pictures promise: bytes, readings, and rules that make ladders.

use super::picture::{decode, encode_grey};
use super::{Clip, Objects, Scenery, Subject, Surface};
use crate::media::{Blemish, Format, Look, Medium, Reach, Reading, Statistic};
use crate::numeric::draws::Draws;
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::matrix::{from_columns, from_rows};
use crate::numeric::rounding::round;
use crate::spec::rule::{Expr, Family, Frame, Rule, Test};
use ndarray::Array2;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use tasks::stream::Stream;

/// A medium, and what its pictures are written as.
type ImageSubject = (&'static dyn Medium, Format);

const SUBJECTS: [ImageSubject; 6] = [
    (&Surface, Format::Png),
    (&Surface, Format::Jpeg),
    (&Objects, Format::Png),
    (&Objects, Format::Jpeg),
    (&Scenery, Format::Png),
    (&Scenery, Format::Jpeg),
];
/// Stills and clips, each with pixels of its own: a clip's are the same in both of its formats.
fn looks() -> impl Iterator<Item = ImageSubject> {
    every().filter(|(_, format)| *format != Format::Frames)
}

/// Stills and clips in every format.
fn every() -> impl Iterator<Item = ImageSubject> {
    let clip = &Clip as &'static dyn Medium;
    SUBJECTS.into_iter().chain([(clip, Format::Tiff), (clip, Format::Frames)])
}

const TRAIN: usize = 150;
const TEST: usize = 300;

/// Items of one task, read back.
struct ImageSample {
    /// One column per statistic.
    drawn: Vec<Vec<f64>>,
    readings: Vec<Reading>,
}

fn render(
    (medium, format): ImageSubject,
    task: u64,
    blemishes: &BTreeMap<String, f64>,
    rows: usize,
) -> (Vec<Vec<f64>>, Vec<Vec<u8>>) {
    let stream = Stream::root(task);
    let subject = Some(Subject::Cell);
    let look = Look {
        format,
        stream,
        vocabulary: &[],
        subject,
        genre: None,
        source: None,
        samples: None,
        blemishes,
    };
    let mut values = Vec::new();
    let mut items = Vec::new();
    for row in 0..rows {
        let mut draws = Draws::new(stream.child("item").index(row as u64));
        let own: Vec<f64> = medium
            .statistics()
            .iter()
            .map(|s| round(draws.between(s.low, s.high), s.decimals))
            .collect();
        items.push(medium.render(&own, &look, &mut draws));
        values.push(own);
    }
    (values, items)
}

fn sample(
    subject: ImageSubject,
    task: u64,
    blemishes: &BTreeMap<String, f64>,
    rows: usize,
) -> ImageSample {
    let (values, items) = render(subject, task, blemishes, rows);
    let readings = items.iter().map(|item| subject.0.read(item).unwrap()).collect();
    let drawn = (0..values[0].len()).map(|s| values.iter().map(|row| row[s]).collect()).collect();
    ImageSample { drawn, readings }
}

fn r2(truth: &[f64], forecast: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    let error: f64 = truth.iter().zip(forecast).map(|(t, f)| (t - f) * (t - f)).sum();
    1.0 - error / truth.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>()
}

fn matrix(readings: &[Reading], part: impl Fn(&Reading) -> &Vec<f64>) -> Array2<f64> {
    from_rows(&readings.iter().map(part).collect::<Vec<_>>())
}

fn ridge(sample: &ImageSample, y: &[f64]) -> f64 {
    let (train, test) = sample.readings.split_at(TRAIN);
    let model = Linear::ridge(&matrix(train, |r| &r.plain), &y[..TRAIN], 1.0);
    r2(&y[TRAIN..], &model.score(&matrix(test, |r| &r.plain)))
}

fn wood(sample: &ImageSample, y: &[f64]) -> f64 {
    let (train, test) = sample.readings.split_at(TRAIN);
    let (train, test) = (matrix(train, |r| &r.generic), matrix(test, |r| &r.generic));
    [
        ForestSettings { trees: 60, tried: 5, leaf: 1 },
        ForestSettings { trees: 60, tried: train.ncols() / 2, leaf: 2 },
    ]
    .map(|settings| {
        let grown = forest::grow(&train, &y[..TRAIN].to_vec(), settings, 1).unwrap();
        r2(&y[TRAIN..], &grown.predict(&test).unwrap())
    })
    .into_iter()
    .fold(f64::NEG_INFINITY, f64::max)
}

fn middle(blemish: &Blemish) -> BTreeMap<String, f64> {
    BTreeMap::from([(blemish.name.to_owned(), f64::midpoint(blemish.low, blemish.high))])
}

/// The estimates of a statistic against what was drawn.
fn recovered(sample: &ImageSample, index: usize) -> f64 {
    let estimates: Vec<f64> = sample.readings.iter().map(|r| r.estimates[index]).collect();
    r2(&sample.drawn[index], &estimates)
}

#[test]
fn estimates_bear_medium_blemishes() {
    for subject in looks() {
        let (medium, format) = subject;
        for blemish in medium.blemishes() {
            let sample = sample(subject, 11, &middle(blemish), TEST);
            for (index, statistic) in medium.statistics().iter().enumerate() {
                let found = recovered(&sample, index);
                assert!(
                    found >= 0.85,
                    "{medium:?} {format:?} {} {}: {found:.3}",
                    statistic.name,
                    blemish.name
                );
            }
        }
    }
}

#[test]
fn statistics_are_as_far_to_reach_as_they_claim() {
    for subject in looks() {
        let (medium, format) = subject;
        let sample = sample(subject, 12, &BTreeMap::new(), TRAIN + TEST);
        for (index, statistic) in medium.statistics().iter().enumerate() {
            let y = &sample.drawn[index];
            let (line, trees) = (ridge(&sample, y), wood(&sample, y));
            let holds = match statistic.reach {
                Reach::Plain => line >= 0.6,
                Reach::Generic => line <= 0.45 && trees >= 0.5,
                Reach::Hidden => line <= 0.45 && trees <= 0.6,
            };
            assert!(holds, "{medium:?} {format:?} {}: {line:.2} and {trees:.2}", statistic.name);
            let found = recovered(&sample, index);
            assert!(found >= 0.9, "{medium:?} {format:?} {}: {found:.3}", statistic.name);
        }
    }
}

/// A statistic's distance from the middle of its range, in standard deviations.
fn deviation(statistic: &Statistic) -> Expr {
    let Statistic { name, low, high, .. } = statistic;
    Expr::deviation(name, f64::midpoint(*low, *high), (high - low) / 12.0_f64.sqrt())
}

fn above(statistic: &Statistic) -> Test {
    let threshold = f64::midpoint(statistic.low, statistic.high);
    Test::Above { column: statistic.name.to_owned(), threshold }
}

/// A product, a distance and a count over hidden statistics, each beside a floor and a step.
fn rules(medium: &dyn Medium, population: &Frame) -> Vec<Rule> {
    let of = |reach: Reach| -> Vec<&Statistic> {
        medium.statistics().iter().filter(|s| s.reach == reach).collect()
    };
    let (plain, generic, hidden) = (of(Reach::Plain), of(Reach::Generic), of(Reach::Hidden));
    let boxed = |statistic: &Statistic| Box::new(deviation(statistic));
    let distance = Expr::Difference { left: boxed(hidden[1]), right: boxed(generic[1]) };
    let mechanisms = [
        (Family::Products, Expr::Product { left: boxed(hidden[0]), right: boxed(hidden[1]) }),
        (Family::Mismatch, Expr::Absolute { of: Box::new(distance) }),
        (
            Family::Count,
            Expr::Count {
                of: vec![
                    Test::All { of: vec![above(hidden[0]), above(hidden[1])] },
                    Test::All { of: vec![above(hidden[0]), above(generic[2])] },
                ],
            },
        ),
    ];
    let number = |value| Box::new(Expr::Number { value });
    mechanisms
        .into_iter()
        .map(|(family, mechanism)| {
            let test = above(generic[0]);
            let step = Expr::If { test, then: number(1.0), otherwise: number(0.0) };
            let parts = vec![(0.25, deviation(plain[0])), (0.25, step), (0.5, mechanism)];
            Rule::balanced(family, parts, population).unwrap()
        })
        .collect()
}

#[test]
fn rules_make_ladders() {
    for subject in looks() {
        let (medium, format) = subject;
        let sample = sample(subject, 13, &middle(&medium.blemishes()[0]), TRAIN + TEST);
        let frame = |column: &dyn Fn(usize) -> Vec<f64>| Frame {
            numbers: medium
                .statistics()
                .iter()
                .enumerate()
                .map(|(index, s)| (s.name.to_owned(), column(index)))
                .collect(),
            rows: TRAIN + TEST,
            ..Frame::default()
        };
        let drawn = frame(&|index| sample.drawn[index].clone());
        let read = frame(&|index| sample.readings.iter().map(|r| r.estimates[index]).collect());
        for rule in rules(medium, &drawn) {
            let mut draws = Draws::new(Stream::root(14));
            let y: Vec<f64> =
                rule.score(&drawn).iter().map(|score| score + 0.3 * draws.normal()).collect();
            let own = |rows: std::ops::Range<usize>| {
                let columns: Vec<Vec<f64>> =
                    rule.transforms(&read).iter().map(|c| c[rows.clone()].to_vec()).collect();
                from_columns(rows.len(), &columns)
            };
            let model = Linear::ridge(&own(0..TRAIN), &y[..TRAIN], 1.0);
            let top = r2(&y[TRAIN..], &model.score(&own(TRAIN..TRAIN + TEST)));
            let ceiling = r2(&y[TRAIN..], &rule.score(&drawn)[TRAIN..]);
            let (first, second) = (ridge(&sample, &y), wood(&sample, &y));
            let ordered = second - first >= 0.05 && top - second >= 0.05;
            let scores = format!("{first:.2} {second:.2} {top:.2} of {ceiling:.2}");
            assert!(ordered && top >= 0.7 * ceiling, "{medium:?} {format:?} {scores} {rule}");
        }
    }
}

#[test]
fn a_second_rendering_has_the_same_bytes_and_nothing_but_pixels_differs_between_items() {
    for subject in every() {
        let (_, items) = render(subject, 3, &BTreeMap::new(), 30);
        assert_eq!(items, render(subject, 3, &BTreeMap::new(), 30).1);
        assert_ne!(items[0], items[1]);
        for item in &items {
            if subject.1 == Format::Jpeg {
                // Sizes and tables up to the coded pixels.
                let head = |file: &[u8]| {
                    let scan = file.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap();
                    file[..scan + 10].to_vec()
                };
                assert_eq!(head(item), head(&items[0]));
                continue;
            }
            assert_eq!(item.len(), items[0].len());
            if subject.1 == Format::Tiff {
                // Its own module tests that there is nothing but pixels.
                continue;
            }
            // Signature and header, then one block of pixels, then the end.
            assert_eq!(item[..33], items[0][..33]);
            let chunks: Vec<usize> =
                (0..item.len() - 4).filter(|at| &item[*at..at + 4] == b"IDAT").collect();
            assert_eq!(chunks[0], 37);
        }
    }
}

#[test]
fn a_format_changes_nothing_but_the_file() {
    for pair in SUBJECTS.chunks(2) {
        let [stored, coded] = [0, 1].map(|which| render(pair[which], 9, &BTreeMap::new(), 6));
        assert_eq!(stored.0, coded.0);
        for (stored, coded) in stored.1.iter().zip(&coded.1) {
            let [stored, coded] = [stored, coded].map(|file| decode(file).unwrap().bytes);
            let apart = stored.iter().zip(&coded).map(|(a, b)| f64::from(a.abs_diff(*b)));
            let mean = apart.sum::<f64>() / stored.len() as f64;
            assert!(mean > 0.0 && mean < 3.0, "{mean}");
        }
    }
}

#[test]
fn tasks_look_different() {
    // The size of a stored picture depends on its side and channels alone.
    for subject in SUBJECTS.into_iter().filter(|(_, format)| *format == Format::Png) {
        let sizes: BTreeSet<usize> =
            (0..12).map(|task| render(subject, task, &BTreeMap::new(), 1).1[0].len()).collect();
        assert!(sizes.len() >= 3, "{subject:?} {sizes:?}");
    }
}

#[test]
fn damaged_files_are_refused() {
    for subject in every() {
        let medium = subject.0;
        let item = render(subject, 5, &BTreeMap::new(), 1).1.remove(0);
        assert!(medium.read(&[]).is_err());
        // Half of a clip is a clip.
        for length in [8, 30, 60, item.len() / 2 + 1] {
            assert!(medium.read(&item[..length]).is_err(), "{length} bytes");
        }
        let mut draws = Draws::new(Stream::root(6));
        for _ in 0..300 {
            let mut bytes = item.clone();
            let place = draws.whole(0, bytes.len() - 1);
            bytes[place] ^= 1 << draws.whole(0, 7);
            // A flip in the pixels may pass the format's checks; it must not panic.
            if let Ok(reading) = medium.read(&bytes) {
                assert!(reading.estimates.iter().all(|value| value.is_finite()));
            }
        }
    }
}

#[test]
fn pictures_of_nothing_have_finite_readings() {
    let level = |side: usize, grey: u8| encode_grey(&Array2::from_elem((side, side), grey));
    for subject in SUBJECTS {
        let (medium, format) = subject;
        for grey in [0, 90, 255] {
            let reading = medium.read(&level(48, grey)).unwrap();
            let all = [reading.plain, reading.generic, reading.estimates].concat();
            assert!(
                all.iter().all(|value| value.is_finite()),
                "{medium:?} {format:?} {grey}: {all:?}"
            );
        }
        assert!(medium.read(&level(12, 90)).is_err(), "too small");
    }
}

/// Reads one item per line in hexadecimal, writes one reading per line.
const DRIVER: &str = "
import json, sys
for line in sys.stdin:
    print(json.dumps(read(bytes.fromhex(line))))
";

fn by_python(medium: &dyn Medium, items: &[Vec<u8>]) -> Vec<Vec<Vec<f64>>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let python = std::env::var("MLE_PYTHON").unwrap_or_else(|_| format!("{root}/.venv/bin/python"));
    let mut child = Command::new(python)
        .args(["-c", &format!("{}{DRIVER}", medium.python())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment that this test compares with");
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = String::new();
    for item in items {
        for byte in item {
            write!(lines, "{byte:02x}").unwrap();
        }
        lines.push('\n');
    }
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn python_reads_the_same() {
    for subject in every() {
        let (medium, format) = subject;
        let mut items = render(subject, 7, &BTreeMap::new(), 4).1;
        for (task, blemish) in medium.blemishes().iter().enumerate() {
            items.extend(render(subject, 8 + task as u64, &middle(blemish), 3).1);
        }
        let theirs = by_python(medium, &items);
        assert_eq!(theirs.len(), items.len());
        assert!(theirs.iter().all(|parts| parts.len() == 3));
        let theirs: Vec<Vec<f64>> = theirs.into_iter().map(|parts| parts.concat()).collect();
        let ours = items.iter().map(|item| {
            let Reading { plain, generic, estimates } = medium.read(item).unwrap();
            [plain, generic, estimates].concat()
        });
        let ours: Vec<Vec<f64>> = ours.collect();
        for place in 0..ours[0].len() {
            let pairs = ours.iter().zip(&theirs).map(|(a, b)| (a[place], b[place]));
            if format == Format::Jpeg {
                // The format does not say how to round, so decoders are a level apart here and
                // there, and what is counted above a threshold may then differ by one or two.
                let gap = pairs.clone().map(|(a, b)| (a - b).abs()).sum::<f64>();
                let low = pairs.clone().map(|(a, _)| a).fold(f64::INFINITY, f64::min);
                let high = pairs.clone().map(|(a, _)| a).fold(f64::NEG_INFINITY, f64::max);
                let mean = gap / ours.len() as f64;
                assert!(mean <= 0.02 * (high - low), "{medium:?} {place}: {mean}, {low} to {high}");
                continue;
            }
            for (a, b) in pairs {
                let close = (a - b).abs() <= 1e-6 * a.abs().max(1e-3);
                assert!(close, "{medium:?} {place}: ours {a}, theirs {b}");
            }
        }
    }
}
