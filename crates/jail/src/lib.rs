//! Untrusted Python: run limits, isolation, the warmed interpreter, runs and their outcomes.
//!
//! `(public folder, code, limits) -> outcome`. Of a task, only its public folder is known here.
//! [`program`] runs one long command in a box of its own instead.

pub mod bench;
pub mod exec;
pub mod isolation;
pub mod limits;
pub mod program;
pub mod python;
pub mod semaphore;
