//! Comments with made-up words: is one insulting, and in which way?

use super::csv_rows::{CsvRows, constant_rows};
use super::files::PreparedFiles;
use super::names::{distinct, flags, hex, sentence};
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use std::collections::BTreeSet;
use tasks::stream::Stream;

/// Does the comment insult whom it answers?
pub(super) const INSULTS: StandInSource = StandInSource {
    id: "detecting-insults-in-social-commentary",
    task: "Each row is a comment of ordinary and made-up words. Some made-up words, said to the \
           reader, count as an insult. Predict the probability that a comment is one. The comment \
           itself is the key of a row.",
    evaluation: "Area under the ROC curve.",
    files: &[
        ("train.csv", "`Insult` (0 or 1), `Date` (`YYYYMMDDhhmmssZ`, or nothing), `Comment`"),
        ("test.csv", "`Date`, `Comment`"),
        ("sample_submission_null.csv", "`Insult`, a probability, `Date`, `Comment`"),
    ],
    differences: &["insulting words are made up", "no comment occurs twice"],
    make: insults,
};

/// In which ways is the comment toxic?
pub(super) const TOXICITY: StandInSource = StandInSource {
    id: "jigsaw-toxic-comment-classification-challenge",
    task: "Each row is a comment of ordinary and made-up words. Made-up words of six groups stand for \
           six kinds of toxicity. Predict a probability for each kind.",
    evaluation: "Mean of the areas under the ROC curves of the six columns. One test row in five \
                 does not count.",
    files: &[
        (
            "train.csv",
            "`id`, `comment_text`, `toxic`, `severe_toxic`, `obscene`, `threat`, `insult`, \
             `identity_hate` (each 0 or 1)",
        ),
        ("test.csv", "`id`, `comment_text`"),
        ("sample_submission.csv", "`id` and the six columns as probabilities"),
    ],
    differences: &["toxic words are made up"],
    make: toxicity,
};

const PLAIN: [&str; 60] = [
    "about", "after", "again", "always", "answer", "article", "because", "before", "better",
    "between", "book", "bread", "bridge", "change", "city", "coffee", "country", "evening",
    "everyone", "film", "garden", "good", "history", "house", "idea", "later", "letter", "listen",
    "little", "maybe", "minute", "morning", "music", "never", "number", "often", "other", "page",
    "paper", "people", "picture", "please", "question", "rather", "reason", "river", "school",
    "simple", "source", "story", "street", "table", "think", "thanks", "today", "train", "water",
    "weather", "window", "winter",
];

/// Made-up words, five for each of six groups.
const MARKED: [[&str; 5]; 6] = [
    ["grumblewick", "snorfle", "dunderplop", "blathergast", "wobblenut"],
    ["krazzabane", "vorplekin", "zundergrax", "morkelspit", "thrugmaw"],
    ["pifflemuck", "splodgery", "quaggleslop", "fudrick", "gloopish"],
    ["bewarlug", "shudderoon", "crumplethee", "stompelbin", "frightenoy"],
    ["noodlepate", "clodwort", "bumblethump", "fribbler", "ninnyhock"],
    ["outlandrel", "farfolkish", "strangebury", "notoursy", "hillfoll"],
];

/// Between `least` and `most` ordinary words.
fn plain(draws: &mut Draws, least: usize, most: usize) -> Vec<&'static str> {
    (0..draws.whole(least, most)).map(|_| *draws.pick(&PLAIN)).collect()
}

/// Puts a word at a random place.
fn insert(draws: &mut Draws, words: &mut Vec<&'static str>, word: &'static str) {
    let place = draws.whole(0, words.len());
    words.insert(place, word);
}

fn insulting(draws: &mut Draws, is_insult: bool) -> String {
    let mut words = plain(draws, 6, 16);
    // One insult in twelve is told by no word, and one harmless comment in twelve has one.
    if is_insult != draws.chance(1.0 / 12.0) {
        let group = draws.pick(&MARKED);
        let word = *draws.pick(group);
        insert(draws, &mut words, word);
        if draws.chance(0.6) {
            words.splice(0..0, ["you", "are", "a"]);
        }
    }
    let half = words.len() / 2;
    let joint = *draws.pick(&[" ", ", ", ",\n", ". \"Well\", "]);
    // The text stands in quotation marks of its own, as in the competition.
    format!("\"{}{joint}{}\"", words[..half].join(" "), sentence(&words[half..]))
}

fn date(draws: &mut Draws) -> String {
    if draws.chance(0.15) {
        return String::new();
    }
    let (month, day) = (draws.whole(1, 12), draws.whole(1, 28));
    let [hour, minute, second] = [23, 59, 59].map(|most| draws.whole(0, most));
    format!("2031{month:02}{day:02}{hour:02}{minute:02}{second:02}Z")
}

