//! A question about a molecule, with its answer.

use super::fragments::FUNCTIONAL;
use super::graph::{Molecule, bits};
use super::plan::Plan;
use crate::kind::Scale;
use crate::score::{Mistake, json_field};
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The options of a choice.
pub(super) const LETTERS: [&str; 4] = ["A", "B", "C", "D"];

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// A whole number.
    Number,
    /// `Yes` or `No`.
    YesNo,
    /// A letter from A to D.
    Letter,
    /// A molecule, or several.
    Smiles,
}

/// A question about a molecule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoleculeQuestion {
    /// The kind of question.
    pub kind: String,
    /// The fragments that the molecule is put together from. No other part of any suite has them.
    pub fragments: String,
    /// The SMILES of the molecule that the question is about.
    pub molecule: String,
    /// The question in words.
    pub question: String,
    /// Worked steps.
    pub steps: String,
    /// What an answer looks like.
    pub form: AnswerForm,
    /// The answer; of edits and optimisations one of many.
    pub answer: String,
    /// How many functional groups of these names an edited molecule must have; empty of other
    /// questions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, usize>,
}

impl MoleculeQuestion {
    /// The molecule and what is asked.
    pub(super) fn in_lines(&self) -> String {
        format!("Molecule: {}\n{}", self.molecule, self.question)
    }

    /// The answer as an object of JSON.
    pub(super) fn output(&self) -> String {
        output(self.form, &self.answer)
    }

    /// The bits of the answer, where that is a molecule.
    pub(super) fn answer_bits(&self) -> BTreeSet<u32> {
        Molecule::read(&self.answer).map(|molecule| bits(&molecule)).unwrap_or_default()
    }

    /// The patterns of the groups that are counted in an answer.
    pub(super) fn patterns(&self) -> Vec<(&'static str, &'static str)> {
        FUNCTIONAL.into_iter().filter(|(name, _)| self.counts.contains_key(*name)).collect()
    }

    /// An answer of the right form, drawn: of molecules any small one.
    pub(super) fn random(&self, rng: &mut ChaCha8Rng) -> String {
        let answer = match self.form {
            AnswerForm::Number => rng.random_range(0..4).to_string(),
            AnswerForm::YesNo => (*["Yes", "No"].choose(rng).unwrap_or(&"Yes")).to_owned(),
            AnswerForm::Letter => (*LETTERS.choose(rng).unwrap_or(&"A")).to_owned(),
            AnswerForm::Smiles => any_molecule(rng),
        };
        output(self.form, &answer)
    }
}

/// The SMILES of a small molecule.
pub(super) fn any_molecule(rng: &mut ChaCha8Rng) -> String {
    let drawn = (0..1000).find_map(|_| Plan::draw(Scale::Tiny, rng));
    drawn.map_or_else(|| "C".to_owned(), |plan| plan.smiles())
}

pub(super) fn output(form: AnswerForm, answer: &str) -> String {
    match (form, answer.parse::<i64>()) {
        (AnswerForm::Number, Ok(number)) => json!({"output": number}).to_string(),
        _ => json!({"output": answer}).to_string(),
    }
}

/// The answer in the last object of JSON with `output`, in the form that truths have.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read_output(text: &str, form: AnswerForm) -> Result<String, Mistake> {
    let found = json_field(text, "output")?;
    let found = match (form, &found) {
        (AnswerForm::Number, Value::Number(number)) => {
            number.as_i64().ok_or(Mistake::Format)?.to_string()
        }
        (AnswerForm::YesNo, Value::Bool(is)) => (if *is { "Yes" } else { "No" }).to_owned(),
        (_, Value::String(text)) => text.trim().to_owned(),
        _ => return Err(Mistake::Format),
    };
    if found.is_empty() {
        return Err(Mistake::Empty);
    }
    match form {
        AnswerForm::Smiles => Some(found),
        AnswerForm::Number => found.parse::<i64>().ok().map(|number| number.to_string()),
        AnswerForm::YesNo => match found.to_lowercase().as_str() {
            "yes" => Some("Yes".to_owned()),
            "no" => Some("No".to_owned()),
            _ => None,
        },
        AnswerForm::Letter => LETTERS.contains(&found.as_str()).then_some(found),
    }
    .ok_or(Mistake::Format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read_by_their_form() {
        use AnswerForm::{Letter, Number, Smiles, YesNo};
        for (text, form, expected) in [
            ("So 2. {\"output\": 2}", Number, Ok("2")),
            ("{\"output\": \" 02\"}", Number, Ok("2")),
            ("{\"output\": 2.5}", Number, Err(Mistake::Format)),
            ("{\"output\": \"two\"}", Number, Err(Mistake::Format)),
            ("{\"output\": \"yes\"}", YesNo, Ok("Yes")),
            ("{\"output\": false}", YesNo, Ok("No")),
            ("{\"output\": \"B\"}", Letter, Ok("B")),
            ("{\"output\": \"E\"}", Letter, Err(Mistake::Format)),
            ("{\"output\": \" CCO \"}", Smiles, Ok("CCO")),
            ("{\"output\": \"\"}", Smiles, Err(Mistake::Empty)),
            ("{\"output\": \"CC", Smiles, Err(Mistake::Truncated)),
            ("CCO", Smiles, Err(Mistake::Format)),
        ] {
            assert_eq!(read_output(text, form), expected.map(str::to_owned), "{text}");
        }
    }
}
