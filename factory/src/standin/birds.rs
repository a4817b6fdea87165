//! Recordings of invented birds, one tone for each species.

use super::canvas::{Canvas, Channels};
use super::classes;
use super::csv_rows::CsvRows;
use super::files::PreparedFiles;
use super::names::{distinct, text};
use super::sound::{self, Glide};
use super::source::StandInSource;
use crate::numeric::draws::{Draws, floor};
use std::fmt::Write as _;
use tasks::stream::Stream;

/// Which birds are heard?
pub(super) const BIRDS: StandInSource = StandInSource {
    id: "mlsp-2013-birds",
    task: "Each recording lasts two seconds. A bird of each of 19 species sings a tone of its own. \
           Predict the probability that a species is heard, for each test recording and species.",
    evaluation: "Area under the ROC curve over all pairs of a recording and a species.",
    files: &[
        ("essential_data/CVfolds_2.txt", "`rec_id` and `fold`: 0 for training, 1 for test"),
        ("essential_data/rec_id2filename.txt", "`rec_id` and `filename`, without its ending"),
        (
            "essential_data/rec_labels_test_hidden.txt",
            "`rec_id`, then the numbers of its species; `?` for test recordings",
        ),
        ("essential_data/species_list.txt", "`class_id`, `code`, `species`"),
        ("essential_data/src_wavs/", "recordings, 16 kHz, one channel"),
        ("supplemental_data/spectrograms/", "a picture per recording, low tones at the bottom"),
        ("supplemental_data/filtered_spectrograms/", "the same without noise"),
        ("supplemental_data/segmentation_examples/", "where tones are, for five recordings"),
        ("supplemental_data/supervised_segmentation/", "where tones are, for all recordings"),
        (
            "supplemental_data/histogram_of_segments.txt",
            "`rec_id` and how many segments there are in each of eight bands",
        ),
        ("supplemental_data/segment_features.txt", "`rec_id`, the segment, then its features"),
        (
            "supplemental_data/segment_rectangles.txt",
            "`rec_id`, the segment, then first and last column, lowest and highest row",
        ),
        ("supplemental_data/segment_clusters.bmp", "an overview of bands"),
        ("supplemental_data/segment_mosaic.bmp", "an overview of segments"),
        (
            "sample_submission.csv",
            "`Id`, which is 100 times `rec_id` and the species, and `Probability`",
        ),
    ],
    differences: &[
        "recordings last 2 seconds, not 10",
        "songs are tones, one for each species",
        "pictures and features of segments follow from the tones, not from the sound",
        "features are fewer",
    ],
    make: birds,
};

const RATE: u32 = 16_000;
const SECONDS: f64 = 2.0;
const TRAIN: usize = 32;
const TEST: usize = 16;
/// Spectrograms in pixels, across and down; from 0 to half the rate.
const ACROSS: usize = 125;
const DOWN: usize = 64;
const BANDS: usize = 8;
/// Recordings with an example of a segmentation.
const EXAMPLES: usize = 5;

/// The tones of a species, in hertz.
fn tone(species: usize) -> f64 {
    900.0 + 340.0 * species as f64
}

/// A song in a recording, and whose it is.
struct Song {
    species: usize,
    tone: Glide,
}

impl Song {
    fn new(draws: &mut Draws, species: usize) -> Self {
        let duration = draws.between(0.3, 0.7);
        let hertz = tone(species) + draws.between(-30.0, 30.0);
        let tone = Glide {
            start: draws.between(0.0, SECONDS - duration),
            duration,
            hertz: [hertz, hertz + draws.between(-40.0, 40.0)],
            level: draws.between(0.05, 0.16),
        };
        Self { species, tone }
    }

    /// Column and row of the upper left pixel in a spectrogram, then columns and rows.
    fn rectangle(&self) -> [usize; 4] {
        let column = |seconds: f64| floor(seconds / SECONDS * ACROSS as f64);
        let height = self.tone.hertz[0] / f64::from(RATE / 2) * DOWN as f64;
        let row = (DOWN - 1).saturating_sub(floor(height));
        [column(self.tone.start), row.saturating_sub(1), column(self.tone.duration).max(1), 3]
    }

    fn band(&self) -> usize {
        floor(self.tone.hertz[0] / f64::from(RATE / 2) * BANDS as f64).min(BANDS - 1)
    }
}

/// A picture with a rectangle of that grey where each song is.
fn picture(songs: &[Song], ground: f64, grey: f64) -> Canvas {
    let mut canvas = Canvas::new(ACROSS, DOWN, [ground; 3]);
    for song in songs {
        let [column, row, columns, rows] = song.rectangle().map(|side| side as f64);
        canvas.rectangle([column, row], [columns, rows], [grey; 3]);
    }
    canvas
}

/// Which species are heard: none to four, and each at least once in every six recordings.
fn heard(draws: &mut Draws, recordings: usize, species: usize) -> Vec<Vec<usize>> {
    let mut heard: Vec<Vec<usize>> = vec![Vec::new(); recordings];
    for bird in 0..species {
        for _ in 0..recordings.div_ceil(6) {
            let place = draws.whole(0, recordings - 1);
            if heard[place].len() < 4 && !heard[place].contains(&bird) {
                heard[place].push(bird);
            }
        }
    }
    for birds in &mut heard {
        birds.sort_unstable();
    }
    heard
}

