//! The hidden rule: a typed expression over columns, printable as a formula.
//!
//! score = Σ weight · (expression − mean) / spread, over 2 to 5 terms that each carry a real
//! share of the score's variance ([`Rule::shares`]). Expressions are evaluated on a [`Frame`]
//! of clean values: before noise, gaps and other mutations.

use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Clean columns, all of the same length. For time series, rows are blocks of `block` steps,
/// one block per series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    /// Number columns by name.
    pub numbers: BTreeMap<String, Vec<f64>>,
    /// Word columns by name.
    pub words: BTreeMap<String, Vec<String>>,
    /// Rows per series; 0 for data without time.
    pub block: usize,
    /// Number of rows of every column.
    pub rows: usize,
}

/// A condition on a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case", deny_unknown_fields)]
pub enum Test {
    /// The column's value is greater than the threshold.
    Above {
        /// Name of the number column that is compared.
        column: String,
        /// Values greater than this one pass the test.
        threshold: f64,
    },
    /// The column's value is at most the threshold.
    AtMost {
        /// Name of the number column that is compared.
        column: String,
        /// Values up to and including this one pass the test.
        threshold: f64,
    },
    /// The column holds this word.
    Is {
        /// Name of the word column that is compared.
        column: String,
        /// The word that passes the test.
        value: String,
    },
    /// Every one of several conditions holds.
    All {
        /// The conditions that must all hold.
        of: Vec<Self>,
    },
}

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

/// One standardised and weighted expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Its weight in the score.
    pub weight: f64,
    /// The population's mean of `expr`.
    pub mean: f64,
    /// The population's standard deviation of `expr`.
    pub spread: f64,
    /// The expression before it is standardised.
    pub expr: Expr,
}

/// The mechanism that a family of rules is built around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// If-then rules over several columns.
    RuleList,
    /// Products of two columns' deviations.
    Products,
    /// Ratios of columns, with offsets per group.
    RatioGroup,
    /// Sums of bent columns.
    Additive,
    /// A slope that depends on a condition.
    Conditional,
    /// The distance between two columns that should agree.
    Mismatch,
    /// How many conditions hold.
    Count,
    /// A driver that acts later, and differently in each regime.
    LagRegime,
}

/// A hidden rule: the formula behind one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it is built around.
    pub family: Family,
    /// Terms of the sum that makes the score, 2 to 5 of them.
    pub terms: Vec<Term>,
}

impl Test {
    fn holds(&self, frame: &Frame, row: usize) -> bool {
        match self {
            Self::Above { column, threshold } => number(frame, column, row) > *threshold,
            Self::AtMost { column, threshold } => number(frame, column, row) <= *threshold,
            Self::Is { column, value } => frame.words.get(column).is_some_and(|w| w[row] == *value),
            Self::All { of } => of.iter().all(|test| test.holds(frame, row)),
        }
    }
}

/// A column that the frame lacks counts as zero; blueprints are checked for that beforehand.
fn number(frame: &Frame, column: &str, row: usize) -> f64 {
    frame.numbers.get(column).map_or(0.0, |values| values[row])
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
                (number(frame, column, row) - reference) / scale
            }
            Self::Product { left, right } => left.at(frame, row) * right.at(frame, row),
            Self::Difference { left, right } => left.at(frame, row) - right.at(frame, row),
            Self::Ratio { over, under, shift } => {
                number(frame, over, row) / (number(frame, under, row) + shift)
            }
            Self::Absolute { of } => of.at(frame, row).abs(),
            Self::Square { of } => {
                let value = of.at(frame, row);
                value * value
            }
            Self::Log { column, shift } => {
                libm::log((number(frame, column, row) + shift).max(1e-9))
            }
            Self::Wave { column, period, phase } => libm::sin(
                2.0 * std::f64::consts::PI * (number(frame, column, row) - phase) / period,
            ),
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
}

impl Rule {
    /// A rule whose terms have the given shares of the variance on `population`, were they
    /// uncorrelated; the score's variance is then scaled to 1.
    ///
    /// Returns `None` if a term is constant.
    pub fn balanced(family: Family, parts: Vec<(f64, Expr)>, population: &Frame) -> Option<Self> {
        let mut terms = Vec::with_capacity(parts.len());
        for (weight, expr) in parts {
            let (mean, spread) = moments(&expr.values(population));
            if spread < 1e-9 {
                return None;
            }
            let weight = weight.signum() * weight.abs().sqrt();
            // Four significant digits are what the formula shows.
            terms.push(Term { weight, mean: digits(mean), spread: digits(spread), expr });
        }
        let mut rule = Self { family, terms };
        let (_, spread) = moments(&rule.score(population));
        if spread < 1e-9 {
            return None;
        }
        for term in &mut rule.terms {
            term.weight = digits(term.weight / spread);
        }
        Some(rule)
    }

