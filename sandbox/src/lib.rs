//! The task contract, untrusted Python execution, metrics, grading and episodes.
//!
//! `(task directory, code) -> outcome -> grade`

pub mod bench;
pub mod boxes;
pub mod cells;
pub mod env;
pub mod exec;
pub mod files;
pub mod grade;
pub mod jail;
pub mod judge;
pub mod mask;
pub mod metrics;
pub mod mlebench;
pub mod policy;
pub mod python;
pub mod reward;
pub mod semaphore;
#[cfg(feature = "serve")]
pub mod serve;
pub mod stream;
pub mod submission;
mod table;
pub mod task;
pub mod text;
pub mod values;
