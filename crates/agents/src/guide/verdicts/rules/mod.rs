//! Rules: what can be said of a turn as an example without a person or a model.

mod files;
#[cfg(test)]
mod fixture;
mod rule;
mod scores;
mod scripts;

pub use rule::{Finding, Rule};
