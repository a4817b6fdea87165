//! A corpus for people: a page, statistics, lines in the terminal.

pub mod anchoring;
pub mod authors;
pub mod gallery;
pub mod inspect;
pub mod rating;
pub mod stats;
