//! `factory export`: a corpus in the form of another benchmark, or as tables in Parquet.

pub mod error;
pub mod leaderboard;
pub mod mlebench;
pub mod parquet;

pub use error::ExportError;
pub use mlebench::{Exported, mlebench};
pub use parquet::parquet;
