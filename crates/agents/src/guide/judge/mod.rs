//! A model that judges turns of guided runs as examples to learn from.
//!
//! `transcript -> windows -> question -> answer, repaired at most twice -> verdicts, or undecided`
//!
//! It is asked about turns that no rule has dropped, whatever people say of them, and is not told what
//! people say. Its verdicts count less than those of people and of rules.

mod answer;
mod ask;
mod question;
mod window;

pub use ask::{Judge, JudgeError, JudgeReport};
pub use window::{Window, WindowLimits, windows};
