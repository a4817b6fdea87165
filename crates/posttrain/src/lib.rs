//! Benchmarks of post-training: an agent in a box of its own trains a model and submits checkpoints, a
//! grading server scores them on items that the agent never sees, and writes everything down.
//!
//! `request -> intake -> sealed model -> grader -> ledger -> answer`
//!
//! Two kinds of failure are kept apart everywhere: a [`Refusal`] is a mistake of the agent, with what to
//! do about it; a `Fault` is ours, is tried again once, and never counts as an agent's zero. Code from a
//! submission is never run, and libtorch is never linked: models are run by another program. [`run`] puts
//! an agent beside the server; without it, the agent is somebody else's business. [`gateway`] is what it
//! asks chat models through.

pub mod agents;
pub mod audit;
pub mod child;
pub mod clock;
pub mod contamination;
mod digest;
pub mod dojo;
pub mod failure;
mod fault;
pub mod ft;
pub mod gateway;
pub mod grade;
pub mod intake;
pub mod ledger;
pub mod react;
pub mod record;
mod refusal;
pub mod report;
pub mod route;
pub mod run;
pub mod serve;
mod task_set;
mod versioned_lines;
pub mod workspace;

pub use digest::{BadDigest, Digest};
pub use fault::Fault;
pub use refusal::{Refusal, RefusalCode};
pub use task_set::{ALL_TASKS, TaskSet, TaskSetError};
