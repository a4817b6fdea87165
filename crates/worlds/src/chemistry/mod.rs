//! `mol-und`, `mol-edit`, `mol-opt` and `reaction`: questions about molecules, after the pattern of
//! ChemCoTBench, with raw data in the shape of ChemCoTDataset.
//!
//! `plan of fragments -> molecule -> question, worked steps, answer`
//!
//! Truth follows from plans (`plan`): what was put in is counted, and what was added or exchanged
//! is the answer. Answers that are molecules are read by RDKit in the sandbox (`scorer`) and
//! compared outside.

mod edit;
mod fragments;
mod graph;
mod optimise;
mod plan;
mod question;
mod raw;
#[cfg(test)]
mod rdkit_tests;
mod reaction;
mod scorer;
mod surrogate;
mod swaps;
#[cfg(test)]
mod tests;
mod understand;

pub use question::{AnswerForm, MoleculeQuestion};
pub(crate) use raw::README;
pub use raw::{EMPTY, INVALID, SHORT, STRANGE};
pub use surrogate::Surrogate;

use crate::grams::{GRAM, words};
use crate::kind::{Aggregate, Outline, Scale, Sizes};
use crate::part::Part;
use crate::pool::RawRow;
use crate::runner::{ProgramRules, ProgramRun};
use crate::score::Mistake;
use crate::single::{Detail, Judgement, Question, page};
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use agents::trajectory::EnvironmentVerdict;
use plan::Plan;
use question::read_output;
use rand_chacha::ChaCha8Rng;
use scorer::{Description, Wanted};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;
use tasks::stream::Stream;

/// What one of the four tasks has of its own.
pub trait MoleculeTask: Debug + Send + Sync + 'static {
    /// See [`Question::NAME`].
    const NAME: &'static str;
    /// What raw data calls it.
    const RAW: &'static str;
    /// Dev and test items at full scale, and rows of the pool.
    const FULL: (usize, usize);
    /// What the policy is to do, in a sentence.
    const OBJECTIVE: &'static str;
    /// The name of the score.
    const METRIC: &'static str;
    /// How the score of a policy follows from its verdicts.
    const AGGREGATE: Aggregate = Aggregate::Mean;
    /// What the page of the task says: title, questions, how answers are read, and the score.
    const PAGE: [&'static str; 4];

    /// One candidate for a part, all of whose molecules belong to it.
    fn draw(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion>;

    /// An answer of the right form, drawn.
    fn random(item: &MoleculeQuestion, rng: &mut ChaCha8Rng) -> String {
        item.random(rng)
    }
}

/// What is asked of RDKit about an answer, and what follows from its reply.
trait Judged {
    /// What is asked.
    fn wanted(item: &MoleculeQuestion) -> Vec<Wanted>;

    /// The judgement on a molecule, and of the one that the question is about.
    fn judge(item: &MoleculeQuestion, answer: &Description, source: &Description) -> Judgement;
}

/// A task about molecules.
#[derive(Debug)]
pub struct Chemistry<T>(PhantomData<T>);

/// The task `mol-und`.
pub type MolUnd = Chemistry<Understanding>;
/// The task `mol-edit`.
pub type MolEdit = Chemistry<Editing>;
/// The task `mol-opt`.
pub type MolOpt = Chemistry<Optimising>;
/// The task `reaction`.
pub type Reaction = Chemistry<Reacting>;

/// What a molecule is made of.
#[derive(Debug)]
pub struct Understanding;
/// Groups to add, take away or exchange.
#[derive(Debug)]
pub struct Editing;
/// Properties to raise.
#[derive(Debug)]
pub struct Optimising;
/// What comes of reactants, and how.
#[derive(Debug)]
pub struct Reacting;

/// Draws for a part, before another part has its turn.
const DRAWS: usize = 20;

const READ: &str =
    "- The answer is the value of `output` in the last object of JSON that has it.\n";

/// The value of each verdict on these kinds of questions, by kind; kinds without verdicts are left
/// out.
fn by_kind(
    verdicts: &[&EnvironmentVerdict],
    kinds: &[&'static str],
    value: impl Fn(&EnvironmentVerdict) -> Option<f64>,
) -> Option<BTreeMap<&'static str, Vec<f64>>> {
    let mut all: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for verdict in verdicts {
        if let Some(kind) =
            kinds.iter().find(|kind| verdict.tags.first().is_some_and(|tag| tag == *kind))
        {
            all.entry(kind).or_default().push(value(verdict)?);
        }
    }
    Some(all)
}

/// The mean of the means of these lists; `None` without any.
fn mean_of_means<'a>(lists: impl Iterator<Item = &'a Vec<f64>>) -> Option<f64> {
    let means: Vec<f64> = lists.filter_map(|list| mean(list)).collect();
    mean(&means)
}

