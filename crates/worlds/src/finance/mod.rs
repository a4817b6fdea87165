//! `finqa`: questions of ten examinations in finance with four options, after the pattern of
//! FinanceIQ.
//!
//! `examination + template + numbers -> question, right answer, three slips -> options`

mod exams;
mod template;
#[cfg(test)]
mod tests;

use crate::decimal::hundredths;
use crate::grams::{GRAM, words};
use crate::kind::{Outline, Scale, Sizes};
use crate::pool::{RawRow, exactly};
use crate::runner::ProgramRun;
use crate::score::read_choice;
use crate::single::{Judgement, Question, page};
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use exams::EXAMS;
use rand::RngExt as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use tasks::stream::Stream;
use template::Solved;

/// The share of raw questions that are there twice.
pub const TWICE: f64 = 0.1;
/// The first line of each raw file.
pub(crate) const HEADER: &str = "Question,A,B,C,D,Answer";
/// The letters of the options.
const LETTERS: [char; 4] = ['A', 'B', 'C', 'D'];

/// The page about the raw data.
pub(crate) const README: &str = "# finance\n\n\
    Questions of ten examinations, a file each, in the shape of FinanceIQ: CSV with the columns \
    `Question`, `A`, `B`, `C`, `D` and `Answer` (a letter).\n\n\
    ## Reasoning quality\n\n\
    - There is no reasoning: the answer is a letter.\n\
    - Examinations are of very unequal size.\n\
    - One question in ten is there twice.\n\
    - The answers are right.\n";

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExamQuestion {
    /// Name of the examination.
    pub exam: String,
    /// Name of the template.
    pub template: String,
    /// The numbers in it.
    pub parameters: Vec<i64>,
    /// The question in words.
    pub question: String,
    /// The options, from A to D.
    pub options: Vec<String>,
    /// The sum that leads to the answer, with its result.
    pub sum: String,
    /// The letter of the right option.
    pub answer: char,
}

impl ExamQuestion {
    fn in_lines(&self) -> String {
        let option = |(letter, option): (char, &String)| format!("{letter}. {option}");
        let options: Vec<String> = LETTERS.into_iter().zip(&self.options).map(option).collect();
        format!("{}\n{}", self.question, options.join("\n"))
    }
}

/// The task `finqa`.
#[derive(Debug)]
pub struct Finqa;

impl Question for Finqa {
    type Item = ExamQuestion;

    const NAME: &'static str = "finqa";
    const VERSION: u32 = 1;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 20, dev: 100, test: 100 },
                Limits { turns: 1, turn_tokens: 80, context: 384 },
            ),
            Scale::Full => (
                Sizes { train: 20, dev: 100, test: 100 },
                Limits { turns: 1, turn_tokens: 8192, context: 32_768 },
            ),
        };
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Choose the right option of a question in finance.",
            output: "the sum, then `Answer: B`",
            metric: "accuracy",
            limits,
            sizes,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        page(
            "Examinations in finance",
            &Self::outline(scale),
            "A policy reads a question of an examination (banking, securities, accounting, tax, funds, \
             insurance, planning, futures, bonds or actuarial work) with four options, A to D, and \
             chooses one.",
            "- The answer is the letter behind the last `Answer:`, or all of the text if it is one \
             letter.",
            "the share of right letters",
        )
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<ExamQuestion> {
        let exam = EXAMS.choose_weighted(rng, |exam| exam.weight).ok()?;
        let template = exam.templates.choose(rng)?;
        let ranges = match scale {
            Scale::Tiny => template.tiny,
            Scale::Full => template.full,
        };
        let number = |&(least, most, step): &(i64, i64, i64)| {
            least + step * rng.random_range(0..=(most - least) / step)
        };
        let parameters: Vec<i64> = ranges.iter().map(number).collect();
        let Solved { right, slips, sum } = (template.solve)(&parameters);
        let is_positive = |&(dividend, divisor): &(i64, i64)| dividend > 0 && divisor > 0;
        if !std::iter::once(&right).chain(&slips).all(is_positive) {
            return None;
        }
        let right = hundredths(right.0, right.1);
        let mut options: Vec<String> =
            slips.iter().map(|slip| hundredths(slip.0, slip.1)).collect();
        options.push(right.clone());
        if options.iter().collect::<BTreeSet<_>>().len() < LETTERS.len() {
            return None;
        }
        options.shuffle(rng);
        let at = options.iter().position(|option| *option == right)?;
        Some(ExamQuestion {
            exam: exam.name.to_owned(),
            template: template.name.to_owned(),
            question: (template.ask)(&parameters),
            parameters,
            options,
            sum: format!("{sum} = {right}"),
            answer: LETTERS[at],
        })
    }

    fn parameters(item: &ExamQuestion) -> String {
        format!("{} {:?}", item.template, item.parameters)
    }

    fn evidence(item: &ExamQuestion) -> String {
        // The options are at the end, so the last window has them, and the numbers before them.
        let text = words(&format!("{} {}", item.in_lines(), item.answer));
        text[text.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(item: &ExamQuestion, _: Scale) -> Prompt {
        Prompt {
            system:
                "Choose the right option, rounded to two decimals. End with Answer: and its letter."
                    .to_owned(),
            user: item.in_lines(),
            data: None,
        }
    }

    fn solve(item: &ExamQuestion) -> String {
        format!("{}. Answer: {}", item.sum, item.answer)
    }

    fn random(_: &ExamQuestion, rng: &mut ChaCha8Rng) -> String {
        format!("Answer: {}", LETTERS.choose(rng).copied().unwrap_or('A'))
    }

    fn judge(item: &ExamQuestion, text: &str, _: Option<&ProgramRun>) -> Judgement {
        match read_choice(text, 'D') {
            Ok(letter) => {
                Judgement::of(f64::from(u8::from(letter == item.answer)), letter.to_string())
            }
            Err(mistake) => mistake.into(),
        }
    }

    fn labels(item: &ExamQuestion) -> Vec<String> {
        vec![item.exam.clone()]
    }

    fn truth(item: &ExamQuestion) -> Value {
        item.answer.to_string().into()
    }

    fn render(item: &ExamQuestion) -> String {
        format!("{}\n{}", item.in_lines(), Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 1500,
            Scale::Full => 6179,
        }
    }

    fn raw(items: &[ExamQuestion], stream: Stream) -> Vec<RawRow> {
        let twice = exactly(TWICE, items.len(), &stream.child("twice"));
        let rows = items.iter().zip(twice).flat_map(|(item, is_twice)| {
            let texts = std::iter::once(&item.question).chain(&item.options);
            let cells: Vec<String> =
                texts.map(|text| format!("\"{}\"", text.replace('"', "\"\""))).collect();
            let line = format!("{},{}", cells.join(","), item.answer);
            let row = RawRow { file: format!("{}.csv", item.exam), line };
            std::iter::repeat_n(row, 1 + usize::from(is_twice))
        });
        rows.collect()
    }
}
