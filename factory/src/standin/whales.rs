//! Recordings of the sea, with or without the rising call of a whale.

use super::aiff;
use super::archive::stored;
use super::csv_rows::{constant_rows, labelled_rows};
use super::files::PreparedFiles;
use super::names::flags;
use super::sound::{self, Glide};
use super::source::StandInSource;
use crate::numeric::draws::{Draws, floor};
use tasks::stream::Stream;

/// Does a right whale call?
pub(super) const WHALES: StandInSource = StandInSource {
    id: "the-icml-2013-whale-challenge-right-whale-redux",
    task: "Each recording is two seconds of noise. In some a tone rises, as the call of a right whale \
           does; in others tones fall or stay. Predict the probability of a rising one.",
    evaluation: "Area under the ROC curve.",
    files: &[
        (
            "train2.zip",
            "`train2/`: recordings as AIFF, 2 kHz; a name ends in `_1.aif` where a whale calls, \
             else in `_0.aif`",
        ),
        ("test2.zip", "`test2/`: recordings without a label"),
        ("sampleSubmission.csv", "`clip` (name of the recording) and `probability`"),
    ],
    differences: &["calls are tones", "recordings in a row have nothing to do with each other"],
    make: whales,
};

const RATE: u16 = 2_000;
const SECONDS: f64 = 2.0;

fn clip(draws: &mut Draws, is_whale: bool) -> Vec<u8> {
    let rate = f64::from(RATE);
    let mut samples = sound::noise(draws, floor(SECONDS * rate), 0.2);
    // A whale's call rises; ships hum, and other animals' calls fall.
    let low = draws.between(80.0, 120.0);
    let high = low + draws.between(90.0, 150.0);
    let start = draws.between(0.1, 0.8);
    let level = draws.between(0.08, 0.25);
    let hertz = match (is_whale, draws.chance(0.5)) {
        (true, _) => [low, high],
        (false, true) => [high, low],
        (false, false) => [low, low],
    };
    sound::add(&mut samples, rate, Glide { start, duration: 1.0, hertz, level });
    aiff::encode(&samples, RATE)
}

/// The time in a clip's name: clips of two seconds, one behind the other from midnight.
fn time(number: usize) -> String {
    let seconds = 15 * number;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("20310328_{hour:02}{minute:02}{second:02}_{:03}s{}ms", number % 60, number % 10)
}

fn whales(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let mut files = PreparedFiles::default();
    let mut train = Vec::new();
    for (number, is_whale) in flags(&mut draws, 200, 0.3).into_iter().enumerate() {
        let name = format!("{}_TRAIN{number}_{}.aif", time(number), u8::from(is_whale));
        train.push((format!("train2/{name}"), clip(&mut draws, is_whale)));
    }
    let labels = flags(&mut draws, 80, 0.3);
    let names = (0..labels.len()).map(|number| format!("{}_Test{number}.aif", time(number)));
    let names: Vec<String> = names.collect();
    let mut test = Vec::new();
    for (name, is_whale) in names.iter().zip(&labels) {
        test.push((format!("test2/{name}"), clip(&mut draws, *is_whale)));
    }
    for (archive, clips) in [("train2.zip", train), ("test2.zip", test)] {
        let members = clips.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
        files.public(archive, stored(members));
    }
    let header = ["clip", "probability"];
    files.public("sampleSubmission.csv", constant_rows(&header, &names, &["0"]));
    let truth = labels.iter().map(|label| u8::from(*label));
    files.private("test.csv", labelled_rows(header, names.iter().zip(truth)));
    files
}
