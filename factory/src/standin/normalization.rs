//! Sentences of tokens as they are written, and as they are read aloud.

use super::archive::stored;
use super::files::PreparedFiles;
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use std::fmt::Write as _;
use tasks::stream::Stream;

/// How is the token read in English?
pub(super) const ENGLISH: StandInSource = StandInSource {
    id: "text-normalization-challenge-english-language",
    task: "Each row is a token of a sentence. Predict how it is read aloud: words as they stand, \
           numbers, dates and measures in words.",
    evaluation: "Share of tokens whose reading is exact.",
    files: &[
        (
            "en_train.csv.zip",
            "`en_train.csv`: `sentence_id`, `token_id`, `class`, `before`, `after`",
        ),
        ("en_test_2.csv.zip", "`en_test_2.csv`: `sentence_id`, `token_id`, `before`"),
        (
            "en_sample_submission_2.csv.zip",
            "`en_sample_submission_2.csv`: `id`, which is `<sentence_id>_<token_id>`, and `after`",
        ),
    ],
    differences: &["few kinds of tokens, and numbers below a hundred", "sentences mean nothing"],
    make: |stream| normalization(stream, &EN),
};

/// How is the token read in Russian?
pub(super) const RUSSIAN: StandInSource = StandInSource {
    id: "text-normalization-challenge-russian-language",
    files: &[
        (
            "ru_train.csv.zip",
            "`ru_train.csv`: `sentence_id`, `token_id`, `class`, `before`, `after`",
        ),
        ("ru_test_2.csv.zip", "`ru_test_2.csv`: `sentence_id`, `token_id`, `before`"),
        (
            "ru_sample_submission_2.csv.zip",
            "`ru_sample_submission_2.csv`: `id`, which is `<sentence_id>_<token_id>`, and `after`",
        ),
    ],
    differences: &[
        "few kinds of tokens, and numbers below a hundred, in the nominative alone",
        "sentences mean nothing",
    ],
    make: |stream| normalization(stream, &RU),
    ..ENGLISH
};

