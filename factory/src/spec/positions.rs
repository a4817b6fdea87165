//! The hidden rule of answers along a sequence: what the symbols around a position say of it.

mod form;

pub use form::{Form, Place};

use crate::spec::scenario::PositionStory;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id column of submissions: their rows are positions, whose ids are those of the sequence and
/// of the place in it.
pub const ID: &str = "id";
/// The place of the first position of a sequence.
pub const FIRST: usize = 1;
/// The columns that are known of a sequence: its symbols, a number and a word.
pub const COLUMNS: usize = 3;
/// Number of words of the column of words.
pub const WORDS: usize = 3;

/// How sequences are made up, and what answers at their positions depend on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    /// The column that names a sequence.
    pub sequence: String,
    /// The column of the training answers that says where in its sequence a position is.
    pub place: String,
    /// All symbols. Single letters stand in a cell without blanks between them.
    pub symbols: Vec<String>,
    /// How often each symbol occurs, relative to others.
    pub weights: Vec<f64>,
    /// How many times as likely as elsewhere a symbol is right after itself.
    pub stay: f64,
    /// The symbol that opens something, and the one that closes it.
    pub pair: Option<[usize; 2]>,
    /// The bounds of the number of a sequence.
    pub range: [f64; 2],
    /// The words of a sequence.
    pub words: Vec<String>,
    /// Fewest and most positions of a sequence.
    pub lengths: [usize; 2],
    /// What is asked for at each position: numbers, or one class.
    pub targets: Vec<PositionTarget>,
}

/// Something that is asked for at each position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionTarget {
    /// Its column.
    pub column: String,
    /// What moves it. Over many sequences, their sum has mean 0 and variance 1.
    pub terms: Vec<PositionTerm>,
    /// Standard deviation of the normal noise of a number, or scale of the logistic noise of a class,
    /// in units of the sum of terms.
    pub noise: f64,
    /// From the noisy sum to what is asked for.
    pub answer: PositionAnswer,
}

/// From the noisy sum of terms to what is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum PositionAnswer {
    /// center + scale · sum, held between two bounds.
    Number {
        /// Value where the sum is 0.
        center: f64,
        /// Size of a unit of the sum.
        scale: f64,
        /// The bounds.
        range: [f64; 2],
        /// Digits after the point.
        decimals: usize,
    },
    /// The sum is cut.
    Class {
        /// Names of the classes, from low to high.
        classes: Vec<String>,
        /// Ascending cuts, one fewer than classes.
        cuts: Vec<f64>,
    },
}

/// One thing that moves a target: `weight` · (`form` · factor − `mean`) / `spread`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionTerm {
    /// What it looks at.
    pub form: Form,
    /// What of the whole sequence makes it stronger.
    pub by: By,
    /// Mean over many sequences.
    pub mean: f64,
    /// Standard deviation over many sequences, above 0.
    pub spread: f64,
    /// Its share and direction.
    pub weight: f64,
}

/// What of the whole sequence makes a term stronger, as a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum By {
    /// Nothing.
    Alone,
    /// The number: 1 + `slope` · z, where z has variance 1 if numbers are spread evenly.
    Number {
        /// How fast it grows.
        slope: f64,
    },
    /// The word: a factor for each.
    Word {
        /// The factors, in the order of the words.
        factors: Vec<f64>,
    },
}

impl By {
    /// What a skeleton says of it.
    fn mark(&self) -> &'static str {
        match self {
            Self::Alone => "",
            Self::Number { .. } => "*number",
            Self::Word { .. } => "*word",
        }
    }
}

impl PositionTerm {
    /// What it looks at and what makes it stronger, in a word or two.
    fn skeleton(&self) -> String {
        format!("{}{}", self.form.name(), self.by.mark())
    }
}

impl Positions {
    /// Whether symbols have blanks between them.
    pub fn is_spaced(&self) -> bool {
        self.symbols.iter().any(|symbol| symbol.chars().count() > 1)
    }

    /// The symbols of a cell, by their places; `None` if one is unknown.
    pub fn parse(&self, cell: &str) -> Option<Vec<usize>> {
        let place = |word: &str| self.symbols.iter().position(|symbol| symbol == word);
        if self.is_spaced() {
            return cell.split(' ').map(place).collect();
        }
        cell.chars().map(|letter| place(letter.encode_utf8(&mut [0; 4]))).collect()
    }

