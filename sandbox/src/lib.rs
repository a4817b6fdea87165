//! The task contract, untrusted Python execution, metrics, grading and episodes.
//!
//! `(task directory, code) -> outcome -> grade`

pub mod files;
pub mod grade;
pub mod metrics;
pub mod stream;
pub mod submission;
pub mod task;
