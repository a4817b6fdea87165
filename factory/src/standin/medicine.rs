//! Pictures of medicine: eyes, tissue, and lines on X-ray pictures of chests.

use super::canvas::{Canvas, Channels};
use super::csv_rows::{CsvRows, constant_rows, labelled_rows};
use super::files::PreparedFiles;
use super::names::{distinct, flags, hex, spread, text};
use super::source::StandInSource;
use super::tiff;
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// How far has a disease of the eye gone?
pub(super) const EYES: StandInSource = StandInSource {
    id: "aptos2019-blindness-detection",
    task: "Each picture is a drawn retina, an orange disc with a number of dark spots. Predict its \
           grade, from 0 (hardly a spot) to 4 (many).",
    evaluation: "Quadratic weighted kappa of whole numbers from 0 to 4.",
    files: &[
        ("train.csv", "`id_code` and `diagnosis` (0 to 4)"),
        ("test.csv", "`id_code`"),
        ("train_images/", "training pictures, `<id_code>.png`"),
        ("test_images/", "test pictures, `<id_code>.png`"),
        ("sample_submission.csv", "`id_code` and `diagnosis` for each test picture"),
    ],
    differences: &["pictures are drawn, and all of 64 by 64 pixels"],
    make: eyes,
};

/// Is there a tumour in the middle?
pub(super) const TISSUE: StandInSource = StandInSource {
    id: "histopathologic-cancer-detection",
    task: "Each picture is drawn tissue of 96 by 96 pixels. Predict the probability that the \
           32 by 32 pixels in the middle show a group of dark cells; what lies around them does \
           not count.",
    evaluation: "Area under the ROC curve.",
    files: &[
        ("train_labels.csv", "`id` and `label` (0 or 1)"),
        ("train/", "training pictures, `<id>.tif`"),
        ("test/", "test pictures, `<id>.tif`"),
        ("sample_submission.csv", "`id` and `label`, a probability, for each test picture"),
    ],
    differences: &["pictures are drawn"],
    make: tissue,
};

/// Where do catheters and tubes end?
pub(super) const CATHETERS: StandInSource = StandInSource {
    id: "ranzcr-clip-catheter-line-classification",
    task: "Each picture is a drawn chest with bright lines: a windpipe tube (ETT), a feeding tube \
           (NGT), central catheters (CVC) and a Swan-Ganz catheter. A line of each kind begins in a \
           part of the picture of its own, and its place or length says how well it lies. Predict a \
           probability for each label of the sample.",
    evaluation: "Mean of the areas under the ROC curves of nine labels.",
    files: &[
        ("train.csv", "`StudyInstanceUID`, eleven labels (0 or 1) and `PatientID`"),
        ("train_annotations.csv", "`StudyInstanceUID`, `label` and `data`, the points of its line"),
        ("train/", "training pictures, `<StudyInstanceUID>.jpg`"),
        ("test/", "test pictures, `<StudyInstanceUID>.jpg`"),
        ("sample_submission.csv", "`StudyInstanceUID` and nine of the labels, as probabilities"),
    ],
    differences: &["pictures are drawn, and all of 96 by 96 pixels", "lines are straight"],
    make: catheters,
};

fn retina(draws: &mut Draws, grade: usize) -> Canvas {
    let mut canvas = Canvas::new(64, 64, [8.0, 6.0, 5.0]);
    let light = draws.between(-15.0, 15.0);
    canvas.disc([32.0, 32.0], 29.0, [190.0 + light, 100.0 + light, 45.0 + light]);
    let nerve = if draws.chance(0.5) { 18.0 } else { 46.0 };
    canvas.disc([nerve, draws.between(29.0, 35.0)], 4.0, [240.0, 200.0, 120.0]);
    for _ in 0..4 * grade + draws.whole(0, 1) {
        // Within the disc: a square inside of it.
        let centre = [draws.between(13.0, 51.0), draws.between(13.0, 51.0)];
        canvas.disc(centre, draws.between(1.4, 2.2), [90.0, 20.0, 15.0]);
    }
    canvas.grain(draws, 8.0);
    canvas
}

