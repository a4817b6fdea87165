//! A report: findings made and denied, counts, times, and two entries that should agree.

use super::blemish::{self, BARE, DISTRACTORS, SHUFFLE, TYPOS};
use super::lexicon::Class;
use super::wording::{Dialect, capitalised, sentences};
use super::{document, report_reading};
use crate::media::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, Reach, Reading, Statistic,
};
use crate::numeric::draws::{Draws, floor};

/// Short reports in words.
#[derive(Debug)]
pub struct Report;

/// What [`Report`] renders, in order.
const STATISTICS: [Statistic; 7] = [
    Statistic {
        name: "complaints",
        low: 0.0,
        high: 6.0,
        decimals: 0,
        reach: Reach::Plain,
        means: "how many things are called bad by a strong adjective",
    },
    Statistic {
        name: "urgency",
        low: 0.0,
        high: 6.0,
        decimals: 0,
        reach: Reach::Plain,
        means: "how many actions are described as done in haste",
    },
    Statistic {
        name: "quantity",
        low: 10.0,
        high: 96.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "the number that somebody counted",
    },
    Statistic {
        name: "people",
        low: 1.0,
        high: 6.0,
        decimals: 0,
        reach: Reach::Generic,
        means: "how many different persons are named",
    },
    Statistic {
        name: "denials",
        low: 0.0,
        high: 5.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "how many of the findings mentioned are denied",
    },
    Statistic {
        name: "agreement",
        low: 0.0,
        high: 5.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "in how many details the first and the last entry agree",
    },
    Statistic {
        name: "lead",
        low: -90.0,
        high: 90.0,
        decimals: 0,
        reach: Reach::Hidden,
        means: "minutes by which the request precedes the approval",
    },
];

/// Findings, denied and affirmed. Both forms of a finding consist of the same words and differ
/// only in what the negation applies to.
const FINDINGS: [[&str; 2]; FINDING_COUNT] = [
    [
        "$person saw|noticed|met no $finding on|near the $adjective $noun and a reason to wait",
        "$person saw|noticed|met a $finding on|near the $adjective $noun and no reason to wait",
    ],
    [
        "the $adjective $noun was|seemed free of any $finding and not in use",
        "the $adjective $noun was|seemed not free of any $finding and in use",
    ],
    [
        "$person passed|left the $adjective $noun without a $finding in sight|view and with much delay",
        "$person passed|left the $adjective $noun with a $finding in sight|view and without much delay",
    ],
    [
        "a $finding was not seen near|behind the $adjective $noun which was locked|closed",
        "a $finding was seen near|behind the $adjective $noun which was not locked|closed",
    ],
    [
        "$person never reported|named a $finding but often moved|cleaned the $adjective $noun",
        "$person often reported|named a $finding but never moved|cleaned the $adjective $noun",
    ],
];
const FINDING_COUNT: usize = 5;

const COUNTED: [&str; 1] =
    ["$person $adverb $tally $quantity items|pieces|cases for the $adjective $noun"];
const WAITED: [&str; 1] =
    ["$person $adverb waited|worked $other minutes at|by the $adjective $noun"];

const OPENING: [&str; 2] = [
    "$person $adverb filed|logged the $opening at $opened",
    "toward $opened $person $adverb filed|logged the $opening",
];
const CLOSING: [&str; 2] = [
    "$person $adverb gave|wrote the $closing at $closed",
    "toward $closed $person $adverb gave|wrote the $closing",
];
const ASIDE: [&str; 2] = [
    "$person $adverb joined|left the briefing|meeting|rehearsal at $time",
    "toward $time $person $adverb joined|left the lunch|lesson|walk",
];

const ENTRIES: [[&str; 2]; 2] = [
    [
        "the first|early entry|line puts|has a $colour $material tag|sign in the $place on $weekday $shift",
        "on $weekday $shift a $colour $material tag|sign hung in the $place says the first|early entry|line",
    ],
    [
        "the last|late entry|line puts|has a $material tag|sign in $colour in the $place on $weekday $shift",
        "in the $place a $colour tag|sign of $material make hung on $weekday $shift says the last|late entry|line",
    ],
];

