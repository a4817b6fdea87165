//! The task contract: what a task directory holds, what a valid submission is, and what it scores.
//!
//! `(task directory, submission) -> grade`. No process is started and no socket opened here.

pub mod boxes;
pub mod cells;
pub mod collect;
pub mod description;
pub mod file_label;
pub mod files;
pub mod grade;
pub mod json;
pub mod mask;
pub mod metrics;
pub mod mlebench;
pub mod prediction;
pub mod rating;
pub mod sample;
pub mod stream;
pub mod submission;
mod table;
pub mod task;
pub mod text;
pub mod thresholds;
pub mod units;
pub mod values;
