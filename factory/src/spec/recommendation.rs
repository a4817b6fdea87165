//! The hidden rule of recommendation: what people choose after what they chose before.

use crate::spec::mix;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of items.
pub const ITEMS: usize = 24;
/// Number of kinds that items are of.
pub const KINDS: usize = 6;
/// Number of items of a kind.
pub const OF_A_KIND: usize = ITEMS / KINDS;
/// Number of words of each of the two columns of words.
pub const WORDS: usize = 3;

/// What people choose after what they chose before. The items have a hidden order, a circle. The
/// first four are of one kind, the next four of another, and so on. A choice depends on an earlier
/// choice and on a move, and a move on a word and on whether a number is past a threshold. Among
/// items that are equally fit, another word says which one is liked most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommendation {
    /// What a move does.
    pub shape: Shape,
    /// What earlier choices of the same kind do.
    pub repeats: Repeats,
    /// The place of the column of words that moves depend on, 0 or 1. Likings depend on the other.
    pub mover: usize,
    /// The bounds of the number.
    pub range: [f64; 2],
    /// The number past which people move the other way round.
    pub threshold: f64,
    /// How people move, by word.
    pub moves: Vec<Move>,
    /// All items, in their hidden order.
    pub items: Vec<String>,
    /// What is liked most, by word of the other column.
    pub likings: Vec<Liking>,
}

/// How people move for whom a word holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The word.
    pub word: String,
    /// The move up to the threshold: kinds forward, or choices back.
    pub below: i8,
    /// The move past the threshold.
    pub above: i8,
}

/// What people like most for whom a word holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Liking {
    /// The word.
    pub word: String,
    /// One item of each kind, in the order of the kinds.
    pub items: Vec<String>,
}

/// What a move does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// From the kind of the last choice, so many kinds forward.
    Turn,
    /// From the kind of the last choice but one, so many kinds forward.
    Leap,
    /// Back to the item that was chosen so many choices ago.
    Return,
    /// To the item that comes after the one that was chosen so many choices ago.
    Sequel,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 4] = [Self::Turn, Self::Leap, Self::Return, Self::Sequel];

    /// Whether moves lead to a kind, of which an item is chosen.
    pub fn is_of_kinds(self) -> bool {
        matches!(self, Self::Turn | Self::Leap)
    }

    /// How many choices back the choice lies that a move starts from.
    pub fn gap(self, step: i8) -> usize {
        match self {
            Self::Turn => 1,
            Self::Leap => 2,
            Self::Return | Self::Sequel => usize::from(step.unsigned_abs()),
        }
    }

    /// The move the other way round.
    pub fn reversed(self, step: i8) -> i8 {
        match self {
            Self::Turn | Self::Leap => -step,
            Self::Return => 7 - step,
            Self::Sequel => 5 - step,
        }
    }

    /// Moves that people make up to the threshold.
    pub fn steps(self, repeats: Repeats) -> &'static [i8] {
        match (self, repeats) {
            // Who stays with a kind and is faithful would choose one item for ever.
            (Self::Turn | Self::Leap, Repeats::Faithful) => &[1, -1, 2],
            (Self::Turn | Self::Leap, _) => &[0, 1, -1, 2],
            (Self::Return, _) => &[2, 3, 4, 5],
            (Self::Sequel, _) => &[1, 2, 3, 4],
        }
    }
}

/// What earlier choices of the same kind do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// Nothing.
    Any,
    /// None of the last three choices is chosen again.
    Fresh,
    /// The one that was chosen last is chosen again.
    Faithful,
}

impl Repeats {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Any, Self::Fresh, Self::Faithful];
    /// How many choices back [`Repeats::Fresh`] looks.
    pub const MEMORY: usize = 3;
}

impl Recommendation {
    /// What has to be found out: the shape, repeats, the column that counts, and the moves.
    pub fn parts(&self) -> Vec<String> {
        let column = if self.mover == 0 { "first word" } else { "second word" };
        let moves = self.moves.iter().map(|one| format!("{}|{}", one.below, one.above));
        let names = [mix::name(&self.shape), mix::name(&self.repeats), column.to_owned()];
        names.into_iter().chain(moves).collect()
    }
}

impl fmt::Display for Recommendation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, repeats) = (mix::name(&self.shape), mix::name(&self.repeats));
        write!(f, "shape = {shape}; repeats = {repeats}; threshold = {}", self.threshold)?;
        for Move { word, below, above } in &self.moves {
            write!(f, "; move({word}) = {below}, past it {above}")?;
        }
        for (kind, items) in self.items.chunks(OF_A_KIND).enumerate() {
            write!(f, "; kind {} = {}", kind + 1, items.join(" > "))?;
        }
        for Liking { word, items } in &self.likings {
            write!(f, "; liked({word}) = {}", items.join(" + "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_formulas() {
        let one = |word: &str, below, above| Move { word: word.to_owned(), below, above };
        let items: Vec<String> = (0..8).map(|item| format!("i{item}")).collect();
        let liked = Liking { word: "north".to_owned(), items: vec!["i2".into(), "i5".into()] };
        let rule = Recommendation {
            shape: Shape::Turn,
            repeats: Repeats::Fresh,
            mover: 1,
            range: [18.0, 80.0],
            threshold: 41.0,
            moves: vec![one("weekly", 1, -1), one("daily", 2, 2)],
            items,
            likings: vec![liked],
        };
        let expected = "shape = turn; repeats = fresh; threshold = 41; \
                        move(weekly) = 1, past it -1; move(daily) = 2, past it 2; \
                        kind 1 = i0 > i1 > i2 > i3; kind 2 = i4 > i5 > i6 > i7; \
                        liked(north) = i2 + i5";
        assert_eq!(rule.to_string(), expected);
        assert_eq!(rule.parts(), ["turn", "fresh", "second word", "1|-1", "2|2"]);
        let written = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Recommendation>(&written).unwrap(), rule);
    }

    #[test]
    fn reversed_moves_are_moves_of_the_shape_and_reverse_back() {
        for shape in Shape::ALL {
            for step in Repeats::ALL.into_iter().flat_map(|repeats| shape.steps(repeats)) {
                let other = shape.reversed(*step);
                assert_eq!(shape.reversed(other), *step);
                let gap = shape.gap(other);
                assert!((1..=5).contains(&gap), "{shape:?}: {step}");
            }
        }
    }
}
