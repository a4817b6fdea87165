//! `factory export`: a corpus in the form of another benchmark.

pub mod leaderboard;
pub mod mlebench;

pub use mlebench::{ExportError, Exported, mlebench};