    /// Each term's values: the transforms a model needs to recover the rule.
    pub fn transforms(&self, frame: &Frame) -> Vec<Vec<f64>> {
        let standardise = |term: &Term| {
            let values = term.expr.values(frame);
            values.into_iter().map(|v| (v - term.mean) / term.spread).collect()
        };
        self.terms.iter().map(standardise).collect()
    }

    /// The noise-free score of every row.
    pub fn score(&self, frame: &Frame) -> Vec<f64> {
        let mut score = vec![0.0; frame.rows];
        for (term, values) in self.terms.iter().zip(self.transforms(frame)) {
            for (sum, value) in score.iter_mut().zip(values) {
                *sum += term.weight * value;
            }
        }
        score
    }

    /// The share of the score's variance that each term carries: cov(term, score) / var(score).
    pub fn shares(&self, frame: &Frame) -> Vec<f64> {
        let score = self.score(frame);
        let (mean, spread) = moments(&score);
        let share = |(term, values): (&Term, Vec<f64>)| {
            let (own, _) = moments(&values);
            let covariance: f64 =
                values.iter().zip(&score).map(|(v, s)| (v - own) * (s - mean)).sum::<f64>()
                    / frame.rows as f64;
            term.weight * covariance / (spread * spread)
        };
        self.terms.iter().zip(self.transforms(frame)).map(share).collect()
    }

    /// A hash that does not depend on the names of columns, the order of terms or of factors:
    /// two tasks with the same hash ask for the same discovery.
    pub fn canonical_hash(&self) -> String {
        let mut texts: Vec<String> = self
            .terms
            .iter()
            .map(|term| format!("{:.2}*{}", term.weight / term.spread, canonical(&term.expr)))
            .collect();
        texts.sort();
        let text = format!("{:?}\n{}", self.family, texts.join("\n"));
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }
}

/// The formula of an expression without column names, commutative operands sorted.
fn canonical(expr: &Expr) -> String {
    match expr {
        Expr::Product { left, right } => {
            let mut pair = [canonical(left), canonical(right)];
            pair.sort();
            format!("({} * {})", pair[0], pair[1])
        }
        Expr::Count { of } => {
            let mut tests: Vec<String> = of.iter().map(canonical_test).collect();
            tests.sort();
            format!("count({})", tests.join(", "))
        }
        Expr::Difference { left, right } => {
            format!("({} - {})", canonical(left), canonical(right))
        }
        Expr::Deviation { reference, scale, .. } => format!("dev({reference},{scale})"),
        Expr::Ratio { shift, .. } => format!("ratio({shift})"),
        Expr::Absolute { of } => format!("abs({})", canonical(of)),
        Expr::Square { of } => format!("sq({})", canonical(of)),
        Expr::Log { shift, .. } => format!("log({shift})"),
        Expr::Wave { period, phase, .. } => format!("wave({period},{phase})"),
        Expr::If { test, then, otherwise } => {
            format!("if({},{},{})", canonical_test(test), canonical(then), canonical(otherwise))
        }
        Expr::Offset { values, .. } => {
            let mut offsets: Vec<String> = values.values().map(f64::to_string).collect();
            offsets.sort();
            format!("offset({})", offsets.join(","))
        }
        Expr::Lag { of, steps } => format!("lag({},{steps})", canonical(of)),
        Expr::Number { value } => value.to_string(),
    }
}

