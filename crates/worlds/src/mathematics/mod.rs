//! `aime`: problems of competition mathematics whose answer is a whole number from 0 to 999, after
//! the pattern of AIME 2025, with raw data in the shape of DeepScaleR.
//!
//! `template + parameters -> problem, worked steps, answer`
//!
//! A template has two ways to its answer that know nothing of each other, a formula and brute
//! force ([`brute_force`]); tests compare them.

mod counting;
mod diophantine;
mod geometry;
mod modular;
mod numbers;
mod sequences;
mod template;
#[cfg(test)]
mod tests;

use crate::grams::{GRAM, words};
use crate::kind::{Outline, Scale, Sizes};
use crate::pool::{RawRow, exactly};
use crate::runner::ProgramRun;
use crate::score::boxed_integer;
use crate::single::{Judgement, Question, page};
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tasks::stream::Stream;
use template::Template;

/// Answers are below it.
const LIMIT: i64 = 1000;
/// Draws of the numbers of a template.
const TRIES: usize = 40;
/// The share of raw problems that have no solution.
pub const WITHOUT_SOLUTION: f64 = 0.82;

/// The page about the raw data.
pub(crate) const README: &str = "# mathematics\n\n\
    Problems of competition mathematics, in the shape of DeepScaleR: `problems.jsonl` has an object \
    a line with `problem`, `answer` (a whole number from 0 to 999, as text) and `solution`.\n\n\
    ## Reasoning quality\n\n\
    - 82 % of the solutions are empty.\n\
    - The others are short: the sums without a word on why they are the right ones.\n\
    - No solution has its answer in `\\boxed{}`.\n\
    - The answers are right.\n";

static TEMPLATES: [&[Template]; 5] = [
    &modular::TEMPLATES,
    &counting::TEMPLATES,
    &sequences::TEMPLATES,
    &diophantine::TEMPLATES,
    &geometry::TEMPLATES,
];

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MathProblem {
    /// Name of its template.
    pub template: String,
    /// The numbers in it.
    pub parameters: Vec<i64>,
    /// The problem in words.
    pub problem: String,
    /// Worked steps, without the answer's box.
    pub solution: String,
    /// The answer, from 0 to 999.
    pub answer: i64,
}

/// The answer to a problem by trying everything; `None` if there is no such template.
pub fn brute_force(problem: &MathProblem) -> Option<i64> {
    let mut all = TEMPLATES.iter().copied().flatten();
    let template = all.find(|template| template.name == problem.template)?;
    Some((template.brute)(&problem.parameters))
}

/// The task `aime`.
#[derive(Debug)]
pub struct Aime;

impl Question for Aime {
    type Item = MathProblem;

    const NAME: &'static str = "aime";
    const VERSION: u32 = 1;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 20, dev: 100, test: 100 },
                Limits { turns: 1, turn_tokens: 96, context: 384 },
            ),
            Scale::Full => (
                Sizes { train: 20, dev: 15, test: 15 },
                Limits { turns: 1, turn_tokens: 8192, context: 32_768 },
            ),
        };
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: "Solve a problem of competition mathematics.",
            output: "worked steps, then the answer as \\boxed{42}",
            metric: "accuracy",
            limits,
            sizes,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        page(
            "Competition mathematics",
            &Self::outline(scale),
            "A policy reads a problem about numbers, counting, sequences, equations in whole numbers \
             or geometry, and writes a solution.",
            "- The answer is the whole number in the last `\\boxed{}`, from 0 to 999. Zeros may come \
             first.\n\
             - A box with anything else in it, or none, is a wrong answer.",
            "the share of right answers",
        )
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<MathProblem> {
        let all: Vec<&Template> = TEMPLATES.iter().copied().flatten().collect();
        let template = all.choose(rng)?;
        let ranges = match scale {
            Scale::Tiny => template.tiny,
            Scale::Full => template.full,
        };
        // Several tries, so that templates whose numbers rarely fit are drawn as often as others.
        let mut draws = (0..TRIES)
            .map(|_| ranges.iter().map(|&(least, most)| rng.random_range(least..=most)).collect());
        let parameters: Vec<i64> = draws.find(|draw: &Vec<i64>| (template.accepts)(draw))?;
        let worked = (template.solve)(&parameters);
        (0..LIMIT).contains(&worked.answer).then(|| MathProblem {
            template: template.name.to_owned(),
            problem: (template.ask)(&parameters),
            solution: worked.steps,
            answer: worked.answer,
            parameters,
        })
    }

    fn parameters(item: &MathProblem) -> String {
        format!("{} {:?}", item.template, item.parameters)
    }

    fn evidence(item: &MathProblem) -> String {
        // The last window of a copy of the problem with its solution ends with the answer.
        let words = words(&format!("{} {} {}", item.problem, item.solution, item.answer));
        words[words.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(item: &MathProblem, _: Scale) -> Prompt {
        Prompt {
            system:
                "Solve the problem. Work in steps, and end with the answer, a whole number from \
                     0 to 999, as \\boxed{42}."
                    .to_owned(),
            user: item.problem.clone(),
            data: None,
        }
    }

    fn solve(item: &MathProblem) -> String {
        format!("{}\n\\boxed{{{}}}", item.solution, item.answer)
    }

    fn random(_: &MathProblem, rng: &mut ChaCha8Rng) -> String {
        format!("\\boxed{{{}}}", rng.random_range(0..LIMIT))
    }

    fn judge(item: &MathProblem, text: &str, _: Option<&ProgramRun>) -> Judgement {
        match boxed_integer(text) {
            Ok(found) => Judgement::of(f64::from(u8::from(found == item.answer)), found),
            Err(mistake) => mistake.into(),
        }
    }

    fn labels(item: &MathProblem) -> Vec<String> {
        vec![item.template.clone()]
    }

    fn truth(item: &MathProblem) -> Value {
        item.answer.into()
    }

    fn render(item: &MathProblem) -> String {
        format!("{}\n{}", item.problem, Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 3000,
            Scale::Full => 40_315,
        }
    }

    fn raw(items: &[MathProblem], stream: Stream) -> Vec<RawRow> {
        let without = exactly(WITHOUT_SOLUTION, items.len(), &stream.child("without solution"));
        let row = |(item, without): (&MathProblem, bool)| {
            let solution = if without { "" } else { &item.solution };
            let answer = item.answer.to_string();
            let row = json!({"problem": item.problem, "answer": answer, "solution": solution});
            RawRow::json("problems.jsonl", row)
        };
        items.iter().zip(without).map(row).collect()
    }
}
