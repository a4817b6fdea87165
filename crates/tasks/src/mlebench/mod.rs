//! MLE-bench's grading, for its 22 competitions of low complexity: the same inputs are refused,
//! the same scores come out, and the same report is written.
//!
//! `(submission, answers) -> PandasFrame, PandasFrame -> score -> CompetitionReport`. Chan et al.
//! 2024, arXiv 2410.07095; built from a description of the behaviour of version 1.0.0 with pandas 2,
//! NumPy and scikit-learn 1.5, whose quirks are noted where they are kept.

pub mod board;
pub mod checks;
pub mod column;
pub mod frame;
pub mod graders;
pub mod grading;
mod infer;
mod order;
pub mod python;
pub mod report;
pub mod score;
mod tokens;