/// The mean, whatever the order; `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    // Sums of doubles depend on their order.
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Truth and answer of a verdict.
fn detail(verdict: &EnvironmentVerdict) -> Option<Detail> {
    Detail::deserialize(&verdict.detail).ok()
}

impl<T: MoleculeTask + Judged> Question for Chemistry<T> {
    type Item = MoleculeQuestion;

    const NAME: &'static str = T::NAME;
    const VERSION: u32 = 1;
    const PROGRAM_RULES: Option<ProgramRules> = Some(scorer::RULES);
    const AGGREGATE: Aggregate = T::AGGREGATE;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 20, dev: 100, test: 100 },
                Limits { turns: 1, turn_tokens: 80, context: 384 },
            ),
            Scale::Full => (
                Sizes { train: 20, dev: T::FULL.0, test: T::FULL.0 },
                Limits { turns: 1, turn_tokens: 8192, context: 32_768 },
            ),
        };
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: T::OBJECTIVE,
            output: "steps, then {\"output\": ANSWER}",
            metric: T::METRIC,
            limits,
            sizes,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        let [title, task, rules, score] = T::PAGE;
        page(title, &Self::outline(scale), task, &format!("{READ}{rules}"), score)
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        // Of all parts, as often as they have parameters.
        let part = (0..DRAWS).find_map(|_| Plan::draw(scale, rng))?.part();
        (0..DRAWS).find_map(|_| T::draw(part, scale, rng))
    }

    fn draw_for(part: Part, scale: Scale, rng: &mut ChaCha8Rng) -> Option<MoleculeQuestion> {
        T::draw(part, scale, rng)
    }

    fn parameters(item: &MoleculeQuestion) -> String {
        item.fragments.clone()
    }

    fn evidence(item: &MoleculeQuestion) -> String {
        // The first window of a copy, because the molecule at its beginning says which item it is.
        let text = words(&Self::render(item));
        text[..GRAM.min(text.len())].join(" ")
    }

    fn prompt(item: &MoleculeQuestion, _: Scale) -> Prompt {
        let wanted = match item.form {
            AnswerForm::Number => "a number",
            AnswerForm::YesNo => "Yes or No",
            AnswerForm::Letter => "a letter",
            AnswerForm::Smiles => "a SMILES",
        };
        let system = format!(
            "Answer the question about the molecule. End with JSON: {{\"output\": ANSWER}}, where the \
             answer is {wanted}."
        );
        Prompt { system, user: item.in_lines(), data: None }
    }

    fn solve(item: &MoleculeQuestion) -> String {
        format!("{} {}", item.steps, item.output())
    }

    fn random(item: &MoleculeQuestion, rng: &mut ChaCha8Rng) -> String {
        T::random(item, rng)
    }

    fn script(item: &MoleculeQuestion, text: &str) -> Option<String> {
        if item.form != AnswerForm::Smiles {
            return None;
        }
        let answer = read_output(text, item.form).ok().filter(|answer| scorer::is_word(answer))?;
        Some(scorer::script(&[&answer, &item.molecule], &T::wanted(item), &item.patterns()))
    }

    fn judge(item: &MoleculeQuestion, text: &str, run: Option<&ProgramRun>) -> Judgement {
        let answer = match read_output(text, item.form) {
            Ok(answer) => answer,
            Err(mistake) => return mistake.into(),
        };
        if item.form != AnswerForm::Smiles {
            let score = f64::from(u8::from(answer == item.answer));
            return match (item.form, answer.parse::<i64>()) {
                (AnswerForm::Number, Ok(number)) => Judgement::of(score, number),
                _ => Judgement::of(score, answer),
            };
        }
        match run.and_then(|run| scorer::read(run, 2)).as_deref() {
            Some([Some(answer), Some(source)]) => T::judge(item, answer, source),
            _ => Mistake::Invalid.into(),
        }
    }

    fn labels(item: &MoleculeQuestion) -> Vec<String> {
        vec![item.kind.clone()]
    }

    fn truth(item: &MoleculeQuestion) -> Value {
        match (item.form, item.answer.parse::<i64>()) {
            (AnswerForm::Number, Ok(number)) => number.into(),
            _ => item.answer.clone().into(),
        }
    }

    fn render(item: &MoleculeQuestion) -> String {
        format!("{}\n{}", item.in_lines(), Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 800,
            Scale::Full => T::FULL.1,
        }
    }

    fn raw(items: &[MoleculeQuestion], stream: Stream) -> Vec<RawRow> {
        raw::rows(T::RAW, items, &stream)
    }
}
