//! The four kinds of task folder: each is opened, shown, played and graded by the same code, and
//! none shows its answers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundle;
mod competition;
mod dojo;
mod evaluator;
mod fixture;
mod mistakes;
