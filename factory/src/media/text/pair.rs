//! Two notes about one thing each: the same thing or not.
//!
//! Details that agree are often said with different words, details that differ with similar
//! ones, so that what the notes share in words says little about what they share in matter.

use super::blemish::{self, BARE, DISTRACTORS, TYPOS};
use super::lexicon::Class;
use super::pair_reading;
use super::wording::{Dialect, capitalised, sentences};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};

/// Two texts that may mean the same.
#[derive(Debug)]
pub struct Pair;

/// What [`Pair`] renders, in order.
const STATISTICS: [Statistic; 6] = [
    Statistic {
        name: "word_overlap",
        low: 0.0,
        high: 1.0,
        decimals: 2,
        reach: Reach::Plain,
        means: "the share of the describing words that both notes use",
    },
    Statistic {
        name: "length_ratio",
        low: 0.75,
        high: 1.33,
        decimals: 2,
        reach: Reach::Plain,
        means: "words of the second note over words of the first",
    },
    Statistic {
        name: "number_gap",
        low: 0.0,
        high: 0.5,
        decimals: 2,
        reach: Reach::Generic,
        means: "the difference of the two counts over the larger one",
    },
    Statistic {
        name: "shared_details",
        low: 0.0,
        high: 6.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "in how many of six details the notes mean the same",
    },
    Statistic {
        name: "reordering",
        low: 0.0,
        high: 1.0,
        decimals: 2,
        reach: Reach::Hidden,
        means: "the share of pairs of details that the notes give in opposite order",
    },
    Statistic {
        name: "time_shift",
        low: -90.0,
        high: 90.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "minutes from the finding in the first note to the finding in the second",
    },
];

/// The details that both notes give, and how.
const DETAILS: [(Class, &str); 6] = [
    (Class::Role, "the $detail brought|sent it"),
    (Class::Weekday, "it came|went out on $detail"),
    (Class::Shift, "it was $detail by then"),
    (Class::Place, "it stood|lay in the $detail"),
    (Class::Colour, "the cover|edge was $detail"),
    (Class::Material, "the frame|body was $detail"),
];

const OPENING: &str = "this note|entry is about a $noun";
/// The count and the time that matter, with a number and a time that do not.
const FACTS: [&str; 4] = [
    "they $tally $quantity parts|bits",
    "box|row $other was meant",
    "it was $sighting at $time",
    "this was typed|sent at $clock",
];
const REMARKS: &str = "it looked $remark $remark and $remark";
/// Clauses of [`REMARKS`] in a note, and remarks in each.
const REMARK_CLAUSES: usize = 4;
const REMARKS_EACH: usize = 3;
const REMARK_COUNT: usize = REMARK_CLAUSES * REMARKS_EACH;

/// Phrases that lengthen a note, by their number of words.
const PADDING: [(usize, &str); 14] = [
    (1, "today"),
    (1, "again"),
    (1, "too"),
    (2, "as agreed"),
    (2, "in short"),
    (2, "so far"),
    (3, "for the moment"),
    (3, "to be sure"),
    (3, "more or less"),
    (4, "as it turned out"),
    (4, "if all went well"),
    (4, "as is the rule"),
    (5, "as far as we know"),
    (5, "for what it is worth"),
];
/// Words of padding in both notes together: both lengths vary, their sum does not.
const PADDING_WORDS: f64 = 44.0;

const LINKS: [&str; 3] = [";", "and", "while"];

/// The classes of the details, for the reader.
pub(super) fn detail_classes() -> impl Iterator<Item = Class> {
    DETAILS.iter().map(|(class, _)| *class)
}

/// What one of the notes says.
struct Note {
    /// Indices into [`DETAILS`] in the order of their mention.
    order: Vec<usize>,
    /// The member of each detail's class, in the order of [`DETAILS`].
    details: Vec<usize>,
    remarks: Vec<usize>,
    quantity: usize,
    minutes: usize,
}

/// An order of `length` things in which `inversions` pairs stand in reverse.
fn permutation(length: usize, inversions: usize, draws: &mut Draws) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    for _ in 0..inversions {
        let ascents: Vec<usize> = (1..length).filter(|i| order[i - 1] < order[*i]).collect();
        if ascents.is_empty() {
            break;
        }
        let place = *draws.pick(&ascents);
        order.swap(place - 1, place);
    }
    order
}

/// Both notes with these statistics.
fn notes(values: &[f64], draws: &mut Draws) -> [Note; 2] {
    let value = |index: usize| {
        let Statistic { low, high, .. } = STATISTICS[index];
        values.get(index).map_or(low, |value| value.clamp(low, high))
    };
    let mut order: Vec<usize> = (0..DETAILS.len()).collect();
    draws.shuffle(&mut order);
    let pairs = (DETAILS.len() * (DETAILS.len() - 1) / 2) as f64;
    let inverted = permutation(DETAILS.len(), floor((value(4) * pairs).round()), draws);

    let shared = floor(value(3).round());
    let mut same: Vec<bool> = (0..DETAILS.len()).map(|index| index < shared).collect();
    draws.shuffle(&mut same);
    let mut details = [Vec::new(), Vec::new()];
    for ((class, _), same) in DETAILS.iter().zip(same) {
        let members = class.concepts().len();
        let first = draws.whole(0, members - 1);
        let shift = if same { 0 } else { draws.whole(1, members - 1) };
        details[0].push(first);
        details[1].push((first + shift) % members);
    }

    let common = floor((value(0) * REMARK_COUNT as f64).round());
    let mut remarks: Vec<usize> = (0..Class::Remark.concepts().len()).collect();
    draws.shuffle(&mut remarks);
    // The first `common` of both are the same, the others are used once.
    let own = REMARK_COUNT - common;
    let mut second = remarks[..common].to_vec();
    second.extend(&remarks[REMARK_COUNT..REMARK_COUNT + own]);
    let mut first = remarks[..REMARK_COUNT].to_vec();
    draws.shuffle(&mut first);
    draws.shuffle(&mut second);

    let large = draws.whole(60, 99);
    let small = floor((large as f64 * (1.0 - value(2))).round());
    let quantities = if draws.chance(0.5) { [large, small] } else { [small, large] };
    let start = draws.between(450.0, 990.0).floor();

    let [own, other] = details;
    let swapped: Vec<usize> = inverted.iter().map(|place| order[*place]).collect();
    let minutes = floor(start + value(5).round());
    [
        Note {
            order,
            details: own,
            remarks: first,
            quantity: quantities[0],
            minutes: floor(start),
        },
        Note { order: swapped, details: other, remarks: second, quantity: quantities[1], minutes },
    ]
}

