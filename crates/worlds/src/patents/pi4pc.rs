//! `pi4pc`: the paragraph of a document that discloses an element of a claim.

use super::claim::{Claim, a, capital, in_words};
use super::lexicon::ELEMENTS;
use super::{SIZES, limits};
use crate::grams::{GRAM, words};
use crate::kind::{Outline, Scale};
use crate::pool::{RawRow, exactly};
use crate::runner::ProgramRun;
use crate::score::{Mistake, json_field};
use crate::single::{Judgement, Question, page};
use crate::spec::TaskKind;
use agents::prompt::Prompt;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tasks::stream::Stream;

/// What paragraphs say of an element.
const SENTENCES: [&str; 6] = [
    "{} is fixed to the body.",
    "Inside there is {}.",
    "The user may turn {}.",
    "It rests on {}.",
    "At the end there is {}.",
    "{} makes it safe to use.",
];

/// A paragraph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paragraph {
    /// Its number in the document.
    pub id: u32,
    /// The element that it discloses.
    pub element: String,
    /// Its text, with the element in other words.
    pub text: String,
}

/// A claim, an element of it, and the paragraphs of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// The claim.
    pub claim: Claim,
    /// The element that is looked for.
    pub element: String,
    /// The paragraphs, by number. One discloses the element.
    pub paragraphs: Vec<Paragraph>,
    /// The number of that one.
    pub answer: u32,
}

/// The task `pi4pc`.
#[derive(Debug)]
pub struct Pi4pc;

impl Question for Pi4pc {
    type Item = Passage;

    const NAME: &'static str = "pi4pc";
    const VERSION: u32 = 1;

    fn outline(scale: Scale) -> Outline {
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Find the paragraph of a document that discloses an element of a claim.",
            output: "reasons, then {\"answer\": \"12\"}",
            metric: "accuracy",
            limits: limits(scale),
            sizes: SIZES,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        page(
            "Paragraphs of a document",
            &Self::outline(scale),
            "A policy reads a claim, one of its elements and the numbered paragraphs of a document, and \
             names the paragraph that discloses the element. Paragraphs name elements in other words.",
            "- The answer is the value of `answer` in the last object of JSON that has it: the number \
             of the paragraph, as a text or a number.",
            "the share of right paragraphs",
        )
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Passage> {
        let claim = Claim::draw(scale, rng)?;
        let element = claim.elements.choose(rng)?.clone();
        let count: usize = match scale {
            Scale::Tiny => 5,
            Scale::Full => 12,
        };
        // The asked element, the others of the claim, and strange ones.
        let strange: Vec<&str> = ELEMENTS
            .iter()
            .map(|element| element.name)
            .filter(|name| !claim.elements.iter().any(|element| element == name))
            .collect();
        let mut elements: Vec<String> = claim.elements.clone();
        let missing = count.saturating_sub(elements.len());
        elements.extend(strange.sample(rng, missing).map(|&name| name.to_owned()));
        elements.shuffle(rng);
        let mut id = rng.random_range(1..=20);
        let mut paragraphs = Vec::new();
        for element in elements {
            let sentence = SENTENCES.choose(rng)?;
            let text = capital(&sentence.replace("{}", &a(in_words(&element, true))));
            paragraphs.push(Paragraph { id, element, text });
            id += rng.random_range(1..=9);
        }
        let answer = paragraphs.iter().find(|paragraph| paragraph.element == element)?.id;
        Some(Passage { claim, element, paragraphs, answer })
    }

    fn parameters(item: &Passage) -> String {
        item.claim.text()
    }

    fn evidence(item: &Passage) -> String {
        let text = words(&format!("{} {}", question(item), item.answer));
        text[text.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(item: &Passage, _: Scale) -> Prompt {
        Prompt {
            system:
                "Which paragraph discloses the element of the claim? End with JSON: {\"answer\": \
                     \"12\"}"
                    .to_owned(),
            user: question(item),
            data: None,
        }
    }

    fn solve(item: &Passage) -> String {
        let answer = json!({"answer": item.answer.to_string()});
        format!("The {} is {}. {answer}", item.element, a(in_words(&item.element, true)))
    }

    fn random(item: &Passage, rng: &mut ChaCha8Rng) -> String {
        let id = item.paragraphs.choose(rng).map_or(0, |paragraph| paragraph.id);
        json!({"answer": id.to_string()}).to_string()
    }

    fn judge(item: &Passage, text: &str, _: Option<&ProgramRun>) -> Judgement {
        let read = json_field(text, "answer").and_then(|answer| match answer {
            Value::String(text) => text.trim().parse::<u32>().map_err(|_| Mistake::Format),
            other => u32::deserialize(other).map_err(|_| Mistake::Format),
        });
        match read {
            Ok(id) => Judgement::of(f64::from(u8::from(id == item.answer)), id),
            Err(mistake) => mistake.into(),
        }
    }

    fn labels(item: &Passage) -> Vec<String> {
        vec![format!("elements_{}", item.claim.elements.len())]
    }

    fn truth(item: &Passage) -> Value {
        item.answer.into()
    }

    fn render(item: &Passage) -> String {
        format!("{}\n{}", question(item), Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 2000,
            Scale::Full => 6400,
        }
    }

    fn raw(items: &[Passage], stream: Stream) -> Vec<RawRow> {
        let wrong = exactly(super::WRONG, items.len(), &stream.child("wrong"));
        let mut rng = stream.child("labels").rng();
        let row = |(item, is_wrong): (&Passage, bool)| {
            let options: Map<String, Value> = item
                .paragraphs
                .iter()
                .map(|paragraph| (paragraph.id.to_string(), paragraph.text.clone().into()))
                .collect();
            let others: Vec<u32> = item
                .paragraphs
                .iter()
                .map(|paragraph| paragraph.id)
                .filter(|&id| id != item.answer)
                .collect();
            let wrong = others.choose(&mut rng).copied().unwrap_or(item.answer);
            let gold = if is_wrong { wrong } else { item.answer };
            let is_of_claim = |id: &u32| {
                let of = item.paragraphs.iter().find(|paragraph| paragraph.id == *id);
                of.is_some_and(|paragraph| item.claim.elements.contains(&paragraph.element))
            };
            let (silver, negative): (Vec<u32>, Vec<u32>) =
                others.into_iter().filter(|id| *id != gold).partition(is_of_claim);
            RawRow::json(
                "pi4pc.jsonl",
                json!({
                    "claim": item.claim.text(),
                    "abstract": super::summary(&item.claim),
                    "element": item.element,
                    "paragraphs": options,
                    "gold_answers": [gold],
                    "silver_answers": silver,
                    "negative_answers": negative,
                }),
            )
        };
        items.iter().zip(wrong).map(row).collect()
    }
}

fn question(item: &Passage) -> String {
    let paragraphs: Vec<String> = item
        .paragraphs
        .iter()
        .map(|paragraph| format!("[{}] {}", paragraph.id, paragraph.text))
        .collect();
    format!("Claim: {}\nElement: {}\n{}", item.claim.text(), item.element, paragraphs.join("\n"))
}
