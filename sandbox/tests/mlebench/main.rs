//! MLE-bench's grading against pandas, scikit-learn, NumPy and the recorded behaviour of the
//! original.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commands;
mod files;
mod frames;
mod graders;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../rounds/mod.rs"]
mod rounds;
mod tables;
mod vectors;

/// What the graders are compared with.
const REFERENCE: &str = "sandbox/tests/reference/mlebench.py";
