//! What a template is.

/// A problem with numbers left open.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: &'static str,
    /// The least and the greatest value of each parameter, for small policies.
    pub(super) tiny: &'static [(i64, i64)],
    /// The same for language models.
    pub(super) full: &'static [(i64, i64)],
    /// Whether these parameters make a problem.
    pub(super) accepts: fn(&[i64]) -> bool,
    pub(super) ask: fn(&[i64]) -> String,
    /// The answer by a formula, with steps.
    pub(super) solve: fn(&[i64]) -> Worked,
    /// The answer by trying everything.
    pub(super) brute: fn(&[i64]) -> i64,
}

/// A worked answer.
#[derive(Debug)]
pub(super) struct Worked {
    pub(super) steps: String,
    pub(super) answer: i64,
}

impl Worked {
    pub(super) fn new(answer: i64, steps: impl Into<String>) -> Self {
        Self { steps: steps.into(), answer }
    }
}
