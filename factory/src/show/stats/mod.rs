//! `factory stats`: how a corpus compares with the paper's, and what is in it.
//!
//! [`statistics`] gathers the numbers into one [`Statistics`]; [`text`], JSON and [`page`] are
//! three views of it. [`paper`] holds what it is compared with, and
//! [`intervals`](crate::numeric::intervals) the formulas.

pub mod by_model;
pub mod figure;
pub mod funnel;
pub mod groups;
pub mod held_out;
pub mod page;
pub mod paper;
pub mod sizes;
pub mod statistics;
pub mod structure;
pub mod text;

pub use statistics::{Statistics, StatisticsError, gather};
