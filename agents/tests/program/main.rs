//! The program `agents`, as a user starts it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ablate;
mod automind;
mod guide;
mod kills;
mod knowledge;
mod person;
mod provider;
mod replay;
mod runs;
mod samples;
