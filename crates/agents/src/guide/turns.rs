//! The turns of a conversation: all are counted, and a store keeps only the last ones in memory.
//!
//! A server that runs for weeks has conversations of thousands of turns. They are in their journals,
//! from which older ones are read when somebody asks for them.

use super::turn::StoredTurn;

/// The turns of a conversation, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turns {
    /// How many earlier ones are no longer here.
    forgotten: usize,
    kept: Vec<StoredTurn>,
}

impl Turns {
    /// How many there are, forgotten ones included.
    pub fn count(&self) -> u32 {
        u32::try_from(self.forgotten + self.kept.len()).expect("fewer than 2^32 turns")
    }

    /// All of them.
    ///
    /// # Panics
    /// If some are forgotten. None are in a conversation that was folded from its journal.
    pub fn all(&self) -> &[StoredTurn] {
        assert!(self.forgotten == 0, "{} turns are forgotten", self.forgotten);
        &self.kept
    }

    /// All of them.
    ///
    /// # Panics
    /// As [`Self::all`].
    pub fn into_all(self) -> Vec<StoredTurn> {
        assert!(self.forgotten == 0, "{} turns are forgotten", self.forgotten);
        self.kept
    }

    /// Those that are kept, in order: the last ones.
    pub fn recent(&self) -> &[StoredTurn] {
        &self.kept
    }

    /// Those from `from` to before `to`, from 0; `None` if one of them is forgotten. Those that are not
    /// there yet are left out.
    pub fn range(&self, from: u32, to: u32) -> Option<&[StoredTurn]> {
        let to = to.min(self.count()) as usize;
        let from = (from as usize).min(to);
        if from == to {
            return Some(&[]);
        }
        let first = from.checked_sub(self.forgotten)?;
        Some(&self.kept[first..to - self.forgotten])
    }

    pub(super) fn push(&mut self, turn: StoredTurn) {
        self.kept.push(turn);
    }

    /// Forgets all but the last `count`. Up to twice as many stay, so that turns are moved seldom.
    pub(super) fn forget_all_but(&mut self, count: usize) {
        if self.kept.len() > 2 * count {
            let surplus = self.kept.len() - count;
            self.kept.drain(..surplus);
            self.kept.shrink_to(2 * count + 1);
            self.forgotten += surplus;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::turn::StoredText;
    use crate::trajectory::{Tool, TurnRecord};

    fn turn(number: u32) -> StoredTurn {
        StoredTurn {
            turn: number,
            thought: StoredText::Inline(String::new()),
            action: StoredText::Inline(String::new()),
            observation: None,
            record: TurnRecord {
                tool: Tool::Python,
                has_thought: false,
                outcome: None,
                seconds: 0.0,
                cached: false,
            },
            left_out: Vec::new(),
            summaries: Vec::new(),
        }
    }

    #[test]
    fn forgotten_turns_are_counted_and_not_shown() {
        let mut turns = Turns::default();
        for number in 0..100 {
            turns.push(turn(number));
            turns.forget_all_but(3);
            assert_eq!(turns.count(), number + 1);
            assert!((1..=6).contains(&turns.recent().len()));
        }
        let first = turns.recent()[0].turn;
        assert_eq!(turns.recent().last(), Some(&turn(99)));
        assert_eq!(turns.range(first - 1, 100), None);
        assert_eq!(turns.range(0, 1), None);
        let numbers = |from, to| {
            turns.range(from, to).unwrap().iter().map(|turn| turn.turn).collect::<Vec<_>>()
        };
        assert_eq!(numbers(first, 200), (first..100).collect::<Vec<_>>());
        assert_eq!(numbers(98, 99), [98]);
        assert!(
            numbers(100, 300).is_empty() && numbers(5, 5).is_empty() && numbers(7, 3).is_empty()
        );
    }

    #[test]
    #[should_panic(expected = "turns are forgotten")]
    fn turns_of_which_some_are_forgotten_are_not_all() {
        let mut turns = Turns::default();
        for number in 0..3 {
            turns.push(turn(number));
        }
        assert_eq!(turns.all().len(), 3);
        turns.forget_all_but(1);
        turns.all();
    }
}
