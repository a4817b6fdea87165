//! `table-nr`, `table-fc`, `table-da` and `table-vis`: questions about tables, after the pattern of
//! TableBench, with raw data in the shape of TableInstruct.
//!
//! `table -> question, worked steps, answer` in 18 kinds: eight of numbers, two of statements, seven
//! of analysis, and charts, of which the program is run and the values that it drew are compared.

mod analysis;
mod asked;
mod charts;
mod numbers;
mod raw;
mod table;
#[cfg(test)]
mod tests;

pub use asked::{Chart, TableQuestion};
pub use raw::PROGRAMS;
pub(crate) use raw::README;
pub use table::Table;

use crate::generate::as_text;
use crate::grams::{GRAM, words};
use crate::kind::{Outline, Scale, Sizes};
use crate::pool::RawRow;
use crate::runner::{ProgramRules, ProgramRun};
use crate::score::{TableRule, exact_match, final_answer, match_within, rouge_l};
use crate::single::{Judgement, Question, page};
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use asked::QuestionKind;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::fmt::Debug;
use std::marker::PhantomData;
use tasks::stream::Stream;

/// The share of the truth by which a number may be off, where it may.
const TOLERANCE: f64 = 0.1;

/// What one of the four tasks has of its own.
pub trait TableTask: Debug + Send + Sync + 'static {
    /// See [`Question::NAME`].
    const NAME: &'static str;
    /// What raw data calls its type of question.
    const QTYPE: &'static str;
    /// What programs may use, of charts.
    const RULES: Option<ProgramRules> = None;

    /// What is particular to its outline at full scale: dev and test items, and rows of the pool.
    const FULL: (usize, usize);
    /// What the policy is to do, in a sentence.
    const OBJECTIVE: &'static str;
    /// The name of the score.
    const METRIC: &'static str;
    /// What the page of the task says of its questions, of how answers are read, and of the score.
    const PAGE: [&'static str; 4];

    /// One candidate.
    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion>;

    /// An answer of the right form, drawn.
    fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String;
}

/// A task about tables.
#[derive(Debug)]
pub struct Tables<T>(PhantomData<T>);

/// The task `table-nr`.
pub type TableNr = Tables<Reasoning>;
/// The task `table-fc`.
pub type TableFc = Tables<Checking>;
/// The task `table-da`.
pub type TableDa = Tables<Analysis>;
/// The task `table-vis`.
pub type TableVis = Tables<Charts>;

/// Numbers and names that follow from numbers.
#[derive(Debug)]
pub struct Reasoning;
/// Statements.
#[derive(Debug)]
pub struct Checking;
/// What numbers mean.
#[derive(Debug)]
pub struct Analysis;
/// Charts.
#[derive(Debug)]
pub struct Charts;

/// The score of an answer to a kind of question, in [0, 1]: of the kinds of analysis that ask for a
/// number, a number within a tenth of the truth; of those that ask for words, ROUGE-L; of all other
/// kinds, the exact answer.
pub fn table_score(kind: &str, truth: &str, answer: &str, rule: TableRule) -> f64 {
    match kind {
        "correlation" | "statistics" | "trend" => match_within(truth, answer, TOLERANCE, rule),
        "anomaly" | "causal" | "descriptive" => rouge_l(truth, answer),
        _ => exact_match(truth, answer, rule),
    }
}

fn draw_of(kinds: &[QuestionKind], scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
    kinds.choose(rng)?.draw(scale, rng)
}

const READ: &str = "- The answer is the rest of the line behind the first `Final Answer: `.\n\
    - Of several answers, separated by commas, each counts by its place. Numbers are compared as \
    numbers, rounded to the decimals of the truth; a percentage is a hundredth. Case does not matter.";

impl TableTask for Reasoning {
    const NAME: &'static str = "table-nr";
    const QTYPE: &'static str = "NumericalReasoning";
    const FULL: (usize, usize) = (197, 8892);
    const OBJECTIVE: &'static str = "Answer a question about the numbers of a table.";
    const METRIC: &'static str = "exact_match";
    const PAGE: [&'static str; 4] = [
        "Numbers from tables",
        "A policy reads a table and a question whose answer is a number or a name: a sum or mean, a \
         count, a difference, a place in an order, a change a year, or a value that takes two looks.",
        READ,
        "the share of exact answers",
    ];

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
        draw_of(&numbers::REASONING, scale, rng)
    }

    fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
        random_answer(item, rng)
    }
}

impl TableTask for Checking {
    const NAME: &'static str = "table-fc";
    const QTYPE: &'static str = "FactChecking";
    const FULL: (usize, usize) = (48, 2282);
    const OBJECTIVE: &'static str = "Check a statement about a table.";
    const METRIC: &'static str = "exact_match";
    const PAGE: [&'static str; 4] = [
        "Facts in tables",
        "A policy reads a table, and either finds the row that has a value, or says whether a statement \
         about two columns is true, with yes or no.",
        READ,
        "the share of exact answers",
    ];

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
        draw_of(&numbers::CHECKING, scale, rng)
    }

    fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
        let names = &item.table.names;
        let options: Vec<&str> = match item.kind.as_str() {
            "match" => names.iter().map(String::as_str).collect(),
            _ => vec!["yes", "no"],
        };
        format!("Final Answer: {}", options.choose(rng).unwrap_or(&""))
    }
}

