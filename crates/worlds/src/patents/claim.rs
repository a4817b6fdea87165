//! Claims, documents, and what is new over what.
//!
//! A document discloses a set of elements. A claim is not new if one document has all of its
//! elements (code 102), obvious if two documents of one field have them together (103), and is
//! allowed otherwise.

use super::lexicon::{DEVICES, ELEMENTS, FIELDS};
use crate::kind::Scale;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What is claimed.
    pub device: String,
    /// Its elements, in the order of the alphabet.
    pub elements: Vec<String>,
}

/// A document that claims are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Its field.
    pub field: String,
    /// The device that it is about.
    pub device: String,
    /// The elements that it discloses.
    pub elements: Vec<String>,
    /// Its text, with elements in other words.
    pub text: String,
}

/// What the office says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Code {
    /// It may be granted.
    #[serde(rename = "ALLOW")]
    Allow,
    /// It is not new.
    #[serde(rename = "102")]
    NotNew,
    /// It is obvious.
    #[serde(rename = "103")]
    Obvious,
}

impl Code {
    /// All codes, as they are numbered in scores.
    pub const ALL: [Self; 3] = [Self::Allow, Self::NotNew, Self::Obvious];

    /// The code as answers have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::NotNew => "102",
            Self::Obvious => "103",
        }
    }
}

impl Claim {
    pub(super) fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Self> {
        let most = match scale {
            Scale::Tiny => 4,
            Scale::Full => 6,
        };
        let count = rng.random_range(3..=most);
        let elements = ELEMENTS.sample(rng, count).map(|element| element.name.to_owned());
        let elements: BTreeSet<String> = elements.collect();
        Some(Self {
            device: (*DEVICES.choose(rng)?).to_owned(),
            elements: elements.into_iter().collect(),
        })
    }

    /// `A pump with a belt, a fan and a seal.`
    pub(super) fn text(&self) -> String {
        let with: Vec<String> = self.elements.iter().map(|element| a(element)).collect();
        format!("{} with {}.", capital(&a(&self.device)), listed(&with))
    }

    /// The elements of the claim that a document has.
    pub(super) fn found_in(&self, document: &Document) -> BTreeSet<&str> {
        let has = |element: &&str| document.elements.iter().any(|other| other == element);
        self.elements.iter().map(String::as_str).filter(has).collect()
    }

    /// What the office says, given these documents, and the positions of the fewest documents that it
    /// follows from; of several choices all.
    pub(super) fn examine(&self, documents: &[Document]) -> (Code, Vec<Vec<usize>>) {
        let all = self.elements.len();
        let found: Vec<BTreeSet<&str>> =
            documents.iter().map(|document| self.found_in(document)).collect();
        let alone = (0..documents.len()).filter(|&one| found[one].len() == all);
        let alone: Vec<Vec<usize>> = alone.map(|one| vec![one]).collect();
        if !alone.is_empty() {
            return (Code::NotNew, alone);
        }
        let mut pairs = Vec::new();
        for one in 0..documents.len() {
            for two in one + 1..documents.len() {
                let is_one_field = documents[one].field == documents[two].field;
                if is_one_field && found[one].union(&found[two]).count() == all {
                    pairs.push(vec![one, two]);
                }
            }
        }
        if pairs.is_empty() { (Code::Allow, pairs) } else { (Code::Obvious, pairs) }
    }
}

/// A word with its article.
pub(super) fn a(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// Words in a row: `x, y and z`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// An element in words, those of claims or others.
pub(super) fn in_words(element: &str, other: bool) -> &str {
    let known = ELEMENTS.iter().find(|known| known.name == element);
    known.filter(|_| other).map_or(element, |known| known.other)
}

/// A document with these elements and up to so many others that the claim does not have.
pub(super) fn document(
    claim: &Claim,
    field: &str,
    mut elements: Vec<String>,
    others: usize,
    rng: &mut ChaCha8Rng,
) -> Document {
    let strange: Vec<&str> = ELEMENTS
        .iter()
        .map(|element| element.name)
        .filter(|name| !claim.elements.iter().any(|element| element == name))
        .collect();
    let count = rng.random_range(0..=others).max(usize::from(elements.is_empty()));
    elements.extend(strange.sample(rng, count).map(|&name| name.to_owned()));
    elements.shuffle(rng);
    let words: Vec<String> =
        elements.iter().map(|element| a(in_words(element, rng.random_bool(0.5)))).collect();
    let text = format!("{}: {} with {}.", capital(field), a(&claim.device), listed(&words));
    Document { field: field.to_owned(), device: claim.device.clone(), elements, text }
}

/// A field, and another one.
pub(super) fn fields(rng: &mut ChaCha8Rng) -> Option<(&'static str, &'static str)> {
    let mut two = FIELDS.sample(rng, 2);
    Some((two.next()?, two.next()?))
}

/// A field, drawn.
pub(super) fn field(rng: &mut ChaCha8Rng) -> &'static str {
    FIELDS.choose(rng).copied().unwrap_or(FIELDS[0])
}

/// Documents over which the claim gets this code, in drawn order; each other document lacks
/// something. `None` if the draw did not come out so.
pub(super) fn documents(
    claim: &Claim,
    code: Code,
    count: usize,
    rng: &mut ChaCha8Rng,
) -> Option<Vec<Document>> {
    let (main, other) = fields(rng)?;
    let all = &claim.elements;
    let mut documents = Vec::new();
    // Two halves that are the claim together, and each of which may have more of it.
    let mut order = all.clone();
    order.shuffle(rng);
    let cut = rng.random_range(1..all.len());
    let (first, second) = (order[..cut].to_vec(), order[cut..].to_vec());
    match code {
        Code::NotNew => documents.push(document(claim, main, all.clone(), 1, rng)),
        Code::Obvious => {
            documents.push(document(claim, main, first, 1, rng));
            documents.push(document(claim, main, second, 1, rng));
        }
        // Near misses: the halves in two fields, or all but one element.
        Code::Allow if rng.random_bool(0.5) => {
            documents.push(document(claim, main, first, 1, rng));
            documents.push(document(claim, other, second, 1, rng));
        }
        Code::Allow => {
            let near = order[1..].to_vec();
            documents.push(document(claim, main, near, 1, rng));
        }
    }
    while documents.len() < count {
        let shared = rng.random_range(0..all.len());
        let elements = all.sample(rng, shared).cloned().collect();
        documents.push(document(claim, field(rng), elements, 1, rng));
    }
    documents.shuffle(rng);
    let (found, choices) = claim.examine(&documents);
    // One choice only, so that the answer is one.
    (found == code && choices.len() <= 1).then_some(documents)
}
