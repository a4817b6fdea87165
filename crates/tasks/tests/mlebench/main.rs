//! MLE-bench's grading against pandas, scikit-learn, NumPy and the recorded behaviour of the
//! original.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod frames;
mod graders;
mod vectors;

/// What the graders are compared with.
const REFERENCE: &str = "crates/tasks/tests/reference/mlebench.py";
