//! Media: items that carry a row's hidden statistics.
//!
//! A row's statistics are drawn as columns are, and the rule is written over them, but they
//! stand in no table: a [`Medium`] renders them into one item per row (a picture, a sound, a
//! text, a graph). It also reads items back as three kinds of solvers would, and those readings
//! are what the ladder's rungs are fitted on. `blueprint -> items -> readings -> ladder`.
//!
//! Items of three further kinds are [`given`]: they are read back alike, but a generator drew them,
//! and its scores are the truth.

pub mod audio;
pub mod form;
pub mod given;
pub mod graph;
pub mod image;
mod medium;
pub mod text;

pub use medium::{
    Blemish, Format, ItemReader, Look, Medium, MediumError, MediumKind, Reach, Reading, Statistic,
    Storage,
};