/// The details that both entries give.
pub(super) const DETAILS: [Class; 5] =
    [Class::Weekday, Class::Shift, Class::Place, Class::Colour, Class::Material];

const LINKS: [&str; 4] = [";", "and", "while", "then"];

/// What all reports of a task share.
struct ReportForm {
    dialect: Dialect,
    sentences: usize,
    /// The order of the blocks: first entry, findings, counts, times, last entry.
    blocks: [usize; 5],
    /// Who can be named.
    staff: Vec<usize>,
    /// What can be found.
    findings: Vec<usize>,
}

impl ReportForm {
    fn new(look: &Look<'_>) -> Self {
        let mut draws = Draws::new(look.stream.child("form"));
        let mut some = |class: Class, count: usize| {
            let mut members: Vec<usize> = (0..class.concepts().len()).collect();
            draws.shuffle(&mut members);
            members.truncate(count);
            members
        };
        let (staff, findings) = (some(Class::Person, 9), some(Class::Finding, 7));
        let mut blocks = [0, 1, 2, 3, 4];
        draws.shuffle(&mut blocks);
        let sentences = draws.whole(5, 9);
        Self { dialect: Dialect::new(look), sentences, blocks, staff, findings }
    }
}

/// A statistic's value as a count within its bounds.
fn count(values: &[f64], index: usize) -> usize {
    let Statistic { low, high, .. } = STATISTICS[index];
    floor(values.get(index).map_or(low, |value| value.round().clamp(low, high)))
}

/// `count` of `total` marks set, at random places.
fn marks(count: usize, total: usize, draws: &mut Draws) -> Vec<bool> {
    let mut marks: Vec<bool> = (0..total).map(|index| index < count).collect();
    draws.shuffle(&mut marks);
    marks
}

/// The contents of the slots that a report draws on, each used up from the end.
struct Stock {
    people: Vec<usize>,
    harsh: Vec<bool>,
    hasty: Vec<bool>,
}

impl Stock {
    /// Enough for these templates.
    fn new(templates: &[&str], values: &[f64], form: &ReportForm, draws: &mut Draws) -> Self {
        let slots =
            |name: &str| -> usize { templates.iter().map(|t| t.matches(name).count()).sum() };
        let mut named = form.staff.clone();
        draws.shuffle(&mut named);
        named.truncate(count(values, 3));
        // Everybody once, the remaining places at random.
        let mut people = named.clone();
        while people.len() < slots("$person") {
            people.push(*draws.pick(&named));
        }
        draws.shuffle(&mut people);
        let harsh = marks(count(values, 0), slots("$adjective"), draws);
        let hasty = marks(count(values, 1), slots("$adverb"), draws);
        Self { people, harsh, hasty }
    }
}

/// A word of the class, any member.
fn any(class: Class, dialect: &Dialect, draws: &mut Draws) -> String {
    let concept = draws.whole(0, class.concepts().len() - 1);
    dialect.word(class, concept, draws)
}

/// A detail by its first name: those of two entries are compared to the letter.
fn as_it_stands(class: Class, concept: usize) -> String {
    let word = class.concepts()[concept][0];
    if class == Class::Weekday { capitalised(word) } else { word.to_owned() }
}

/// The details of both entries, as members of [`DETAILS`].
fn details(agreeing: usize, draws: &mut Draws) -> [Vec<usize>; 2] {
    let same = marks(agreeing, DETAILS.len(), draws);
    let mut entries = [Vec::new(), Vec::new()];
    for (class, same) in DETAILS.iter().zip(same) {
        let members = class.concepts().len();
        let first = draws.whole(0, members - 1);
        let shift = if same { 0 } else { draws.whole(1, members - 1) };
        entries[0].push(first);
        entries[1].push((first + shift) % members);
    }
    entries
}

