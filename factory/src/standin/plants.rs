//! Leaves: their species from vectors and outlines, their diseases from spots.

use super::canvas::{Canvas, Channels};
use super::classes;
use super::csv_rows::{CsvRows, constant_rows, decimal, even_rows, one_hot_rows};
use super::files::PreparedFiles;
use super::names::spread;
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use std::f64::consts::TAU;
use tasks::stream::Stream;

/// Of which species is the leaf?
pub(super) const LEAVES: StandInSource = StandInSource {
    id: "leaf-classification",
    task: "Each row describes an invented leaf by three vectors of 64 numbers, and there is a \
           picture of its outline. Predict a probability for each of 99 species.",
    evaluation: "Multiclass log loss. The probabilities of a row must add up to 1.",
    files: &[
        (
            "train.csv",
            "`id`, `species`, `margin1` to `margin64`, `shape1` to `shape64`, `texture1` to `texture64`",
        ),
        ("test.csv", "the same without `species`"),
        ("images/", "outlines of all leaves, `<id>.jpg`"),
        ("sample_submission.csv", "`id` and a column of probabilities per species"),
    ],
    differences: &["vectors are a species' mean and noise", "outlines are of 48 by 48 pixels"],
    make: leaves,
};

/// Which disease does the leaf have?
pub(super) const DISEASES: StandInSource = StandInSource {
    id: "plant-pathology-2020-fgvc7",
    task: "Each picture is a drawn leaf: healthy, with orange spots (rust), with dark spots (scab), \
           or with both (multiple diseases). Predict a probability for each of the four.",
    evaluation: "Mean of the areas under the ROC curves of the four columns.",
    files: &[
        ("train.csv", "`image_id`, `healthy`, `multiple_diseases`, `rust`, `scab` (each 0 or 1)"),
        ("test.csv", "`image_id`"),
        ("images/", "`Train_N.jpg` and `Test_N.jpg`"),
        ("sample_submission.csv", "`image_id` and the four columns as probabilities"),
    ],
    differences: &["pictures are drawn, and all of 64 by 48 pixels"],
    make: diseases,
};

const VECTORS: [&str; 3] = ["margin", "shape", "texture"];
const LENGTH: usize = 64;
const TRAIN_PER_SPECIES: usize = 6;
const TEST_PER_SPECIES: usize = 2;

/// What the leaves of a species have in common.
struct Species {
    /// Means of the vectors, one behind the other.
    means: Vec<f64>,
    /// How many lobes an outline has, and how deep they are.
    lobes: usize,
    depth: f64,
}

fn outline(draws: &mut Draws, species: &Species) -> Canvas {
    let mut canvas = Canvas::new(48, 48, [0.0; 3]);
    let (turn, size) = (draws.between(0.0, TAU), draws.between(15.0, 19.0));
    canvas.paint(|x, y, old| {
        let (u, v) = (x - 24.0, y - 24.0);
        let wave = libm::cos(species.lobes as f64 * libm::atan2(v, u) + turn);
        let radius = size * (1.0 - species.depth * (1.0 + wave));
        if libm::sqrt(u * u + v * v) <= radius { [255.0; 3] } else { old }
    });
    canvas
}

fn leaves(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let names = classes::leaves();
    let species: Vec<Species> = names
        .iter()
        .map(|_| Species {
            means: (0..3 * LENGTH).map(|_| draws.between(0.004, 0.03)).collect(),
            lobes: draws.whole(2, 7),
            depth: draws.between(0.02, 0.2),
        })
        .collect();
    let numbers = VECTORS.iter().flat_map(|name| (1..=LENGTH).map(move |i| format!("{name}{i}")));
    let numbers: Vec<String> = numbers.collect();
    let columns = |front: &[&str]| {
        let front = front.iter().map(ToString::to_string);
        CsvRows::new(front.chain(numbers.iter().cloned()))
    };
    let (mut train, mut test) = (columns(&["id", "species"]), columns(&["id"]));
    // Leaves of both halves share one row of numbers.
    let of = TRAIN_PER_SPECIES + TEST_PER_SPECIES;
    let mut rows: Vec<(usize, bool)> = (0..of * names.len())
        .map(|row| (row % names.len(), row < TEST_PER_SPECIES * names.len()))
        .collect();
    draws.shuffle(&mut rows);
    let mut files = PreparedFiles::default();
    let (mut ids, mut truth) = (Vec::new(), Vec::new());
    for (id, (class, is_test)) in (1..).zip(rows) {
        let kind = &species[class];
        files.public(format!("images/{id}.jpg"), outline(&mut draws, kind).jpeg(Channels::Grey));
        let vector = kind.means.iter().map(|mean| mean * draws.between(0.6, 1.4));
        let vector: Vec<String> = vector.map(|value| decimal(value, 6)).collect();
        let id = id.to_string();
        if is_test {
            test.row(std::iter::once(&id).chain(&vector));
            ids.push(id);
            truth.push(class);
        } else {
            train.row([&id, &names[class]].into_iter().chain(&vector));
        }
    }
    files.public("train.csv", train.bytes());
    files.public("test.csv", test.bytes());
    files.public("sample_submission.csv", even_rows("id", &names, &ids));
    files.private("test.csv", one_hot_rows("id", &names, ids.iter().zip(truth)));
    files
}

const DISEASE_NAMES: [&str; 4] = ["healthy", "multiple_diseases", "rust", "scab"];

fn sick_leaf(draws: &mut Draws, disease: usize) -> Canvas {
    let light = draws.between(-20.0, 20.0);
    let mut canvas = Canvas::new(64, 48, [150.0 + light, 165.0 + light, 140.0 + light]);
    canvas.ellipse([32.0, 24.0], [29.0, 19.0], [70.0 + light, 125.0 + light, 50.0]);
    canvas.line([4.0, 24.0], [60.0, 24.0], 1.5, [120.0, 160.0, 90.0]);
    let rust = disease == 1 || disease == 2;
    let scab = disease == 1 || disease == 3;
    for (has, color) in [(rust, [225.0, 130.0, 25.0]), (scab, [45.0, 50.0, 35.0])] {
        for _ in 0..if has { draws.whole(4, 8) } else { 0 } {
            let centre = [draws.between(13.0, 51.0), draws.between(12.0, 36.0)];
            canvas.disc(centre, draws.between(1.5, 3.0), color);
        }
    }
    canvas.grain(draws, 16.0);
    canvas
}

fn diseases(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let mut files = PreparedFiles::default();
    let header = || CsvRows::new(std::iter::once("image_id").chain(DISEASE_NAMES));
    for (half, rows) in [("Train", 160), ("Test", 60)] {
        let classes = spread(&mut draws, rows, &[0.28, 0.06, 0.34, 0.32]);
        let ids: Vec<String> = (0..rows).map(|row| format!("{half}_{row}")).collect();
        let mut table = header();
        for (id, class) in ids.iter().zip(classes) {
            let picture = sick_leaf(&mut draws, class).jpeg(Channels::Rgb);
            files.public(format!("images/{id}.jpg"), picture);
            let cells = (0..4).map(|place| if place == class { "1" } else { "0" });
            table.row(std::iter::once(id.as_str()).chain(cells));
        }
        if half == "Train" {
            files.public("train.csv", table.bytes());
        } else {
            let columns: Vec<&str> = std::iter::once("image_id").chain(DISEASE_NAMES).collect();
            files.public("test.csv", constant_rows(&columns[..1], &ids, &[]));
            files.public("sample_submission.csv", constant_rows(&columns, &ids, &["0.25"; 4]));
            files.private("test.csv", table.bytes());
        }
    }
    files
}