impl TableTask for Analysis {
    const NAME: &'static str = "table-da";
    const QTYPE: &'static str = "DataAnalysis";
    const FULL: (usize, usize) = (170, 7372);
    const OBJECTIVE: &'static str = "Say what the numbers of a table mean.";
    const METRIC: &'static str = "mixed_accuracy";
    const PAGE: [&'static str; 4] = [
        "Analyses of tables",
        "A policy reads a table and a question of data analysis: a value out of line, whether one column \
         follows another, a correlation, a description, the greater impact, a statistic, or a trend.",
        "- The answer is the rest of the line behind the first `Final Answer: `.\n\
         - A correlation, statistic or trend may be off by a tenth of the truth. An impact is the name of \
         a column. The other kinds are sentences, compared by ROUGE-L; those of the examples show their \
         form.",
        "the mean over items of the exact, near or ROUGE-L score of each",
    ];

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
        draw_of(&analysis::ANALYSIS, scale, rng)
    }

    fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
        random_answer(item, rng)
    }
}

impl TableTask for Charts {
    const NAME: &'static str = "table-vis";
    const QTYPE: &'static str = "Visualization";
    const RULES: Option<ProgramRules> = Some(charts::RULES);
    const FULL: (usize, usize) = (25, 1115);
    const OBJECTIVE: &'static str = "Write a program that draws a chart of a table.";
    const METRIC: &'static str = "pass_at_1";
    const PAGE: [&'static str; 4] = [
        "Charts of tables",
        "A policy reads a table and a request for a bar, line, pie or scatter chart, and writes a program \
         in Python that reads the table from `table.csv` and draws it with matplotlib.",
        "- The program is the last fenced block that begins with ```` ```python ````. It has 30 seconds \
         and 1 GiB.\n\
         - The values along the axis of the chart, rounded to two decimals, must be those of the table in \
         any order; of a pie the shares.",
        "the share of programs that run and draw the right values",
    ];

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
        charts::draw(scale, rng)
    }

    fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
        charts::random(item, rng)
    }
}

/// A number, or the name of a row or column.
fn random_answer(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
    let names: Vec<&String> = item.table.names.iter().chain(&item.table.columns).collect();
    match names.choose(rng).filter(|_| rng.random_bool(0.5)) {
        Some(name) => format!("Final Answer: {name}"),
        None => format!("Final Answer: {}", rng.random_range(0..200)),
    }
}

impl<T: TableTask> Question for Tables<T> {
    type Item = TableQuestion;

    const NAME: &'static str = T::NAME;
    const VERSION: u32 = 1;
    const PROGRAM_RULES: Option<ProgramRules> = T::RULES;

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 20, dev: 100, test: 100 },
                Limits { turns: 1, turn_tokens: 128, context: 384 },
            ),
            Scale::Full => (
                Sizes { train: 20, dev: T::FULL.0, test: T::FULL.0 },
                Limits { turns: 1, turn_tokens: 8192, context: 32_768 },
            ),
        };
        let output = match T::RULES {
            Some(_) => "a fenced block of Python",
            None => "steps, then `Final Answer: ANSWER`",
        };
        Outline {
            level: 1,
            kind: TaskKind::Static,
            objective: T::OBJECTIVE,
            output,
            metric: T::METRIC,
            limits,
            sizes,
            forbidden: &["oracle", "sealed"],
        }
    }

    fn describe(scale: Scale) -> String {
        let [title, task, rules, score] = T::PAGE;
        page(title, &Self::outline(scale), task, rules, score)
    }

    fn draw(scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
        T::draw(scale, rng)
    }

    fn parameters(item: &TableQuestion) -> String {
        as_text(&item.table)
    }

    fn evidence(item: &TableQuestion) -> String {
        // The last window of the table, with the answer behind it.
        let truth = item.chart.as_ref().map_or_else(|| item.answer.clone(), as_text);
        let text = words(&format!("{} {} {truth}", item.question, item.table.in_lines()));
        text[text.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(item: &TableQuestion, _: Scale) -> Prompt {
        let system = match &item.chart {
            Some(_) => {
                "Write a program in Python that reads the table from table.csv and draws the chart with \
                 matplotlib, in one block that begins with ```python."
            }
            None => {
                "Answer the question about the table. Work in steps, and end with a line: Final Answer: \
                 and the answer."
            }
        };
        let user = format!("{}\n\n{}", item.table.in_lines(), item.question);
        Prompt { system: system.to_owned(), user, data: None }
    }

    fn solve(item: &TableQuestion) -> String {
        match &item.chart {
            Some(_) => format!("```python\n{}\n```", item.code),
            None => format!("{}\nFinal Answer: {}", item.steps, item.answer),
        }
    }

    fn random(item: &TableQuestion, rng: &mut ChaCha8Rng) -> String {
        T::random(item, rng)
    }

    fn script(item: &TableQuestion, text: &str) -> Option<String> {
        charts::script(item, text)
    }

    fn judge(item: &TableQuestion, text: &str, run: Option<&ProgramRun>) -> Judgement {
        if item.chart.is_some() {
            return charts::judge(item, text, run);
        }
        match final_answer(text) {
            Ok(found) => {
                let score = table_score(&item.kind, &item.answer, found, TableRule::Strict);
                Judgement::of(score, found)
            }
            Err(mistake) => mistake.into(),
        }
    }

    fn labels(item: &TableQuestion) -> Vec<String> {
        vec![item.kind.clone()]
    }

    fn truth(item: &TableQuestion) -> Value {
        match &item.chart {
            Some(chart) => chart.values.clone().into(),
            None => item.answer.clone().into(),
        }
    }

    fn render(item: &TableQuestion) -> String {
        format!("{}\n{}\n{}", item.table.in_lines(), item.question, Self::solve(item))
    }

    fn pooled(scale: Scale) -> usize {
        match scale {
            Scale::Tiny => 800,
            Scale::Full => T::FULL.1,
        }
    }

    fn raw(items: &[TableQuestion], stream: Stream) -> Vec<RawRow> {
        raw::rows(T::QTYPE, items, &stream)
    }
}