    /// Symbols as a cell holds them.
    pub fn cell(&self, symbols: &[usize]) -> String {
        let names: Vec<&str> = symbols.iter().map(|symbol| &*self.symbols[*symbol]).collect();
        names.join(if self.is_spaced() { " " } else { "" })
    }

    /// The forms of what is asked for, each once and sorted, with what makes them stronger.
    pub fn parts(&self) -> Vec<String> {
        let terms = self.targets.iter().flat_map(|target| &target.terms);
        let mut parts: Vec<String> = terms.map(PositionTerm::skeleton).collect();
        parts.sort();
        parts.dedup();
        parts
    }

    /// Whether a term is of a form that training tasks do not have.
    pub fn is_held_out(&self) -> bool {
        let mut terms = self.targets.iter().flat_map(|target| &target.terms);
        terms.any(|term| term.form.is_held_out())
    }

    /// What a column of answers stands for; empty for a column that is none.
    pub fn meaning<'a>(&self, column: &str, main: &'a str, story: &'a PositionStory) -> &'a str {
        let further = story.also.iter().map(|one| (&one.name, &one.means));
        let class = story.class.iter().map(|one| (&one.name, &one.means));
        let named = further.chain(class).find(|(name, _)| *name == column);
        named.map_or(main, |(_, means)| means)
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, target) in self.targets.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{} = ", target.column)?;
            for (place, term) in target.terms.iter().enumerate() {
                let PositionTerm { form, by, mean, spread, weight } = term;
                let between = if place == 0 { "" } else { "; " };
                write!(f, "{between}{weight:+} * ({}", form.written(&self.symbols))?;
                match by {
                    By::Alone => {}
                    By::Number { slope } => write!(f, " * (1 {slope:+} * number)")?,
                    By::Word { factors } => {
                        let factors = self.words.iter().zip(factors);
                        let factors = factors.map(|(word, factor)| format!("{word}={factor}"));
                        write!(f, " * word[{}]", factors.collect::<Vec<_>>().join(" "))?;
                    }
                }
                write!(f, " - {mean}) / {spread}")?;
            }
            match &target.answer {
                PositionAnswer::Number { .. } => write!(f, "; noise {}", target.noise)?,
                PositionAnswer::Class { cuts, .. } => {
                    write!(f, "; noise {}, cut at {cuts:?}", target.noise)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(symbols: &[&str]) -> Positions {
        let term = |form, by| PositionTerm { form, by, mean: 0.25, spread: 0.5, weight: -0.75 };
        Positions {
            sequence: "strand".to_owned(),
            place: "position".to_owned(),
            symbols: symbols.iter().map(|symbol| (*symbol).to_owned()).collect(),
            weights: vec![1.0; symbols.len()],
            stay: 1.5,
            pair: None,
            range: [4.0, 60.0],
            words: ["salt", "none"].map(str::to_owned).to_vec(),
            lengths: [20, 90],
            targets: vec![PositionTarget {
                column: "loss".to_owned(),
                terms: vec![
                    term(Form::Since { symbol: 1, reach: 6.0 }, By::Number { slope: 0.5 }),
                    term(Form::Echo { lag: 3 }, By::Word { factors: vec![0.2, 1.0] }),
                ],
                noise: 0.4,
                answer: PositionAnswer::Class { classes: Vec::new(), cuts: vec![0.1] },
            }],
        }
    }

    #[test]
    fn rules_are_written_as_formulas_and_read_back() {
        let rule = rule(&["A", "C", "G"]);
        let expected = "loss = -0.75 * (since(C, 6) * (1 +0.5 * number) - 0.25) / 0.5; \
                        -0.75 * (echo(3) * word[salt=0.2 none=1] - 0.25) / 0.5; \
                        noise 0.4, cut at [0.1]";
        assert_eq!(rule.to_string(), expected);
        assert_eq!(rule.parts(), ["echo*word", "since*number"]);
        assert!(rule.is_held_out());
        let written = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Positions>(&written).unwrap(), rule);
    }

    #[test]
    fn cells_are_letters_or_words_and_are_read_back() {
        for (symbols, cell) in [(["A", "C", "G"], "CAG"), (["a1", "b1", "c"], "b1 a1 c")] {
            let rule = rule(&symbols);
            assert_eq!(rule.cell(&[1, 0, 2]), cell);
            assert_eq!(rule.parse(cell), Some(vec![1, 0, 2]));
            assert_eq!(rule.parse("CAx"), None);
        }
    }
}