fn eyes(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (150, 60);
    let shares = [0.49, 0.10, 0.27, 0.06, 0.08];
    let ids = distinct(&mut draws, train + test, |draws| hex(draws, 12));
    let mut grades = spread(&mut draws, train, &shares);
    grades.extend(spread(&mut draws, test, &shares));
    let mut files = PreparedFiles::default();
    for (row, (id, grade)) in ids.iter().zip(&grades).enumerate() {
        let folder = if row < train { "train_images" } else { "test_images" };
        files.public(format!("{folder}/{id}.png"), retina(&mut draws, *grade).png(Channels::Rgb));
    }
    let header = ["id_code", "diagnosis"];
    files.public("train.csv", labelled_rows(header, ids[..train].iter().zip(&grades)));
    files.public("test.csv", constant_rows(&["id_code"], &ids[train..], &[]));
    files.public("sample_submission.csv", constant_rows(&header, &ids[train..], &["0"]));
    files.private("test.csv", labelled_rows(header, ids[train..].iter().zip(&grades[train..])));
    files
}

fn cells(draws: &mut Draws, is_tumour: bool) -> Canvas {
    let light = draws.between(-12.0, 12.0);
    let mut canvas = Canvas::new(96, 96, [215.0 + light, 170.0 + light, 205.0 + light]);
    // Groups of dark cells: one at the edge in most pictures, one in the middle where it counts.
    let mut groups = Vec::new();
    if draws.chance(0.7) {
        let edge = if draws.chance(0.5) { 14.0 } else { 82.0 };
        groups.push([edge, draws.between(14.0, 82.0)]);
    }
    if is_tumour {
        groups.push([draws.between(43.0, 53.0), draws.between(43.0, 53.0)]);
    }
    for [x, y] in groups {
        for _ in 0..draws.whole(6, 9) {
            let centre = [x + draws.between(-9.0, 9.0), y + draws.between(-9.0, 9.0)];
            canvas.disc(centre, draws.between(2.5, 4.0), [110.0, 60.0, 140.0]);
        }
    }
    for _ in 0..10 {
        let centre = [draws.between(0.0, 96.0), draws.between(0.0, 96.0)];
        canvas.disc(centre, 1.8, [140.0, 90.0, 165.0]);
    }
    canvas.grain(draws, 15.0);
    canvas
}

fn tissue(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (120, 60);
    let ids = distinct(&mut draws, train + test, |draws| hex(draws, 40));
    let mut labels = flags(&mut draws, train, 0.4);
    labels.extend(flags(&mut draws, test, 0.4));
    let mut files = PreparedFiles::default();
    for (row, (id, label)) in ids.iter().zip(&labels).enumerate() {
        let folder = if row < train { "train" } else { "test" };
        files.public(format!("{folder}/{id}.tif"), tiff::encode(&cells(&mut draws, *label)));
    }
    let header = ["id", "label"];
    let table = |rows: std::ops::Range<usize>| {
        let numbers = labels[rows.clone()].iter().map(|label| u8::from(*label));
        labelled_rows(header, ids[rows].iter().zip(numbers))
    };
    files.public("train_labels.csv", table(0..train));
    files.public("sample_submission.csv", constant_rows(&header, &ids[train..], &["0"]));
    files.private("answers.csv", table(train..train + test));
    files
}

/// The labels of the training table; those behind the first nine are not scored.
const LINES: [&str; 11] = [
    "ETT - Abnormal",
    "ETT - Borderline",
    "ETT - Normal",
    "NGT - Abnormal",
    "NGT - Borderline",
    "NGT - Incompletely Imaged",
    "NGT - Normal",
    "CVC - Abnormal",
    "CVC - Borderline",
    "CVC - Normal",
    "Swan Ganz Catheter Present",
];
/// How many labels are scored.
const SCORED: usize = 9;

/// Where each label's line begins and ends, in pixels.
const PLACES: [[[f64; 2]; 2]; 11] = [
    [[44.0, 2.0], [44.0, 18.0]],
    [[44.0, 2.0], [44.0, 32.0]],
    [[44.0, 2.0], [44.0, 46.0]],
    [[54.0, 2.0], [54.0, 40.0]],
    [[54.0, 2.0], [54.0, 56.0]],
    [[54.0, 2.0], [54.0, 95.0]],
    [[54.0, 2.0], [60.0, 76.0]],
    [[4.0, 20.0], [34.0, 8.0]],
    [[4.0, 40.0], [34.0, 34.0]],
    [[4.0, 60.0], [34.0, 62.0]],
    [[92.0, 30.0], [68.0, 60.0]],
];

