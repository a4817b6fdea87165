//! The program `sandbox` as its callers see it: what it prints, how it ends, and what it leaves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod codes;
mod competitions;
mod fixture;
mod interrupt;
mod limits;
mod many;
mod output;
mod start;
