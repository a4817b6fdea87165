//! Rules: what can be said of a turn as an example without a person or a model.

mod files;
#[cfg(test)]
pub(crate) mod fixture;
mod rule;
mod scores;
mod scripts;

pub use rule::{Finding, Rule};
pub(crate) use scores::told_before;
