//! Texts: short reports, dossiers of some pages, pairs of notes about one thing each, and texts that
//! are given.
//!
//! Reports are cells of a table or documents of their own, which are longer. Reports and pairs
//! are written from templates (`wording`) around words that carry meaning (`lexicon`).
//! What a rule depends on lies less in the words than in how they stand to each other: what a
//! negation applies to, which number was counted, which of two entries agree. The readers
//! (`tokens` and each medium's own) know the templates and forgive mistyping.

mod blemish;
mod counts;
mod document;
mod dossier;
pub(crate) mod given;
mod lexicon;
mod pair;
mod pair_reading;
mod report;
mod report_reading;
#[cfg(test)]
mod tests;
mod tokens;
mod wording;

pub use dossier::{Dossier, Genre, Register, Trade};
pub use given::GivenText;
pub use pair::Pair;
pub use report::Report;