/// The clauses of a note: details in their order, the rest in between.
fn clauses(note: &Note, noun: &str, dialect: &Dialect, draws: &mut Draws) -> Vec<Vec<String>> {
    let mut rest = FACTS.to_vec();
    rest.resize(FACTS.len() + REMARK_CLAUSES, REMARKS);
    draws.shuffle(&mut rest);
    // `None` stands for the next detail.
    let mut plan: Vec<Option<&str>> = rest.into_iter().map(Some).collect();
    for _ in 0..DETAILS.len() {
        plan.insert(draws.whole(0, plan.len()), None);
    }
    let mut details = note.order.iter();
    let mut remarks = note.remarks.iter();
    let mut clauses = vec![dialect.phrase(OPENING, draws, |_, _| noun.to_owned())];
    for part in plan {
        let detail = if part.is_none() { details.next().copied() } else { None };
        let template = part.or(detail.map(|detail| DETAILS[detail].1)).unwrap_or_default();
        clauses.push(dialect.phrase(template, draws, |slot, draws| match slot {
            "detail" => detail.map_or_else(String::new, |detail| {
                let class = DETAILS[detail].0;
                let word = dialect.word(class, note.details[detail], draws);
                if class == Class::Weekday { capitalised(&word) } else { word }
            }),
            "remark" => {
                let remark = remarks.next().copied().unwrap_or_default();
                dialect.word(Class::Remark, remark, draws)
            }
            "tally" => dialect.word(Class::Tally, 0, draws),
            "sighting" => dialect.word(Class::Sighting, 0, draws),
            "quantity" => dialect.number(note.quantity, draws),
            "other" => draws.whole(10, 40).to_string(),
            "time" => dialect.clock(note.minutes),
            _ => dialect.clock(draws.whole(360, 1080)),
        }));
    }
    clauses
}

/// Lengthens the clauses by that many words.
fn pad(clauses: &mut [Vec<String>], mut missing: usize, draws: &mut Draws) {
    while missing > 0 {
        let place = draws.whole(0, clauses.len() - 1);
        let clause = &mut clauses[place];
        let said = |phrase: &str| clause.last().is_some_and(|last| phrase.ends_with(&**last));
        let short: Vec<&(usize, &str)> =
            PADDING.iter().filter(|(words, phrase)| *words <= missing && !said(phrase)).collect();
        let (words, phrase) = **draws.pick(&short);
        clause.extend(phrase.split(' ').map(str::to_owned));
        missing -= words;
    }
}

fn words(clauses: &[Vec<String>]) -> f64 {
    clauses.iter().map(Vec::len).sum::<usize>() as f64
}

impl ItemReader for Pair {
    fn blemishes(&self) -> &'static [Blemish] {
        &[TYPOS, DISTRACTORS, BARE]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Cells]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        pair_reading::read(bytes)
    }

    fn python(&self) -> &'static str {
        concat!(
            "WORDS = \"\"\"\n",
            include_str!("words.txt"),
            "\"\"\"\n\n",
            include_str!("common.py"),
            "\n\n",
            include_str!("pair.py")
        )
    }
}

impl Medium for Pair {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let dialect = Dialect::new(look);
        let count = Draws::new(look.stream.child("form")).whole(4, 7);
        let noun = dialect.noun(draws);
        let notes = notes(values, draws);
        let texts = notes.map(|note| {
            let clauses = clauses(&note, &noun, &dialect, draws);
            (clauses, blemish::asides(look, &dialect, draws))
        });
        let [first, second] = texts;
        // Padding brings the ratio about; the few linking words that follow hardly move it.
        let ratio = values.get(1).map_or(1.0, |v| v.clamp(STATISTICS[1].low, STATISTICS[1].high));
        let own = words(&first.0) + words(&first.1);
        let other = words(&second.0) + words(&second.1);
        let total = own + other + PADDING_WORDS;
        let padding = (total / (1.0 + ratio) - own).round().clamp(0.0, PADDING_WORDS);
        let mut line = |(mut clauses, asides): (Vec<_>, Vec<_>), padding: f64| {
            pad(&mut clauses, floor(padding), draws);
            let mut sentences = sentences(clauses, count, &LINKS, draws);
            for aside in asides {
                sentences.insert(draws.whole(1, sentences.len()), aside);
            }
            blemish::written(sentences, look, draws)
        };
        let first = line(first, padding);
        let second = line(second, PADDING_WORDS - padding);
        [first, second].join("\n").into_bytes()
    }
}
