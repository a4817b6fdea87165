//! What is asked about a table, with its answer.

use super::table::Table;
use crate::kind::Scale;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// What a chart must show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// `bar`, `hbar`, `line`, `pie` or `scatter`.
    pub form: String,
    /// The values along the axis of values; of a pie the shares, rounded to two decimals.
    pub values: Vec<f64>,
}

/// A question about a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableQuestion {
    /// The kind of question.
    pub kind: String,
    /// The table.
    pub table: Table,
    /// The question in words.
    pub question: String,
    /// Worked steps.
    pub steps: String,
    /// A program that reads `table.csv` as `df` and leaves the answer in `answer`; of charts, that
    /// draws it.
    pub code: String,
    /// The answer; of charts, none.
    pub answer: String,
    /// What a chart must show; `None` of other questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<Chart>,
}

/// What a kind of question makes of a draw.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) question: String,
    pub(super) steps: String,
    pub(super) code: String,
    pub(super) answer: String,
    pub(super) table: Table,
}

/// A kind of question.
#[derive(Debug)]
pub(super) struct QuestionKind {
    pub(super) name: &'static str,
    /// One candidate; `None` if the table has no such question with one answer.
    pub(super) ask: fn(Scale, &mut ChaCha8Rng) -> Option<Asked>,
}

impl QuestionKind {
    pub(super) fn draw(&self, scale: Scale, rng: &mut ChaCha8Rng) -> Option<TableQuestion> {
        let Asked { question, steps, code, answer, table } = (self.ask)(scale, rng)?;
        let kind = self.name.to_owned();
        Some(TableQuestion { kind, table, question, steps, code, answer, chart: None })
    }
}

/// The row with the greatest value of a column, if it is the only one.
pub(super) fn greatest(values: &[i64]) -> Option<usize> {
    let most = *values.iter().max()?;
    only(values, most)
}

/// The row with the least value of a column, if it is the only one.
pub(super) fn least(values: &[i64]) -> Option<usize> {
    let least = *values.iter().min()?;
    only(values, least)
}

/// The row with this value, if it is the only one.
pub(super) fn only(values: &[i64], value: i64) -> Option<usize> {
    let mut rows = values.iter().enumerate().filter(|(_, other)| **other == value);
    let (row, _) = rows.next()?;
    rows.next().is_none().then_some(row)
}

/// Numbers in a sum: `1 + 2 + 3`.
pub(super) fn sum_of(values: &[i64]) -> String {
    values.iter().map(i64::to_string).collect::<Vec<_>>().join(" + ")
}
