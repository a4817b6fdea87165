//! Expressions: numbers computed from a row.

use super::{Frame, Test};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A number computed from a row (or from earlier rows of the same series).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Expr {
    /// The same number for every row.
    Number {
        /// The number, for every row.
        value: f64,
    },
    /// A column's distance from a reference, in units of a natural scale.
    Deviation {
        /// Name of the number column that is measured.
        column: String,
        /// Where it is zero.
        reference: f64,
        /// Length of one unit, in units of the column.
        scale: f64,
    },
    /// The product of two expressions.
    Product {
        /// Expression of the first factor.
        left: Box<Self>,
        /// Expression of the second factor.
        right: Box<Self>,
    },
    /// The difference of two expressions.
    Difference {
        /// Expression that is subtracted from.
        left: Box<Self>,
        /// Expression that is subtracted.
        right: Box<Self>,
    },
    /// One column over another, kept away from zero by adding `shift` below the line.
    Ratio {
        /// Name of the numerator's column.
        over: String,
        /// Name of the denominator's column.
        under: String,
        /// Added below the line.
        shift: f64,
    },
    /// The absolute value of an expression.
    Absolute {
        /// Expression whose absolute value is taken.
        of: Box<Self>,
    },
    /// The square of an expression.
    Square {
        /// Expression that is squared.
        of: Box<Self>,
    },
    /// Natural logarithm of a positive column plus `shift`.
    Log {
        /// Name of the column whose logarithm is taken.
        column: String,
        /// Added before the logarithm.
        shift: f64,
    },
    /// sin(2π (column − phase) / period).
    Wave {
        /// Name of the column whose wave is taken.
        column: String,
        /// Length of one cycle.
        period: f64,
        /// Where a cycle begins.
        phase: f64,
    },
    /// One of two expressions.
    If {
        /// The condition that chooses between the two.
        test: Test,
        /// Value where the condition holds.
        then: Box<Self>,
        /// Where it does not.
        otherwise: Box<Self>,
    },
    /// How many of the conditions hold.
    Count {
        /// The conditions that are counted.
        of: Vec<Test>,
    },
    /// A value per group.
    Offset {
        /// Name of the word column that holds the group.
        column: String,
        /// The value of each word; others count as 0.
        values: BTreeMap<String, f64>,
    },
    /// The value that an expression had some steps earlier in the same series (the first one
    /// of the series where there is none).
    Lag {
        /// Expression whose earlier value is taken.
        of: Box<Self>,
        /// How many steps earlier, at most back to the start of the series.
        steps: usize,
    },
}

impl Expr {
    /// A deviation of `column` from `reference` in units of `scale`.
    pub fn deviation(column: &str, reference: f64, scale: f64) -> Self {
        Self::Deviation { column: column.to_owned(), reference, scale }
    }

    /// Its value at one row.
    pub fn at(&self, frame: &Frame, row: usize) -> f64 {
        match self {
            Self::Number { value } => *value,
            Self::Deviation { column, reference, scale } => {
                (frame.number(column, row) - reference) / scale
            }
            Self::Product { left, right } => left.at(frame, row) * right.at(frame, row),
            Self::Difference { left, right } => left.at(frame, row) - right.at(frame, row),
            Self::Ratio { over, under, shift } => {
                frame.number(over, row) / (frame.number(under, row) + shift)
            }
            Self::Absolute { of } => of.at(frame, row).abs(),
            Self::Square { of } => {
                let value = of.at(frame, row);
                value * value
            }
            Self::Log { column, shift } => libm::log((frame.number(column, row) + shift).max(1e-9)),
            Self::Wave { column, period, phase } => {
                libm::sin(2.0 * std::f64::consts::PI * (frame.number(column, row) - phase) / period)
            }
            Self::If { test, then, otherwise } => {
                if test.holds(frame, row) {
                    then.at(frame, row)
                } else {
                    otherwise.at(frame, row)
                }
            }
            Self::Count { of } => of.iter().filter(|test| test.holds(frame, row)).count() as f64,
            Self::Offset { column, values } => frame
                .words
                .get(column)
                .and_then(|words| values.get(&words[row]))
                .copied()
                .unwrap_or(0.0),
            Self::Lag { of, steps } => {
                let start = if frame.block == 0 { row } else { row - row % frame.block };
                of.at(frame, row.saturating_sub(*steps).max(start))
            }
        }
    }

    /// Its value at every row.
    pub fn values(&self, frame: &Frame) -> Vec<f64> {
        (0..frame.rows).map(|row| self.at(frame, row)).collect()
    }

    /// The expressions that it is directly made of.
    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Product { left, right } | Self::Difference { left, right } => vec![left, right],
            Self::Absolute { of } | Self::Square { of } | Self::Lag { of, .. } => vec![of],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::Number { .. }
            | Self::Deviation { .. }
            | Self::Ratio { .. }
            | Self::Log { .. }
            | Self::Wave { .. }
            | Self::Count { .. }
            | Self::Offset { .. } => Vec::new(),
        }
    }

    /// Itself and all expressions within it, outermost first.
    pub fn all(&self) -> Vec<&Self> {
        let within = self.children().into_iter().flat_map(Self::all);
        std::iter::once(self).chain(within).collect()
    }

    /// Its own single conditions, without those of expressions within it.
    pub fn conditions(&self) -> Vec<&Test> {
        match self {
            Self::If { test, .. } => test.single(),
            Self::Count { of } => of.iter().flat_map(Test::single).collect(),
            _ => Vec::new(),
        }
    }

    /// How many expressions are within each other; 1 for one without expressions in it.
    pub fn depth(&self) -> usize {
        1 + self.children().into_iter().map(Self::depth).max().unwrap_or(0)
    }

    /// Number of expressions and single conditions.
    pub fn nodes(&self) -> usize {
        self.all().into_iter().map(|expr| 1 + expr.conditions().len()).sum()
    }

    /// The number columns that it reads anywhere.
    pub fn number_columns(&self) -> BTreeSet<&str> {
        let mut columns = BTreeSet::new();
        for expr in self.all() {
            match expr {
                Self::Deviation { column, .. }
                | Self::Log { column, .. }
                | Self::Wave { column, .. } => columns.extend([column.as_str()]),
                Self::Ratio { over, under, .. } => columns.extend([over.as_str(), under]),
                _ => columns.extend(expr.conditions().into_iter().filter_map(Test::number_column)),
            }
        }
        columns
    }

    /// The word columns that it reads anywhere, with the words that it compares.
    pub fn word_columns(&self) -> Vec<(&str, Vec<&str>)> {
        let mut columns: Vec<(&str, Vec<&str>)> = Vec::new();
        for expr in self.all() {
            if let Self::Offset { column, values } = expr {
                columns.push((column, values.keys().map(String::as_str).collect()));
            }
            let words = expr.conditions().into_iter().filter_map(Test::word);
            columns.extend(words.map(|(column, word)| (column, vec![word])));
        }
        columns
    }
}