/// Which lines there are in each picture: at most one of the windpipe and of the feeding tube.
fn lines(draws: &mut Draws, rows: usize) -> Vec<[bool; 11]> {
    let windpipe = spread(draws, rows, &[0.4, 0.12, 0.16, 0.32]);
    let feeding = spread(draws, rows, &[0.4, 0.1, 0.12, 0.16, 0.22]);
    let catheters = [0.2, 0.3, 0.4, 0.1].map(|share| flags(draws, rows, share));
    let row = |row: usize| {
        let mut labels = [false; 11];
        if windpipe[row] > 0 {
            labels[windpipe[row] - 1] = true;
        }
        if feeding[row] > 0 {
            labels[2 + feeding[row]] = true;
        }
        for (place, flags) in catheters.iter().enumerate() {
            labels[7 + place] = flags[row];
        }
        labels
    };
    (0..rows).map(row).collect()
}

/// A label, and where its line begins and ends.
type DrawnLine = (usize, [[f64; 2]; 2]);

/// The picture of a chest, and the points of each line in it.
fn chest(draws: &mut Draws, labels: &[bool; 11]) -> (Canvas, Vec<DrawnLine>) {
    let light = draws.between(-10.0, 10.0);
    let mut canvas = Canvas::new(96, 96, [95.0 + light; 3]);
    for x in [28.0, 68.0] {
        canvas.ellipse([x, 50.0], [17.0, 36.0], [55.0 + light; 3]);
    }
    let mut drawn = Vec::new();
    for (label, ends) in PLACES.iter().enumerate().filter(|(label, _)| labels[*label]) {
        let shift = [draws.between(-1.0, 1.0), draws.between(-1.5, 1.5)];
        let ends = ends.map(|[x, y]| [x + shift[0], y + shift[1]]);
        canvas.line(ends[0], ends[1], 2.5, [225.0; 3]);
        drawn.push((label, ends));
    }
    canvas.grain(draws, 22.0);
    (canvas, drawn)
}

fn catheters(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (160, 80);
    let ids = distinct(&mut draws, train + test, |draws| {
        format!("1.2.826.0.1.3680043.8.498.{}", text(draws, b"123456789", 38))
    });
    let mut labels = lines(&mut draws, train);
    labels.extend(lines(&mut draws, test));
    let mut files = PreparedFiles::default();
    let id_name = "StudyInstanceUID";
    let header = [id_name].into_iter().chain(LINES).chain(["PatientID"]);
    let mut table = CsvRows::new(header);
    let scored: Vec<&str> = [id_name].into_iter().chain(LINES[..SCORED].iter().copied()).collect();
    let mut answers = CsvRows::new(&scored);
    let mut annotations = CsvRows::new([id_name, "label", "data"]);
    for (row, (id, labels)) in ids.iter().zip(&labels).enumerate() {
        let (picture, drawn) = chest(&mut draws, labels);
        let patient = hex(&mut draws, 9);
        let mut cells = vec![id.as_str()];
        cells.extend(labels.iter().map(|label| if *label { "1" } else { "0" }));
        let folder = if row < train {
            cells.push(&patient);
            table.row(&cells);
            for (label, ends) in drawn {
                let points = ends.map(|[x, y]| format!("[{x:.0}, {y:.0}]")).join(", ");
                annotations.row([id.as_str(), LINES[label], &format!("[{points}]")]);
            }
            "train"
        } else {
            answers.row(&cells[..=SCORED]);
            "test"
        };
        files.public(format!("{folder}/{id}.jpg"), picture.jpeg(Channels::Grey));
    }
    files.public("train.csv", table.bytes());
    files.public("train_annotations.csv", annotations.bytes());
    files.public("sample_submission.csv", constant_rows(&scored, &ids[train..], &["0"; SCORED]));
    files.private("test.csv", answers.bytes());
    files
}
