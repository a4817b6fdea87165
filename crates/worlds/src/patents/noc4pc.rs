//! `noc4pc`: whether a claim is new, over a few documents.

use super::claim::{Claim, Code, Document, documents};
use super::{SIZES, limits};
use crate::grams::{GRAM, words};
use crate::kind::{Aggregate, Outline, Scale};
use crate::pool::{RawRow, exactly};
use crate::runner::ProgramRun;
use crate::score::{Mistake, json_field, macro_f1};
use crate::single::{Detail, Judgement, Question, page};
use crate::spec::TaskKind;
use agents::prompt::Prompt;
use agents::trajectory::EnvironmentVerdict;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tasks::stream::Stream;

/// A claim with the documents that were cited against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Novelty {
    /// The claim.
    pub claim: Claim,
    /// The documents.
    pub documents: Vec<Document>,
    /// What the office says.
    pub code: Code,
}

/// The task `noc4pc`.
#[derive(Debug)]
pub struct Noc4pc;

impl Question for Noc4pc {
    type Item = Novelty;

    const NAME: &'static str = "noc4pc";
    const VERSION: u32 = 1;
    const AGGREGATE: Aggregate = Aggregate::Of(macro_f1_of_codes);

    fn outline(scale: Scale) -> Outline {
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Say whether a claim is new, obvious or to be allowed.",
            output: "reasons, then {\"code\": \"ALLOW\"}, {\"code\": \"102\"} or {\"code\": \"103\"}",
            metric: "macro_f1",
            limits: limits(scale),
            sizes: SIZES,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        page(
            "Novelty of a claim",
            &Self::outline(scale),
            "A policy reads a claim and the documents that were cited against it, and gives a code: \
             `102` if one document has all elements of the claim, `103` if two documents of the same \
             field have them together, and `ALLOW` otherwise. Documents may name an element in other \
             words.",
            "- The answer is the value of `code` in the last object of JSON that has it.",
            "macro-F1 over the three codes",
        )
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<Novelty> {
        let claim = Claim::draw(scale, rng)?;
        let code = *Code::ALL.choose(rng)?;
        let count = match scale {
            Scale::Tiny => 3,
            Scale::Full => 5,
        };
        let documents = documents(&claim, code, count, rng)?;
        Some(Novelty { claim, documents, code })
    }

    fn parameters(item: &Novelty) -> String {
        item.claim.text()
    }

    fn evidence(item: &Novelty) -> String {
        let text = words(&format!("{} {}", question(item), item.code.name()));
        text[text.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(item: &Novelty, _: Scale) -> Prompt {
        Prompt {
            system:
                "102: one document has all elements of the claim. 103: two of one field have them \
                     together. Else ALLOW. End with JSON: {\"code\": \"102\"}"
                    .to_owned(),
            user: question(item),
            data: None,
        }
    }

    fn solve(item: &Novelty) -> String {
        let found = |(number, document): (usize, &Document)| {
            let elements: Vec<&str> = item.claim.found_in(document).into_iter().collect();
            let elements =
                if elements.is_empty() { "nothing".to_owned() } else { elements.join(", ") };
            format!("{} has {elements}.", number + 1)
        };
        let steps: Vec<String> = item.documents.iter().enumerate().map(found).collect();
        format!("{} {}", steps.join(" "), json!({"code": item.code.name()}))
    }

    fn random(_: &Novelty, rng: &mut ChaCha8Rng) -> String {
        let code = Code::ALL.choose(rng).copied().unwrap_or(Code::Allow);
        json!({"code": code.name()}).to_string()
    }

    fn judge(item: &Novelty, text: &str, _: Option<&ProgramRun>) -> Judgement {
        let read = json_field(text, "code").and_then(|code| {
            // A number is as good as its digits.
            let code = match code {
                Value::Number(number) => Value::String(number.to_string()),
                other => other,
            };
            Code::deserialize(code).map_err(|_| Mistake::Format)
        });
        match read {
            Ok(code) => Judgement::of(f64::from(u8::from(code == item.code)), code.name()),
            Err(mistake) => mistake.into(),
        }
    }

    fn labels(item: &Novelty) -> Vec<String> {
        vec![format!("code_{}", item.code.name())]
    }

    fn truth(item: &Novelty) -> Value {
        item.code.name().into()
    }

    fn render(item: &Novelty) -> String {
        format!("{}\n{}", question(item), Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 2000,
            Scale::Full => 13_600,
        }
    }

    fn raw(items: &[Novelty], stream: Stream) -> Vec<RawRow> {
        let wrong = exactly(super::WRONG, items.len(), &stream.child("wrong"));
        let mut rng = stream.child("labels").rng();
        let row = |(item, is_wrong): (&Novelty, bool)| {
            let others: Vec<Code> =
                Code::ALL.into_iter().filter(|code| *code != item.code).collect();
            let wrong = others.choose(&mut rng).copied().unwrap_or(item.code);
            let code = if is_wrong { wrong } else { item.code };
            let cited: Vec<&str> =
                item.documents.iter().map(|document| document.text.as_str()).collect();
            RawRow::json(
                "noc4pc.jsonl",
                json!({
                    "claim": item.claim.text(),
                    "abstract": super::summary(&item.claim),
                    "prior_art": cited,
                    "answer": code.name(),
                }),
            )
        };
        items.iter().zip(wrong).map(row).collect()
    }
}

/// Macro-F1 over the three codes.
fn macro_f1_of_codes(verdicts: &[&EnvironmentVerdict]) -> Option<f64> {
    let class = |value: &Value| Code::ALL.iter().position(|code| value == code.name());
    let (mut truth, mut found) = (Vec::new(), Vec::new());
    for verdict in verdicts {
        let detail = Detail::deserialize(&verdict.detail).ok()?;
        truth.push(class(&detail.truth)?);
        found.push(class(&detail.found));
    }
    (!verdicts.is_empty()).then(|| macro_f1(&truth, &found, Code::ALL.len()))
}

fn question(item: &Novelty) -> String {
    let documents: Vec<String> = item
        .documents
        .iter()
        .enumerate()
        .map(|(number, document)| format!("{}. {}", number + 1, document.text))
        .collect();
    format!("Claim: {}\n{}", item.claim.text(), documents.join("\n"))
}
