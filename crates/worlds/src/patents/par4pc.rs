//! `par4pc`: the documents that a claim is not granted over.

use super::claim::{Claim, Code, Document, documents};
use super::{SIZES, limits};
use crate::grams::{GRAM, words};
use crate::kind::{Outline, Scale};
use crate::pool::{RawRow, exactly};
use crate::runner::ProgramRun;
use crate::score::{json_field, read_letters, set_f1};
use crate::single::{Judgement, Question, page};
use crate::spec::TaskKind;
use agents::prompt::Prompt;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use tasks::stream::Stream;

/// The letters of the options.
const LETTERS: [char; 8] = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'];

/// A claim with eight documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorArt {
    /// The claim.
    pub claim: Claim,
    /// The documents, from A to H.
    pub documents: Vec<Document>,
    /// The letters of the fewest documents that the claim is not new over, or obvious over.
    pub answer: Vec<char>,
}

/// The task `par4pc`.
#[derive(Debug)]
pub struct Par4pc;

impl PriorArt {
    fn options(&self) -> impl Iterator<Item = (char, &Document)> {
        LETTERS.into_iter().zip(&self.documents)
    }

    /// The letters of documents that have something of the claim and are not in the answer.
    fn near(&self) -> Vec<char> {
        let is_near = |&(letter, document): &(char, &Document)| {
            !self.answer.contains(&letter) && !self.claim.found_in(document).is_empty()
        };
        self.options().filter(is_near).map(|(letter, _)| letter).collect()
    }
}

impl Question for Par4pc {
    type Item = PriorArt;

    const NAME: &'static str = "par4pc";
    const VERSION: u32 = 1;

    fn outline(scale: Scale) -> Outline {
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Find the documents over which a claim is not new, or obvious.",
            output: "reasons, then {\"answer\": \"A\"} or {\"answer\": [\"A\", \"C\"]}",
            metric: "f1",
            limits: limits(scale),
            sizes: SIZES,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        page(
            "Prior art of a claim",
            &Self::outline(scale),
            "A policy reads a claim and eight documents, A to H, and names the fewest documents that \
             have all elements of the claim: one, or two of the same field. Documents may name an \
             element in other words.",
            "- The answer is the value of `answer` in the last object of JSON that has it: a letter, or \
             a list of letters.",
            "the mean over claims of the F1 of the set of letters",
        )
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<PriorArt> {
        let claim = Claim::draw(scale, rng)?;
        let code = if rng.random_bool(0.5) { Code::NotNew } else { Code::Obvious };
        let documents = documents(&claim, code, LETTERS.len(), rng)?;
        let (_, mut choices) = claim.examine(&documents);
        let answer = choices.pop()?.into_iter().map(|one| LETTERS[one]).collect();
        Some(PriorArt { claim, documents, answer })
    }

    fn parameters(item: &PriorArt) -> String {
        item.claim.text()
    }

    fn evidence(item: &PriorArt) -> String {
        let text = words(&format!("{} {:?}", question(item), item.answer));
        text[text.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(item: &PriorArt, _: Scale) -> Prompt {
        Prompt {
            system: "Which documents have all elements of the claim: one, or two of one field? End with \
                     JSON: {\"answer\": [\"A\"]}"
                .to_owned(),
            user: question(item),
            data: None,
        }
    }

    fn solve(item: &PriorArt) -> String {
        let found = |letter: &char| {
            let document = item.options().find(|(other, _)| other == letter);
            let elements: Vec<&str> = document
                .map(|(_, document)| item.claim.found_in(document).into_iter().collect())
                .unwrap_or_default();
            format!("{letter} has {}.", elements.join(", "))
        };
        let steps: Vec<String> = item.answer.iter().map(found).collect();
        format!("{} {}", steps.join(" "), json!({"answer": item.answer}))
    }

    fn random(_: &PriorArt, rng: &mut ChaCha8Rng) -> String {
        let count = rng.random_range(1..=2);
        let letters: BTreeSet<char> = LETTERS.sample(rng, count).copied().collect();
        json!({"answer": letters}).to_string()
    }

    fn judge(item: &PriorArt, text: &str, _: Option<&ProgramRun>) -> Judgement {
        let read = json_field(text, "answer").and_then(|answer| read_letters(&answer, 'H'));
        match read {
            Ok(found) => {
                let truth = item.answer.iter().copied().collect();
                let letters: Vec<String> = found.iter().map(char::to_string).collect();
                Judgement::of(set_f1(&truth, &found), letters)
            }
            Err(mistake) => mistake.into(),
        }
    }

    fn labels(item: &PriorArt) -> Vec<String> {
        vec![format!("documents_{}", item.answer.len())]
    }

    fn truth(item: &PriorArt) -> Value {
        json!(item.answer)
    }

    fn render(item: &PriorArt) -> String {
        format!("{}\n{}", question(item), Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 2000,
            Scale::Full => 5400,
        }
    }

    fn raw(items: &[PriorArt], stream: Stream) -> Vec<RawRow> {
        let wrong = exactly(super::WRONG, items.len(), &stream.child("wrong"));
        let mut rng = stream.child("labels").rng();
        let row = |(item, is_wrong): (&PriorArt, bool)| {
            let options: Map<String, Value> = item
                .options()
                .map(|(letter, document)| (letter.to_string(), document.text.clone().into()))
                .collect();
            let others: Vec<char> =
                LETTERS.into_iter().filter(|letter| !item.answer.contains(letter)).collect();
            let (near, mut gold) = (item.near(), item.answer.clone());
            if is_wrong && let Some(&other) = others.choose(&mut rng) {
                gold = vec![other];
            }
            let silver: Vec<char> =
                near.iter().copied().filter(|letter| !gold.contains(letter)).collect();
            let is_negative = |letter: &char| !gold.contains(letter) && !silver.contains(letter);
            let negative: Vec<char> = LETTERS.into_iter().filter(is_negative).collect();
            RawRow::json(
                "par4pc.jsonl",
                json!({
                    "claim": item.claim.text(),
                    "abstract": super::summary(&item.claim),
                    "options": options,
                    "gold_answers": gold,
                    "silver_answers": silver,
                    "negative_answers": negative,
                }),
            )
        };
        items.iter().zip(wrong).map(row).collect()
    }
}

fn question(item: &PriorArt) -> String {
    let documents = item.options().map(|(letter, document)| format!("{letter}. {}", document.text));
    let documents: Vec<String> = documents.collect();
    format!("Claim: {}\n{}", item.claim.text(), documents.join("\n"))
}
