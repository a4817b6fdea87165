//! Sentences of three invented authors, who differ in the small words that they like.

use super::csv_rows::{CsvRows, constant_rows, one_hot_rows};
use super::files::PreparedFiles;
use super::names::{distinct, sentence, spread, text};
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// Who wrote the sentence?
pub(super) const AUTHORS: StandInSource = StandInSource {
    id: "spooky-author-identification",
    task: "Each row is a sentence in the manner of one of three invented authors, who go by the \
           competition's abbreviations. They write of the same things and differ in the small words \
           that they like. Predict a probability for each.",
    evaluation: "Multiclass log loss. The probabilities of a row must add up to 1.",
    files: &[
        ("train.csv", "`id`, `text`, `author`"),
        ("test.csv", "`id`, `text`"),
        ("sample_submission.csv", "`id`, and `EAP`, `HPL`, `MWS` as probabilities"),
    ],
    differences: &[
        "no sentence is of a true author; the three abbreviations stand for invented ones",
    ],
    make: authors,
};

const NAMES: [&str; 3] = ["EAP", "HPL", "MWS"];
/// The competition's sample gives every row the shares of its training rows.
const SAMPLE: [&str; 3] = ["0.403493538995863", "0.287808366106543", "0.308698094897594"];

const THINGS: [&str; 36] = [
    "cellar", "candle", "harbour", "letter", "moon", "garden", "tower", "storm", "clock", "raven",
    "stairs", "shadow", "valley", "friend", "stranger", "voice", "window", "forest", "ship",
    "door", "night", "bell", "house", "road", "river", "lamp", "silence", "winter", "mirror",
    "well", "chapel", "field", "dream", "hand", "stone", "fog",
];
const DOINGS: [&str; 20] = [
    "saw",
    "heard",
    "followed",
    "remembered",
    "left",
    "found",
    "feared",
    "watched",
    "crossed",
    "opened",
    "lost",
    "reached",
    "forgot",
    "called",
    "passed",
    "touched",
    "sought",
    "met",
    "heeded",
    "guarded",
];
/// Small words, and how often each author takes them.
const SMALL: [(&str, [f64; 3]); 15] = [
    ("upon", [6.0, 1.0, 2.0]),
    ("indeed", [5.0, 1.0, 1.0]),
    ("however", [4.0, 1.0, 2.0]),
    ("thus", [4.0, 1.0, 1.0]),
    ("old", [1.0, 6.0, 1.0]),
    ("beyond", [1.0, 5.0, 2.0]),
    ("strangely", [1.0, 5.0, 1.0]),
    ("seemed", [2.0, 5.0, 1.0]),
    ("towards", [1.0, 2.0, 5.0]),
    ("dear", [1.0, 1.0, 6.0]),
    ("tender", [1.0, 1.0, 5.0]),
    ("alas", [2.0, 1.0, 4.0]),
    ("and", [4.0, 4.0, 4.0]),
    ("with", [3.0, 3.0, 3.0]),
    ("never", [3.0, 3.0, 3.0]),
];
const PERSONS: [&str; 4] = ["i", "he", "she", "we"];

fn written(draws: &mut Draws, author: usize) -> String {
    let weights = SMALL.map(|(_, weights)| weights[author]);
    let mut words = Vec::new();
    for part in 0..draws.whole(2, 3) {
        if part > 0 {
            words.push(SMALL[draws.weighted(&weights)].0);
        }
        words.push(*draws.pick(&PERSONS));
        words.push(*draws.pick(&DOINGS));
        words.push(SMALL[draws.weighted(&weights)].0);
        words.push("the");
        if draws.chance(0.5) {
            words.push(SMALL[draws.weighted(&weights)].0);
        }
        words.push(*draws.pick(&THINGS));
    }
    sentence(&words)
}

fn authors(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (300, 120);
    let shares = [0.40, 0.29, 0.31];
    let ids =
        distinct(&mut draws, train + test, |draws| format!("id{}", text(draws, b"123456789", 5)));
    let mut truth = spread(&mut draws, train, &shares);
    truth.extend(spread(&mut draws, test, &shares));
    let mut table = CsvRows::new(["id", "text", "author"]);
    let mut test_table = CsvRows::new(["id", "text"]);
    for (row, (id, author)) in ids.iter().zip(&truth).enumerate() {
        let text = written(&mut draws, *author);
        if row < train {
            table.row([id.as_str(), &text, NAMES[*author]]);
        } else {
            test_table.row([id, &text]);
        }
    }
    let columns: Vec<&str> = ["id"].into_iter().chain(NAMES).collect();
    let mut files = PreparedFiles::default();
    files.public("train.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission.csv", constant_rows(&columns, &ids[train..], &SAMPLE));
    let answers = ids[train..].iter().zip(truth[train..].iter().copied());
    files.private("test.csv", one_hot_rows("id", &NAMES, answers));
    files
}