fn insults(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (300, 150);
    let mut labels = flags(&mut draws, train, 0.27);
    labels.extend(flags(&mut draws, test, 0.27));
    let mut taken = BTreeSet::new();
    let mut files = PreparedFiles::default();
    let mut table = CsvRows::new(["Insult", "Date", "Comment"]);
    let mut test_table = CsvRows::new(["Date", "Comment"]);
    let mut sample = CsvRows::new(["Insult", "Date", "Comment"]);
    let mut gold = CsvRows::new(["Insult", "Date", "Comment"]);
    let mut answers = CsvRows::new(["Insult", "Date", "Comment", "Usage"]);
    for (row, is_insult) in labels.iter().enumerate() {
        let mut comment = insulting(&mut draws, *is_insult);
        while !taken.insert(comment.clone()) {
            comment = insulting(&mut draws, *is_insult);
        }
        let date = date(&mut draws);
        let insult = if *is_insult { "1" } else { "0" };
        if row < train {
            table.row([insult, &date, &comment]);
        } else {
            let usage = if row % 2 == 0 { "PublicTest" } else { "PrivateTest" };
            test_table.row([&date, &comment]);
            sample.row(["0", &date, &comment]);
            gold.row([insult, &date, &comment]);
            answers.row([insult, &date, &comment, usage]);
        }
    }
    files.public("train.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission_null.csv", sample.bytes());
    files.private("test.csv", answers.bytes());
    files.private("gold_submission.csv", gold.bytes());
    files
}

const KINDS: [&str; 6] = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"];

/// The kinds of `rows` comments: half of the toxic ones are toxic in further ways.
fn kinds(draws: &mut Draws, rows: usize) -> Vec<[bool; 6]> {
    let columns = [0.25, 0.06, 0.1, 0.06, 0.1, 0.06].map(|share| flags(draws, rows, share));
    (0..rows)
        .map(|row| {
            let mut labels = [0, 1, 2, 3, 4, 5].map(|kind: usize| columns[kind][row]);
            labels[0] = labels.contains(&true);
            labels
        })
        .collect()
}

fn toxic(draws: &mut Draws, labels: [bool; 6]) -> String {
    let mut words = plain(draws, 8, 24);
    for (group, _) in MARKED.iter().zip(labels).filter(|(_, has)| *has) {
        // Now and then nothing tells it.
        for _ in 0..if draws.chance(0.1) { 0 } else { draws.whole(1, 2) } {
            let word = *draws.pick(group);
            insert(draws, &mut words, word);
        }
    }
    if draws.chance(0.05) {
        let group = draws.pick(&MARKED);
        let word = *draws.pick(group);
        insert(draws, &mut words, word);
    }
    let half = words.len() / 2;
    let joint = *draws.pick(&[" ", ", ", "\n", ": \"no\", "]);
    format!("{}{joint}{}", words[..half].join(" "), sentence(&words[half..]))
}

fn toxicity(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, counted, silent) = (400, 240, 60);
    let ids = distinct(&mut draws, train + counted + silent, |draws| hex(draws, 16));
    let mut labels = kinds(&mut draws, train);
    labels.extend(kinds(&mut draws, counted));
    labels.extend(kinds(&mut draws, silent));
    // Rows that do not count stand among those that do.
    let mut order: Vec<usize> = (train..ids.len()).collect();
    draws.shuffle(&mut order);
    let header = || ["id"].into_iter().chain(KINDS);
    let mut table = CsvRows::new(["id", "comment_text"].into_iter().chain(KINDS));
    let mut test_table = CsvRows::new(["id", "comment_text"]);
    let mut answers = CsvRows::new(header());
    let numbers = |labels: &[bool; 6]| labels.map(|label| if label { "1" } else { "0" });
    for row in 0..train {
        let comment = toxic(&mut draws, labels[row]);
        table.row([ids[row].as_str(), &comment].into_iter().chain(numbers(&labels[row])));
    }
    for row in &order {
        let comment = toxic(&mut draws, labels[*row]);
        test_table.row([&ids[*row], &comment]);
        let is_counted = *row < train + counted;
        let cells = if is_counted { numbers(&labels[*row]) } else { ["-1"; 6] };
        answers.row([ids[*row].as_str()].into_iter().chain(cells));
    }
    let columns: Vec<&str> = header().collect();
    let test_ids = order.iter().map(|row| &ids[*row]);
    let mut files = PreparedFiles::default();
    files.public("train.csv", table.bytes());
    files.public("test.csv", test_table.bytes());
    files.public("sample_submission.csv", constant_rows(&columns, test_ids, &["0.5"; 6]));
    files.private("test.csv", answers.bytes());
    files
}
