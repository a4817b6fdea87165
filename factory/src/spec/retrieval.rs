//! The hidden rule of retrieval: what the circumstances of a measurement do to it.

use crate::spec::mix;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fmt::Write as _;

/// Number of measures of an individual.
pub const MEASURES: usize = 6;
/// Number of words that name circumstances.
pub const WORDS: usize = 3;

/// What the circumstances of a measurement do to it. In units of a measure's spread between
/// individuals, a measurement is off by `load * gain(word) * shape(condition) + offset(word)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retrieval {
    /// How measurements change with the condition.
    pub shape: Shape,
    /// The bounds of the condition.
    pub condition: [f64; 2],
    /// The circumstances that are words, by how they change the rule.
    pub words: Vec<Circumstance>,
    /// What is measured of an individual.
    pub measures: Vec<Measure>,
}

/// A circumstance that is a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circumstance {
    /// The word.
    pub word: String,
    /// 1 where the condition acts, -1 where it acts the other way round, 0 where it does not act.
    pub gain: i8,
}

/// What is measured of an individual.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The column.
    pub column: String,
    /// Bounds between which most individuals lie.
    pub range: [f64; 2],
    /// How strongly the condition acts.
    pub load: f64,
    /// What each word adds, the first one nothing.
    pub offsets: Vec<f64>,
}

/// How measurements change with a condition from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Evenly.
    Rise,
    /// Up and down again, smoothly.
    Hump,
    /// Down and up again, with a bend in the middle.
    Fold,
    /// Suddenly, past the middle.
    Step,
    /// Up, down and up again.
    Wave,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 5] = [Self::Rise, Self::Hump, Self::Fold, Self::Step, Self::Wave];

    /// Its value at a condition from 0 to 1.
    pub fn at(self, condition: f64) -> f64 {
        match self {
            Self::Rise => condition - 0.5,
            Self::Hump => 4.0 * condition * (1.0 - condition) - 0.5,
            Self::Fold => (2.0 * condition - 1.0).abs() - 0.5,
            Self::Step if condition > 0.6 => 0.6,
            Self::Step => -0.4,
            Self::Wave => 0.6 * libm::sin(2.0 * std::f64::consts::PI * condition),
        }
    }
}

impl Retrieval {
    /// The place of a condition between its bounds.
    pub fn place(&self, condition: f64) -> f64 {
        let [low, high] = self.condition;
        (condition - low) / (high - low)
    }

    /// What has to be found out: the shape, and where it acts.
    pub fn parts(&self) -> Vec<String> {
        let gains = self.words.iter().map(|one| one.gain.to_string());
        [mix::name(&self.shape)].into_iter().chain(gains).collect()
    }
}

impl fmt::Display for Retrieval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shape = {}", mix::name(&self.shape))?;
        for Circumstance { word, gain } in &self.words {
            write!(f, "; gain({word}) = {gain}")?;
        }
        for Measure { column, load, offsets, .. } in &self.measures {
            let mut terms = format!("{load} * gain * shape");
            for (offset, one) in offsets.iter().zip(&self.words).skip(1) {
                let _ = write!(terms, " + {offset} if {}", one.word);
            }
            write!(f, "; {column} += {terms}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_formulas() {
        let word = |word: &str, gain| Circumstance { word: word.to_owned(), gain };
        let measure = Measure {
            column: "fin_cm".to_owned(),
            range: [10.0, 20.0],
            load: 2.1,
            offsets: vec![0.0, -0.5],
        };
        let rule = Retrieval {
            shape: Shape::Hump,
            condition: [2.0, 6.0],
            words: vec![word("wet", 1), word("dry", -1)],
            measures: vec![measure],
        };
        let expected = "shape = hump; gain(wet) = 1; gain(dry) = -1; \
                        fin_cm += 2.1 * gain * shape + -0.5 if dry";
        assert_eq!(rule.to_string(), expected);
        assert_eq!(rule.parts(), ["hump", "1", "-1"]);
        assert_eq!(rule.place(5.0), 0.75);
        let written = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Retrieval>(&written).unwrap(), rule);
    }

    #[test]
    fn shapes_stay_small_and_differ() {
        for shape in Shape::ALL {
            let values: Vec<f64> = (0..=20).map(|step| shape.at(f64::from(step) / 20.0)).collect();
            assert!(values.iter().all(|value| value.abs() <= 0.6 + 1e-12), "{shape:?}");
            let spread = crate::numeric::moments::moments(&values).1;
            assert!((0.25..0.55).contains(&spread), "{shape:?}: {spread}");
        }
    }
}
