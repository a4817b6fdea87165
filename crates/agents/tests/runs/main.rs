//! Runs of agents on a small task, with players that need no model.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod automind;
mod fixture;
mod guided;
mod knowledge;
mod linear;
mod person;
mod prompts;
mod samples;
mod search;
mod summaries;
mod trials;
