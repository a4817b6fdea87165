//! The grading server of post-training benchmarks: an agent trains a model and submits checkpoints, the
//! server scores them on items that the agent never sees, and writes everything down.
//!
//! `request -> intake -> sealed model -> grader -> ledger -> answer`
//!
//! Two kinds of failure are kept apart everywhere: a [`Refusal`] is a mistake of the agent, with what to
//! do about it; a `Fault` is ours, is tried again once, and never counts as an agent's zero. Code from a
//! submission is never run, and libtorch is never linked: models are run by another program.

pub mod audit;
pub mod clock;
mod digest;
mod fault;
pub mod grade;
pub mod intake;
pub mod ledger;
mod refusal;
pub mod serve;

pub use digest::{BadDigest, Digest};
pub use fault::Fault;
pub use refusal::{Refusal, RefusalCode};
