//! Graders for tasks of every kind.
//!
//! `task -> grader`. Our own tasks and competitions are graded natively, by [`tasks::grade`];
//! released bundles by the script that they bring, which runs in a jail with the answers.

mod evaluator;
mod evaluators;
mod graders;
mod script;
mod verdict;

pub use graders::{Graders, memory};
pub use script::EvaluatorFault;
