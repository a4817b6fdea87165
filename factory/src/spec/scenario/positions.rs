//! What a story says of sequences whose positions have answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way something moves what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More of it goes with more.
    Raises,
    /// More of it goes with less.
    Lowers,
}

impl Direction {
    /// 1 or -1.
    pub fn sign(self) -> f64 {
        match self {
            Self::Raises => 1.0,
            Self::Lowers => -1.0,
        }
    }
}

/// Sequences whose positions have answers, and which way things move these. The first column of the
/// story holds the symbols, its second a number and its third a word that go with the whole
/// sequence; its target is a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PositionStory {
    /// The column that says where in its sequence a position is, counted from 1.
    pub place: String,
    /// What a position is called, in the singular.
    pub position: String,
    /// Symbols that raise the target where they stand and around.
    pub raises: Vec<String>,
    /// Symbols that lower it.
    pub lowers: Vec<String>,
    /// The symbol that opens something, and the one that closes it; none where nothing is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<[String; 2]>,
    /// What being inside of what is opened does.
    pub inside: Direction,
    /// What a symbol does that comes many times in a row.
    pub run: Direction,
    /// What being late in a sequence does.
    pub late: Direction,
    /// What the number of the sequence does.
    pub number: Direction,
    /// Bounds of the target.
    pub range: [f64; 2],
    /// Digits after the point of the target.
    pub decimals: usize,
    /// Further numbers that are moved in the same ways; none, one or two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<PositionNumber>,
    /// A class that is moved in the same ways, to be asked for in place of numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ClassStory>,
}

/// A further number that is asked for at each position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PositionNumber {
    /// Its column.
    pub name: String,
    /// What it stands for.
    pub means: String,
    /// Its bounds.
    pub range: [f64; 2],
    /// Digits after the point.
    pub decimals: usize,
}

/// A class that is asked for at each position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassStory {
    /// Its column.
    pub name: String,
    /// What it stands for.
    pub means: String,
    /// Three classes, from low to high.
    pub words: Vec<String>,
}
