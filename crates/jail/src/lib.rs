//! Untrusted Python: run limits, isolation, the warmed interpreter, runs and their outcomes.
//!
//! `(public folder, code, limits) -> outcome`. Of a task, only its public folder is known here.

pub mod bench;
pub mod exec;
pub mod isolation;
pub mod limits;
pub mod python;
pub mod semaphore;