impl Report {
    /// The sentences of a report before its blemishes.
    fn sentences(values: &[f64], form: &ReportForm, draws: &mut Draws) -> Vec<Vec<String>> {
        // Which template for which clause, block by block.
        let denied = marks(count(values, 4), FINDING_COUNT, draws);
        let mut findings: Vec<&str> =
            FINDINGS.iter().zip(denied).map(|(ways, denied)| ways[usize::from(!denied)]).collect();
        let mut counts = vec![*draws.pick(&COUNTED), *draws.pick(&WAITED)];
        let mut times: Vec<&str> =
            [OPENING, CLOSING, ASIDE, ASIDE].iter().map(|ways| *draws.pick(ways)).collect();
        for block in [&mut findings, &mut counts, &mut times] {
            draws.shuffle(block);
        }
        let entry = |which: usize, draws: &mut Draws| vec![*draws.pick(&ENTRIES[which])];
        let blocks = [entry(0, draws), findings, counts, times, entry(1, draws)];
        let templates: Vec<&str> =
            form.blocks.iter().flat_map(|block| blocks[*block].iter().copied()).collect();

        let mut stock = Stock::new(&templates, values, form, draws);
        let entries = details(count(values, 5), draws);
        let opened = draws.between(450.0, 990.0).floor();
        let lead = values.get(6).map_or(0.0, |value| value.round().clamp(-90.0, 90.0));
        let quantity = count(values, 2);
        let dialect = &form.dialect;
        let mut write = |template: &str, draws: &mut Draws| {
            let last = ENTRIES[1].contains(&template);
            dialect.phrase(template, draws, |slot, draws| match slot {
                "person" => {
                    let person = stock.people.pop().unwrap_or_default();
                    capitalised(&dialect.word(Class::Person, person, draws))
                }
                "adjective" if stock.harsh.pop() == Some(true) => {
                    any(Class::Complaint, dialect, draws)
                }
                "adjective" => any(Class::Neutral, dialect, draws),
                "adverb" if stock.hasty.pop() == Some(true) => any(Class::Strong, dialect, draws),
                "adverb" => any(Class::Mild, dialect, draws),
                "finding" => dialect.word(Class::Finding, *draws.pick(&form.findings), draws),
                "quantity" => dialect.number(quantity, draws),
                // Often, yet not always, the smaller of the two numbers.
                "other" => {
                    let other = draws.whole(10, 40);
                    dialect.number(other, draws)
                }
                "opened" => dialect.clock(floor(opened)),
                "closed" => dialect.clock(floor(opened + lead)),
                "time" => dialect.clock(draws.whole(360, 1080)),
                name => match Class::named(name) {
                    None => dialect.noun(draws),
                    Some(class) => match DETAILS.iter().position(|detail| *detail == class) {
                        Some(detail) => as_it_stands(class, entries[usize::from(last)][detail]),
                        None => any(class, dialect, draws),
                    },
                },
            })
        };
        let clauses = templates.iter().map(|template| write(template, draws)).collect();
        sentences(clauses, form.sentences, &LINKS, draws)
    }
}

impl ItemReader for Report {
    fn blemishes(&self) -> &'static [Blemish] {
        &[TYPOS, DISTRACTORS, SHUFFLE, BARE]
    }

    fn formats(&self) -> &'static [Format] {
        &[Format::Cells, Format::Text]
    }

    fn read(&self, bytes: &[u8]) -> Result<Reading, MediumError> {
        report_reading::read(bytes)
    }

    fn python(&self) -> &'static str {
        concat!(
            "WORDS = \"\"\"\n",
            include_str!("words.txt"),
            "\"\"\"\n\n",
            include_str!("common.py"),
            "\n\n",
            include_str!("report.py")
        )
    }
}

impl Medium for Report {
    fn statistics(&self) -> &'static [Statistic] {
        &STATISTICS
    }

    fn render(&self, values: &[f64], look: &Look<'_>, draws: &mut Draws) -> Vec<u8> {
        let form = ReportForm::new(look);
        let mut sentences = Self::sentences(values, &form, draws);
        for aside in blemish::asides(look, &form.dialect, draws) {
            sentences.insert(draws.whole(0, sentences.len()), aside);
        }
        if draws.chance(blemish::strength(look, SHUFFLE)) {
            draws.shuffle(&mut sentences);
        }
        let text = match look.format {
            Format::Text => document::written(sentences, &form.dialect, look, draws),
            _ => blemish::written(sentences, look, draws),
        };
        text.into_bytes()
    }
}
