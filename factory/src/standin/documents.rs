//! Scans of pages with stains, and the clean pages.

use super::canvas::{Canvas, Channels};
use super::csv_rows::CsvRows;
use super::files::PreparedFiles;
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// What did the page look like before it was stained?
pub(super) const DOCUMENTS: StandInSource = StandInSource {
    id: "denoising-dirty-documents",
    task: "Each picture is a page of drawn strokes in grey, blurred and stained. Predict the \
           intensity of each pixel of the clean page.",
    evaluation: "Root mean squared error over all pixels, from 0 (black) to 1 (white).",
    files: &[
        ("train/", "stained pages, `N.png`"),
        ("train_cleaned/", "the same pages, clean"),
        ("test/", "stained pages, `N.png`"),
        (
            "sampleSubmission.csv",
            "`id`, which is `<page>_<row>_<column>` counted from 1, and `value` for each pixel of \
             the test pages",
        ),
    ],
    differences: &["pages are drawn, and of 60 by 48 pixels", "strokes are no letters"],
    make: documents,
};

const WIDTH: usize = 60;
const HEIGHT: usize = 48;
const TRAIN: usize = 8;
const TEST: usize = 4;

/// Lines of short strokes on white.
fn clean(draws: &mut Draws) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, [255.0; 3]);
    for line in 0..4 {
        let y = 7.0 + 11.0 * f64::from(line);
        let mut x = 4.0;
        while x < 54.0 {
            for _ in 0..2 {
                let from = [x + draws.between(0.0, 4.0), y - draws.between(0.0, 4.0)];
                let to = [x + draws.between(0.0, 4.0), y + draws.between(0.0, 4.0)];
                canvas.line(from, to, 1.5, [draws.between(0.0, 40.0); 3]);
            }
            x += if draws.chance(0.2) { 9.0 } else { 6.0 };
        }
    }
    canvas
}

/// The page blurred, in uneven light, with a stain like that of a cup.
fn stained(draws: &mut Draws, page: &Canvas) -> Canvas {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, [0.0; 3]);
    let [x, y] = [draws.between(10.0, 50.0), draws.between(10.0, 38.0)];
    let (radius, width) = (draws.between(10.0, 18.0), draws.between(2.0, 4.0));
    let (slope, dark) = (draws.between(-0.6, 0.6), draws.between(35.0, 75.0));
    let mut places = (0..HEIGHT).flat_map(|row| (0..WIDTH).map(move |column| (row, column)));
    canvas.paint(|px, py, _| {
        let (row, column) = places.next().unwrap_or_default();
        let mut value = 0.6 * page.at(row, column)[0];
        for (down, across) in [(0, 1), (2, 1), (1, 0), (1, 2)] {
            let row = (row + down).saturating_sub(1).min(HEIGHT - 1);
            let column = (column + across).saturating_sub(1).min(WIDTH - 1);
            value += 0.1 * page.at(row, column)[0];
        }
        let distance = libm::sqrt((px - x) * (px - x) + (py - y) * (py - y));
        let ring = libm::fabs(distance - radius) < width;
        let light = 215.0 + slope * (px - 30.0) - if ring { dark } else { 0.0 };
        [value / 255.0 * light; 3]
    });
    canvas.grain(draws, 9.0);
    canvas
}

fn documents(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    // The halves share one row of numbers, as where they were split from one set.
    let mut numbers: Vec<usize> = (1..=TRAIN + TEST).collect();
    draws.shuffle(&mut numbers);
    let mut files = PreparedFiles::default();
    let header = ["id", "value"];
    let (mut sample, mut answers) = (CsvRows::new(header), CsvRows::new(header));
    for (place, number) in numbers.into_iter().enumerate() {
        let page = clean(&mut draws);
        let dirty = stained(&mut draws, &page).png(Channels::Grey);
        if place < TRAIN {
            files.public(format!("train/{number}.png"), dirty);
            files.public(format!("train_cleaned/{number}.png"), page.png(Channels::Grey));
            continue;
        }
        files.public(format!("test/{number}.png"), dirty);
        for (pixel, byte) in page.bytes(Channels::Grey).into_iter().enumerate() {
            let id = format!("{number}_{}_{}", pixel / WIDTH + 1, pixel % WIDTH + 1);
            sample.row([id.as_str(), "1"]);
            answers.row([id.as_str(), &(f64::from(byte) / 255.0).to_string()]);
        }
    }
    files.public("sampleSubmission.csv", sample.bytes());
    files.private("answers.csv", answers.bytes());
    files
}
