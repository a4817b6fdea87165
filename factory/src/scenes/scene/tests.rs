//! What scenes promise: reproducible drawings, rungs in order, pages that say how to submit.

use super::super::{detection, python, reconstruction, segmentation};
use super::*;
use crate::spec::scene::{Damage, Detection, Reconstruction, Segmentation};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};
use tasks::metrics::Metric;
use tasks::stream::Stream;
use tasks::values;

fn scenes() -> Vec<SceneRule> {
    let mut draws = Draws::new(Stream::root(4));
    vec![
        SceneRule::Segmentation(Segmentation::plan(&mut draws)),
        SceneRule::Detection(Detection::plan(2, &mut draws)),
        SceneRule::Reconstruction(Reconstruction::plan(&mut draws)),
    ]
}

#[test]
fn rules_survive_being_written_and_differ_in_their_hashes() {
    let mut hashes = Vec::new();
    for rule in scenes() {
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<SceneRule>(&text).unwrap(), rule);
        hashes.push(rule.canonical_hash());
    }
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 3);
}

#[test]
fn the_same_draws_give_the_same_picture() {
    for rule in scenes() {
        let draw = |row| {
            let mut draws = Draws::new(Stream::root(8).index(row));
            rule.scene().draw(&Strengths::new(), &mut draws)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).picture, draw(2).picture);
    }
}

#[test]
fn slips_move_the_truth_and_nothing_else() {
    for rule in scenes().into_iter().take(2) {
        let draw = |slip: f64| {
            let mut draws = Draws::new(Stream::root(9));
            let strengths = Strengths::from([(JITTER.name.to_owned(), slip)]);
            rule.scene().draw(&strengths, &mut draws)
        };
        let (clean, slipped) = (draw(0.0), draw(0.8));
        assert_eq!((clean.picture, clean.ideal), (slipped.picture, slipped.ideal));
        assert_ne!(clean.truth, slipped.truth);
    }
}

/// Calls the function that the code defines with the arrays of every line, and writes what it
/// returns.
const DRIVER: &str = "
import json, sys
call = [f for n, f in list(globals().items()) if n in ('maps', 'powers', 'fill')][0]
for line in sys.stdin:
    print(json.dumps(np.array(call(*map(np.array, json.loads(line)))).ravel().tolist()))
";

fn by_python(rule: &SceneRule, calls: &[Value]) -> Vec<Vec<f64>> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let interpreter =
        std::env::var("MLE_PYTHON").unwrap_or_else(|_| format!("{root}/.venv/bin/python"));
    let imports = "import numpy as np\nfrom scipy import ndimage as nd\n";
    let mut child = Command::new(interpreter)
        .args(["-c", &[imports, &python::oracle(rule), DRIVER].concat()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`make venv` sets up the Python environment that this test compares with");
    let mut stdin = child.stdin.take().unwrap();
    let lines = calls.iter().map(Value::to_string).collect::<Vec<String>>().join("\n");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A picture as rows of pixels.
fn rows<T: Clone>(picture: &Array2<T>) -> Vec<Vec<T>> {
    picture.rows().into_iter().map(|row| row.to_vec()).collect()
}

/// What rung R3 measures of a picture, with the arguments of the same calls of Python.
fn measured(rule: &SceneRule, grid: &Array2<f64>) -> Vec<(Value, Vec<f64>)> {
    let picture = rows(grid);
    match rule {
        SceneRule::Segmentation(scene) => {
            let maps = segmentation::RegionFilters::new(scene).maps(grid);
            let pixel = |(pixel, _): ((usize, usize), &f64)| maps.iter().map(move |map| map[pixel]);
            let ours = grid.indexed_iter().flat_map(pixel).collect();
            vec![(json!([[picture]]), ours)]
        }
        SceneRule::Detection(scene) => {
            let finder = detection::Finder { bright: scene.tone > 0.0, level: 0.5, margin: 0.0 };
            let one = |piece: &detection::DetectedRegion| {
                let mut set = Array2::from_elem(grid.dim(), false);
                piece.pixels.iter().for_each(|pixel| set[*pixel] = true);
                let ours = detection::ThingFilters::new(scene).powers(grid, piece);
                (json!([[0, 0], picture, rows(&set)]), ours)
            };
            finder.pieces(grid).iter().map(one).collect()
        }
        SceneRule::Reconstruction(_) => {
            vec![(json!([[picture]]), reconstruction::filled(grid).into_iter().collect())]
        }
    }
}

#[test]
fn python_measures_what_the_top_rung_measures() {
    let mut rules = scenes();
    let mut draws = Draws::new(Stream::root(5));
    let damaged = |damage| {
        let plain = Reconstruction::plan(&mut draws);
        SceneRule::Reconstruction(Reconstruction { damage, ..plain })
    };
    let damages = [Damage::None, Damage::Lines { every: 4 }, Damage::Scratches { count: 3 }];
    rules.extend(damages.map(damaged));
    for rule in rules {
        let mut draws = Draws::new(Stream::root(7));
        let picture = |_| rule.scene().draw(&Strengths::new(), &mut draws).picture;
        let (calls, ours): (Vec<_>, Vec<_>) =
            (0..3).map(picture).flat_map(|grid| measured(&rule, &grid)).unzip();
        assert!(calls.len() >= 3);
        let theirs = by_python(&rule, &calls);
        assert_eq!(theirs.len(), ours.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.len(), theirs.len());
            for (a, b) in ours.iter().zip(theirs) {
                assert!((a - b).abs() <= 1e-6 * a.abs().max(1.0), "{rule:?}: ours {a}, theirs {b}");
            }
        }
    }
}

#[test]
fn the_ceiling_of_reconstruction_is_out_of_reach_for_a_filter() {
    let mut draws = Draws::new(Stream::root(12));
    let plain = Reconstruction::plan(&mut draws);
    for damage in [Damage::None, Damage::Lines { every: 5 }] {
        let scene = Reconstruction { damage, ..plain.clone() };
        let rows = |count: u64, part: &str| -> (Vec<Array2<f64>>, Values) {
            let mut pictures = Vec::new();
            let mut images = Vec::new();
            for row in 0..count {
                let mut draws = Draws::new(Stream::root(13).child(part).index(row));
                let drawn = scene.draw(&Strengths::new(), &mut draws);
                pictures.push(drawn.picture);
                if let Annotation::Image(image) = drawn.truth {
                    images.push(image);
                }
            }
            (pictures, Values::Images { images, frame: scene.frame() })
        };
        let ((train, train_truth), (test, test_truth)) = (rows(60, "train"), rows(40, "test"));
        let material = Material {
            train,
            test,
            train_truth: &train_truth,
            test_truth: &test_truth,
            ideal: &test_truth,
            metric: Metric::Psnr,
            stream: Stream::root(14),
        };
        let rungs = scene.climb(&material).unwrap();
        let [_, r1, r2, r3, ceiling] =
            rungs.forecasts.map(|f| values::score(Metric::Psnr, &test_truth, &f).unwrap());
        assert!(r1 < r2 && r2 < r3, "{r1} {r2} {r3}");
        // The best of the solvers' own scripts go 0.3 dB beyond the filter.
        assert!(r3 + 0.5 < ceiling && ceiling < r3 + 4.0, "{r3} {ceiling}");
    }
}
