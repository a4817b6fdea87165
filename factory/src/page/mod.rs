//! The description page of a task: fixed sections by our code, prose in named places.
//!
//! [`builtin`] writes the prose itself, from banks of patterns in `factory/pages/`: a register
//! (announcement, tender, memo, ...), a length, forms of paragraphs, an order of sections, and a
//! background of invented places and people, all drawn from the task's streams. [`with_prose`] lays
//! out the prose of a chat model, which [`check`] has accepted. No page says anything of the hidden
//! rule, of which columns matter, of thresholds or of the strength of noise.

mod background;
mod bleu;
mod check;
mod columns;
mod data;
mod definition;
mod diversity;
mod english;
mod facts;
mod fixed;
mod layout;
mod measures;
mod mentions;
mod overview;
mod pattern;
mod phrases;
mod prose;
#[cfg(test)]
pub(crate) mod rendered_task;
mod rouge;
mod style;
#[cfg(test)]
mod tests;

pub use check::{RefusedProse, check};
pub use definition::definition;
pub use diversity::{DistinctGrams, MOST_PAGES, MaskedSentence, PageDiversity};
pub use facts::facts;
pub use layout::{builtin, with_prose};
pub(crate) use measures::measure;
pub use prose::{ColumnText, Prose};
