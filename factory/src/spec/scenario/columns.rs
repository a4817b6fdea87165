//! Columns as a story describes them, in one line each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How a number column is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Every value equally likely.
    Uniform,
    /// A bell between the bounds.
    Bell,
    /// A bell on a logarithmic axis: many small values, few large ones.
    Skew,
    /// Whole numbers, small ones more often.
    Count,
}

/// A number column, written `name low high shape decimals`: its name, its bounds, its distribution
/// (`u` uniform, `b` a bell between the bounds, `s` skewed with many small values and a positive
/// lower bound, `c` whole numbers of which small ones are more frequent), and its digits after the
/// point, such as `load_kg 2 40 s 1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct NumberColumn {
    /// Name of the column in the tables.
    pub name: String,
    /// Smallest value that is drawn.
    pub low: f64,
    /// Largest value that is drawn.
    pub high: f64,
    /// Distribution of values between `low` and `high`.
    pub shape: Shape,
    /// Digits after the point.
    pub decimals: usize,
}

impl FromStr for NumberColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `name low high u|b|s|c decimals`");
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [name, low, high, shape, decimals] = parts[..] else { return Err(wrong()) };
        let column = Self {
            name: name.to_owned(),
            low: low.parse().map_err(|_| wrong())?,
            high: high.parse().map_err(|_| wrong())?,
            shape: match shape {
                "u" => Shape::Uniform,
                "b" => Shape::Bell,
                "s" => Shape::Skew,
                "c" => Shape::Count,
                _ => return Err(wrong()),
            },
            decimals: decimals.parse().map_err(|_| wrong())?,
        };
        let skew_from_zero = column.shape == Shape::Skew && column.low <= 0.0;
        let finite = column.low.is_finite() && column.high.is_finite();
        if !finite || column.low >= column.high || skew_from_zero {
            return Err(format!("`{text}`: bounds must increase, and be positive for `s`"));
        }
        Ok(column)
    }
}

impl TryFrom<String> for NumberColumn {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<NumberColumn> for String {
    fn from(column: NumberColumn) -> Self {
        let shape = match column.shape {
            Shape::Uniform => 'u',
            Shape::Bell => 'b',
            Shape::Skew => 's',
            Shape::Count => 'c',
        };
        let NumberColumn { name, low, high, decimals, .. } = column;
        format!("{name} {low} {high} {shape} {decimals}")
    }
}

/// A word column, written `name: word word word`, such as `shift: early late night`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct WordColumn {
    /// Name of the column in the tables.
    pub name: String,
    /// All words that can occur; for grades, from low to high.
    pub words: Vec<String>,
}

impl TryFrom<String> for WordColumn {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `name: word word ...` with two words or more");
        let (name, words) = text.split_once(": ").ok_or_else(wrong)?;
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if words.len() < 2 {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), words })
    }
}

impl From<WordColumn> for String {
    fn from(column: WordColumn) -> Self {
        format!("{}: {}", column.name, column.words.join(" "))
    }
}