fn canonical_test(test: &Test) -> String {
    match test {
        Test::Above { threshold, .. } => format!("> {threshold}"),
        Test::AtMost { threshold, .. } => format!("<= {threshold}"),
        Test::Is { .. } => "is".to_owned(),
        Test::All { of } => {
            let mut tests: Vec<String> = of.iter().map(canonical_test).collect();
            tests.sort();
            tests.join(" and ")
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above { column, threshold } => write!(f, "{column} > {threshold}"),
            Self::AtMost { column, threshold } => write!(f, "{column} <= {threshold}"),
            Self::Is { column, value } => write!(f, "{column} is {value}"),
            Self::All { of } => {
                let texts: Vec<String> = of.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join(" and "))
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { value } => write!(f, "{value}"),
            Self::Deviation { column, reference, scale } => {
                let sign = if *reference < 0.0 { '+' } else { '-' };
                write!(f, "(({column} {sign} {}) / {scale})", reference.abs())
            }
            Self::Product { left, right } => write!(f, "{left} * {right}"),
            Self::Difference { left, right } => write!(f, "({left} - {right})"),
            Self::Ratio { over, under, shift } if *shift == 0.0 => write!(f, "{over} / {under}"),
            Self::Ratio { over, under, shift } => write!(f, "{over} / ({under} + {shift})"),
            Self::Absolute { of } => write!(f, "|{of}|"),
            Self::Square { of } => write!(f, "{of}^2"),
            Self::Log { column, shift } => write!(f, "log({column} + {shift})"),
            Self::Wave { column, period, phase } => {
                write!(f, "sin(2 pi ({column} - {phase}) / {period})")
            }
            Self::If { test, then, otherwise } => {
                write!(f, "(if {test} then {then} else {otherwise})")
            }
            Self::Count { of } => {
                let texts: Vec<String> = of.iter().map(ToString::to_string).collect();
                write!(f, "count[{}]", texts.join("; "))
            }
            Self::Offset { column, values } => {
                let texts: Vec<String> =
                    values.iter().map(|(word, value)| format!("{word}: {value}")).collect();
                write!(f, "{column}{{{}}}", texts.join(", "))
            }
            Self::Lag { of, steps } => write!(f, "lag{steps}[{of}]"),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let sign = match (index, term.weight < 0.0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            write!(f, "{sign}{:.3} z[{}]", term.weight.abs(), term.expr)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame {
            numbers: BTreeMap::from([
                ("a".to_owned(), vec![1.0, 2.0, 3.0, 4.0]),
                ("b".to_owned(), vec![2.0, 1.0, 4.0, 3.0]),
            ]),
            words: BTreeMap::from([(
                "g".to_owned(),
                ["x", "y", "x", "z"].map(str::to_owned).to_vec(),
            )]),
            block: 2,
            rows: 4,
        }
    }

    fn product(left: &str, right: &str) -> Expr {
        let factor =
            |name: &str| Box::new(Expr::deviation(name, 2.0, if name == "a" { 1.0 } else { 3.0 }));
        Expr::Product { left: factor(left), right: factor(right) }
    }

    #[test]
    fn expressions_mean_what_they_print() {
        let ratio = Expr::Ratio { over: "a".to_owned(), under: "b".to_owned(), shift: 1.0 };
        assert_eq!(ratio.values(&frame()), [1.0 / 3.0, 1.0, 0.6, 1.0]);
        assert_eq!(ratio.to_string(), "a / (b + 1)");
        let offset = Expr::Offset {
            column: "g".to_owned(),
            values: BTreeMap::from([("x".to_owned(), 2.0), ("y".to_owned(), -1.0)]),
        };
        assert_eq!(offset.values(&frame()), [2.0, -1.0, 2.0, 0.0]);
        let count = Expr::Count {
            of: vec![
                Test::Above { column: "a".to_owned(), threshold: 2.0 },
                Test::Is { column: "g".to_owned(), value: "x".to_owned() },
            ],
        };
        assert_eq!(count.values(&frame()), [1.0, 0.0, 2.0, 1.0]);
        assert_eq!(count.to_string(), "count[a > 2; g is x]");
    }

    #[test]
    fn a_lag_stays_inside_its_series() {
        let lag = Expr::Lag { of: Box::new(Expr::deviation("a", 0.0, 1.0)), steps: 1 };
        assert_eq!(lag.values(&frame()), [1.0, 1.0, 3.0, 3.0]);
    }

    #[test]
    fn a_balanced_rule_has_unit_variance_and_shares_that_sum_to_one() {
        let parts = vec![(0.3, Expr::deviation("a", 0.0, 1.0)), (-0.7, product("a", "b"))];
        let rule = Rule::balanced(Family::Products, parts, &frame()).unwrap();
        let (_, spread) = moments(&rule.score(&frame()));
        assert!((spread - 1.0).abs() < 1e-2);
        assert!((rule.shares(&frame()).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_hash_ignores_names_and_order_but_not_structure() {
        let rule = |expr: Expr| Rule {
            family: Family::Products,
            terms: vec![Term { weight: 1.0, mean: 0.0, spread: 1.0, expr }],
        };
        let hash = rule(product("a", "b")).canonical_hash();
        assert_eq!(hash, rule(product("b", "a")).canonical_hash());
        assert_ne!(hash, rule(product("b", "b")).canonical_hash());
    }

    #[test]
    fn rules_round_trip_through_json() {
        let parts = vec![(0.3, Expr::deviation("a", 0.1, 0.7)), (-0.7, product("a", "b"))];
        let rule = Rule::balanced(Family::Products, parts, &frame()).unwrap();
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    }
}