/// What is written and read in a language.
struct Language {
    prefix: &'static str,
    words: [&'static str; 24],
    below_twenty: [&'static str; 20],
    tens: [&'static str; 8],
    months: [&'static str; 6],
    /// Days 1 to 12 as they are read in a date.
    days: [&'static str; 12],
    /// Units as they are written and as they are read.
    units: [[&'static str; 2]; 3],
    letters: [[&'static str; 2]; 4],
    /// Whether a day is read before its month, with nothing between.
    joint: [&'static str; 3],
    hundredth: &'static str,
}

const EN: Language = Language {
    prefix: "en",
    words: [
        "the", "old", "bridge", "over", "a", "river", "was", "opened", "by", "mayor", "and", "in",
        "station", "near", "town", "has", "trains", "every", "hour", "nan", "Museum", "of",
        "glass", "is",
    ],
    below_twenty: [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ],
    tens: ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    months: ["january", "march", "may", "july", "september", "november"],
    days: [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
        "tenth", "eleventh", "twelfth",
    ],
    units: [["km", "kilometers"], ["kg", "kilograms"], ["%", "percent"]],
    letters: [["UN", "u n"], ["BBC", "b b c"], ["USA", "u s a"], ["NA", "n a"]],
    joint: ["the ", " of ", ""],
    hundredth: "o o ",
};

const RU: Language = Language {
    prefix: "ru",
    words: [
        "старый",
        "мост",
        "через",
        "реку",
        "был",
        "открыт",
        "в",
        "городе",
        "и",
        "на",
        "станции",
        "у",
        "леса",
        "поезд",
        "каждый",
        "час",
        "Музей",
        "стекла",
        "nan",
        "это",
        "дом",
        "новый",
        "с",
        "садом",
    ],
    below_twenty: [
        "ноль",
        "один",
        "два",
        "три",
        "четыре",
        "пять",
        "шесть",
        "семь",
        "восемь",
        "девять",
        "десять",
        "одиннадцать",
        "двенадцать",
        "тринадцать",
        "четырнадцать",
        "пятнадцать",
        "шестнадцать",
        "семнадцать",
        "восемнадцать",
        "девятнадцать",
    ],
    tens: [
        "двадцать",
        "тридцать",
        "сорок",
        "пятьдесят",
        "шестьдесят",
        "семьдесят",
        "восемьдесят",
        "девяносто",
    ],
    months: ["января", "марта", "мая", "июля", "сентября", "ноября"],
    days: [
        "первое",
        "второе",
        "третье",
        "четвертое",
        "пятое",
        "шестое",
        "седьмое",
        "восьмое",
        "девятое",
        "десятое",
        "одиннадцатое",
        "двенадцатое",
    ],
    units: [["км", "километров"], ["кг", "килограмм"], ["%", "процентов"]],
    letters: [["ООН", "о о н"], ["СССР", "с с с р"], ["США", "с ш а"], ["NA", "n a"]],
    joint: ["", " ", ""],
    hundredth: "ноль ноль ",
};

/// Tokens of the halves, at least; the last sentence is written to its end.
const TRAIN: usize = 6000;
const TEST: usize = 1500;

/// A token: its class, how it is written and how it is read.
struct SpokenToken {
    class: &'static str,
    before: String,
    after: String,
}

impl SpokenToken {
    fn new(class: &'static str, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { class, before: before.into(), after: after.into() }
    }
}

impl Language {
    /// A number below a hundred in words.
    fn number(&self, value: usize) -> String {
        match (value / 10, value % 10) {
            (0 | 1, _) => self.below_twenty[value].to_owned(),
            (tens, 0) => self.tens[tens - 2].to_owned(),
            (tens, ones) => format!("{} {}", self.tens[tens - 2], self.below_twenty[ones]),
        }
    }

    fn token(&self, draws: &mut Draws) -> SpokenToken {
        // Words are read as they stand; one token in six is not a word.
        match draws.weighted(&[30.0, 2.0, 1.5, 1.0, 1.0, 0.5]) {
            0 => {
                let word = *draws.pick(&self.words);
                SpokenToken::new("PLAIN", word, word)
            }
            1 => {
                let value = draws.whole(1, 99);
                SpokenToken::new("CARDINAL", value.to_string(), self.number(value))
            }
            2 => {
                let (day, month) = (draws.whole(0, 11), *draws.pick(&self.months));
                let [front, middle, end] = self.joint;
                let after = format!("{front}{}{middle}{month}{end}", self.days[day]);
                SpokenToken::new("DATE", format!("{} {month}", day + 1), after)
            }
            3 => {
                let (value, [unit, reading]) = (draws.whole(11, 19), *draws.pick(&self.units));
                let after = format!("{} {reading}", self.number(value));
                SpokenToken::new("MEASURE", format!("{value} {unit}"), after)
            }
            4 => {
                let [before, after] = *draws.pick(&self.letters);
                SpokenToken::new("LETTERS", before, after)
            }
            _ => {
                let value = draws.whole(1, 9);
                let after = format!("{}{}", self.hundredth, self.below_twenty[value]);
                SpokenToken::new("DIGIT", format!("00{value}"), after)
            }
        }
    }

    /// A sentence, with a full stop at its end.
    fn sentence(&self, draws: &mut Draws) -> Vec<SpokenToken> {
        let mut tokens: Vec<SpokenToken> =
            (0..draws.whole(6, 14)).map(|_| self.token(draws)).collect();
        tokens.push(SpokenToken::new("PUNCT", ".", "."));
        tokens
    }

    /// Sentences with at least so many tokens in all.
    fn sentences(&self, draws: &mut Draws, tokens: usize) -> Vec<Vec<SpokenToken>> {
        let (mut sentences, mut count) = (Vec::new(), 0);
        while count < tokens {
            let sentence = self.sentence(draws);
            count += sentence.len();
            sentences.push(sentence);
        }
        sentences
    }
}

/// A text in quotation marks, as all texts of these tables are.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn normalization(stream: Stream, language: &Language) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let mut train = "\"sentence_id\",\"token_id\",\"class\",\"before\",\"after\"\n".to_owned();
    for (sentence, tokens) in language.sentences(&mut draws, TRAIN).iter().enumerate() {
        for (place, token) in tokens.iter().enumerate() {
            let [class, before, after] = [token.class, &token.before, &token.after].map(quoted);
            let _ = writeln!(train, "{sentence},{place},{class},{before},{after}");
        }
    }
    let mut test = "\"sentence_id\",\"token_id\",\"before\"\n".to_owned();
    let mut sample = "\"id\",\"after\"\n".to_owned();
    let mut answers = sample.clone();
    for (sentence, tokens) in language.sentences(&mut draws, TEST).iter().enumerate() {
        for (place, token) in tokens.iter().enumerate() {
            let (before, after) = (quoted(&token.before), quoted(&token.after));
            let _ = writeln!(test, "{sentence},{place},{before}");
            let _ = writeln!(sample, "\"{sentence}_{place}\",{before}");
            let _ = writeln!(answers, "\"{sentence}_{place}\",{after}");
        }
    }
    let mut files = PreparedFiles::default();
    for (name, text) in [("train", &train), ("test_2", &test), ("sample_submission_2", &sample)] {
        let path = format!("{}_{name}.csv", language.prefix);
        files.public(format!("{path}.zip"), stored([(path.as_str(), text.as_bytes())]));
    }
    files.private("sample_submission.csv", sample);
    files.private("answers.csv", answers);
    files
}
