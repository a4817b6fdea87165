//! How answers of FT-Dojo's tasks are read and scored: pure functions of texts.
//!
//! `text -> answer, or what is wrong with its form -> score in [0, 1]`
//!
//! Everywhere `truth` is the reference and comes first. Each score is compared with a reference
//! implementation on fuzzed pairs (`crates/worlds/tests/scores.rs`).

mod answer_set;
mod bleu;
mod boxed;
mod choice;
mod final_answer;
mod json_answer;
mod macro_f1;
mod rouge;
mod table_match;

pub use answer_set::{read_letters, set_f1};
pub use bleu::corpus_bleu;
pub use boxed::{boxed_integer, last_boxed};
pub use choice::read_choice;
pub use final_answer::final_answer;
pub use json_answer::json_field;
pub use macro_f1::macro_f1;
pub use rouge::rouge_l;
pub use table_match::{TableRule, exact_match, match_within, normalise};

use serde::{Deserialize, Serialize};

/// What is wrong with an answer, as verdicts are tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mistake {
    /// It has not the form that was asked for, so nothing could be read.
    Format,
    /// There is no answer, or a blank one.
    Empty,
    /// It begins in the right form and ends before the form does.
    Truncated,
    /// Its form is right and what it holds cannot be, such as a program that does not run.
    Invalid,
    /// It was read, and does not earn full marks.
    Wrong,
}

impl Mistake {
    /// The name as in tags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Empty => "empty",
            Self::Truncated => "truncated",
            Self::Invalid => "invalid",
            Self::Wrong => "wrong",
        }
    }
}

/// White space as Python's `str.split` and `str.strip` see it.
pub(crate) fn is_python_space(letter: char) -> bool {
    letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter)
}