fn birds(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let species = classes::birds();
    let mut is_test: Vec<bool> = (0..TRAIN + TEST).map(|recording| recording < TEST).collect();
    draws.shuffle(&mut is_test);
    let names = distinct(&mut draws, TRAIN + TEST, |draws| {
        format!(
            "PC{}_20310{}1_06{}_0010",
            draws.whole(1, 18),
            draws.whole(5, 8),
            text(draws, b"012345", 4)
        )
    });
    let (train, test) =
        (heard(&mut draws, TRAIN, species.len()), heard(&mut draws, TEST, species.len()));
    let (mut train, mut test) = (train.into_iter(), test.into_iter());

    let mut files = PreparedFiles::default();
    let (mut folds, mut file_names) =
        (CsvRows::new(["rec_id", "fold"]), CsvRows::new(["rec_id", "filename"]));
    let mut labels = "rec_id,[labels]\n".to_owned();
    // The competition's preparation gives all three the same header.
    let mut tables = [0; 3].map(|_| "rec_id,[histogram of segment features]\n".to_owned());
    let header = ["Id", "Probability"];
    let (mut sample, mut answers) = (CsvRows::new(header), CsvRows::new(header));
    let mut overview = Vec::new();
    for (recording, (name, is_test)) in names.iter().zip(is_test).enumerate() {
        let id = recording.to_string();
        folds.row([id.as_str(), if is_test { "1" } else { "0" }]);
        file_names.row([&id, name]);
        let birds = if is_test { test.next() } else { train.next() }.unwrap_or_default();
        let list = birds.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let _ = match (is_test, list.is_empty()) {
            (true, _) => writeln!(labels, "{id},?"),
            (false, true) => writeln!(labels, "{id}"),
            (false, false) => writeln!(labels, "{id},{list}"),
        };
        for bird in (0..species.len()).filter(|_| is_test) {
            let pair = (100 * recording + bird).to_string();
            sample.row([pair.as_str(), "0"]);
            answers.row([pair.as_str(), if birds.contains(&bird) { "1" } else { "0" }]);
        }
        let songs: Vec<Song> = birds.iter().map(|bird| Song::new(&mut draws, *bird)).collect();
        let samples = sound::noise(&mut draws, floor(SECONDS * f64::from(RATE)), 0.05);
        let samples = songs.iter().fold(samples, |mut samples, song| {
            sound::add(&mut samples, f64::from(RATE), song.tone);
            samples
        });
        files.public(format!("essential_data/src_wavs/{name}.wav"), sound::wav(&samples, RATE));
        write_segments(&mut tables, recording, &songs);
        let filtered = picture(&songs, 0.0, 200.0);
        let mut noisy = picture(&songs, 60.0, 200.0);
        noisy.grain(&mut draws, 40.0);
        let mask = picture(&songs, 0.0, 255.0).bmp(Channels::Grey);
        let mut add = |folder: &str, bytes: Vec<u8>| {
            files.public(format!("supplemental_data/{folder}/{name}.bmp"), bytes);
        };
        add("spectrograms", noisy.bmp(Channels::Grey));
        add("filtered_spectrograms", filtered.bmp(Channels::Grey));
        if recording < EXAMPLES {
            add("segmentation_examples", mask.clone());
        }
        add("supervised_segmentation", mask);
        overview.extend(songs);
    }
    let mut list = CsvRows::new(["class_id", "code", "species"]);
    for (number, species) in species.iter().enumerate() {
        let (code, name) = species.split_once(',').unwrap_or((species, ""));
        list.row([&number.to_string(), code, name]);
    }
    files.public("essential_data/species_list.txt", list.bytes());
    files.public("essential_data/CVfolds_2.txt", folds.bytes());
    files.public("essential_data/rec_id2filename.txt", file_names.bytes());
    files.public("essential_data/rec_labels_test_hidden.txt", labels);
    let [histogram, features, rectangles] = tables;
    files.public("supplemental_data/histogram_of_segments.txt", histogram);
    files.public("supplemental_data/segment_features.txt", features);
    files.public("supplemental_data/segment_rectangles.txt", rectangles);
    let mosaic = picture(&overview, 0.0, 255.0).bmp(Channels::Grey);
    files.public("supplemental_data/segment_mosaic.bmp", mosaic);
    overview.sort_by_key(|song| song.species);
    let clusters = picture(&overview, 30.0, 120.0).bmp(Channels::Grey);
    files.public("supplemental_data/segment_clusters.bmp", clusters);
    files.public("sample_submission.csv", sample.bytes());
    files.private("answers.csv", answers.bytes());
    files
}

/// Adds what there is to say of a recording's segments: histogram, features, rectangles.
fn write_segments(tables: &mut [String; 3], recording: usize, songs: &[Song]) {
    let mut histogram = [0; BANDS];
    for song in songs {
        histogram[song.band()] += 1;
    }
    let counts = histogram.map(|count: usize| count.to_string()).join(",");
    let _ = writeln!(tables[0], "{recording},{counts}");
    for (segment, song) in songs.iter().enumerate() {
        let [hertz, to] = song.tone.hertz;
        let seconds = song.tone.duration;
        let _ = writeln!(tables[1], "{recording},{segment},{hertz:.1},{to:.1},{seconds:.3}");
        let [column, row, columns, rows] = song.rectangle();
        let [right, bottom] = [column + columns - 1, row + rows - 1];
        let _ = writeln!(tables[2], "{recording},{segment},{column},{right},{row},{bottom}");
    }
}
