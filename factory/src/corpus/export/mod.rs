//! `factory export`: a corpus in the form of other benchmarks and of data sets, or as tables in
//! Parquet.

mod canary;
pub mod error;
pub mod harbor;
mod harbor_task;
pub mod hf;
pub mod leaderboard;
pub mod mlebench;
pub mod parquet;
mod place;
mod rows;

pub use error::ExportError;
pub use harbor::harbor;
pub use hf::hf;
pub use mlebench::{Exported, mlebench};
pub use parquet::parquet;
