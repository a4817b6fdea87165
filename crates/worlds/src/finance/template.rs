//! What a question of an examination is.

/// A question with numbers left open.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: &'static str,
    /// The least and the greatest value of each number, and the step between values, for small
    /// policies.
    pub(super) tiny: &'static [(i64, i64, i64)],
    /// The same for language models.
    pub(super) full: &'static [(i64, i64, i64)],
    pub(super) ask: fn(&[i64]) -> String,
    pub(super) solve: fn(&[i64]) -> Solved,
}

/// A number as a fraction; the second is positive.
pub(super) type Fraction = (i64, i64);

/// The answer to a question, and what typical slips make of it.
#[derive(Debug)]
pub(super) struct Solved {
    pub(super) right: Fraction,
    pub(super) slips: [Fraction; 3],
    /// The sum that leads to the answer, without its result.
    pub(super) sum: String,
}

/// An examination.
#[derive(Debug)]
pub(super) struct Exam {
    pub(super) name: &'static str,
    /// How many questions it has of the 6,179 of the original.
    pub(super) weight: u32,
    pub(super) templates: &'static [Template],
}
