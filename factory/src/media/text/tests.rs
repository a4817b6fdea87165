//! What these media promise, measured.

use super::{Dossier, Pair, Report};
use crate::media::{Blemish, Format, Look, Medium, Reach, Reading, Statistic};
use crate::numeric::draws::Draws;
use crate::numeric::forest::{self, ForestSettings};
use crate::numeric::linear::Linear;
use crate::numeric::matrix::{from_columns, from_rows};
use crate::spec::rule::{Expr, Family, Frame, Rule, Test};
use std::collections::BTreeMap;
use std::process::Command;
use tasks::stream::Stream;

/// A medium, and what its texts are written as.
type TextSubject = (&'static dyn Medium, Format);

const REPORT: TextSubject = (&Report, Format::Cells);
const DOCUMENT: TextSubject = (&Report, Format::Text);
const DOSSIER: TextSubject = (&Dossier, Format::Text);
const PAIR: TextSubject = (&Pair, Format::Cells);
const SUBJECTS: [TextSubject; 4] = [REPORT, DOCUMENT, DOSSIER, PAIR];
const TRAIN: usize = 150;
const ROWS: usize = 450;

/// Items of one task with the values drawn for them.
struct TextSample {
    values: Vec<Vec<f64>>,
    items: Vec<Vec<u8>>,
    readings: Vec<Reading>,
}

fn blemishes(medium: &dyn Medium, part: f64) -> BTreeMap<String, f64> {
    let strength = |b: &Blemish| (b.name.to_owned(), b.low + part * (b.high - b.low));
    medium.blemishes().iter().map(strength).collect()
}

fn drawn(medium: &dyn Medium, draws: &mut Draws) -> Vec<f64> {
    let value = |s: &Statistic, draws: &mut Draws| {
        let scale = [1.0, 10.0, 100.0][s.decimals];
        (draws.between(s.low, s.high) * scale).round() / scale
    };
    medium.statistics().iter().map(|s| value(s, draws)).collect()
}

fn sample(
    (medium, format): TextSubject,
    task: u64,
    blemishes: &BTreeMap<String, f64>,
) -> TextSample {
    let stream = Stream::root(task);
    let vocabulary = ["hinge", "valve", "gasket", "motor", "bearing", "pump"].map(str::to_owned);
    let look = Look {
        format,
        stream: stream.child("look"),
        vocabulary: &vocabulary,
        subject: None,
        genre: None,
        source: None,
        samples: None,
        blemishes,
    };
    let mut draws = Draws::new(stream.child("values"));
    let mut sample = TextSample { values: vec![], items: vec![], readings: vec![] };
    for row in 0..ROWS {
        let values = drawn(medium, &mut draws);
        let mut own = Draws::new(stream.child("item").index(row as u64));
        let item = medium.render(&values, &look, &mut own);
        sample.readings.push(medium.read(&item).unwrap());
        sample.items.push(item);
        sample.values.push(values);
    }
    sample
}

fn column(rows: &[Vec<f64>], index: usize) -> Vec<f64> {
    rows.iter().map(|row| row[index]).collect()
}

fn r2(truth: &[f64], forecast: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    let error: f64 = truth.iter().zip(forecast).map(|(t, f)| (t - f) * (t - f)).sum();
    1.0 - error / truth.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>()
}

fn by_ridge(x: &[Vec<f64>], y: &[f64]) -> f64 {
    let model = Linear::ridge(&from_rows(&x[..TRAIN]), &y[..TRAIN], 1.0);
    r2(&y[TRAIN..], &model.score(&from_rows(&x[TRAIN..])))
}

fn by_forest(x: &[Vec<f64>], y: &[f64]) -> f64 {
    let train = from_rows(&x[..TRAIN]);
    let tried = [train.ncols().isqrt(), train.ncols().div_ceil(2)];
    let fit = |tried| {
        let settings = ForestSettings { trees: 60, tried, leaf: 1 };
        let grown = forest::grow(&train, &y[..TRAIN].to_vec(), settings, 1).unwrap();
        let bag = r2(&y[..TRAIN], &grown.out_of_bag(&train).unwrap());
        (bag, r2(&y[TRAIN..], &grown.predict(&from_rows(&x[TRAIN..])).unwrap()))
    };
    let [narrow, wide] = tried.map(fit);
    if narrow.0 > wide.0 { narrow.1 } else { wide.1 }
}

fn part(readings: &[Reading], pick: fn(&Reading) -> &Vec<f64>) -> Vec<Vec<f64>> {
    readings.iter().map(|reading| pick(reading).clone()).collect()
}

/// Rendering without blemishes and with all of them at half strength.
fn worlds(medium: &dyn Medium) -> [BTreeMap<String, f64>; 2] {
    [BTreeMap::new(), blemishes(medium, 0.5)]
}

/// Each statistic's R² by a line on `plain`, by a forest on `generic`, and as estimated.
fn check_reach(subject: TextSubject) {
    let medium = subject.0;
    let mut wrong = Vec::new();
    for blemishes in worlds(medium) {
        for task in [1, 2] {
            let sample = sample(subject, task, &blemishes);
            let plain = part(&sample.readings, |r| &r.plain);
            let generic = part(&sample.readings, |r| &r.generic);
            let estimates = part(&sample.readings, |r| &r.estimates);
            assert!(plain[0].len() <= 32 && generic[0].len() <= 32);
            for (index, statistic) in medium.statistics().iter().enumerate() {
                let truth = column(&sample.values, index);
                let own = r2(&truth, &column(&estimates, index));
                let line = by_ridge(&plain, &truth);
                let forest = by_forest(&generic, &truth);
                let row =
                    format!("{} line {line:.2} forest {forest:.2} own {own:.3}", statistic.name);
                println!("{row}");
                let found = match statistic.reach {
                    Reach::Plain => line >= 0.6,
                    Reach::Generic => line <= 0.45 && forest >= 0.5,
                    Reach::Hidden => line <= 0.45 && forest <= 0.6,
                };
                if own < 0.95 || !found {
                    wrong.push(row);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn statistics_of_reports_are_read_by_whom_they_say() {
    check_reach(REPORT);
}

#[test]
fn statistics_of_documents_are_read_by_whom_they_say() {
    check_reach(DOCUMENT);
}

#[test]
fn statistics_of_dossiers_are_read_by_whom_they_say() {
    check_reach(DOSSIER);
}

#[test]
fn statistics_of_pairs_are_read_by_whom_they_say() {
    check_reach(PAIR);
}

fn frame(medium: &dyn Medium, rows: &[Vec<f64>]) -> Frame {
    let column = |(index, s): (usize, &Statistic)| (s.name.to_owned(), column(rows, index));
    let numbers = medium.statistics().iter().enumerate().map(column).collect();
    Frame { numbers, rows: rows.len(), ..Frame::default() }
}

/// A statistic's distance from the middle of its range, as a share of the range.
fn deviation(medium: &dyn Medium, name: &str) -> Expr {
    let found = medium.statistics().iter().find(|s| s.name == name).unwrap();
    Expr::deviation(name, f64::midpoint(found.low, found.high), found.high - found.low)
}

fn above(medium: &dyn Medium, name: &str) -> Test {
    let found = medium.statistics().iter().find(|s| s.name == name).unwrap();
    Test::Above { column: name.to_owned(), threshold: f64::midpoint(found.low, found.high) }
}

/// A floor, a step and a mechanism, the last with the largest share of the variance.
fn rule(
    medium: &dyn Medium,
    floor: &str,
    step: &str,
    mechanism: Expr,
    sample: &TextSample,
) -> Rule {
    let step = Expr::Count { of: vec![above(medium, step)] };
    let parts = vec![(0.3, deviation(medium, floor)), (0.3, step), (0.4, mechanism)];
    Rule::balanced(Family::Products, parts, &frame(medium, &sample.values)).unwrap()
}

fn check_ladder(subject: TextSubject, floor: &str, step: &str, mechanism: &Expr) {
    let medium = subject.0;
    for (task, blemishes) in worlds(medium).iter().enumerate() {
        let sample = sample(subject, 20 + task as u64, blemishes);
        let rule = rule(medium, floor, step, mechanism.clone(), &sample);
        let score = rule.score(&frame(medium, &sample.values));
        let mut draws = Draws::new(Stream::root(5));
        let target: Vec<f64> = score.iter().map(|score| score + 0.3 * draws.normal()).collect();
        let estimates = part(&sample.readings, |r| &r.estimates);
        let terms = from_columns(ROWS, &rule.transforms(&frame(medium, &estimates)));
        let terms: Vec<Vec<f64>> = (0..ROWS).map(|row| terms.row(row).to_vec()).collect();
        let plain = by_ridge(&part(&sample.readings, |r| &r.plain), &target);
        let generic = by_forest(&part(&sample.readings, |r| &r.generic), &target);
        let own = by_ridge(&terms, &target);
        let ceiling = r2(&target[TRAIN..], &score[TRAIN..]);
        let row = format!("{plain:.2} {generic:.2} {own:.2} of {ceiling:.2}: {rule}");
        println!("{row}");
        assert!(plain >= 0.04, "no better than a constant: {row}");
        assert!(plain + 0.05 <= generic && generic + 0.05 <= own, "{row}");
        assert!(own >= 0.7 * ceiling, "{row}");
    }
}

fn product(left: Expr, right: Expr) -> Expr {
    Expr::Product { left: Box::new(left), right: Box::new(right) }
}

fn distance(left: Expr, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::Absolute { of: Box::new(Expr::Difference { left, right }) }
}

#[test]
fn ladders_over_reports_have_clear_rungs() {
    for subject in [REPORT, DOCUMENT] {
        let of = |name| deviation(&Report, name);
        let denials = product(of("denials"), of("agreement"));
        check_ladder(subject, "complaints", "quantity", &denials);
        check_ladder(subject, "urgency", "quantity", &distance(of("denials"), of("lead")));
        let slope = Expr::If {
            test: above(&Report, "agreement"),
            then: Box::new(of("lead")),
            otherwise: Box::new(product(of("lead"), Expr::Number { value: -1.0 })),
        };
        check_ladder(subject, "complaints", "people", &slope);
    }
}

#[test]
fn ladders_over_dossiers_have_clear_rungs() {
    let of = |name| deviation(&Dossier, name);
    let open = product(of("open_matters"), of("responsibility"));
    check_ladder(DOSSIER, "anger", "longest_wait", &open);
    check_ladder(DOSSIER, "staffing", "people", &distance(of("turn"), of("spent")));
    let days = product(of("answer_days"), of("turn"));
    check_ladder(DOSSIER, "anger", "people", &days);
}

#[test]
fn ladders_over_pairs_have_clear_rungs() {
    let of = |name| deviation(&Pair, name);
    let shared = product(of("shared_details"), of("reordering"));
    check_ladder(PAIR, "length_ratio", "number_gap", &shared);
    let apart = distance(of("shared_details"), of("time_shift"));
    check_ladder(PAIR, "word_overlap", "number_gap", &apart);
    let names = ["shared_details", "reordering", "time_shift"];
    let count = Expr::Count { of: names.map(|name| above(&Pair, name)).to_vec() };
    check_ladder(PAIR, "word_overlap", "number_gap", &count);
}

#[test]
fn items_are_plain_cells_and_come_out_the_same_again() {
    for (subject, cells) in [(REPORT, 1), (PAIR, 2)] {
        let medium = subject.0;
        for blemishes in worlds(medium) {
            let first = sample(subject, 3, &blemishes).items;
            assert_eq!(first, sample(subject, 3, &blemishes).items);
            for item in first {
                let text = String::from_utf8(item).unwrap();
                assert_eq!(text.lines().count(), cells);
                assert!(!text.contains([',', '"', '\'', '\r']) && !text.contains("  "), "{text}");
            }
        }
    }
}

#[test]
fn documents_are_long_and_come_out_the_same_again() {
    for blemishes in worlds(&Report) {
        let first = sample(DOCUMENT, 3, &blemishes);
        assert_eq!(first.items, sample(DOCUMENT, 3, &blemishes).items);
        // What is reported is that of the short form, word for word.
        let short = sample(REPORT, 3, &blemishes);
        assert_eq!(first.values, short.values);
        for item in &first.items {
            let text = std::str::from_utf8(item).unwrap();
            let words = text.split_whitespace().count();
            assert!((150..=400).contains(&words), "{words}: {text}");
            assert!(text.split("\n\n").count() >= 3 && text.ends_with('\n'), "{text}");
            assert!(!text.contains(['\r', '\t']) && !text.contains("  "), "{text}");
            assert!(text.lines().all(|line| line == line.trim()), "{text}");
        }
    }
    // Nothing that is added means anything: readers find what they find in the short form.
    let [long, short] = [DOCUMENT, REPORT].map(|subject| sample(subject, 3, &BTreeMap::new()));
    for (long, short) in long.readings.iter().zip(&short.readings) {
        assert_eq!(long.estimates, short.estimates);
    }
}

#[test]
fn tasks_differ_in_tone() {
    for subject in SUBJECTS {
        let first = |task| sample(subject, task, &BTreeMap::new()).items.swap_remove(0);
        assert_ne!(first(1), first(2));
    }
}

#[test]
fn the_length_does_not_tell() {
    for subject in SUBJECTS {
        let medium = subject.0;
        let sample = sample(subject, 4, &blemishes(medium, 0.5));
        let lengths: Vec<Vec<f64>> = sample.items.iter().map(|i| vec![i.len() as f64]).collect();
        for (index, statistic) in medium.statistics().iter().enumerate() {
            let told = by_ridge(&lengths, &column(&sample.values, index));
            assert!(told < 0.04, "{}: {told}", statistic.name);
        }
    }
}

#[test]
fn damaged_items_are_errors_or_readable_but_never_a_panic() {
    for subject in SUBJECTS {
        let medium = subject.0;
        let item = sample(subject, 6, &blemishes(medium, 1.0)).items.swap_remove(0);
        let two_more = [&item[..], b"\n", &item, b"\n", &item].concat();
        for wrong in [&b""[..], b"\xff\xfe", b"too short", "é".repeat(99).as_bytes()] {
            assert!(medium.read(wrong).is_err(), "{:?}", String::from_utf8_lossy(wrong));
        }
        // A report may have any number of paragraphs, a pair is two lines.
        assert_eq!(medium.read(&two_more).is_err(), medium.statistics() == Pair.statistics());
        let mut draws = Draws::new(Stream::root(6));
        for _ in 0..2000 {
            let mut damaged = item[..draws.whole(0, item.len())].to_vec();
            for _ in 0..draws.whole(0, 40) {
                if !damaged.is_empty() {
                    let place = draws.whole(0, damaged.len() - 1);
                    damaged[place] = *draws.pick(b" \n.;:h09azAZ\x00\xff");
                }
            }
            let finite = |r: &Reading| {
                [&r.plain, &r.generic, &r.estimates].into_iter().flatten().all(|v| v.is_finite())
            };
            assert!(medium.read(&damaged).as_ref().map_or(true, finite));
        }
    }
}

/// The Python that the project's checks use.
fn python() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    std::env::var("MLE_PYTHON").unwrap_or_else(|_| format!("{root}/.venv/bin/python"))
}

#[test]
fn the_python_twins_read_the_same() {
    const MAIN: &str = "
import json, sys
for item in json.load(sys.stdin):
    print(json.dumps(read(item.encode())))
";
    for subject in SUBJECTS {
        let medium = subject.0;
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("twin.py");
        fs_err::write(&script, [medium.python(), MAIN].concat()).unwrap();
        let mut samples = worlds(medium).map(|blemishes| sample(subject, 8, &blemishes));
        let items: Vec<String> = samples
            .iter_mut()
            .flat_map(|sample| sample.items.drain(..))
            .map(|item| String::from_utf8(item).unwrap())
            .collect();
        let requests = folder.path().join("items.json");
        fs_err::write(&requests, serde_json::to_vec(&items).unwrap()).unwrap();
        let output = Command::new(python())
            .arg(&script)
            .stdin(std::fs::File::from(fs_err::File::open(&requests).unwrap()))
            .output()
            .expect("`make venv` sets up the Python environment that this test compares with");
        let answers = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(answers.lines().count(), items.len(), "{complaint}");
        let readings = samples.iter().flat_map(|sample| &sample.readings);
        for (line, reading) in answers.lines().zip(readings) {
            let theirs: [Vec<f64>; 3] = serde_json::from_str(line).unwrap();
            let ours = [&reading.plain, &reading.generic, &reading.estimates];
            for (ours, theirs) in ours.into_iter().zip(&theirs) {
                assert_eq!(ours.len(), theirs.len());
                for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    let near = (ours - theirs).abs() <= 1e-6 * ours.abs().max(1.0);
                    assert!(near, "{medium:?} {index}: {ours} {theirs}");
                }
            }
        }
    }
}
